noinst_LIBRARIES += src/libtui.a
src_libtui_a_SOURCES = \
	src/tui/console.c src/tui/console.h
