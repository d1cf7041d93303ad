#!/usr/bin/env python3
"""
Private PostgreSQL and etcd servers and a Kubernetes control plane with small real contenders on them, and baton's console
on all of it. When the console is left, everything is stopped and removed.

usage: ./bootstrap lab [--no-console] [--no-kubernetes] [--etcd VERSION] [--seconds N] [-- BATON ARGUMENT...]

  --no-console      no console: print the path of the configuration, keep everything running until interrupted, or
                    until standard input ends
  --no-kubernetes   leave the control plane out; where it is wanted and was never built, that is done first (minutes,
                    once); where Go is missing, it is left out
  --etcd VERSION    "3.4": the distribution's etcd (default); "current": the newest, built on first use
  --seconds N       end by itself after so long
  -- ARGUMENT...    run this baton command in the lab instead of the console, and end with its exit code
                    (-- list, -- check)
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from kube import ROLES as KUBE_ROLES, KubeLab  # noqa: E402
from polite import Polite  # noqa: E402
from servers import (ApiError, Etcd, GatewayError, Home, PgBouncer, Postgres, Proxy, SqlError, close_all,  # noqa: E402
                     kubernetes_missing, wait_until)
from servers.kubernetes import prepare_all, ready_made  # noqa: E402
from servers.process import as_user  # noqa: E402
from servers.program import TOP, baton_path  # noqa: E402

# Short times, so that what takes minutes on a real system is seen at once here.
CONFIG = """\
# The lab: private servers, gone when the console is left. Thresholds are short here, to show at once what takes minutes
# elsewhere.
sources:
  orders: {{kind: postgres, environment: lab, conninfo: "{orders}", step_down_channel: baton_step_down}}
  west:   {{kind: postgres, environment: lab, conninfo: "{west}"}}
  ctl:
    kind: etcd
    environment: lab
    endpoints: ["{ctl}"]
    prefixes:
      - {{prefix: elections/, mechanism: election}}
      - {{prefix: locks/, mechanism: lock}}
    keys: [/service/batman/leader, /service/robin/leader]
  attic:
    kind: etcd
    environment: lab
    endpoints: ["{attic}"]
    prefixes:
      - {{prefix: elections/, mechanism: election}}
{kube}names:
  - {{source: orders, database: app, key: {{bigint: -42}}, name: billing-close}}
  - {{source: orders, database: app, key: {{hashtext: nightly-report}}, name: nightly-report}}
  - {{source: orders, database: app, key: {{pair: [7, -9]}}, name: two-phase}}
roles:
  close-books:
    harm: harmful
    idempotent: false
    fenced: false
    witnesses: ["orders/app:1001", "ctl/elections/close-books"]
  reindex:
    harm: annoying
    idempotent: true
    fenced: false
    witnesses: ["ctl/locks/reindex"]
{kube_roles}thresholds:
  idle_holder: 5s
  stuck: 5s
  prepared_holder: 1m
