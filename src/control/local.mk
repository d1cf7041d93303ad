noinst_LIBRARIES += src/libcontrol.a
src_libcontrol_a_SOURCES = \
	src/control/fleet.c src/control/fleet.h \
	src/control/settings.c src/control/settings.h
