"""
`baton act` on real servers, each verb on each mechanism of PostgreSQL and etcd: the effect as the servers' own tools see it,
and the audit's two lines. And that nothing else of baton changes anything there.
"""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tty"))

from pty_program import Program  # noqa: E402
from servers import (Etcd, Home, LateStreams, Postgres, Proxy, Wire, WireClosed, baton_path, lease_hex,  # noqa: E402
                     wait_until)

CONFIG = """\
sources:
  orders: {{kind: postgres, environment: lab, conninfo: "{orders}", step_down_channel: baton}}
  ctl:
    kind: etcd
    environment: lab
    endpoints: ["{ctl}"]
    prefixes: [{{prefix: elections/, mechanism: election}}, {{prefix: locks/, mechanism: lock}}]
    keys: [/service/leader]
"""


class Case(unittest.TestCase):
    conf = None

    @classmethod
    def setUpClass(cls):
        cls.pg = Postgres(conf=cls.conf)
        cls.addClassCleanup(cls.pg.close)
        cls.pg.database("app")
        cls.etcd = Etcd("3.4")
        cls.addClassCleanup(cls.etcd.close)

    def setUp(self):
        self.home = Home(CONFIG.format(orders=self.pg.conninfo("postgres"), ctl=self.etcd.url))
        self.addCleanup(self.home.close)

    def wire(self, app, lock=None):
        wire = Wire(self.pg, "app", app)
        self.addCleanup(wire.close)
        wire.start()
        if lock is not None:
            wire.run(f"select pg_advisory_lock({lock})")
        return wire

    def there(self, key):
        found = self.etcd.etcdctl("get", key, parse=True).get("kvs")
        return found[0]["create_revision"] if found else None

    def act(self, verb, row, expect, code=0, home=None):
        """Acts, and compares what it says with the audit; returns what it says."""
        home = home or self.home
        done = home.baton("act", verb, row, "--expect", expect, "--reason", f"test of {verb}", "--yes", "--json")
        self.assertEqual(done.code, code, done)
        said = json.loads(done.out)
        lines = [line for line in home.baton("audit", "--json").json_lines if line["n"] == said["n"]]
        self.assertEqual([line["phase"] for line in lines], ["intent", "outcome"])
        for line in lines:
            self.assertEqual((line["id"], line["verb"], line["reason"], line["request"]),
                             (row, verb, f"test of {verb}", said["request"]))
        self.assertEqual(lines[1]["outcome"], said["outcome"])
        path = os.path.join(home.state, "baton", "audit.jsonl")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        return said


