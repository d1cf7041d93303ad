unit_tests += tests/bin/test-base-str
tests_bin_test_base_str_SOURCES = tests/unit/base/test-str.c tests/unit/unit.h
tests_bin_test_base_str_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-map
tests_bin_test_base_map_SOURCES = tests/unit/base/test-map.c tests/unit/unit.h
tests_bin_test_base_map_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-mix
tests_bin_test_base_mix_SOURCES = tests/unit/base/test-mix.c tests/unit/unit.h
tests_bin_test_base_mix_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-text
tests_bin_test_base_text_SOURCES = tests/unit/base/test-text.c tests/unit/unit.h
tests_bin_test_base_text_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-clock
tests_bin_test_base_clock_SOURCES = tests/unit/base/test-clock.c tests/unit/unit.h
tests_bin_test_base_clock_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-fs
tests_bin_test_base_fs_SOURCES = tests/unit/base/test-fs.c tests/unit/unit.h
tests_bin_test_base_fs_LDADD = $(BASE_TEST_LIBS)

# Reads the tables of tests/oracle/.
unit_tests += tests/bin/test-base-cron-oracle
tests_bin_test_base_cron_oracle_SOURCES = tests/unit/base/test-cron-oracle.c tests/unit/unit.h
tests_bin_test_base_cron_oracle_CPPFLAGS = $(AM_CPPFLAGS) -DTESTS_DIR=\"$(abs_top_srcdir)/tests\"
tests_bin_test_base_cron_oracle_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-civil
tests_bin_test_base_civil_SOURCES = tests/unit/base/test-civil.c tests/unit/unit.h
tests_bin_test_base_civil_LDADD = $(BASE_TEST_LIBS)

# Reads the zones of tests/oracle/, as the next one does.
unit_tests += tests/bin/test-base-zone
tests_bin_test_base_zone_SOURCES = tests/unit/base/test-zone.c tests/unit/unit.h
tests_bin_test_base_zone_CPPFLAGS = $(AM_CPPFLAGS) -DTESTS_DIR=\"$(abs_top_srcdir)/tests\"
tests_bin_test_base_zone_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-cron
tests_bin_test_base_cron_SOURCES = tests/unit/base/test-cron.c tests/unit/unit.h
tests_bin_test_base_cron_CPPFLAGS = $(AM_CPPFLAGS) -DTESTS_DIR=\"$(abs_top_srcdir)/tests\"
tests_bin_test_base_cron_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-zone-rule
tests_bin_test_base_zone_rule_SOURCES = tests/unit/base/test-zone-rule.c tests/unit/unit.h
tests_bin_test_base_zone_rule_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-pool
tests_bin_test_base_pool_SOURCES = tests/unit/base/test-pool.c tests/unit/unit.h
tests_bin_test_base_pool_LDADD = $(BASE_TEST_LIBS)
unit_tests += tests/bin/test-base-nearest
tests_bin_test_base_nearest_SOURCES = tests/unit/base/test-nearest.c tests/unit/unit.h
tests_bin_test_base_nearest_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-base64
tests_bin_test_base_base64_SOURCES = tests/unit/base/test-base64.c tests/unit/unit.h
tests_bin_test_base_base64_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-vclock
tests_bin_test_base_vclock_SOURCES = tests/unit/base/test-vclock.c tests/unit/unit.h
tests_bin_test_base_vclock_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-moment
tests_bin_test_base_moment_SOURCES = tests/unit/base/test-moment.c tests/unit/unit.h
tests_bin_test_base_moment_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-varint
tests_bin_test_base_varint_SOURCES = tests/unit/base/test-varint.c tests/unit/unit.h
tests_bin_test_base_varint_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/bin/test-base-err
tests_bin_test_base_err_SOURCES = tests/unit/base/test-err.c tests/unit/unit.h
tests_bin_test_base_err_LDADD = $(BASE_TEST_LIBS)
