# unit_tests += tests/bin/test-source-NAME
# tests_bin_test_source_NAME_SOURCES = tests/unit/source/test-NAME.c
# tests_bin_test_source_NAME_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-postgres-key
tests_bin_test_source_postgres_key_SOURCES = tests/unit/source/test-postgres-key.c tests/unit/unit.h
tests_bin_test_source_postgres_key_LDADD = $(SOURCE_TEST_LIBS)
