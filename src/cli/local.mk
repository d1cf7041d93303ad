noinst_LIBRARIES += src/libcli.a
src_libcli_a_SOURCES = \
	src/cli/cli.c src/cli/cli.h \
	src/cli/command.h src/cli/commands.def \
	src/cli/console.c \
	src/cli/help.c \
	src/cli/list.c \
	src/cli/look.c src/cli/look.h \
	src/cli/options.c \
	src/cli/parse.c \
	src/cli/version.c
