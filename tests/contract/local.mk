unit_tests += tests/bin/test-cases
tests_bin_test_cases_SOURCES = tests/contract/test-cases.c tests/contract/case.c tests/contract/case.h tests/unit/unit.h
tests_bin_test_cases_CPPFLAGS = $(AM_CPPFLAGS) -DCASES_DIR=\"$(abs_srcdir)/tests/contract/cases\"
tests_bin_test_cases_LDADD = $(MODEL_TEST_LIBS) $(JANSSON_LIBS)

unit_tests += tests/bin/test-findings
tests_bin_test_findings_SOURCES = tests/contract/test-findings.c tests/unit/unit.h
tests_bin_test_findings_CPPFLAGS = $(AM_CPPFLAGS) -DFINDINGS_DOC=\"$(abs_srcdir)/doc/findings.md\"
tests_bin_test_findings_LDADD = $(MODEL_TEST_LIBS)
