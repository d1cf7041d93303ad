# unit_tests += tests/bin/test-tui-NAME
# tests_bin_test_tui_NAME_SOURCES = tests/unit/tui/test-NAME.c
# tests_bin_test_tui_NAME_LDADD = $(TUI_TEST_LIBS)
