# unit_tests += tests/bin/test-model-NAME
# tests_bin_test_model_NAME_SOURCES = tests/unit/model/test-NAME.c
# tests_bin_test_model_NAME_LDADD = $(MODEL_TEST_LIBS)
