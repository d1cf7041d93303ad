noinst_LIBRARIES += src/libshow.a
src_libshow_a_SOURCES = \
	src/show/show.c src/show/show.h