class PostgresCells(Case):
    def test_step_down(self):
        holder = self.wire("worker-1", 1)
        holder.run("listen baton")
        asked = []

        def let_go():
            asked.extend(holder.listen(60))
            holder.run("select pg_advisory_unlock(1)")
        thread = threading.Thread(target=let_go)
        thread.start()
        said = self.act("step-down", "orders/app:1", "worker-1")
        thread.join()
        self.assertEqual((said["outcome"], said["overlap"]), ("done", "closed"))
        self.assertEqual(json.loads(asked[0][1])["reason"], "test of step-down")
        self.assertTrue(holder.alive())

    def test_a_step_down_that_nobody_hears_is_not_done(self):
        holder = self.wire("worker-1", 2)
        done = self.home.baton("act", "step-down", "orders/app:2", "--expect", "worker-1", "--reason", "r", "--yes",
                               "--json", "--timeout", "2")
        self.assertNotEqual(done.json["outcome"], "done", done)
        self.assertNotEqual(done.code, 0)
        self.assertTrue(holder.alive())
        self.assertEqual(self.pg.psql("select pid from pg_locks where locktype = 'advisory' and objid = 2"),
                         [(str(holder.pid),)])

    def test_cancel(self):
        holder = self.wire("worker-1", 3)
        holder.send("select pg_sleep(600)")
        wait_until(lambda: self.pg.psql(f"select 1 from pg_stat_activity where pid = {holder.pid} and wait_event = 'PgSleep'"),
                   what="the statement")
        self.assertEqual(self.act("cancel", "orders/app:3", holder.start())["outcome"], "done")
        with self.assertRaisesRegex(Exception, "57014"):
            holder.result()
        self.assertTrue(holder.alive())

    def test_release_of_a_holder_and_of_a_waiter(self):
        holder = self.wire("worker-1", 4)
        waiter, last = self.wire("worker-2"), self.wire("worker-3")
        for each in (waiter, last):
            each.send("select pg_advisory_lock(4)")
            wait_until(lambda: self.pg.psql(f"select 1 from pg_locks where pid = {each.pid} and not granted"), what="it")
        self.act("release", "orders/app:4", waiter.start())
        with self.assertRaises(WireClosed):
            waiter.result()
        said = self.act("release", "orders/app:4", "worker-1")
        self.assertEqual((said["outcome"], said["overlap"]), ("done", "open"))
        last.result()
        self.assertEqual(said["after"]["holders"][0]["identity"], "worker-3")
        self.act("release", "orders/app:4", holder.start(), code=11)

    def test_release_of_a_prepared_transaction(self):
        self.pg.psql("begin; select pg_advisory_xact_lock(5); prepare transaction 'p'", dbname="app")
        said = self.act("release", "orders/app:5", "prepared:p")
        self.assertEqual((said["outcome"], said["overlap"]), ("done", "none"))
        self.assertEqual(self.pg.psql("select gid from pg_prepared_xacts"), [])

    def test_an_answer_that_is_lost_is_unknown(self):
        holder = self.wire("worker-1", 6)
        proxy = Proxy(self.pg.port)
        self.addCleanup(proxy.close)
        with Home(CONFIG.format(orders=self.pg.conninfo("postgres", port=proxy.port), ctl=self.etcd.url)) as home:
            proxy.swallow(b"pg_terminate_backend(a.pid)")
            said = self.act("release", "orders/app:6", "worker-1", code=12, home=home)
            self.assertIn("pg_stat_activity", said["find_out"])
        self.assertFalse(holder.alive())


