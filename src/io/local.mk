noinst_LIBRARIES += src/libio.a
src_libio_a_SOURCES = \
	src/io/grpc.c src/io/grpc.h \
	src/io/grpc-frame.c src/io/grpc-frame.h \
	src/io/h2.c src/io/h2.h \
	src/io/http.c src/io/http.h \
	src/io/http-endpoint.c \
	src/io/http-error.c \
	src/io/json-read.c src/io/json-read.h \
	src/io/json-tree.c src/io/json-tree.h \
	src/io/kube-access.c \
	src/io/kubeconfig.c src/io/kubeconfig.h \
	src/io/kubeconfig-check.c \
	src/io/kubeconfig-decode.c src/io/kubeconfig-decode.h \
	src/io/kubeconfig-json.c \
	src/io/kube-creds.c src/io/kube-creds.h \
	src/io/kube-exec.c src/io/kube-exec.h \
	src/io/kube-grant.c \
	src/io/rest.c src/io/rest.h src/io/rest-inside.h \
	src/io/rest-error.c \
	src/io/rest-place.c \
	src/io/rest-proxy.c \
	src/io/wire.c src/io/wire.h \
	src/io/pg.c src/io/pg.h \
	src/io/pg-explain.c src/io/pg-explain.h \
	src/io/pg-inside.h \
	src/io/pg-value.c \
	src/io/yaml.c src/io/yaml.h \
	src/io/yaml-type.c

# etcd's messages, made by protoc-c; never in the distribution, so that the header fits the protobuf-c that is there.
nodist_src_libio_a_SOURCES = src/io/etcd.pb-c.c src/io/etcd.pb-c.h
BUILT_SOURCES += src/io/etcd.pb-c.c src/io/etcd.pb-c.h
CLEANFILES += src/io/etcd.pb-c.c src/io/etcd.pb-c.h
EXTRA_DIST += src/io/etcd.proto
src/io/etcd.pb-c.c: $(top_srcdir)/src/io/etcd.proto
	$(AM_V_GEN)$(MKDIR_P) src/io && \
	$(PROTOC_C) --proto_path=$(top_srcdir)/src/io --c_out=src/io $(top_srcdir)/src/io/etcd.proto
src/io/etcd.pb-c.h: src/io/etcd.pb-c.c
# BUILT_SOURCES are made by `make all` only: who asks for one program needs the header too.
$(src_libio_a_OBJECTS) $(src_libsource_a_OBJECTS): src/io/etcd.pb-c.h
