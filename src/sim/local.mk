noinst_LIBRARIES += src/libsim.a
src_libsim_a_SOURCES = \
	src/sim/cluster.c src/sim/cluster.h \
	src/sim/cluster-cron.c \
	src/sim/cluster-hand.c src/sim/cluster-hand.h \
	src/sim/cluster-job.c \
	src/sim/cluster-lease.c \
	src/sim/cluster-manager.c \
	src/sim/cluster-node.c \
	src/sim/cluster-pod.c \
	src/sim/counts.def \
	src/sim/deed.c src/sim/deed.h \
	src/sim/etcd.c src/sim/etcd.h \
	src/sim/etcd-candidate.c src/sim/etcd-client.h \
	src/sim/etcd-cluster.c \
	src/sim/etcd-session.c \
	src/sim/happenings.def \
	src/sim/lease-client.c src/sim/lease-client.h \
	src/sim/measures.def \
	src/sim/ledger.c src/sim/ledger.h \
	src/sim/net.c src/sim/net.h \
	src/sim/postgres.c src/sim/postgres.h \
	src/sim/postgres-call.c \
	src/sim/postgres-client.c src/sim/postgres-client.h \
	src/sim/postgres-lock.c \
	src/sim/postgres-pooler.c \
	src/sim/postgres-recipe.c src/sim/postgres-recipe.h \
	src/sim/postgres-script.c src/sim/postgres-script.h \
	src/sim/scheduler.c src/sim/scheduler.h \
	src/sim/process.c src/sim/process.h \
	src/sim/random.c src/sim/random.h \
	src/sim/referee.c src/sim/referee.h \
	src/sim/score.c src/sim/score.h \
	src/sim/work.c src/sim/work.h \
	src/sim/world.c src/sim/world.h \
	src/sim/zookeeper.c src/sim/zookeeper.h \
	src/sim/zookeeper-client.c
