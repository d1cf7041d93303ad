# unit_tests += tests/bin/test-source-NAME
# tests_bin_test_source_NAME_SOURCES = tests/unit/source/test-NAME.c
# tests_bin_test_source_NAME_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-postgres-key
tests_bin_test_source_postgres_key_SOURCES = tests/unit/source/test-postgres-key.c tests/unit/unit.h
tests_bin_test_source_postgres_key_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-etcd-store tests/bin/test-source-etcd-rpc
tests_bin_test_source_etcd_store_SOURCES = tests/unit/source/test-etcd-store.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_etcd_store_LDADD = $(SOURCE_TEST_LIBS)
tests_bin_test_source_etcd_rpc_SOURCES = tests/unit/source/test-etcd-rpc.c tests/unit/unit.h
tests_bin_test_source_etcd_rpc_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-etcd-scope
tests_bin_test_source_etcd_scope_SOURCES = tests/unit/source/test-etcd-scope.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_etcd_scope_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-etcd-rest
tests_bin_test_source_etcd_rest_SOURCES = tests/unit/source/test-etcd-rest.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_etcd_rest_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-postgres-picture tests/bin/test-source-postgres-sql
tests_bin_test_source_postgres_picture_SOURCES = tests/unit/source/test-postgres-picture.c \
	tests/unit/source/pg-answers.h tests/unit/source/fake-round.c \
	tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_postgres_picture_LDADD = $(SOURCE_TEST_LIBS)
tests_bin_test_source_postgres_sql_SOURCES = tests/unit/source/test-postgres-sql.c tests/unit/unit.h
tests_bin_test_source_postgres_sql_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-postgres-act tests/bin/test-source-etcd-act
tests_bin_test_source_postgres_act_SOURCES = tests/unit/source/test-postgres-act.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_postgres_act_LDADD = $(SOURCE_TEST_LIBS)
tests_bin_test_source_etcd_act_SOURCES = tests/unit/source/test-etcd-act.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_etcd_act_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-kubernetes-object tests/bin/test-source-kubernetes-store
tests_bin_test_source_kubernetes_object_SOURCES = tests/unit/source/test-kubernetes-object.c tests/unit/unit.h
tests_bin_test_source_kubernetes_object_LDADD = $(SOURCE_TEST_LIBS)
tests_bin_test_source_kubernetes_store_SOURCES = tests/unit/source/test-kubernetes-store.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_kubernetes_store_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-report
tests_bin_test_source_report_SOURCES = tests/unit/source/test-report.c tests/unit/source/fake-round.c \
	tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_report_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-sim-cluster
tests_bin_test_source_sim_cluster_SOURCES = tests/unit/source/test-sim-cluster.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_sim_cluster_LDADD = $(SOURCE_TEST_LIBS)
unit_tests += tests/bin/test-source-sim-etcd
tests_bin_test_source_sim_etcd_SOURCES = tests/unit/source/test-sim-etcd.c \
	tests/unit/sim/fixture.h \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_sim_etcd_LDADD = $(SOURCE_TEST_LIBS)

unit_tests += tests/bin/test-source-sim-guards
tests_bin_test_source_sim_guards_SOURCES = tests/unit/source/test-sim-guards.c \
	tests/unit/source/fake-round.c tests/unit/source/fake-round.h tests/unit/unit.h
tests_bin_test_source_sim_guards_LDADD = $(SOURCE_TEST_LIBS)
