# unit_tests += tests/bin/test-cli-NAME
# tests_bin_test_cli_NAME_SOURCES = tests/unit/cli/test-NAME.c
# tests_bin_test_cli_NAME_LDADD = $(CLI_TEST_LIBS)
