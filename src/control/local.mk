noinst_LIBRARIES += src/libcontrol.a
src_libcontrol_a_SOURCES = \
	src/control/discovery.c src/control/discovery.h \
	src/control/fleet.c src/control/fleet.h \
	src/control/audit.c src/control/audit.h \
	src/control/audit-copy.c \
	src/control/audit-file.c src/control/audit-file.h \
	src/control/audit-read.c \
	src/control/audit-tail.c src/control/audit-tail.h \
	src/control/gate.c src/control/gate.h \
	src/control/gate-bind.c \
	src/control/gate-find.c \
	src/control/gate-machine.c src/control/gate-machine.h src/control/gate-machine.def \
	src/control/gate-run.h \
	src/control/gate-view.c \
	src/control/gate-work.c \
	src/control/debrief.c src/control/debrief.h \
	src/control/lesson.c src/control/lesson.h src/control/lesson-inside.h \
	src/control/lesson-options.c \
	src/control/lesson-play.c \
	src/control/lesson-read.c \
	src/control/lesson-results.c src/control/lesson-results.h \
	src/control/lesson-run.c src/control/lesson-run.h \
	src/control/policy.c src/control/policy.h \
	src/control/memory-file.c src/control/memory-file.h \
	src/control/options.c src/control/options.h \
	src/control/round.c \
	src/control/sample.c src/control/sample.h \
	src/control/scenario.c src/control/scenario.h \
	src/control/scenario-tables.c \
	src/control/drive.c src/control/drive.h \
	src/control/session.c src/control/session.h \
	src/control/session-past.c \
	src/control/session-events.c src/control/session-events.h \
	src/control/settings.c src/control/settings.h src/control/settings-inside.h \
	src/control/settings-replay.c
nodist_src_libcontrol_a_SOURCES = src/control/scenario-texts.c
CLEANFILES += src/control/scenario-texts.c
EXTRA_DIST += scenarios/embed.sh

# The scenarios are in the program itself: it needs no other file.
src/control/scenario-texts.c: $(scenario_files) scenarios/embed.sh
	$(AM_V_GEN)$(MKDIR_P) src/control && \
	(cd $(srcdir) && sh scenarios/embed.sh $(scenario_files)) >$@.new && mv $@.new $@
