unit_tests += tests/bin/test-sim-score tests/bin/test-sim-world
tests_bin_test_sim_score_SOURCES = tests/unit/sim/test-score.c tests/unit/unit.h
tests_bin_test_sim_score_LDADD = $(SIM_TEST_LIBS)
tests_bin_test_sim_world_SOURCES = tests/unit/sim/test-world.c tests/unit/unit.h
tests_bin_test_sim_world_LDADD = $(SIM_TEST_LIBS)
unit_tests += tests/bin/test-sim-etcd
tests_bin_test_sim_etcd_SOURCES = tests/unit/sim/test-etcd.c tests/unit/unit.h
tests_bin_test_sim_etcd_LDADD = $(SIM_TEST_LIBS)
