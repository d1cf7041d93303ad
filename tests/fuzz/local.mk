# One program per parser of foreign bytes: LLVMFuzzerTestOneInput in tests/fuzz/NAME.c, seeds (files, any names) in
# tests/fuzz/seeds/NAME/.
fuzzers += tests/bin/fuzz-text
tests_bin_fuzz_text_SOURCES = tests/fuzz/text.c
tests_bin_fuzz_text_LDADD = $(BASE_LIBS)
tests_bin_fuzz_text_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-memory
tests_bin_fuzz_memory_SOURCES = tests/fuzz/memory.c
tests_bin_fuzz_memory_LDADD = $(MODEL_LIBS)
tests_bin_fuzz_memory_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-history
tests_bin_fuzz_history_SOURCES = tests/fuzz/history.c
tests_bin_fuzz_history_LDADD = $(MODEL_LIBS)
tests_bin_fuzz_history_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-cron
tests_bin_fuzz_cron_SOURCES = tests/fuzz/cron.c
tests_bin_fuzz_cron_LDADD = $(BASE_LIBS)
tests_bin_fuzz_cron_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-zone
tests_bin_fuzz_zone_SOURCES = tests/fuzz/zone.c
tests_bin_fuzz_zone_LDADD = $(BASE_LIBS)
tests_bin_fuzz_zone_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-grpc
tests_bin_fuzz_grpc_SOURCES = tests/fuzz/grpc.c
tests_bin_fuzz_grpc_LDADD = $(IO_LIBS)
tests_bin_fuzz_grpc_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-h2
tests_bin_fuzz_h2_SOURCES = tests/fuzz/h2.c
tests_bin_fuzz_h2_LDADD = $(IO_LIBS)
tests_bin_fuzz_h2_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-etcd
tests_bin_fuzz_etcd_SOURCES = tests/fuzz/etcd.c
tests_bin_fuzz_etcd_LDADD = $(SOURCE_LIBS)
tests_bin_fuzz_etcd_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-filter
tests_bin_fuzz_filter_SOURCES = tests/fuzz/filter.c
tests_bin_fuzz_filter_LDADD = $(MODEL_LIBS)
tests_bin_fuzz_filter_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-theme
tests_bin_fuzz_theme_SOURCES = tests/fuzz/theme.c
tests_bin_fuzz_theme_LDADD = src/libtui.a $(MODEL_LIBS) $(NCURSESW_LIBS)
tests_bin_fuzz_theme_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-input
tests_bin_fuzz_input_SOURCES = tests/fuzz/input.c
tests_bin_fuzz_input_LDADD = src/libtui.a $(MODEL_LIBS) $(NCURSESW_LIBS)
tests_bin_fuzz_input_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-yaml tests/bin/fuzz-settings
tests_bin_fuzz_yaml_SOURCES = tests/fuzz/yaml.c
tests_bin_fuzz_yaml_LDADD = $(IO_LIBS)
tests_bin_fuzz_yaml_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

tests_bin_fuzz_settings_SOURCES = tests/fuzz/settings.c
tests_bin_fuzz_settings_LDADD = $(CONTROL_LIBS)
tests_bin_fuzz_settings_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-audit
tests_bin_fuzz_audit_SOURCES = tests/fuzz/audit.c
tests_bin_fuzz_audit_LDADD = $(CONTROL_LIBS)
tests_bin_fuzz_audit_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-postgres
tests_bin_fuzz_postgres_SOURCES = tests/fuzz/postgres.c tests/unit/source/fake-round.c \
	tests/unit/source/fake-round.h tests/unit/source/pg-answers.h
tests_bin_fuzz_postgres_LDADD = $(SOURCE_LIBS)
tests_bin_fuzz_postgres_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-kubeconfig tests/bin/fuzz-kube-grant
tests_bin_fuzz_kubeconfig_SOURCES = tests/fuzz/kubeconfig.c
tests_bin_fuzz_kubeconfig_LDADD = $(IO_LIBS)
tests_bin_fuzz_kubeconfig_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)
tests_bin_fuzz_kube_grant_SOURCES = tests/fuzz/kube-grant.c
tests_bin_fuzz_kube_grant_LDADD = $(IO_LIBS)
tests_bin_fuzz_kube_grant_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-kubernetes
tests_bin_fuzz_kubernetes_SOURCES = tests/fuzz/kubernetes.c
tests_bin_fuzz_kubernetes_LDADD = $(SOURCE_LIBS)
tests_bin_fuzz_kubernetes_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-scenario
tests_bin_fuzz_scenario_SOURCES = tests/fuzz/scenario.c
tests_bin_fuzz_scenario_LDADD = $(CONTROL_LIBS)
tests_bin_fuzz_scenario_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-record
tests_bin_fuzz_record_SOURCES = tests/fuzz/record.c
tests_bin_fuzz_record_LDADD = $(CONTROL_LIBS)
tests_bin_fuzz_record_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)

fuzzers += tests/bin/fuzz-json
tests_bin_fuzz_json_SOURCES = tests/fuzz/json.c tests/unit/io/json-twin.h
tests_bin_fuzz_json_LDADD = $(IO_LIBS)
tests_bin_fuzz_json_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_FLAGS)
