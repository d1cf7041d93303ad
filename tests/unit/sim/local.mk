unit_tests += tests/bin/test-sim-score tests/bin/test-sim-world
tests_bin_test_sim_score_SOURCES = tests/unit/sim/test-score.c tests/unit/unit.h
tests_bin_test_sim_score_LDADD = $(SIM_TEST_LIBS)
tests_bin_test_sim_world_SOURCES = tests/unit/sim/test-world.c tests/unit/unit.h
tests_bin_test_sim_world_LDADD = $(SIM_TEST_LIBS)
unit_tests += tests/bin/test-sim-etcd
tests_bin_test_sim_etcd_SOURCES = tests/unit/sim/test-etcd.c tests/unit/sim/fixture.h \
	tests/unit/unit.h
tests_bin_test_sim_etcd_LDADD = $(SIM_TEST_LIBS)
unit_tests += tests/bin/test-sim-postgres
tests_bin_test_sim_postgres_SOURCES = tests/unit/sim/test-postgres.c tests/unit/sim/fixture.h \
	tests/unit/unit.h
tests_bin_test_sim_postgres_LDADD = $(SIM_TEST_LIBS)
unit_tests += tests/bin/test-sim-zookeeper
tests_bin_test_sim_zookeeper_SOURCES = tests/unit/sim/test-zookeeper.c tests/unit/sim/fixture.h \
	tests/unit/unit.h
tests_bin_test_sim_zookeeper_LDADD = $(SIM_TEST_LIBS)
unit_tests += tests/bin/test-sim-cluster
tests_bin_test_sim_cluster_SOURCES = tests/unit/sim/test-cluster.c tests/unit/unit.h
tests_bin_test_sim_cluster_LDADD = $(SIM_TEST_LIBS)
tests_bin_test_sim_cluster_CPPFLAGS = $(AM_CPPFLAGS) -DTESTS_DIR=\"$(abs_top_srcdir)/tests\"
# How fast a large fleet lives; not a test.
check_PROGRAMS += tests/bin/sim-speed
tests_bin_sim_speed_SOURCES = tests/bench/sim-speed.c
tests_bin_sim_speed_LDADD = $(SIM_LIBS)
unit_tests += tests/bin/test-sim-ledger tests/bin/test-sim-scheduler
tests_bin_test_sim_ledger_SOURCES = tests/unit/sim/test-ledger.c tests/unit/sim/fixture.h \
	tests/unit/unit.h
tests_bin_test_sim_ledger_LDADD = $(SIM_TEST_LIBS)
tests_bin_test_sim_scheduler_SOURCES = tests/unit/sim/test-scheduler.c tests/unit/sim/fixture.h \
	tests/unit/unit.h
tests_bin_test_sim_scheduler_LDADD = $(SIM_TEST_LIBS)
