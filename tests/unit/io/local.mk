# unit_tests += tests/bin/test-io-NAME
# tests_bin_test_io_NAME_SOURCES = tests/unit/io/test-NAME.c
# tests_bin_test_io_NAME_LDADD = $(IO_TEST_LIBS)
