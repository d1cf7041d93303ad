# Tests. A program of tests/unit/<layer>/ links only the archives up to its layer; it is registered in that folder's local.mk by
# its name in unit_tests, its _SOURCES and its _LDADD (see base). Python tests in tests/live, tests/tty, tests/contract
# and tests/house are found by their names, test_*.py.
EXTRA_DIST += tests/run tests/runner.py tests/check.py tests/suite.py tests/taprun.py tests/servers tests/live tests/tty tests/contract tests/house tests/fuzz tests/oracle tests/lab tests/bench

BASE_TEST_LIBS = $(BASE_LIBS) $(CMOCKA_LIBS)
MODEL_TEST_LIBS = $(MODEL_LIBS) $(CMOCKA_LIBS)
IO_TEST_LIBS = $(IO_LIBS) $(CMOCKA_LIBS)
SIM_TEST_LIBS = $(SIM_LIBS) $(CMOCKA_LIBS)
SOURCE_TEST_LIBS = $(SOURCE_LIBS) $(CMOCKA_LIBS)
CONTROL_TEST_LIBS = $(CONTROL_LIBS) $(CMOCKA_LIBS)
SHOW_TEST_LIBS = $(SHOW_LIBS) $(CMOCKA_LIBS)
TUI_TEST_LIBS = $(TUI_LIBS) $(CMOCKA_LIBS)
CLI_TEST_LIBS = $(CLI_LIBS) $(CMOCKA_LIBS)

include $(top_srcdir)/tests/live/local.mk

unit_tests =
if HAVE_CMOCKA
include $(top_srcdir)/tests/unit/base/local.mk
include $(top_srcdir)/tests/unit/model/local.mk
include $(top_srcdir)/tests/unit/io/local.mk
include $(top_srcdir)/tests/unit/sim/local.mk
include $(top_srcdir)/tests/unit/source/local.mk
include $(top_srcdir)/tests/unit/control/local.mk
include $(top_srcdir)/tests/unit/show/local.mk
include $(top_srcdir)/tests/unit/tui/local.mk
include $(top_srcdir)/tests/unit/cli/local.mk
include $(top_srcdir)/tests/contract/local.mk
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif

# Fuzzers: a row in tests/fuzz/local.mk each; built by `./configure --enable-fuzz CC=clang`, run by `./bootstrap check`.
fuzzers =
if ENABLE_FUZZ
include $(top_srcdir)/tests/fuzz/local.mk
noinst_PROGRAMS += $(fuzzers)
endif
FUZZ_FLAGS = -fsanitize=fuzzer

.PHONY: check-programs fuzzers update-lessons
check-programs: all
	@$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS)
fuzzers: $(BUILT_SOURCES)
	@$(MAKE) $(AM_MAKEFLAGS) $(fuzzers)

# Writes down anew what each way through each lesson gives; read the difference before you commit it.
update-lessons: all
	cd $(srcdir)/tests && BATON_UPDATE_GOLDEN=1 BATON_BUILD="$(abs_top_builddir)" PYTHONDONTWRITEBYTECODE=1 \
		"$(PYTHON3)" -m unittest contract.test_lessons.Lessons.test_each_way_gives_the_bytes_that_are_written_down

# The tests in Python, on real servers where those are installed; BATON_TESTS=unit leaves them out.
check-local:
	@if test -z "$(PYTHON3)"; then \
		echo "python3 is missing: the tests on real servers are left out"; \
	elif test "x$$BATON_TESTS" = xunit; then \
		echo "BATON_TESTS=unit: the tests on real servers are left out"; \
	else \
		PYTHONDONTWRITEBYTECODE=1 "$(PYTHON3)" "$(srcdir)/tests/runner.py" --build . --kind contract,live,tty; \
	fi
clean-local:
	rm -rf tests/bin
