#!/usr/bin/env python3
"""
Every test there is, on the tree that this file is in: what `./bootstrap check` runs once its packages are installed.

usage: ./bootstrap check [--long] [--only JOB[,JOB...]] [--list]

  --long    fuzz for minutes instead of seconds, run the live tests under the sanitizers too, and 10,000 races
  --only    these jobs only
  --list    name the jobs, and run none

The last line says how many tests passed, failed and were skipped; the exit code is not 0 when one failed.
"""

import argparse
import base64
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import runner
import suite
from suite import Count, Suite

TOP = runner.TOP
CORES = os.cpu_count() or 2
CLANG_FORMAT = "14"  # other versions break lines elsewhere
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    # A thread that is left behind at the end would else cost a second.
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=0",
}


class Tally:
    """The sum of all suites; prints each when it ends. Jobs on several threads use it."""

    def __init__(self):
        self.count, self.lock, self.stopped = Count(), threading.Lock(), False
        self.slowest, self.failures = [], []

    def add(self, done, prefix):
        done.name = f"{prefix}: {done.name}"
        with self.lock:
            if self.stopped:
                return
            done.report()
            self.count.add(done.count)
            self.slowest.append((done.seconds, done.name))
            if done.count.failed:
                self.failures.append(done)

    def skip(self, prefix, name, reason):
        with self.lock:
            print(f"skip {prefix}: {name}  ({reason})", flush=True)
            self.count.skipped += 1


class Built:
    """The servers that are built from their modules: what needs one waits until it is there, or was given up."""

    def __init__(self, names):
        self.events = {name: threading.Event() for name in names}

    def wait(self, *names):
        for name in names:
            self.events[name].wait()

    def tell(self, *names):
        for name in names or self.events:
            self.events[name].set()


class Job:
    """A part of the check that needs no other part but built servers. run() adds its suites to the tally."""

    first = ()  # words before each command

    def __init__(self, tally, built, long):
        self.tally, self.built, self.long = tally, built, long

    def do(self, name, argv, **kwargs):
        """One command that counts as one test; returns whether it passed."""
        done = Suite(name, [*self.first, *argv], **kwargs).run()
        self.tally.add(done, self.name)
        return not done.count.failed

    def tests(self, build, kinds, jobs, prefix=(), env=None):
        suites = runner.collect(build, kinds, [])
        if not suites and kinds != ("contract",):
            self.tally.add(broken(f"{'+'.join(kinds)} tests", "there is none"), self.name)
        for each in suites:
            each.argv = [*self.first, *prefix, *each.argv]
            each.env = {**(each.env or {}), **(env or {})}
            each.timeout *= 3 if self.long else 1
        in_parallel([lambda each=each: self.one_suite(each) for each in sorted(suites, key=by_need)], jobs)

    def one_suite(self, each):
        if needs_kubernetes(each):
            self.built.wait("kubernetes")
        self.tally.add(each.run(), self.name)

    def build(self, folder, *args, targets=("check-programs",), limit=1500):
        """Configures and builds; returns the folder, or None when that failed."""
        path = os.path.join(TOP, "build-check", folder)
        if not self.configure(path, list(args)):
            return None
        argv = ["make", "-C", path, "-s", "--no-print-directory", f"-j{CORES}", *targets]
        return path if self.do("build", argv, timeout=limit, tap=False) else None

    def configure(self, path, args):
        stamp = os.path.join(path, ".configured")
        words = " ".join(args)
        if os.path.exists(stamp) and os.path.exists(os.path.join(path, "Makefile")):
            with open(stamp, encoding="utf-8") as old:
                if old.read() == words:
                    return True
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        argv = [os.path.join(TOP, "configure"), "--quiet", *args]
        if not self.do("configure", argv, timeout=300, tap=False, cwd=path):
            return False
        with open(stamp, "w", encoding="utf-8") as out:
            out.write(words)
        return True


# What takes minutes begins before what takes seconds, so that the last one is not long.
SLOW = ("live/kubernetes_runs", "live/sim_kubernetes", "live/kubernetes_misses", "live/etcd_watch", "live/sim_etcd")


def needs_kubernetes(each):
    """Whether it is a test on servers whose file speaks of Kubernetes."""
    if not each.name.startswith(("live/", "tty/")):
        return False
    with open(each.argv[-1], encoding="utf-8") as file:
        return "kube" in file.read().lower()


