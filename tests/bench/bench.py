#!/usr/bin/env python3
"""
Measures baton against other programs, each pair in one run on one machine, and prints a table in markdown.

usage: ./bootstrap bench [--only NAME[,NAME...]] [--runs N] [--etcd VERSION] [--keys N] [--rest SECONDS] [--write FILE]

  --only       of: start, keys, leases, locks, rest, change, crons, kube, paint (all by default)
  --runs       how often each figure is taken (default 9)
  --etcd       "current" (default) or "3.4", the distribution's
  --keys       how many etcd keys stand for the large case (default 100000)
  --rest       for how long the console is watched at rest (default 60)
  --write      put the table, with what it means, into this file too

Figures are medians, with the least and the most of all runs.
"""

import argparse
import http.client
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

from kube_bench import KubeBench  # noqa: E402
from measure import Run, Spread, cpu_of, ratio, resident_of, say  # noqa: E402
from servers import Etcd, Home, Postgres, Proxy, b64, baton_path, find_program, kubernetes_missing  # noqa: E402
from terminal import Terminal  # noqa: E402

class Gateway:
    """Calls of etcd's JSON gateway on one connection, to fill a server quickly."""

    def __init__(self, etcd):
        self.connection = http.client.HTTPConnection("127.0.0.1", etcd.port)

    def __call__(self, path, body):
        self.connection.request("POST", f"/v3/{path}", json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, ours, theirs="", against="", times="", budget=""):
        self.rows.append((what, str(ours), f"{theirs} {against}".strip(), times, budget))
        say(f"{what}: {ours}; {theirs} {against} {times}")

    def markdown(self):
        lines = ["| what | baton | other | ratio | budget |", "|---|---|---|---|---|"]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in self.rows])


