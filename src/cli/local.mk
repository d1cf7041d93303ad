noinst_LIBRARIES += src/libcli.a
src_libcli_a_SOURCES = \
	src/cli/act.c \
	src/cli/audit.c \
	src/cli/check.c \
	src/cli/cli.c src/cli/cli.h \
	src/cli/command.h src/cli/commands.def \
	src/cli/complete.c \
	src/cli/console.c \
	src/cli/debrief.c src/cli/debrief.h \
	src/cli/doctor.c \
	src/cli/forecast.c \
	src/cli/help.c \
	src/cli/ids.c src/cli/ids.h \
	src/cli/init.c \
	src/cli/list.c \
	src/cli/look.c src/cli/look.h \
	src/cli/options.c \
	src/cli/parse.c \
	src/cli/record.c \
	src/cli/replay.c \
	src/cli/show.c \
	src/cli/train.c \
	src/cli/verb.c src/cli/verb.h \
	src/cli/version.c \
	src/cli/watch.c
