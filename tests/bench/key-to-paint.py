#!/usr/bin/env python3
"""
Key press to the first changed cell, in a pseudo-terminal that this program reads itself: baton's console on 1,000, 10,000 and
100,000 rows (a fleet that is made up, tests/tty/stage.c: the terminal, the views and the listing are the real ones) against less on
as many lines, and htop.

usage: key-to-paint.py [--markdown] [--keys N] [--rows N,N,...]

One line per figure: median and 99th percentile. With "polls in flight" a thread changes 1 % of the rows (at most 200) every
100 ms meanwhile. BATON names the program; the stage is looked for beside it (../tests/bin/stage).
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from terminal import Terminal  # noqa: E402

TOP = os.path.dirname(os.path.dirname(HERE))
# Drawn only where the cursor goes; all else (ages, leases) may change without a key.
CURSOR = "\u258c".encode()


def stage_path():
    baton = os.environ.get("BATON") or os.path.join(TOP, "build", "src", "baton")
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(baton))), "tests", "bin", "stage")


def environment():
    return dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8", BATON_THEMES=os.path.join(TOP, "themes"),
                COLORFGBG="15;0")


def one(terminal, key, sign):
    """Seconds from the key to the first bytes that hold the sign (any bytes, where it is empty)."""
    while terminal.read(0.004):
        pass
    start = time.perf_counter()
    terminal.send(key)
    seen = b""
    while True:
        data = terminal.read(5)
        now = time.perf_counter()
        if not data:
            raise TimeoutError(f"{key!r} changed nothing")
        seen += data
        if sign in seen:
            return now - start


def measure(argv, keys, ready, sign, down, up, warm=5, first=b""):
    with Terminal(argv, environment(), rows=40, columns=120) as terminal:
        terminal.wait_for(ready, timeout=60)
        if first:
            terminal.send(first)
        terminal.drain(quiet=0.3, most=5)
        for _ in range(warm):
            one(terminal, down, sign)
        times = []
        for i in range(keys):
            times.append(one(terminal, up if i % 2 else down, sign))
            time.sleep(0.003 + 0.017 * ((i * 7919) % 100) / 100)
    return times


def percentile(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def text(times):
    return f"{statistics.median(times) * 1e3:.2f} ms, p99 {percentile(times, 0.99) * 1e3:.2f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--rows", type=lambda s: [int(n) for n in s.split(",")], default=[1000, 10000, 100000])
    options = parser.parse_args()
    stage = stage_path()
    if not os.access(stage, os.X_OK):
        sys.exit(f"{stage} is not built: make check-programs")

    def show(what, ours, theirs, against, budget):
        ratio = f"{statistics.median(ours) / statistics.median(theirs):.2f}" if theirs else ""
        other = f"{text(theirs)} {against}" if theirs else ""
        if options.markdown:
            print(f"| {what} | {text(ours)} | {other} | {ratio} | {budget} |", flush=True)
        else:
            print(f"{what}: {text(ours)}; {other} {ratio} (budget {budget})", flush=True)

    htop = shutil.which("htop")
    for rows in options.rows:
        budget = "8 ms p99" if rows > 10000 else "1 ms median, 3 ms p99"
        quiet = measure([stage, str(rows)], options.keys, b"by need", CURSOR, b"j", b"k")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as lines:
            for i in range(rows):
                lines.write(f" H HELD      big/elections/job-{i:06d}   node-{i % 97}   {i}\n")
            lines.flush()
            less = measure(["less", lines.name], options.keys, b"job-000030", b"", b"j", b"k") if shutil.which("less") else []
        show(f"key to paint, {rows:,} rows", quiet, less, "less", budget)
        changes = min(rows // 100, 200)
        busy = measure([stage, str(rows), str(changes), "100"], options.keys, b"by need", CURSOR, b"j", b"k")
        show(f"the same, polls in flight ({changes} rows changed every 100 ms)", busy, [], "", budget)
    show("key to paint, the runs of 500 jobs", measure([stage, "jobs-500"], options.keys, b"by need", CURSOR, b"j", b"k",
                                                       first=b"2"), [], "", "1 ms median, 3 ms p99")
    show("zoom to paint, the same", measure([stage, "jobs-500"], options.keys, b"by need", b"", b"-", b"+", first=b"2"), [], "",
         "1 ms median, 3 ms p99")
    if htop:
        theirs = measure([htop, "-d", "600"], options.keys, b"PID", b"", b"\033[B", b"\033[A")
        show("key to paint, 1,000 rows, against htop", measure([stage, "1000"], options.keys, b"by need", CURSOR, b"j", b"k"), theirs,
             "htop", "1 ms median, 3 ms p99")


if __name__ == "__main__":
    main()