class EtcdCells(Case):
    def queue(self, name, values=("node-a", "node-b")):
        made = [self.etcd.candidate(name, value) for value in values]
        for each in made:
            self.addCleanup(each.close)
        return made

    def test_step_down_of_each_mechanism(self):
        for name, values in (("elections/a", ("node-a", "node-b")), ("locks/a", ("", ""))):
            first, second = self.queue(name, values)
            said = self.act("step-down", f"ctl/{name}", f"rev:{first.create_revision}")
            self.assertEqual((said["outcome"], said["overlap"]), ("done", "open"))
            self.assertIsNone(self.there(first.key))
            self.assertEqual(said["after"]["token"], str(second.create_revision))
        self.etcd.put("/service/leader", "pg-1", self.etcd.grant(60))
        self.assertEqual(self.act("step-down", "ctl//service/leader", "pg-1")["outcome"], "done")
        self.assertIsNone(self.there("/service/leader"))

    def test_release_of_each_mechanism(self):
        for name, values in (("elections/b", ("node-a", "node-b")), ("locks/b", ("", ""))):
            first, second = self.queue(name, values)
            said = self.act("release", f"ctl/{name}", f"rev:{second.create_revision}")
            self.assertEqual((said["outcome"], said["overlap"]), ("done", "none"))
            self.assertIsNone(self.there(second.key))
            self.assertEqual(self.there(first.key), first.create_revision)
            self.act("release", f"ctl/{name}", f"rev:{second.create_revision}", code=11)
            self.act("release", f"ctl/{name}", f"rev:{first.create_revision}")
            self.assertIsNone(self.there(first.key))
        self.etcd.put("/service/leader", "pg-1")
        self.assertEqual(self.act("release", "ctl//service/leader", "pg-1")["outcome"], "done")
        self.assertIsNone(self.there("/service/leader"))

    def test_release_of_an_orphan(self):
        self.etcd.put("elections/c/deadbeef", "nobody")
        second, = self.queue("elections/c", ("node-b",))
        said = self.act("release", "ctl/elections/c", "nobody")
        self.assertEqual(said["after"]["holders"][0]["identity"], "node-b")
        self.assertIsNone(self.there("elections/c/deadbeef"))
        self.assertEqual(self.there(second.key), second.create_revision)

    def test_what_is_told_to_be_so_after_an_act_is_from_after_it(self):
        """The watch tells of it later than the answer to the request came."""
        proxy = LateStreams(self.etcd.port, 1.5)
        self.addCleanup(proxy.close)
        home = Home(CONFIG.format(orders=self.pg.conninfo("postgres"), ctl=f"http://127.0.0.1:{proxy.port}"))
        self.addCleanup(home.close)
        for verb in ("step-down", "release", "revoke"):
            with self.subTest(verb):
                row = f"ctl/elections/late-{verb}"
                first, second, third = self.queue(row[4:], ("node-a", "node-b", "node-c"))
                said = self.act("release", row, f"rev:{second.create_revision}", home=home)
                self.assertEqual([each["identity"] for each in said["after"]["waiters"]], ["node-c"])
                said = self.act(verb, row, f"rev:{first.create_revision}", home=home)
                self.assertEqual([each["identity"] for each in said["after"]["holders"]], ["node-c"])
                self.assertEqual(said["after"]["token"], str(third.create_revision))
                said = self.act(verb if verb != "step-down" else "release", row, f"rev:{third.create_revision}", home=home)
                self.assertEqual((said["after"]["state"], said["after"]["holders"]), ("FREE", []))

    def test_a_picture_from_before_an_act_is_not_told_to_be_so_after_it(self):
        """The watch is later than anybody would wait."""
        proxy = LateStreams(self.etcd.port, 8)
        self.addCleanup(proxy.close)
        home = Home(CONFIG.format(orders=self.pg.conninfo("postgres"), ctl=f"http://127.0.0.1:{proxy.port}"))
        self.addCleanup(home.close)
        first, second = self.queue("elections/too-late")
        said = self.act("revoke", "ctl/elections/too-late", "node-a", home=home)
        self.assertEqual((said["outcome"], said["after"]), ("done", None))
        done = home.baton("act", "revoke", "ctl/elections/too-late", "--expect", "node-b", "--reason", "a test", "--yes")
        self.assertEqual((done.code, done.out.splitlines()[-1]), (0, "now      not read yet: baton show ctl/elections/too-late tells it"), done)
        self.assertEqual([self.there(first.key), self.there(second.key)], [None, None])

    def test_who_is_told_to_end_after_the_act_says_what_became_of_it(self):
        """A picture that would come in time is not waited for."""
        proxy = LateStreams(self.etcd.port, 4)
        self.addCleanup(proxy.close)
        home = Home(CONFIG.format(orders=self.pg.conninfo("postgres"), ctl=f"http://127.0.0.1:{proxy.port}"))
        self.addCleanup(home.close)
        self.queue("elections/told-to-end")
        acting = home.popen("act", "revoke", "ctl/elections/told-to-end", "--expect", "node-a", "--reason", "a test", "--yes",
                            "--json", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        wait_until(lambda: home.baton("audit").out.count("done"), what="the outcome")
        acting.send_signal(signal.SIGINT)
        said = json.loads(acting.communicate(timeout=60)[0])
        self.assertEqual((acting.returncode, said["outcome"], said["after"]), (0, "done", None))

    def test_revoke_of_each_mechanism(self):
        for name, values in (("elections/d", ("node-a", "node-b")), ("locks/d", ("", ""))):
            first, second = self.queue(name, values)
            self.etcd.put(f"{name}-extra", "x", first.lease)
            said = self.act("revoke", f"ctl/{name}", f"rev:{first.create_revision}")
            self.assertEqual((said["outcome"], said["overlap"]), ("done", "closed"))
            self.assertIsNone(self.there(f"{name}-extra"))
            self.assertIn(lease_hex(first.lease), said["request"])
            self.assertEqual(self.there(second.key), second.create_revision)
        self.etcd.put("/service/leader", "pg-1", self.etcd.grant(60))
        self.assertEqual(self.act("revoke", "ctl//service/leader", "pg-1")["outcome"], "done")
        self.assertIsNone(self.there("/service/leader"))

    def test_an_answer_that_is_lost_is_unknown(self):
        first, second = self.queue("elections/e")
        proxy = Proxy(self.etcd.port)
        self.addCleanup(proxy.close)
        with Home(CONFIG.format(orders=self.pg.conninfo("postgres"), ctl=f"http://127.0.0.1:{proxy.port}")) as home:
            # Of all that is asked, the transaction alone names the whole key.
            proxy.swallow(first.key.encode())
            said = self.act("step-down", "ctl/elections/e", "node-a", code=12, home=home)
            self.assertIn("etcdctl get", said["find_out"])
        self.assertIsNone(self.there(first.key))
        self.assertEqual(self.there(second.key), second.create_revision)


class ReadOnly(Case):
    """Everything but `act`, with everything that baton reads there to be seen."""

    conf = {"log_statement": "all"}
    COMMANDS = (("list",), ("list", "--json"), ("check",), ("show", "orders/app:1"), ("show", "ctl/elections/a"),
                ("doctor",), ("forecast", "step-down", "orders/app:1"), ("forecast", "cancel", "orders/app:1"),
                ("forecast", "release", "orders/app:1"), ("forecast", "release", "orders/app:2"),
                ("forecast", "step-down", "ctl/elections/a"), ("forecast", "release", "ctl/elections/a"),
                ("forecast", "revoke", "ctl/elections/a"))

    def raft(self):
        status = self.etcd.gateway("maintenance/status", {})
        return self.etcd.revision(), int(status["raftIndex"])

    def test_nothing_is_changed_by_looking(self):
        holder = self.wire("worker-1", 1)
        self.pg.psql("begin; select pg_advisory_xact_lock(2); prepare transaction 'p'", dbname="app")
        lease = self.etcd.grant(3600)
        self.etcd.put(f"elections/a/{lease_hex(lease)}", "node-a", lease)
        self.etcd.put("elections/a/deadbeef", "node-b")
        before, mark = self.raft(), len(self.pg.process.log_text())
        for words in self.COMMANDS:
            done = self.home.baton(*words)
            self.assertIn(done.code, (0, 1, 2, 10), (words, done))
        watch = self.home.popen("watch", "--json", stdout=-3)
        time.sleep(3)
        watch.terminate()
        watch.wait()
        with Program(baton_path(), env=self.home.env(COLORFGBG="15;0")) as console:
            console.wait("elections/a").keys("j\r")
            for _ in range(4):
                console.read(0.5)
            console.keys("q")
            self.assertEqual(console.end(), 0)
        self.assertEqual(self.raft(), before)
        log = self.pg.process.log_text()[mark:].lower()
        self.assertGreater(log.count("pg_locks"), len(self.COMMANDS))
        for word in ("pg_terminate_backend(a", "pg_cancel_backend(a", "pg_notify(", "rollback prepared", "notify ", "listen ",
                     "insert ", "update ", "delete ", "begin;", "advisory_lock(", "advisory_unlock"):
            self.assertNotIn(word, log.replace("select pg_advisory_lock(", ""), word)
        self.assertTrue(holder.alive())
        self.pg.psql("rollback prepared 'p'", dbname="app")


if __name__ == "__main__":
    unittest.main()