def by_need(each):
    """The control plane takes minutes to build: its tests come last."""
    return needs_kubernetes(each), each.name not in SLOW


def broken(name, text):
    """A suite that could not even be started counts as one failure."""
    failed = Suite(name, [])
    failed.output, failed.count = text, Count(failed=1)
    return failed


def in_parallel(calls, lanes):
    """Runs the calls, `lanes` at a time; an error in one is raised at the end."""
    calls, lock, errors = list(calls), threading.Lock(), []

    def work():
        while True:
            with lock:
                if not calls:
                    return
                call = calls.pop(0)
            try:
                call()
            except Exception as error:
                errors.append(error)
    threads = [threading.Thread(target=work, daemon=True) for _ in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def sources(*patterns):
    found = []
    for pattern in patterns:
        found += glob.glob(os.path.join(TOP, pattern), recursive=True)
    return sorted(found)


class Style(Job):
    """format, shell scripts and manuals"""

    name = "style"

    def run(self):
        self.format()
        scripts = [os.path.join(TOP, "bootstrap"), os.path.join(TOP, ".ci", "run"), os.path.join(TOP, "tests", "run"),
                   *sources("tests/**/*.sh")]
        scripts = [path for path in scripts if os.path.exists(path)]
        self.do("shellcheck", ["shellcheck", *scripts], tap=False)
        manuals = sources("doc/*.[1-8]")
        if manuals:
            self.do("mandoc", ["mandoc", "-T", "lint", "-W", "warning", *manuals], tap=False)

    def format(self):
        files = [path for path in sources("src/**/*.[ch]", "tests/**/*.[ch]") if ".pb-c." not in path]
        tool = shutil.which(f"clang-format-{CLANG_FORMAT}") or "clang-format"
        version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
        if f"version {CLANG_FORMAT}." not in version:
            self.tally.skip(self.name, "format", f"needs clang-format {CLANG_FORMAT}, not {version.strip()}")
            return
        self.do("format", [tool, "--dry-run", "-Werror", *files], tap=False)


class Plain(Job):
    """gcc -Werror; the rules of the house; unit, contract, live and terminal tests"""

    name = "gcc"

    def run(self):
        build = self.build("gcc", "--enable-werror")
        if not build:
            return
        self.tests(build, ("house", "unit", "contract"), CORES)
        self.built.wait("etcd", "campaign", "elect")
        # They mostly wait: for leases to run out, for servers to start.
        self.tests(build, ("live", "tty"), CORES + 1, env={"BATON_RACES": "10000"} if self.long else None)


class Address(Job):
    """clang -Werror with the address and undefined behaviour sanitizers; unit and contract tests"""

    name = "clang address,undefined"
    folder, args, prefix = "address", ("CC=clang", "--with-sanitizer=address,undefined"), ()

    def run(self):
        build = self.build(self.folder, "--enable-werror", "CFLAGS=-g -O1", *self.args)
        if not build:
            return
        kinds = ("unit", "contract", "live") if self.long else ("unit", "contract")
        self.tests(build, kinds, CORES, self.prefix, SANITIZER_ENV)


class Thread(Address):
    """clang with the thread sanitizer; unit and contract tests"""

    name = "clang thread"
    folder, args = "thread", ("CC=clang", "--with-sanitizer=thread")

    def run(self):
        # Where the kernel spreads addresses widely, this sanitizer finds no room for its shadow.
        if subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode == 0:
            self.prefix = ("setarch", "-R")
        super().run()


class Fuzz(Job):
    """each parser of foreign bytes, for a few seconds (clang's libFuzzer)"""

    name = "fuzz"

    def run(self):
        build = self.build("fuzz", "--enable-fuzz", "--enable-werror", "CC=clang", "CFLAGS=-g -O1",
                           targets=("fuzzers",))
        if not build:
            return
        programs = sorted(glob.glob(os.path.join(build, "tests", "bin", "fuzz-*")))
        programs = [path for path in programs if os.access(path, os.X_OK) and os.path.isfile(path)]
        if not programs:
            self.tally.add(broken("fuzzers", "there is none"), self.name)
        in_parallel([lambda path=path: self.one(path) for path in programs], CORES)

    def one(self, path):
        name = os.path.basename(path)[len("fuzz-"):]
        seconds = 120 if self.long else 8
        with tempfile.TemporaryDirectory(prefix="baton-fuzz-") as folder:
            corpus, finds = os.path.join(folder, "corpus"), os.path.join(folder, "found-")
            os.mkdir(corpus)
            argv = [*self.first, path, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
                    f"-artifact_prefix={finds}", corpus]
            seeds = os.path.join(TOP, "tests", "fuzz", "seeds", name)
            if os.path.isdir(seeds):
                argv.append(seeds)
            done = Suite(name, argv, timeout=seconds + 120, tap=False, env=SANITIZER_ENV).run()
            for found in glob.glob(finds + "*"):
                with open(found, "rb") as file:
                    data = base64.b64encode(file.read(65536)).decode()
                done.output += f"\n{os.path.basename(found)} (base64): {data}\n"
            self.tally.add(done, self.name)


class Dist(Job):
    """make distcheck: the archive builds, tests, installs and cleans up"""

    name = "distcheck"

    def run(self):
        path = os.path.join(TOP, "build-check", "dist")
        if self.configure(path, []):
            self.do("make distcheck", ["make", "-C", path, "-s", "--no-print-directory", f"-j{CORES}", "distcheck"],
                    timeout=1500, tap=False, env={"BATON_TESTS": "unit", "VERBOSE": "1"})  # automake shows the logs then


class Servers(Job):
    """the current etcd and a Kubernetes control plane, built once from their pinned modules"""

    name = "servers"

    modules = ("etcd", "campaign", "elect", "kubernetes")

    def run(self):
        for module in self.modules:
            self.module(module)
            self.built.tell(module)

    def module(self, module):
        # Kubernetes takes 7 minutes of two cores that do nothing else.
        done = Suite(module, [*self.first, sys.executable, "-m", "servers", module], timeout=2100, tap=False,
                     cwd=runner.HERE, tell=True).run()
        if done.code == 77:
            self.tally.skip(self.name, module, done.output.strip())
        else:
            self.tally.add(done, self.name)


# Two rows: the first one's tests mostly wait for servers, so the other's compilers have the processors meanwhile, and
# give way where both want them.
WAITING = (Plain,)
WORKING = (Servers, Style, Address, Thread, Fuzz, Dist)


def run_lane(kinds, options, tally, built):
    for kind in kinds:
        try:
            if not options.only or kind.__name__.lower() in options.only:
                job = kind(tally, built, options.long)
                job.first = ("nice", "-n", "10") if kind in WORKING else ()
                job.run()
        except Exception as error:
            tally.add(broken("the job itself", repr(error)), kind.name)
        if kind is Servers:
            built.tell()  # what is not there by now won't come


def on_signal(number, _frame):
    raise SystemExit(128 + number)


def parse():
    parser = argparse.ArgumentParser(prog="bootstrap check", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    names = [kind.__name__.lower() for kind in WAITING + WORKING]
    if unknown := [name for name in options.only if name not in names]:
        parser.error(f"no such job: {', '.join(unknown)} (there are: {', '.join(names)})")
    return options


def main():
    options = parse()
    if options.list:
        for kind in WAITING + WORKING:
            print(f"{kind.__name__.lower():9} {kind.__doc__}")
        return 0
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGHUP, on_signal)
    tally, built, started = Tally(), Built(Servers.modules), time.monotonic()
    lanes = [threading.Thread(target=run_lane, args=(kinds, options, tally, built), daemon=True)
             for kinds in (WAITING, WORKING)]
    try:
        for lane in lanes:
            lane.start()
        for lane in lanes:
            while lane.is_alive():
                lane.join(1.0)
    except BaseException:
        tally.stopped = True
        suite.end_all()
        raise
    for seconds, name in sorted(tally.slowest, reverse=True)[:8]:
        print(f"     {seconds:6.1f} s  {name}")
    print(f"     {time.monotonic() - started:6.1f} s  in all")
    for done in tally.failures:
        print(f"failed: {done.name}")
        print("\n".join(f"     | {line}" for line in done.failed_lines()))
    if tally.count.passed + tally.count.failed == 0:
        print("no test was run")
    print(tally.count, flush=True)
    return 1 if tally.count.failed or not tally.count.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("check: interrupted", file=sys.stderr)
        sys.exit(130)
