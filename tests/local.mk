# Tests. Each program of tests/unit/<layer>/ links only the archives up to its layer. To add one: its name in unit_tests, its
# _SOURCES and its _LDADD. `make check` runs all of them and the Python tests by tests/run.
EXTRA_DIST += tests/servers

if HAVE_CMOCKA
unit_tests = \
	tests/bin/test-base-str

check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

BASE_TEST_LIBS = $(BASE_LIBS) $(CMOCKA_LIBS)
MODEL_TEST_LIBS = $(MODEL_LIBS) $(CMOCKA_LIBS)
IO_TEST_LIBS = $(IO_LIBS) $(CMOCKA_LIBS)
SOURCE_TEST_LIBS = $(SOURCE_LIBS) $(CMOCKA_LIBS)
CONTROL_TEST_LIBS = $(CONTROL_LIBS) $(CMOCKA_LIBS)
SHOW_TEST_LIBS = $(SHOW_LIBS) $(CMOCKA_LIBS)
TUI_TEST_LIBS = $(TUI_LIBS) $(CMOCKA_LIBS)
CLI_TEST_LIBS = $(CLI_LIBS) $(CMOCKA_LIBS)

tests_bin_test_base_str_SOURCES = tests/unit/base/test-str.c tests/unit/unit.h
tests_bin_test_base_str_LDADD = $(BASE_TEST_LIBS)
endif
