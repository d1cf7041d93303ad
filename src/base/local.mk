noinst_LIBRARIES += src/libbase.a
src_libbase_a_SOURCES = \
	src/base/base64.c src/base/base64.h \
	src/base/civil.c src/base/civil.h \
	src/base/clock.c src/base/clock.h \
	src/base/cron-parse.c src/base/cron.c src/base/cron.h \
	src/base/err.c src/base/err.h \
	src/base/fs.c src/base/fs.h \
	src/base/map.c src/base/map.h \
	src/base/mem.c src/base/mem.h \
	src/base/moment.c src/base/moment.h \
	src/base/nearest.c src/base/nearest.h \
	src/base/pool.c src/base/pool.h \
	src/base/str.c src/base/str.h \
	src/base/text.c src/base/text.h \
	src/base/mix.h \
	src/base/varint.h \
	src/base/vclock.c src/base/vclock.h \
	src/base/zone-rule.c src/base/zone-rule.h \
	src/base/zone.c src/base/zone.h