"""


class Lab:
    def __init__(self, etcd_version, with_kubernetes):
        self.kube = self.begin_kubernetes() if with_kubernetes else None
        say("starting PostgreSQL, pgbouncer and etcd")
        self.pg = Postgres(conf={"max_prepared_transactions": "8", "deadlock_timeout": "1d"})
        self.west = Postgres()
        self.west_road = Proxy(self.west.port)
        self.ctl, self.attic = Etcd(etcd_version), Etcd(etcd_version)
        self.ended = threading.Event()
        self.loops = []
        self.sessions = []
        for name in ("app", "reports"):
            self.pg.database(name)
        self.pooler = PgBouncer(self.pg)
        self.home = Home(CONFIG.format(
            kube=self.kube.config() if self.kube else "", kube_roles=KUBE_ROLES if self.kube else "",
            orders=self.pg.conninfo("postgres"), ctl=self.ctl.url, attic=self.attic.url,
            west=f"host=127.0.0.1 port={self.west_road.port} user=postgres dbname=postgres"))

    @staticmethod
    def begin_kubernetes():
        """None, and why is said, where it can't be had."""
        if why := kubernetes_missing():
            say(f"without Kubernetes: {why}")
            return None
        if not ready_made():
            say("building Kubernetes and its etcd first: some 8 minutes on two cores, and never again (--no-kubernetes leaves it out)")
        try:
            prepare_all()
            say("starting a Kubernetes API server")
            return KubeLab()
        except unittest.SkipTest as error:
            say(f"without Kubernetes: {error}")
            return None

    def populate(self):
        if self.kube:
            self.kube.begin_controllers()
        say("putting contenders on them")
        for step in (self.stale, self.idle_holder, self.prepared, self.stranded, self.cycle, self.shared, self.plain,
                     self.polite, self.role, self.elections, self.orphan, self.patroni, self.far):
            step()
        if self.kube:
            self.kube.populate()
            self.loop(self.pass_lease_on, 60)
        self.remember()
        self.loop(self.pass_leader_on, 60)
        self.loop(self.new_session, 45)
        self.loop(self.pooled_traffic, 1)
        self.loop(self.renew_late, 1)
        self.loop(self.busy_lock, 1)
        self.loop(self.cut_the_far_source, 1)

    # PostgreSQL

    def session(self, app, dbname="app"):
        session = self.pg.session(dbname, app=app)
        self.sessions.append(session)
        return session

    def hold(self, app, call, waiters=(), dbname="app"):
        holder = self.session(app, dbname)
        holder.run(f"select {call}")
        for name in waiters:
            self.session(name, dbname).send(f"select {call}")
        return holder

    def idle_holder(self):
        """STUCK: idle in a transaction, and two wait."""
        holder = self.session("worker-1")
        holder.run("begin; select pg_advisory_lock(-42)")
        for name in ("worker-2", "worker-3"):
            self.session(name).send("select pg_advisory_lock(-42)")

    def prepared(self):
        """ORPHAN: held by a prepared transaction, which has no process."""
        session = self.session("transfer")
        session.run("begin; select pg_advisory_xact_lock(7, -9)")
        session.run("prepare transaction 'tx-9'")
        session.close()

    def stranded(self):
        """A session lock taken through a pooler in transaction mode, whose client is gone; one waits for it."""
        client = self.pooler.session("app", app="migrate-web")
        client.run("select pg_advisory_lock(1000)")
        client.close()
        self.session("migrate-web-2").send("select pg_advisory_lock(1000)")

    def pooled_traffic(self):
        """Other clients use the same server session meanwhile, each under its own name."""
        for name in ("web-1", "web-2"):
            client = self.pooler.session("app", app=name)
            client.run("select count(*) from pg_class")
            client.close()
            self.pause(3)

    def cycle(self):
        """STUCK: two that wait for each other; the server's own check is put off for a day."""
        one, two = self.session("import-a"), self.session("import-b")
        one.run("select pg_advisory_lock(501)")
        two.run("select pg_advisory_lock(502)")
        one.send("select pg_advisory_lock(502)")
        two.send("select pg_advisory_lock(501)")

    def shared(self):
        """HELD by two at once, and rightly: share locks; a third wants it for itself."""
        for name in ("reader-1", "reader-2"):
            self.hold(name, "pg_advisory_lock_shared(2001)")
        self.session("writer").send("select pg_advisory_lock(2001)")

    def plain(self):
        """HELD: Prisma's migration lock, a hashed name, and a lock in another database."""
        self.hold("prisma-migrate", "pg_advisory_lock(72707369)")
        self.hold("reporter", "pg_advisory_lock(hashtext('nightly-report'))")
        self.hold("archiver", "pg_advisory_lock(3, 4)", dbname="reports")

    def polite(self):
        """CONTENDED by two that listen, and let go when they are asked to step down."""
        for name in ("polite-1", "polite-2"):
            Polite(self.pg, "app", name, 4711, self.ended)

    def role(self):
        """DUPLICATE: one role with two witnesses, which different processes hold."""
        self.hold("books-old", "pg_advisory_lock(1001)")
        self.ctl.candidate("elections/close-books", "books-new", ttl=15)

    def busy_lock(self):
        """CONTENDED: one works with the lock for a while, then the next."""
        for name in ("indexer-1", "indexer-2"):
            session = self.session(name, "reports")
            session.send("select pg_advisory_lock(77), pg_sleep(20), pg_advisory_unlock(77)")
            self.started(session)
        self.pause(15)
        for session in self.sessions[-2:]:
            session.result(60)
            session.close()
        del self.sessions[-2:]

    def started(self, session):
        count = f"select 1 from pg_locks where locktype = 'advisory' and pid = {session.pid}"
        wait_until(lambda: self.ended.is_set() or self.pg.psql(count))

    def new_session(self):
        """The same holder, with a new session each time."""
        holder = self.hold("heartbeat", "pg_advisory_lock(3003)")
        self.pause(40)
        holder.close()
        self.sessions.remove(holder)

    def far(self):
        self.hold_far = self.west.session(app="edge-1")
        self.hold_far.run("select pg_advisory_lock(9)")

    def cut_the_far_source(self):
        """UNKNOWN: a source that can't be reached for a while keeps its last picture."""
        self.pause(25)
        self.west_road.refuse()
        self.west_road.cut()
        self.pause(20)
        self.west_road.pass_on()

    # etcd

    def elections(self):
        """CONTENDED: an election with a queue, which passes on every minute; HELD: one without; an etcdctl lock."""
        self.queue = [self.ctl.candidate("elections/billing", f"node-{letter}", ttl=15) for letter in "abc"]
        self.ctl.candidate("elections/scheduler", "node-3", ttl=30)
        self.ctl.lock("locks/reindex", ttl=20).wait_held()
        self.ctl.lock("locks/reindex", ttl=20)
        self.past = self.ctl.candidate("elections/mailer", "node-m", ttl=15)

    def pass_leader_on(self):
        self.pause(60)
        if self.ended.is_set():
            return
        leader = self.queue.pop(0)
        leader.revoke()
        self.queue.append(self.ctl.candidate("elections/billing", f"node-{'abc'[len(self.queue) % 3]}", ttl=15))

    def pass_lease_on(self):
        self.pause(60)
        if not self.ended.is_set():
            self.kube.pass_leader_on()

    def orphan(self):
        """ORPHAN: a candidate key without a lease, which never expires by itself; another waits behind it."""
        self.ctl.put("elections/legacy/5f3a9c01", "node-gone")
        self.ctl.candidate("elections/legacy", "node-x", ttl=15)
        self.late = self.ctl.candidate("elections/late", "node-slow", ttl=20, keep=False)

    def renew_late(self):
        """EXPIRING: renewed only when little is left."""
        left = self.ctl.ttl(self.late.lease)[0]
        if left <= 2:
            self.late.renew()

    def stale(self):
        """STALE: its lease ran out, and etcd refuses to revoke it, as it does under a CORRUPT alarm."""
        self.lost = self.attic.candidate("elections/attic", "node-z", ttl=1, keep=False)
        self.attic.alarm("CORRUPT")

    def patroni(self):
        """HELD: a key on a lease whose value names the holder."""
        lease = self.ctl.grant(30)
        self.ctl.put("/service/batman/leader", "pg-node-1", lease)
        self.loop(lambda: self.ctl.keep_alive(lease), 8)

    def remember(self):
        """One look before the console's first: what baton remembers of it makes a FREE row, and first-seen clocks."""
        wait_until(lambda: self.attic.ttl(self.lost.lease)[0] < 0)
        self.home.baton("list", "--json")
        self.past.revoke()

    # running

    def pause(self, seconds):
        self.ended.wait(seconds)

    def loop(self, step, seconds):
        """Repeats a step in a thread of its own; a server that is being stopped ends it."""
        def run():
            while not self.ended.is_set():
                try:
                    step()
                except (OSError, ValueError, SqlError, GatewayError, ApiError, TimeoutError, AssertionError,
                        KeyError) as error:
                    if self.ended.is_set():
                        return
                    self.trouble = error
                self.pause(seconds)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.loops.append(thread)

    def end(self):
        self.ended.set()


