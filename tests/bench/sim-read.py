#!/usr/bin/env python3
"""
How fast a large built-in fleet lives while it is read and judged every second: 1,000 processes on 100 machines hold 10,000
singletons of one kind.

usage: sim-read.py [-n TIMES] [leases] [locks] [elections]

For each kind: the CPU time of `baton list --sim` at 670 s less the same at 70 s, so of 600 s of life, and how many times real time
that is; the best of TIMES (3) runs. BATON names the program. tests/bin/sim-speed measures the world alone, which nobody reads.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MACHINES, PROCESSES, EACH = 100, 1000, 10
FROM_S, LIFE_S = 70, 600

KINDS = {
    "leases": {
        "machines": [],
        "server": "clusters:\n    - {name: prod, machine: api-1}",
        "program": "lease: {{cluster: prod, namespace: ops, lease: lease-{0}}}",
        "source": "kubernetes: prod",
    },
    "locks": {
        "machines": ["db-1"],
        "server": "postgres:\n    - {name: pg-1, machine: db-1, max_connections: 20000}",
        "program": 'pg-lock: {{server: pg-1, key: "{0}"}}',
        "source": "postgres: pg-1",
    },
    "elections": {
        "machines": ["etcd-1", "etcd-2", "etcd-3"],
        "server": "etcd:\n    - {name: ctl, members: [etcd-1, etcd-2, etcd-3]}",
        "program": "etcd-election: {{server: ctl, name: elections/{0}}}",
        "source": "etcd: ctl",
    },
}


def scenario(kind):
    lines = ["title: large", "world:", "  machines:"]
    for name in ["node-%d" % i for i in range(MACHINES)] + kind["machines"]:
        lines.append("    - {name: %s}" % name)
    lines += ["  " + kind["server"], "  processes:"]
    for i in range(PROCESSES):
        lines.append("    - {name: process-%d, machine: node-%d, hidden: true, runs: [" % (i, i % MACHINES))
        lines += ["       {%s}," % kind["program"].format(i * EACH + j) for j in range(EACH)]
        lines.append("      ]}")
    lines += ["sources:", "  - {name: s, shows: {%s}}" % kind["source"]]
    return "\n".join(lines) + "\n"


def cpu_s(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(baton, path):
    at = [baton, "list", "--sim", path, "--at"]
    return cpu_s(at + ["%ds" % (FROM_S + LIFE_S)]) - cpu_s(at + ["%ds" % FROM_S])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=3)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    args = parser.parse_args()
    baton = os.environ.get("BATON") or os.path.join(TOP, "build", "src", "baton")
    for name in args.kinds or KINDS:
        if name not in KINDS:
            sys.exit("sim-read.py: there is no kind '%s'; there are: %s" % (name, ", ".join(KINDS)))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(scenario(KINDS[name]))
            file.flush()
            took = min(measure(baton, file.name) for _ in range(args.n))
        print("%d %s: %.2f s of a core for %d s of life, %.0f x real time"
              % (PROCESSES * EACH, name, took, LIFE_S, LIFE_S / took), flush=True)


if __name__ == "__main__":
    main()
