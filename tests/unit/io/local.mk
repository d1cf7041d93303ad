unit_tests += tests/bin/test-io-yaml
tests_bin_test_io_yaml_SOURCES = tests/unit/io/test-yaml.c tests/unit/unit.h
tests_bin_test_io_yaml_LDADD = $(IO_TEST_LIBS)

unit_tests += tests/bin/test-io-pg
tests_bin_test_io_pg_SOURCES = tests/unit/io/test-pg.c tests/unit/unit.h
tests_bin_test_io_pg_LDADD = $(IO_TEST_LIBS)