class Ending:
    """
    A signal asks for the end: it interrupts what goes on, and stays said where the exception is lost, as in a callback.
    """

    def __init__(self):
        self.number = None
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number, _frame):
        self.number = number
        raise SystemExit(128 + number)

    def wait(self, seconds):
        if self.number is None and seconds:
            time.sleep(seconds)
        if self.number is not None:
            raise SystemExit(128 + self.number)
        return False


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def run_program(lab, words, seconds, ending):
    """The console, or another command, on the lab; it has the terminal until it ends."""
    env = dict(os.environ, BATON_CONFIG=lab.home.config, XDG_STATE_HOME=lab.home.state)
    for name in list(env):
        if name.startswith(("PG", "ETCDCTL_")):
            del env[name]
    env.setdefault("BATON_THEMES", os.path.join(TOP, "themes"))
    # The console reads Ctrl-C itself; the lab ends when the console does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen(as_user(None)[:1] + ["--pdeathsig", "TERM", "--", baton_path(), *words], env=env,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    deadline = time.monotonic() + seconds if seconds else None
    try:
        while child.poll() is None and not ending.wait(0.1):
            if deadline and time.monotonic() > deadline:
                return 0
        return child.returncode if child.returncode is not None else 1
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def stay(lab, seconds, ending):
    """Until standard input ends, a signal comes, or the time is over."""
    print(f"BATON_CONFIG={lab.home.config}")
    print(f"XDG_STATE_HOME={lab.home.state}", flush=True)
    say("ready; it ends when this command is interrupted, or its input ends")
    deadline = time.monotonic() + seconds if seconds else None
    while not ending.wait(0.0):
        ready, _, _ = select.select([sys.stdin], [], [], 0.1)
        if (ready and not os.read(sys.stdin.fileno(), 4096)) or (deadline and time.monotonic() > deadline):
            break
    return 0


def parse():
    parser = argparse.ArgumentParser(prog="bootstrap lab", description=__doc__, add_help=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--no-console", action="store_true")
    parser.add_argument("--no-kubernetes", action="store_true")
    parser.add_argument("--etcd", choices=("3.4", "current"), default="3.4")
    parser.add_argument("--seconds", type=float)
    words = sys.argv[1:]
    command = []
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1:]
    options = parser.parse_args(words)
    if options.help:
        print(__doc__.strip())
        sys.exit(0)
    return options, command


def main():
    options, command = parse()
    ending, lab = Ending(), None
    try:
        lab = Lab(options.etcd, not options.no_kubernetes)
        lab.populate()
        if options.no_console:
            return stay(lab, options.seconds, ending)
        return run_program(lab, command, options.seconds, ending)
    finally:
        # Nothing may come between the end and the cleaning up.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if lab:
            lab.end()
        say("stopping and removing everything")
        close_all()


if __name__ == "__main__":
    sys.exit(main())
