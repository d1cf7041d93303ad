# unit_tests += tests/bin/test-show-NAME
# tests_bin_test_show_NAME_SOURCES = tests/unit/show/test-NAME.c
# tests_bin_test_show_NAME_LDADD = $(SHOW_TEST_LIBS)
