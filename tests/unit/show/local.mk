unit_tests += \
	tests/bin/test-show-json \
	tests/bin/test-show-recorder \
	tests/bin/test-show-show \
	tests/bin/test-show-table

tests_bin_test_show_json_SOURCES = tests/unit/show/test-json.c tests/unit/show/capture.h tests/unit/unit.h
tests_bin_test_show_json_LDADD = $(SHOW_TEST_LIBS) $(JANSSON_LIBS)

tests_bin_test_show_recorder_SOURCES = tests/unit/show/test-recorder.c tests/unit/show/boards.c tests/unit/show/boards.h \
	tests/unit/unit.h
tests_bin_test_show_recorder_LDADD = $(SHOW_TEST_LIBS) $(JANSSON_LIBS)

tests_bin_test_show_show_SOURCES = tests/unit/show/test-show.c tests/unit/show/boards.c tests/unit/show/boards.h \
	tests/unit/show/capture.h tests/unit/unit.h
tests_bin_test_show_show_LDADD = $(SHOW_TEST_LIBS) $(JANSSON_LIBS)

tests_bin_test_show_table_SOURCES = tests/unit/show/test-table.c tests/unit/show/capture.h tests/unit/unit.h
tests_bin_test_show_table_LDADD = $(SHOW_TEST_LIBS)
