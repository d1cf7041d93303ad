noinst_LIBRARIES += src/libshow.a
src_libshow_a_SOURCES = \
	src/show/chart-row.c src/show/chart-row.h \
	src/show/forecast.c src/show/forecast.h \
	src/show/text-chart.c src/show/text-chart.h \
	src/show/json.c src/show/json.h \
	src/show/out.c src/show/out.h \
	src/show/recorder.c src/show/recorder.h \
	src/show/show.c src/show/show.h \
	src/show/show-json.c src/show/show-text.c \
	src/show/table.c src/show/table.h
