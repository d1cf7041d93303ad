noinst_LIBRARIES += src/libsource.a
src_libsource_a_SOURCES = \
	src/source/etcd.c src/source/etcd-source.h \
	src/source/etcd-act.c src/source/etcd-act.h \
	src/source/etcd-act-look.c \
	src/source/etcd-act-plan.c \
	src/source/etcd-act-send.c \
	src/source/etcd-alarm.c \
	src/source/etcd-cold.c src/source/etcd-cold.h \
	src/source/etcd-conn.c \
	src/source/etcd-discover.c src/source/etcd-early.c \
	src/source/etcd-examine.c \
	src/source/etcd-history.c \
	src/source/etcd-many.c \
	src/source/etcd-pack.c src/source/etcd-pack.h \
	src/source/etcd-read.c \
	src/source/etcd-scope.c \
	src/source/etcd-rest.c \
	src/source/etcd-rpc.c src/source/etcd-rpc.h \
	src/source/etcd-store.c src/source/etcd-store.h \
	src/source/etcd-table.c src/source/etcd-table.h \
	src/source/etcd-tell.c \
	src/source/etcd-ttl.c \
	src/source/etcd-write.c src/source/etcd-write.h \
	src/source/kubernetes.c src/source/kubernetes.h \
	src/source/kubernetes-access.c \
	src/source/kubernetes-act.c src/source/kubernetes-act.h \
	src/source/kubernetes-act-look.c src/source/kubernetes-acts.def \
	src/source/kubernetes-plan-job.c \
	src/source/kubernetes-plan-lease.c \
	src/source/kubernetes-ask.c \
	src/source/kubernetes-examine.c \
	src/source/kubernetes-look.c \
	src/source/kubernetes-object.c src/source/kubernetes-object.h \
	src/source/kubernetes-store.c src/source/kubernetes-store.h \
	src/source/kubernetes-stream.c \
	src/source/kubernetes-tell.c \
	src/source/option.c \
	src/source/postgres.c src/source/postgres.h \
	src/source/postgres-act.c src/source/postgres-act.h src/source/postgres-acts.def \
	src/source/postgres-act-look.c \
	src/source/postgres-act-plan.c \
	src/source/postgres-act-prepared.c \
	src/source/postgres-act-queue.c \
	src/source/postgres-act-send.c \
	src/source/postgres-answer.c src/source/postgres-answer.h \
	src/source/postgres-claim.c \
	src/source/postgres-examine.c \
	src/source/postgres-facts.c \
	src/source/postgres-key.c src/source/postgres-key.h \
	src/source/postgres-picture.c \
	src/source/postgres-session.c \
	src/source/postgres-sql.c src/source/postgres-sql.h \
	src/source/postgres-tools.c src/source/postgres-tools.h \
	src/source/replay.c src/source/replay.h src/source/replay-inside.h \
	src/source/replay-ask.c \
	src/source/replay-file.c \
	src/source/replay-json.c \
	src/source/replay-lines.c \
	src/source/replay-row.c \
	src/source/report.c src/source/report.h \
	src/source/sim-etcd.c src/source/sim-etcd.h \
	src/source/sim-etcd-act.c \
	src/source/sim-etcd-view.c \
	src/source/sim-ledger.c \
	src/source/sim-postgres.c src/source/sim-postgres.h \
	src/source/sim-postgres-act.c \
	src/source/sim-postgres-hash.c \
	src/source/sim-postgres-sql.c \
	src/source/sim-postgres-view.c \
	src/source/sim-scheduler.c \
	src/source/sim-cluster.c src/source/sim-cluster.h \
	src/source/sim-cluster-api.c \
	src/source/sim-cluster-fleet.c \
	src/source/sim-cluster-json.c \
	src/source/sim-cluster-view.c \
	src/source/sim.h \
	src/source/sim-base.c \
	src/source/sim-fleet.c src/source/sim-fleet.h \
	src/source/sim-break.c src/source/sim-break.h \
	src/source/sim-host.c src/source/sim-host.h \
	src/source/sim-parts.def \
	src/source/sim-zookeeper.c src/source/sim-zookeeper.h \
	src/source/sim-zookeeper-act.c \
	src/source/sim-zookeeper-view.c \
	src/source/act.c src/source/act.h \
	src/source/source.c src/source/source.h \
	src/source/sources.def
