# The console over a fleet that is made up: for the tests of the terminal and the benchmark.
check_PROGRAMS += tests/bin/stage
tests_bin_stage_SOURCES = tests/tty/stage.c tests/golden/boards.c tests/golden/boards.h
tests_bin_stage_LDADD = src/libtui.a $(MODEL_LIBS) $(NCURSESW_LIBS)
