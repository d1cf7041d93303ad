noinst_LIBRARIES += src/libtui.a
src_libtui_a_SOURCES = \
	src/tui/actions.c src/tui/actions.h \
	src/tui/canvas.c src/tui/canvas.h \
	src/tui/chart-put.c src/tui/chart-put.h \
	src/tui/command.c src/tui/command.h src/tui/commands.def \
	src/tui/console.c src/tui/console.h src/tui/console-state.h \
	src/tui/console-act.c src/tui/console-act.h \
	src/tui/console-command.c \
	src/tui/console-draw.c \
	src/tui/console-go.c \
	src/tui/console-record.c \
	src/tui/console-time.c \
	src/tui/console-keys.c \
	src/tui/console-past.c \
	src/tui/console-lesson.c \
	src/tui/console-type.c \
	src/tui/cursor.c src/tui/cursor.h \
	src/tui/format.c src/tui/format.h \
	src/tui/gate-dialog.c src/tui/gate-dialog.h \
	src/tui/header.c src/tui/header.h \
	src/tui/help.c src/tui/help.h \
	src/tui/input.c src/tui/input.h \
	src/tui/keymap.c src/tui/keymap.h src/tui/keys.def \
	src/tui/lesson-prose.c src/tui/lesson-prose.h \
	src/tui/line.c src/tui/line.h \
	src/tui/pick.c src/tui/pick.h \
	src/tui/prose.c src/tui/prose.h \
	src/tui/recording.c src/tui/recording.h \
	src/tui/screen.c src/tui/screen.h \
	src/tui/story.c src/tui/story.h \
	src/tui/story-job.c src/tui/story-job.h \
	src/tui/story-chart.c src/tui/story-chart.h \
	src/tui/styles.def \
	src/tui/theme.c src/tui/theme.h \
	src/tui/view.c src/tui/view.h src/tui/views.def \
	src/tui/view-actions.c \
	src/tui/view-board.c \
	src/tui/view-events.c \
	src/tui/view-lesson.c \
	src/tui/view-one.c \
	src/tui/view-runs.c src/tui/view-runs.h \
	src/tui/view-runs-draw.c \
	src/tui/view-sources.c
