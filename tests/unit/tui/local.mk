# The views and their parts need no fleet that lives: of control they use the reading of the audit, and
# lessons.
STAGE_LIBS = src/libtui.a src/libshow.a $(CONTROL_LIBS) $(NCURSESW_LIBS) $(JANSSON_LIBS)
VIEW_TEST_LIBS = $(STAGE_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/golden/screens doc/keys.inc doc/adding-a-view.md doc/themes.md

# The console over a fleet that is made up: for the tests of the terminal and the benchmark.
check_PROGRAMS += tests/bin/stage
tests_bin_stage_SOURCES = tests/tty/stage.c tests/golden/acts.c tests/golden/acts.h tests/golden/boards.c tests/golden/boards.h tests/golden/boards-jobs.c tests/golden/maker.h
tests_bin_stage_LDADD = $(STAGE_LIBS)

unit_tests += tests/bin/test-tui-canvas
tests_bin_test_tui_canvas_SOURCES = tests/unit/tui/test-canvas.c tests/unit/unit.h
tests_bin_test_tui_canvas_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/bin/test-tui-format
tests_bin_test_tui_format_SOURCES = tests/unit/tui/test-format.c tests/unit/unit.h
tests_bin_test_tui_format_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/bin/test-tui-input
tests_bin_test_tui_input_SOURCES = tests/unit/tui/test-input.c tests/unit/unit.h
tests_bin_test_tui_input_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/bin/test-tui-theme
tests_bin_test_tui_theme_SOURCES = tests/unit/tui/test-theme.c tests/unit/unit.h
tests_bin_test_tui_theme_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_THEMES=\"$(abs_top_srcdir)/themes\"
tests_bin_test_tui_theme_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/bin/test-tui-keymap
tests_bin_test_tui_keymap_SOURCES = tests/unit/tui/test-keymap.c tests/unit/unit.h
tests_bin_test_tui_keymap_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_KEYS=\"$(abs_top_srcdir)/doc/keys.inc\"
tests_bin_test_tui_keymap_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/bin/test-tui-golden
tests_bin_test_tui_golden_SOURCES = tests/golden/test-golden.c tests/golden/boards.c tests/golden/boards.h tests/golden/boards-jobs.c tests/golden/maker.h tests/golden/compare.c tests/golden/compare.h tests/unit/unit.h
tests_bin_test_tui_golden_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_SCREENS=\"$(abs_top_srcdir)/tests/golden/screens\" -DTESTS_DIR=\"$(abs_top_srcdir)/tests\"
tests_bin_test_tui_golden_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/bin/test-tui-gate-dialog
tests_bin_test_tui_gate_dialog_SOURCES = tests/unit/tui/test-gate-dialog.c tests/golden/acts.c tests/golden/acts.h \
	tests/golden/compare.c tests/golden/compare.h tests/unit/unit.h
tests_bin_test_tui_gate_dialog_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_SCREENS=\"$(abs_top_srcdir)/tests/golden/screens\"
tests_bin_test_tui_gate_dialog_LDADD = src/libtui.a $(CONTROL_LIBS) $(NCURSESW_LIBS) $(CMOCKA_LIBS)

unit_tests += tests/bin/test-tui-lesson
tests_bin_test_tui_lesson_SOURCES = tests/unit/tui/test-lesson.c tests/golden/compare.c tests/golden/compare.h tests/unit/unit.h
tests_bin_test_tui_lesson_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_SCREENS=\"$(abs_top_srcdir)/tests/golden/screens\"
tests_bin_test_tui_lesson_LDADD = $(VIEW_TEST_LIBS)

# Writes the golden screens and the manual's list of keys anew; read the difference before you commit it.
update-golden: src/baton tests/bin/test-tui-golden tests/bin/test-tui-gate-dialog tests/bin/test-tui-keymap tests/bin/test-tui-lesson
	BATON_UPDATE_GOLDEN=1 tests/bin/test-tui-lesson
	BATON_UPDATE_GOLDEN=1 tests/bin/test-tui-golden
	BATON_UPDATE_GOLDEN=1 tests/bin/test-tui-gate-dialog
	BATON_UPDATE_GOLDEN=1 tests/bin/test-tui-keymap
	BATON_UPDATE_GOLDEN=1 $(srcdir)/tests/run --build . contract/sim