class Bench:
    def __init__(self, options):
        self.options, self.table = options, Table()
        self.runs = options.runs

    # start to first frame

    def start(self):
        """The sources are still connecting when the first frame stands."""
        htop = find_program("htop", "htop")
        with Postgres() as pg, Home(env=pg.env()) as home:
            ours, useful, theirs = [], [], []
            session = pg.session(app="first-frame-holder")
            session.run("select pg_advisory_lock(4711)")
            for _ in range(self.runs):
                with Terminal([baton_path()], home.env()) as terminal:
                    ours.append(terminal.wait_for(b"baton") - terminal.started)
                    useful.append(terminal.wait_for(b"first-frame-holder") - terminal.started)
                with Terminal([htop], home.env()) as terminal:
                    theirs.append(terminal.wait_for(b"PID") - terminal.started)
        self.table.add("first frame after start, source still connecting", Spread(ours), Spread(theirs), "htop",
                       ratio(Spread(ours), Spread(theirs)), "30 ms")
        self.table.add("first frame with a lock of PostgreSQL on it", Spread(useful))

    # etcd

    def fill(self, etcd, n_keys, n_leases):
        """Election keys that end in their own lease's id, as candidates have; a lease may be in many elections."""
        say(f"writing {n_keys} keys on {n_leases} leases")
        ask = Gateway(etcd)
        leases = [int(ask("lease/grant", {"TTL": "36000", "ID": "0"})["ID"]) for _ in range(n_leases)]
        for first in range(0, n_keys, 100):
            puts = []
            for i in range(first, min(first + 100, n_keys)):
                lease = leases[i * n_leases // n_keys]
                puts.append({"requestPut": {"key": b64(f"elections/job-{i:06d}/{lease:x}"),
                                            "value": b64(f"node-{i * n_leases // n_keys:05d}"), "lease": str(lease)}})
            ask("kv/txn", {"success": puts})
        return leases

    def etcd_home(self, etcd, url=None):
        return Home(f'sources:\n  ctl: {{kind: etcd, environment: lab, endpoints: ["{url or etcd.url}"], '
                    "prefixes: [{prefix: elections/, mechanism: election}]}\n")

    def compare(self, etcd, home, others):
        """Runs `baton list`, `list --json` and other commands in turn; for each a list of (Run, the server's CPU)."""
        pid = etcd.members[0].process.pid
        listing = [baton_path(), "list", "--no-memory"]
        commands = [(listing, home.env()), (listing + ["--json"], home.env())]
        commands += [(other, etcd.ctl_env()) for other in others]
        results = [[] for _ in commands]
        for _ in range(self.runs):
            for (argv, env), into in zip(commands, results):
                before = cpu_of(pid)
                done = Run(argv, env)
                into.append((done, cpu_of(pid) - before))
        return results

    def keys(self):
        n_keys = self.options.keys
        with Etcd(self.options.etcd) as etcd:
            self.fill(etcd, n_keys, max(1, n_keys // 100))
            with self.etcd_home(etcd) as home:
                seen = home.baton("list", "--json", "--no-memory", timeout=120).json["singletons"]
                assert len(seen) == n_keys, f"{len(seen)} rows of {n_keys}"
                text, as_json, theirs = self.compare(etcd, home, [[etcd.ctl, "get", "--prefix", "elections/"]])
        name = f"{n_keys} etcd keys: "
        wall = [Spread([run.seconds for run, _ in runs]) for runs in (text, theirs, as_json)]
        self.table.add(name + "`baton list`, start to exit", *wall[:2], "etcdctl get --prefix", ratio(*wall[:2]), "1.0 x")
        self.table.add(name + "`baton list --json`", wall[2], times=ratio(wall[2], wall[1]))
        memory = [Spread([run.resident for run, _ in runs], "MB", 1e-6) for runs in (text, theirs)]
        self.table.add(name + "resident at most", *memory, "etcdctl", ratio(*memory), "60 MB")
        cpu = [Spread([run.cpu for run, _ in runs]) for runs in (text, theirs)]
        self.table.add(name + "own CPU", *cpu, "etcdctl", ratio(*cpu))
        server = [Spread([cpu for _, cpu in runs]) for runs in (text, theirs)]
        self.table.add(name + "the server's CPU", *server, "etcdctl", ratio(*server))

    def leases(self):
        """Each lease's time to live takes a request of its own."""
        n_leases = 20000
        h2load = find_program("h2load", "nghttp2-client")
        with Etcd(self.options.etcd) as etcd, tempfile.NamedTemporaryFile() as body:
            leases = self.fill(etcd, n_leases, n_leases)
            body.write(grpc_message(leases[0]))
            body.flush()
            other = [h2load, "-n", str(n_leases), "-c", "1", "-m", "100", "-d", body.name,
                     "-H", "content-type: application/grpc", "-H", "te: trailers",
                     f"{etcd.url}/etcdserverpb.Lease/LeaseTimeToLive"]
            with self.etcd_home(etcd) as home:
                rows = home.baton("list", "--json", "--no-memory", timeout=120).json["singletons"]
                told = sum(row["lease_remaining_ms"] is not None for row in rows)
                ours, _, theirs = self.compare(etcd, home, [other])
        wall = [Spread([run.seconds for run, _ in runs]) for runs in (ours, theirs)]
        self.table.add(f"{n_leases} leases: `baton list`, {told} with their time to live", *wall,
                       "h2load, one connection, 100 streams", ratio(*wall), "1.6 x")

    def rest(self):
        """The console, watching, while nothing changes."""
        n_keys, seconds = self.options.keys, self.options.rest
        with Etcd(self.options.etcd) as etcd:
            self.fill(etcd, n_keys, max(1, n_keys // 100))
            road = Proxy(etcd.port)
            with self.etcd_home(etcd, f"http://127.0.0.1:{road.port}") as home, \
                    Terminal([baton_path(), "--no-memory"], home.env()) as terminal:
                started = terminal.started
                whole = terminal.wait_for(b"node-") - started
                terminal.watch(10)
                pid, server = terminal.pid, etcd.members[0].process.pid
                before = (cpu_of(pid), cpu_of(server), requests_of(etcd), road.bytes_in, road.bytes_out)
                written = terminal.watch(seconds)
                after = (cpu_of(pid), cpu_of(server), requests_of(etcd), road.bytes_in, road.bytes_out)
                resident = resident_of(pid)
        own, server, requests, received, sent = (b - a for a, b in zip(before, after))
        per = 60.0 / seconds
        name = f"console at rest, {n_keys} keys, per minute: "
        self.table.add(f"console, {n_keys} keys: first rows on the screen", f"{whole:.2f} s")
        self.table.add(name + "own CPU", f"{own * per:.2f} s", budget="0.6 s")
        self.table.add(name + "the server's CPU", f"{server * per:.2f} s")
        self.table.add(name + "resident", f"{resident / 1e6:.0f} MB", budget="60 MB")
        self.table.add(name + "requests", f"{requests * per:.0f}")
        self.table.add(name + "received, sent", f"{received * per / 1e3:.0f} kB, {sent * per / 1e3:.0f} kB")
        self.table.add(name + "written to the terminal", f"{written * per:.0f} bytes")

    def change(self):
        """A key that is written in etcd, until the name in it stands on the screen."""
        etcd = Etcd(self.options.etcd)
        names = [chr(ord("a") + i) * 6 for i in range(16)]
        with etcd, self.etcd_home(etcd) as home:
            lease = etcd.grant(3600)
            key = f"elections/billing/{lease:x}"
            etcd.put(key, "zzzzzz", lease)
            times = []
            with Terminal([baton_path(), "--no-memory"], home.env()) as terminal:
                terminal.wait_for(b"zzzzzz")
                for name in names:
                    terminal.drain(quiet=0.3, most=2.0)
                    started = time.monotonic()
                    etcd.put(key, name, lease)
                    times.append(terminal.wait_for(name.encode()) - started)
        self.table.add("a change in etcd, from the write to the screen", Spread(times), budget="100 ms")

    # Kubernetes

    def kube(self):
        KubeBench(self.table, self.options).large()

    def crons(self):
        KubeBench(self.table, self.options).small()

    # PostgreSQL

    def locks(self):
        n_locks = 10000
        with Postgres(conf={"max_locks_per_transaction": "1024", "log_statement": "all"}) as pg, Home(env=pg.env()) as home:
            holder = pg.session(app="holder")
            holder.run(f"select count(pg_advisory_lock(i)) from generate_series(1, {n_locks}) i", timeout=60)
            seen = home.baton("list", "--json", "--no-memory", timeout=60).json["singletons"]
            assert len(seen) == n_locks, f"{len(seen)} rows of {n_locks}"
            query = lock_query(pg.process.log_text())
            ours, theirs = [], []
            with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
                file.write(query)
                file.flush()
                psql = ["psql", "-X", "-q", "-A", "-t", "-d", pg.conninfo(), "-f", file.name]
                for _ in range(self.runs):
                    ours.append(Run([baton_path(), "list", "--no-memory"], home.env()).seconds)
                    theirs.append(Run(psql, dict(os.environ)).seconds)
        self.table.add(f"{n_locks} advisory locks: `baton list`", Spread(ours), Spread(theirs),
                       "psql of the same query", ratio(Spread(ours), Spread(theirs)), "1.2 x")

    # the terminal

    def paint(self):
        """Key press to the first changed cell: a program of its own, which prints rows of a table."""
        script = os.path.join(HERE, "key-to-paint.py")
        if not os.path.exists(script):
            say("key-to-paint.py is not there")
            return
        done = subprocess.run([sys.executable, script, "--markdown"], capture_output=True, text=True,
                              env=dict(os.environ, BATON=baton_path()))
        sys.stderr.write(done.stderr)
        for line in done.stdout.splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 5 and not cells[1].startswith("-") and cells[0] != "what":
                self.table.rows.append(tuple(cells))


def grpc_message(lease):
    """A framed LeaseTimeToLiveRequest: field 1, the id."""
    varint, value = b"", lease
    while value > 127:
        varint += bytes([value & 127 | 128])
        value >>= 7
    body = b"\x08" + varint + bytes([value])
    return b"\0" + struct.pack(">I", len(body)) + body


def requests_of(etcd):
    """How many gRPC calls the server has started, by its own count."""
    with urllib.request.urlopen(f"{etcd.url}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return sum(float(n) for n in re.findall(r"^grpc_server_started_total\{[^}]*\} (\S+)", text, re.M))


def lock_query(log):
    """The statement on pg_locks that baton sent, from the server's log, with its parameters filled in."""
    found = None
    for entry in re.split(r"\n(?=\d{4}-\d\d-\d\d )", log):
        if "pg_locks" in entry and re.search(r"LOG:\s+(execute [^:]*|statement):", entry) and "generate_series" not in entry:
            found = re.split(r"LOG:\s+(?:execute [^:]*|statement):", entry, maxsplit=1)[1]
            continue
        if found and "DETAIL:" in entry and "$1" in found:
            for name, value in re.findall(r"(\$\d+) = ('(?:[^']|'')*'|NULL)", entry):
                found = re.sub(re.escape(name) + r"\b", value, found)
            break
    assert found, "baton's statement is not in the server's log"
    return found.strip() + "\n;\n"


def machine():
    model = "an unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        if named := re.search(r"model name\s*:\s*(.*)", info.read()):
            model = named.group(1)
    with open("/proc/meminfo", encoding="utf-8") as info:
        memory = int(re.search(r"MemTotal:\s+(\d+)", info.read()).group(1)) / 1e6
    with open("/etc/os-release", encoding="utf-8") as release:
        system = re.search(r'PRETTY_NAME="([^"]+)"', release.read()).group(1)
    load = os.getloadavg()[0]
    return (f"{os.cpu_count()} cores of {model}, {memory:.0f} GB, {system}, Linux {platform.release()}, with a load average "
            f"of {load:.1f} before it began")


def versions(options):
    def first(argv):
        done = subprocess.run(argv, capture_output=True, text=True)
        return (done.stdout or done.stderr).strip().split("\n")[0]
    from servers.etcd import programs
    etcd, _ = programs(options.etcd)
    return "; ".join([first([baton_path(), "--version"]), first([etcd, "--version"]), first(["psql", "--version"]),
                      first(["htop", "--version"])])


ALL = ("start", "keys", "leases", "locks", "rest", "change", "crons", "kube", "paint")


def parse():
    parser = argparse.ArgumentParser(prog="bootstrap bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(ALL))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--etcd", choices=("3.4", "current"), default="current")
    parser.add_argument("--keys", type=int, default=100000)
    parser.add_argument("--rest", type=float, default=60)
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    if unknown := [name for name in options.only if name not in ALL]:
        parser.error(f"no such figure: {', '.join(unknown)}")
    return options


def main():
    options = parse()
    bench, failed, where = Bench(options), 0, machine()
    for name in options.only:
        say(name)
        if name in ("crons", "kube") and (why := kubernetes_missing()):
            say(f"{name} is left out: {why}")
            continue
        try:
            getattr(bench, name)()
        except Exception as error:  # the other figures are wanted all the same
            say(f"{name} failed: {error}")
            failed += 1
    facts = f"Measured on {where}. {versions(options)}. Medians, with the least and the most of n runs."
    text = f"{facts}\n\n{bench.table.markdown()}\n"
    print(text)
    if options.write:
        write(options.write, text)
    return 1 if failed else 0


def write(path, text):
    """Puts the table between its marks, and leaves the words around it."""
    start, end = "<!-- table: ./bootstrap bench --write -->\n", "<!-- end of table -->\n"
    old = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = file.read()
    if start in old and end in old:
        before, rest = old.split(start, 1)
        text = before + start + text + end + rest.split(end, 1)[1]
    else:
        text = old + start + text + end
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main())
