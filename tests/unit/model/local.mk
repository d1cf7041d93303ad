unit_tests += tests/bin/test-model-draft
tests_bin_test_model_draft_SOURCES = tests/unit/model/test-draft.c tests/unit/unit.h
tests_bin_test_model_draft_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-picture
tests_bin_test_model_picture_SOURCES = tests/unit/model/test-picture.c tests/unit/unit.h
tests_bin_test_model_picture_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-memory
tests_bin_test_model_memory_SOURCES = tests/unit/model/test-memory.c tests/unit/model/facts.h tests/unit/model/memory-version-1.h tests/unit/unit.h
tests_bin_test_model_memory_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-journal
tests_bin_test_model_journal_SOURCES = tests/unit/model/test-journal.c tests/unit/unit.h
tests_bin_test_model_journal_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-identity
tests_bin_test_model_identity_SOURCES = tests/unit/model/test-identity.c tests/unit/model/facts.h tests/unit/unit.h
tests_bin_test_model_identity_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-role
tests_bin_test_model_role_SOURCES = tests/unit/model/test-role.c tests/unit/model/facts.h tests/unit/unit.h
tests_bin_test_model_role_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-judge
tests_bin_test_model_judge_SOURCES = tests/unit/model/test-judge.c tests/unit/model/facts.h tests/unit/unit.h
tests_bin_test_model_judge_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-redact
tests_bin_test_model_redact_SOURCES = tests/unit/model/test-redact.c tests/unit/unit.h
tests_bin_test_model_redact_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-filter
tests_bin_test_model_filter_SOURCES = tests/unit/model/test-filter.c tests/unit/unit.h
tests_bin_test_model_filter_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-listing
tests_bin_test_model_listing_SOURCES = tests/unit/model/test-listing.c tests/unit/unit.h
tests_bin_test_model_listing_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-sequence
tests_bin_test_model_sequence_SOURCES = tests/unit/model/test-sequence.c tests/unit/model/facts.h tests/unit/unit.h
tests_bin_test_model_sequence_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-board
tests_bin_test_model_board_SOURCES = tests/unit/model/test-board.c tests/unit/model/facts.h tests/unit/unit.h
tests_bin_test_model_board_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-chart
tests_bin_test_model_chart_SOURCES = tests/unit/model/test-chart.c tests/unit/unit.h
tests_bin_test_model_chart_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-run
tests_bin_test_model_run_SOURCES = tests/unit/model/test-run.c tests/unit/unit.h
tests_bin_test_model_run_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-schedule
tests_bin_test_model_schedule_SOURCES = tests/unit/model/test-schedule.c tests/unit/unit.h
tests_bin_test_model_schedule_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-runs-judged
tests_bin_test_model_runs_judged_SOURCES = tests/unit/model/test-runs-judged.c tests/unit/unit.h
tests_bin_test_model_runs_judged_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-holding
tests_bin_test_model_holding_SOURCES = tests/unit/model/test-holding.c tests/unit/unit.h
tests_bin_test_model_holding_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-forecast
tests_bin_test_model_forecast_SOURCES = tests/unit/model/test-forecast.c tests/unit/unit.h
tests_bin_test_model_forecast_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-past
tests_bin_test_model_past_SOURCES = tests/unit/model/test-past.c tests/unit/unit.h
tests_bin_test_model_past_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-history
tests_bin_test_model_history_SOURCES = tests/unit/model/test-history.c tests/unit/unit.h
tests_bin_test_model_history_LDADD = $(MODEL_TEST_LIBS)
