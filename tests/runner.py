#!/usr/bin/env python3
"""
Runs the tests of a build: the cmocka programs in BUILD/tests/bin, and the Python files in tests/KIND/test_*.py.

usage: tests/run [--build DIR] [--jobs N] [--kind KINDS] [PATTERN...]

KINDS is a list of unit, contract, house, live, tty (all by default). PATTERN is a part of a suite's name. The last line
says how many tests passed and failed; the exit code is 1 when one failed or none was run.
"""

import argparse
import concurrent.futures
import glob
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, HERE)

import suite  # noqa: E402

KINDS = ("house", "unit", "contract", "live", "tty")
# What only something that hangs reaches: a busy machine takes five times as long as an idle one, and a sanitizer ten. Live tests
# wait for leases to run out.
LIMITS = {"unit": 300, "contract": 600, "house": 300, "live": 900, "tty": 500}


def unit_suites(build):
    for path in sorted(glob.glob(os.path.join(build, "tests", "bin", "test-*"))):
        if os.access(path, os.X_OK) and not path.endswith((".log", ".trs", ".o")):
            env = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "BATON": os.path.join(build, "src", "baton")}
            yield suite.Suite("unit/" + os.path.basename(path), [path], LIMITS["unit"], env=env, cwd=TOP)


def python_suites(build, kind):
    for path in sorted(glob.glob(os.path.join(HERE, kind, "test_*.py"))):
        name = f"{kind}/{os.path.basename(path)[5:-3]}"
        env = {"BATON": os.path.join(build, "src", "baton"), "BATON_BUILD": build, "PYTHONDONTWRITEBYTECODE": "1"}
        argv = [sys.executable, os.path.join(HERE, "taprun.py"), path]
        yield suite.Suite(name, argv, LIMITS[kind], env=env, cwd=TOP)


def collect(build, kinds, patterns):
    suites = []
    for kind in kinds:
        suites += unit_suites(build) if kind == "unit" else python_suites(build, kind)
    return [each for each in suites if not patterns or any(p in each.name for p in patterns)]


def run_all(suites, jobs):
    total = suite.Count()
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        for future in concurrent.futures.as_completed([pool.submit(each.run) for each in suites]):
            done = future.result()
            done.report()
            total.add(done.count)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        suite.end_all()
        raise
    pool.shutdown()
    return total


def on_signal(number, _frame):
    raise SystemExit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--kind", default=",".join(KINDS))
    parser.add_argument("pattern", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGHUP, on_signal)
    kinds = options.kind.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"no such kind of test: {', '.join(unknown)}")
    total = run_all(collect(os.path.abspath(options.build), kinds, options.pattern), options.jobs)
    if total.passed + total.failed + total.skipped == 0:
        print("no test was run")
    print(total, flush=True)
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
