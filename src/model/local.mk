noinst_LIBRARIES += src/libmodel.a
src_libmodel_a_SOURCES = \
	src/model/details.def \
	src/model/filter.c src/model/filter.h \
	src/model/findings.def \
	src/model/listing.c src/model/listing.h \
	src/model/sorts.def \
	src/model/mechanisms.def \
	src/model/states.def \
	src/model/thresholds.def \
	src/model/board.c src/model/board.h \
	src/model/chart.c src/model/chart.h \
	src/model/draft.c src/model/draft.h \
	src/model/history.c src/model/history.h \
	src/model/holding.c src/model/holding.h \
	src/model/identity.c src/model/identity.h \
	src/model/journal.c src/model/journal.h \
	src/model/judge.c src/model/judge.h src/model/judge-rules.h \
	src/model/judge-cron.c \
	src/model/judge-etcd.c \
	src/model/judge-lease.c \
	src/model/judge-past.c \
	src/model/judge-pg.c \
	src/model/judge-runs.c src/model/judge-runs.h \
	src/model/judge-source.c \
	src/model/judge-table.c \
	src/model/judge-zk.c \
	src/model/memory.c src/model/memory.h \
	src/model/memory-format.c \
	src/model/memory-pack.c src/model/memory-pack.h \
	src/model/memory-table.c src/model/memory-table.h \
	src/model/past.c src/model/past.h \
	src/model/run.c src/model/run.h \
	src/model/schedule.c src/model/schedule.h \
	src/model/forecast.c src/model/forecast.h src/model/warnings.def \
	src/model/plan.c src/model/plan.h src/model/verbs.def \
	src/model/record.c src/model/record.h \
	src/model/record-put.c src/model/record-put.h \
	src/model/record-row.c \
	src/model/redact.c src/model/redact.h \
	src/model/role.c src/model/role.h \
	src/model/singleton.c src/model/singleton.h \
	src/model/snapshot.c src/model/snapshot.h \
	src/model/thresholds.h \
	src/model/verdict.c src/model/verdict.h \
	src/model/words.c src/model/words.h
