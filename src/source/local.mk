noinst_LIBRARIES += src/libsource.a
src_libsource_a_SOURCES = \
	src/source/etcd.c \
	src/source/option.c \
	src/source/postgres.c \
	src/source/report.c src/source/report.h \
	src/source/source.c src/source/source.h \
	src/source/sources.def
