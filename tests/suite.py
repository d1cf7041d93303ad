"""Running test programs: each writes TAP, has a time limit, and counts as a failure when it crashes or runs no test."""

import os
import re
import signal
import subprocess
import threading
import time

LINE = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*)$")
FAILED = re.compile(r"^(not ok\b|FAIL:|ERROR:|\[ +(ERROR|LINE) +\]|# .*(: error: |Error: )|make.*\*\*\*"
                    r"|==\d+==\s*ERROR|SUMMARY: |\s+#\d+ 0x\w+ in (?!fuzzer::|__)|.*: runtime error: |\S+ \(base64\): )")
WIDEST = 8000  # an input that a fuzzer found, as text
SKIP = re.compile(r"#\s*skip\b", re.I)
PLAN = re.compile(r"^1\.\.(\d+)")

_running = set()
_lock = threading.Lock()


class Count:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


class Suite:
    """
    One command. tap: its output is TAP; else the command as a whole is one test, and its exit code decides. tell: what it
    writes on standard error is shown at once.
    """

    def __init__(self, name, argv, timeout=300, tap=True, env=None, cwd=None, tell=False):
        self.name, self.argv, self.timeout, self.tap, self.tell = name, list(argv), timeout, tap, tell
        self.env, self.cwd = env, cwd
        self.output, self.count, self.seconds, self.code = "", Count(), 0.0, None
        self.reasons = []  # why tests were skipped

    def run(self):
        started = time.monotonic()
        code, late = self._spawn()
        self.code = code
        self.seconds = time.monotonic() - started
        if self.tap:
            self._judge_tap(code, late)
        else:
            good = code == 0 and not late
            self.count = Count(passed=int(good), failed=int(not good))
        if late:
            self.output += f"\n# {self.name}: not done after {self.timeout} s, stopped\n"
        return self

    def _spawn(self):
        env = dict(os.environ, **(self.env or {}))
        popen = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=None if self.tell else subprocess.STDOUT, env=env, cwd=self.cwd, start_new_session=True)
        with _lock:
            _running.add(popen)
        late = False
        try:
            data, _ = popen.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            late = True
            data = end(popen)
        with _lock:
            _running.discard(popen)
        self.output = data.decode(errors="backslashreplace")
        return popen.returncode, late

    def _judge_tap(self, code, late):
        plan, tests, count = None, 0, Count()
        for line in self.output.splitlines():
            found = PLAN.match(line)
            if found:
                plan = int(found.group(1)) + (plan or 0)  # a program with several groups has several plans
            found = LINE.match(line)
            if not found:
                continue
            tests += 1
            if found.group(1):
                count.failed += 1
            elif SKIP.search(found.group(2)):
                count.skipped += 1
                self.reasons.append(re.split(SKIP, found.group(2), maxsplit=1)[-1].strip())
            else:
                count.passed += 1
        why = None
        if late:
            why = "it did not end in time"
        elif plan is None or tests != plan:
            why = f"{tests} tests of {plan if plan is not None else 'an unknown number'} were run"
        elif tests == 0:
            why = "it ran no test"
        elif code != 0 and count.failed == 0:
            why = f"it ended with code {code}"
        if why:
            count.failed += 1
            self.output += f"\n# {self.name}: {why} (exit code {code})\n"
        self.count = count

    def report(self):
        """One line; and all of the output when something failed."""
        word = "FAIL" if self.count.failed else "ok"
        more = f"  ({'; '.join(sorted(set(self.reasons)))})" if self.reasons else ""
        print(f"{word:4} {self.name:<44} {self.seconds:6.1f} s  {self.count}{more}", flush=True)
        if self.count.failed:
            print(self._failures(), flush=True)

    def failed_lines(self, most=20):
        """Which tests failed, and with what words; else how its output ends."""
        found = [line for line in self.output.splitlines() if FAILED.match(line)]
        return [line[:WIDEST] for line in found[:most] or self.output.splitlines()[-most:]]

    def _failures(self):
        """All of it, what failed before the rest: who keeps but the beginning of a log still has the reason."""
        first = self.failed_lines()
        lines = [*first, "", *self.output.splitlines()] if first else self.output.splitlines()
        if len(lines) > 400:
            lines = lines[:100] + [f"... {len(lines) - 400} lines left out ..."] + lines[-300:]
        return "\n".join("     | " + line for line in lines)


def end(popen):
    """Asks a command's group to end, then ends it; returns what it had written."""
    for number, wait in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
        try:
            os.killpg(popen.pid, number)
        except ProcessLookupError:
            pass
        try:
            return popen.communicate(timeout=wait)[0] or b""
        except subprocess.TimeoutExpired:
            continue
    return b""


def end_all():
    with _lock:
        running = list(_running)
    for popen in running:
        try:
            os.killpg(popen.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
    deadline = time.monotonic() + 10
    for popen in running:
        while popen.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            os.killpg(popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
