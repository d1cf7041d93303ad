# unit_tests += tests/bin/test-control-NAME
# tests_bin_test_control_NAME_SOURCES = tests/unit/control/test-NAME.c
# tests_bin_test_control_NAME_LDADD = $(CONTROL_TEST_LIBS)
