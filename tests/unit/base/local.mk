unit_tests += tests/bin/test-base-str
tests_bin_test_base_str_SOURCES = tests/unit/base/test-str.c tests/unit/unit.h
tests_bin_test_base_str_LDADD = $(BASE_TEST_LIBS)
