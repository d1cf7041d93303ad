bin_PROGRAMS += src/baton
src_baton_SOURCES = src/main.c
# The law of the layers: an archive may use only those behind it.
BASE_LIBS = src/libbase.a
MODEL_LIBS = src/libmodel.a $(BASE_LIBS)
IO_LIBS = src/libio.a $(BASE_LIBS) $(LIBCURL_LIBS) $(NGHTTP2_LIBS) $(LIBSSL_LIBS) $(LIBPQ_LIBS) \
	$(JANSSON_LIBS) $(YAML_LIBS) $(PROTOBUF_C_LIBS) $(ZLIB_LIBS)
SIM_LIBS = src/libsim.a $(MODEL_LIBS)
SOURCE_LIBS = src/libsource.a src/libsim.a src/libmodel.a $(IO_LIBS)
# Sources call back into the round that they were given, which control implements: hence twice.
CONTROL_LIBS = src/libcontrol.a src/libsource.a src/libcontrol.a $(SOURCE_LIBS)
SHOW_LIBS = src/libshow.a $(MODEL_LIBS)
TUI_LIBS = src/libtui.a src/libshow.a $(CONTROL_LIBS) $(NCURSESW_LIBS)
CLI_LIBS = src/libcli.a $(TUI_LIBS)
src_baton_LDADD = $(CLI_LIBS)
