# Programs that the live tests run beside baton.
check_PROGRAMS += tests/bin/etcd-poll
tests_bin_etcd_poll_SOURCES = tests/live/etcd-poll.c tests/unit/source/fake-round.c \
	tests/unit/source/fake-round.h
tests_bin_etcd_poll_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit/source
tests_bin_etcd_poll_LDADD = $(SOURCE_LIBS)

check_PROGRAMS += tests/bin/kube-ask
tests_bin_kube_ask_SOURCES = tests/live/kube-ask.c
tests_bin_kube_ask_LDADD = $(IO_LIBS)
check_PROGRAMS += tests/bin/act-drive
tests_bin_act_drive_SOURCES = tests/live/act-drive.c tests/unit/source/fake-round.c \
	tests/unit/source/fake-round.h
tests_bin_act_drive_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit/source
tests_bin_act_drive_LDADD = $(SOURCE_LIBS)
check_PROGRAMS += tests/bin/sim-drive
tests_bin_sim_drive_SOURCES = tests/live/sim-drive.c
tests_bin_sim_drive_LDADD = src/libshow.a $(CONTROL_LIBS)
