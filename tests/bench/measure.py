"""What the benchmark measures with: commands from start to exit, a process' CPU and memory, and the spread of some runs."""

import json
import os
import re
import statistics
import subprocess
import sys

TICK = os.sysconf("SC_CLK_TCK")


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Spread:
    """The runs of one figure."""

    def __init__(self, values, unit="ms", scale=1000.0):
        self.values, self.unit, self.scale = sorted(values), unit, scale

    @property
    def median(self):
        return statistics.median(self.values)

    def __str__(self):
        low, middle, high = (value * self.scale for value in (self.values[0], self.median, self.values[-1]))
        digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
        return f"{middle:.{digits}f} {self.unit} ({low:.{digits}f}-{high:.{digits}f}, n={len(self.values)})"


def ratio(ours, theirs):
    return f"{ours.median / theirs.median:.2f}"


# A child's peak of resident memory begins with that of the process that forks it (Linux keeps signal->maxrss over exec), and this
# one has been large: so a small one forks, times, and tells.
MEASURE = """
import json, os, sys, time
started = time.monotonic()
pid = os.fork()
if not pid:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(json.dumps([time.monotonic() - started, os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024,
                  usage.ru_utime + usage.ru_stime]))
"""


class Run:
    """One finished command: seconds, bytes resident at most, seconds of CPU."""

    def __init__(self, argv, env):
        done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, *argv], stdin=subprocess.DEVNULL,
                              capture_output=True, env=env, check=True)
        self.seconds, code, self.resident, self.cpu = json.loads(done.stdout)
        assert code == 0, f"{argv}: exit {code}: {done.stderr.decode(errors='replace')}"


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) * 1024
