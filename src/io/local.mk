noinst_LIBRARIES += src/libio.a
src_libio_a_SOURCES = \
	src/io/yaml.c src/io/yaml.h
