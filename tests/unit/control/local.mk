unit_tests += \
	tests/bin/test-control-audit \
	tests/bin/test-control-fleet \
	tests/bin/test-control-gate \
	tests/bin/test-control-gate-worlds \
	tests/bin/test-control-lesson tests/bin/test-control-lesson-results tests/bin/test-control-lesson-run \
	tests/bin/test-control-policy \
	tests/bin/test-control-memory-file \
	tests/bin/test-control-settings

tests_bin_test_control_fleet_SOURCES = tests/unit/control/test-fleet.c tests/unit/control/folder.h tests/unit/control/script.h \
	tests/unit/unit.h
tests_bin_test_control_audit_SOURCES = tests/unit/control/test-audit.c tests/unit/control/folder.h tests/unit/unit.h
tests_bin_test_control_audit_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_gate_SOURCES = tests/unit/control/test-gate.c tests/unit/control/acting.h \
	tests/unit/control/folder.h tests/unit/control/script.h tests/unit/unit.h
tests_bin_test_control_gate_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_gate_worlds_SOURCES = tests/unit/control/test-gate-worlds.c tests/unit/control/acting.h \
	tests/unit/control/folder.h tests/unit/control/script.h tests/unit/unit.h
tests_bin_test_control_gate_worlds_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_policy_SOURCES = tests/unit/control/test-policy.c tests/unit/unit.h
tests_bin_test_control_policy_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_fleet_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_memory_file_SOURCES = tests/unit/control/test-memory-file.c \
	tests/unit/control/folder.h tests/unit/unit.h
tests_bin_test_control_memory_file_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_settings_SOURCES = tests/unit/control/test-settings.c tests/unit/unit.h
tests_bin_test_control_settings_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_lesson_SOURCES = tests/unit/control/test-lesson.c tests/unit/unit.h
tests_bin_test_control_lesson_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_lesson_results_SOURCES = tests/unit/control/test-lesson-results.c \
	tests/unit/control/folder.h tests/unit/unit.h
tests_bin_test_control_lesson_results_LDADD = $(CONTROL_TEST_LIBS)

tests_bin_test_control_lesson_run_SOURCES = tests/unit/control/test-lesson-run.c \
	tests/unit/control/folder.h tests/unit/unit.h
tests_bin_test_control_lesson_run_LDADD = $(CONTROL_TEST_LIBS)

unit_tests += tests/bin/test-control-replay
tests_bin_test_control_replay_SOURCES = tests/unit/control/test-replay.c tests/unit/unit.h
tests_bin_test_control_replay_LDADD = $(CONTROL_TEST_LIBS)
unit_tests += tests/bin/test-control-scenario tests/bin/test-control-drive
tests_bin_test_control_scenario_SOURCES = tests/unit/control/test-scenario.c tests/unit/unit.h
tests_bin_test_control_scenario_LDADD = $(CONTROL_TEST_LIBS)
tests_bin_test_control_drive_SOURCES = tests/unit/control/test-drive.c tests/unit/control/folder.h tests/unit/unit.h
tests_bin_test_control_drive_LDADD = $(CONTROL_TEST_LIBS)
