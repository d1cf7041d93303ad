noinst_LIBRARIES += src/libcli.a
src_libcli_a_SOURCES = \
	src/cli/cli.c src/cli/cli.h
