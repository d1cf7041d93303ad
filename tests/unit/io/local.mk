unit_tests += tests/bin/test-io-yaml
tests_bin_test_io_yaml_SOURCES = tests/unit/io/test-yaml.c tests/unit/unit.h
tests_bin_test_io_yaml_LDADD = $(IO_TEST_LIBS)

unit_tests += tests/bin/test-io-pg
tests_bin_test_io_pg_SOURCES = tests/unit/io/test-pg.c tests/unit/unit.h
tests_bin_test_io_pg_LDADD = $(IO_TEST_LIBS)

unit_tests += tests/bin/test-io-grpc tests/bin/test-io-grpc-frame tests/bin/test-io-http
tests_bin_test_io_grpc_SOURCES = tests/unit/io/test-grpc.c tests/unit/unit.h
tests_bin_test_io_grpc_LDADD = $(IO_TEST_LIBS)
tests_bin_test_io_grpc_frame_SOURCES = tests/unit/io/test-grpc-frame.c tests/unit/unit.h
tests_bin_test_io_grpc_frame_LDADD = $(IO_TEST_LIBS)
tests_bin_test_io_http_SOURCES = tests/unit/io/test-http.c tests/unit/unit.h
tests_bin_test_io_http_LDADD = $(IO_TEST_LIBS)

unit_tests += tests/bin/test-io-kubeconfig tests/bin/test-io-rest
tests_bin_test_io_kubeconfig_SOURCES = tests/unit/io/test-kubeconfig.c tests/unit/unit.h
tests_bin_test_io_kubeconfig_LDADD = $(IO_TEST_LIBS)
tests_bin_test_io_rest_SOURCES = tests/unit/io/test-rest.c tests/unit/unit.h
tests_bin_test_io_rest_LDADD = $(IO_TEST_LIBS)

unit_tests += tests/bin/test-io-json-read
tests_bin_test_io_json_read_SOURCES = tests/unit/io/test-json-read.c tests/unit/unit.h
tests_bin_test_io_json_read_LDADD = $(IO_TEST_LIBS)

unit_tests += tests/bin/test-io-json-tree
tests_bin_test_io_json_tree_SOURCES = tests/unit/io/test-json-tree.c tests/unit/io/json-twin.h tests/unit/unit.h
tests_bin_test_io_json_tree_LDADD = $(IO_TEST_LIBS)
