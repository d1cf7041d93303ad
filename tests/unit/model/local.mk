unit_tests += tests/bin/test-model-draft
tests_bin_test_model_draft_SOURCES = tests/unit/model/test-draft.c tests/unit/unit.h
tests_bin_test_model_draft_LDADD = $(MODEL_TEST_LIBS)

unit_tests += tests/bin/test-model-picture
tests_bin_test_model_picture_SOURCES = tests/unit/model/test-picture.c tests/unit/unit.h
tests_bin_test_model_picture_LDADD = $(MODEL_TEST_LIBS)
