"""Processes and folders that a test owns: each is stopped by its pid and removed, also when the test is interrupted."""

import atexit
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

_owned = []
_lock = threading.Lock()


def in_ci():
    return os.environ.get("CI") == "true"


def missing(what, package):
    """A server that is not installed: a failure on the CI machine, else a skipped test that is counted as skipped."""
    text = f"{what} is not installed (Debian: {package})"
    if in_ci():
        raise AssertionError(text)
    raise unittest.SkipTest(text)


def find_program(name, package, folders=()):
    for folder in folders:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")
    return path or missing(name, package)


def own(thing):
    """Registers something with a close() to be called when the process ends; the last one first."""
    with _lock:
        _owned.append(thing)
    return thing


def disown(thing):
    with _lock:
        if thing in _owned:
            _owned.remove(thing)


def close_all():
    while True:
        with _lock:
            if not _owned:
                return
            thing = _owned.pop()
        try:
            thing.close()
        except Exception as error:  # the others must be closed all the same
            print(f"servers: closing {thing!r}: {error}", flush=True)


def _on_signal(number, _frame):
    raise SystemExit(128 + number)


def catch_signals():
    """Turns TERM and HUP into an orderly end. (INT raises KeyboardInterrupt already.)"""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, _on_signal)


atexit.register(close_all)
catch_signals()


def wait_until(predicate, timeout=40.0, interval=0.02, what=None):
    """Polls until predicate() is true, and returns that value; raises AssertionError at the deadline."""
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            name = what or getattr(predicate, "__name__", "the condition")
            raise AssertionError(f"{name} did not come true within {timeout} s (last: {value!r})")
        time.sleep(interval)


def within(seconds, call, times=3):
    """
    The answer of a call and how long it took, which is less than that; the machine may be busy with other tests, so that one of
    several attempts is enough.
    """
    for _ in range(times):
        started = time.monotonic()
        answer = call()
        took = time.monotonic() - started
        if took < seconds:
            return answer, took
    raise AssertionError(f"it took {took:.2f} s, and may take {seconds} s: {answer}")


class Folder:
    """A temporary folder of its own."""

    def __init__(self, name):
        self.path = tempfile.mkdtemp(prefix=f"baton-{name}-")
        own(self)

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def close(self):
        disown(self)
        deadline = time.monotonic() + 10
        while os.path.exists(self.path) and time.monotonic() < deadline:
            # A command that was interrupted may still be writing for a moment.
            shutil.rmtree(self.path, ignore_errors=True)
            if os.path.exists(self.path):
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def as_user(user):
    """
    The words before a command that make it end with this process, and run as another user when we are root and the
    program refuses root. (The kernel clears the death signal on a change of user, so setpriv sets it last.)
    """
    words = ["setpriv"]
    if user and os.geteuid() == 0:
        words += ["--reuid", user, "--regid", user, "--init-groups"]
    return words + ["--pdeathsig", "KILL", "--"]


def _stat(path):
    """The state and the process group in a stat file (proc(5)); None when it ended meanwhile."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            state, _, group = file.read().rpartition(")")[2].split()[:3]
    except OSError:
        return None
    return state, int(group)


def group_pids(group):
    """The processes of a process group."""
    stats = ((int(path.split("/")[2]), _stat(path)) for path in glob.glob("/proc/[0-9]*/stat"))
    return [pid for pid, stat in stats if stat and stat[1] == group]


def wait_stopped(*pids):
    """
    Until every thread of these stands still: SIGSTOP is on its way when kill(2) returns, and a thread that runs may answer
    something yet.
    """
    def stopped():
        stats = [_stat(path) for pid in pids for path in glob.glob(f"/proc/{pid}/task/[0-9]*/stat")]
        return all(stat is None or stat[0] in "TtZX" for stat in stats)
    wait_until(stopped, interval=0.002, what=f"{pids} standing still")


class Process:
    """One server process in a process group of its own. Start it from the main thread: it ends with the thread."""

    def __init__(self, name, argv, log, user=None, env=None, cwd=None):
        self.name, self.argv, self.log = name, argv, log
        self.user, self.env, self.cwd = user, env, cwd
        self.popen = None

    @property
    def pid(self):
        return self.popen.pid if self.popen else None

    def running(self):
        return self.popen is not None and self.popen.poll() is None

    def start(self):
        assert not self.running(), f"{self.name} runs already"
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(
                as_user(self.user) + self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.env, cwd=self.cwd, start_new_session=True)
        own(self)

    def send(self, number):
        if self.running():
            self.popen.send_signal(number)

    def pause(self):
        """The whole group: a server's children too."""
        os.killpg(self.pid, signal.SIGSTOP)
        wait_stopped(*group_pids(self.pid))

    def resume(self):
        os.killpg(self.pid, signal.SIGCONT)

    def stop(self, number=signal.SIGTERM, timeout=15.0):
        """Asks by a signal, and kills the group when that was not enough."""
        if self.popen is None:
            return
        if self.running():
            try:
                self.resume()
                self.popen.send_signal(number)
                self.popen.wait(timeout)
            except (subprocess.TimeoutExpired, ProcessLookupError):
                pass
        self.kill9()

    def kill9(self):
        if self.popen is not None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            self.popen.wait()
        disown(self)

    close = kill9

    def log_text(self):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def wait_ready(self, ready, timeout=90.0):
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running():
                raise AssertionError(f"{self.name} ended at once:\n{self.log_text()[-4000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name} is not ready after {timeout} s:\n"
                                     f"{self.log_text()[-4000:]}")
            time.sleep(0.03)
