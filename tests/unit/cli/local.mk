unit_tests += tests/bin/test-cli-parse
tests_bin_test_cli_parse_SOURCES = tests/unit/cli/test-parse.c tests/unit/unit.h
tests_bin_test_cli_parse_LDADD = $(CLI_TEST_LIBS)
