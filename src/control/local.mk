noinst_LIBRARIES += src/libcontrol.a
src_libcontrol_a_SOURCES = \
	src/control/discovery.c src/control/discovery.h \
	src/control/fleet.c src/control/fleet.h \
	src/control/audit.c src/control/audit.h \
	src/control/audit-copy.c \
	src/control/audit-file.c src/control/audit-file.h \
	src/control/audit-read.c \
	src/control/gate.c src/control/gate.h \
	src/control/gate-bind.c \
	src/control/gate-find.c \
	src/control/gate-machine.c src/control/gate-machine.h src/control/gate-machine.def \
	src/control/gate-run.h \
	src/control/gate-view.c \
	src/control/gate-work.c \
	src/control/lesson.c src/control/lesson.h src/control/lesson-inside.h \
	src/control/lesson-options.c \
	src/control/lesson-read.c \
	src/control/policy.c src/control/policy.h \
	src/control/memory-file.c src/control/memory-file.h \
	src/control/options.c src/control/options.h \
	src/control/round.c \
	src/control/sample.c src/control/sample.h \
	src/control/session.c src/control/session.h \
	src/control/session-events.c src/control/session-events.h \
	src/control/settings.c src/control/settings.h
