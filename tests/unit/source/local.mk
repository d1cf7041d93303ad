# unit_tests += tests/bin/test-source-NAME
# tests_bin_test_source_NAME_SOURCES = tests/unit/source/test-NAME.c
# tests_bin_test_source_NAME_LDADD = $(SOURCE_TEST_LIBS)
