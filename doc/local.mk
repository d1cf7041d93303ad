
# Manuals, schema and completions. Their generated parts come from the program's own tables.
dist_man_MANS += doc/baton.1 doc/baton-config.5
dist_doc_DATA = doc/baton-1.schema.json doc/findings.md doc/safety.md doc/scenario-format.md doc/scenario.schema.json doc/record-format.md doc/record-1.schema.json
bashcompletiondir = $(bashcompdir)
bashcompletion_DATA = doc/completions/baton
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = doc/completions/_baton
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = doc/completions/baton.fish
EXTRA_DIST += doc/architecture.md doc/adding-a-mechanism.md doc/adding-a-source.md doc/built-in-kubernetes.md doc/built-in-postgres.md doc/kubeconfig.md doc/example-lesson.yaml doc/performance.md doc/source-etcd.md doc/source-kubernetes.md doc/source-postgres.md doc/step-down.md doc/update.py doc/completions/baton.bash doc/built-in-etcd.md
CLEANFILES += doc/completions/baton

# bash finds a completion by the command's name.
doc/completions/baton: doc/completions/baton.bash
	$(AM_V_GEN)$(MKDIR_P) doc/completions && cp $(srcdir)/doc/completions/baton.bash $@

check_PROGRAMS += doc/tables
doc_tables_SOURCES = doc/tables.c
doc_tables_LDADD = $(CLI_LIBS)

.PHONY: update-doc
update-doc: doc/tables
	python3 $(srcdir)/doc/update.py doc/tables
