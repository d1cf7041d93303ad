"""What scripts may hold on to, on a real PostgreSQL and both etcds: fields that are always there, and what they say."""

import json
import os
import unittest

from contract.schema import Schema
from servers import Etcd, Home, Postgres, close_all, wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALWAYS = {
    "pg-advisory": ["pid", "backend_start", "user", "client", "database", "mode", "state", "state_change", "query_start",
                    "xact_start"],
    "etcd": ["key", "lease", "create_revision", "mod_revision"],
}


class Servers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pg, cls.etcd = Postgres(conf={"max_prepared_transactions": "4"}), Etcd("current")
        cls.pg.role("sees_nothing")
        cls.holder = cls.pg.session(app="worker-1")
        cls.holder.run("select pg_advisory_lock(42)")
        cls.waiter = cls.pg.session(app="worker-2")
        cls.waiter.send("begin; select pg_advisory_xact_lock(42)")
        wait_until(lambda: cls.pg.psql("select 1 from pg_locks where not granted"), what="who waits")
        prepared = cls.pg.session(app="gone")
        prepared.run("begin; select pg_advisory_xact_lock(7); prepare transaction 'tx-9'")
        prepared.close()
        cls.candidates = [cls.etcd.candidate("elections/billing", name) for name in ("node-a", "node-b")]
        cls.etcd.put("elections/evil/deadbeef", "no lease")

    @classmethod
    def tearDownClass(cls):
        close_all()

    def home(self, user="postgres"):
        home = Home(config=f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo("postgres", user=user)}"}}
  ctl: {{kind: etcd, endpoints: ["{self.etcd.url}"], prefixes: [{{prefix: elections/, mechanism: election}}]}}
""")
        self.addCleanup(home.close)
        return home

    def test_the_detail_of_a_claim_always_has_the_same_fields(self):
        for user in ("postgres", "sees_nothing"):
            data = self.home(user).baton("list", "--json").json
            self.assertGreaterEqual(len(data["singletons"]), 4, data)
            for row in data["singletons"]:
                for claim in row["holders"] + row["waiters"]:
                    wanted = ALWAYS.get(row["mechanism"], ALWAYS["etcd"])
                    self.assertLessEqual(set(wanted), set(claim["detail"]), (user, row["id"]))
                    if row["mechanism"] == "pg-advisory":
                        self.assertEqual(claim["detail"]["database"], "postgres")
                    for name in claim["hidden"]:
                        self.assertIsNone(claim["detail"][name])

    def test_absent_is_null_and_not_hidden(self):
        rows = {r["id"]: r for r in self.home().baton("list", "--json").json["singletons"]}
        holder, waiter = rows["orders/postgres:42"]["holders"][0], rows["orders/postgres:42"]["waiters"][0]
        self.assertIsNone(holder["detail"]["xact_start"])
        self.assertIsNotNone(waiter["detail"]["xact_start"])
        self.assertEqual(holder["hidden"], [])
        prepared = rows["orders/postgres:7"]["holders"][0]
        self.assertEqual((prepared["identity"], prepared["detail"]["pid"], prepared["hidden"]), ("prepared:tx-9", None, []))
        self.assertIsNone(rows["ctl/elections/evil"]["holders"][0]["detail"]["lease"])

    def test_a_duplicate_that_is_over_is_told_on(self):
        """By another run, too: whoever looks a minute later must hear of it; the state tells the present."""
        home = self.home()
        with open(home.config, "a", encoding="utf-8") as config:
            config.write("roles: {close: {witnesses: [orders/postgres:77, ctl/elections/billing]}}\n")
        session = self.pg.session(app="elsewhere")
        session.run("select pg_advisory_lock(77)")
        self.assertEqual(home.baton("check").code, 2)
        session.close()
        self.pg_gone(home, "orders/postgres:77")
        role = home.baton("show", "role/close", "--json").json["role"]
        self.assertEqual((role["state"], role["needs_attention"]), ("CONTENDED", True))
        finding = [f for f in role["findings"] if f["code"] == "dup-holder"][0]
        self.assertEqual(finding["severity"], "crit")
        self.assertRegex(finding["text"], r"last seen so \d+s ago: orders/postgres:77 by elsewhere .*, and "
                                          r"ctl/elections/billing by node-a")
        self.assertIsNotNone(finding["since"])
        done = home.baton("check")
        self.assertEqual(done.code, 2, done)
        self.assertIn("role/close: dup-holder", done.out)
        self.assertNotIn("dup-holder", home.baton("check", "--no-memory").out)

    def test_show_tells_the_past_that_is_known(self):
        """Of an election from etcd's own history, of a lock from what earlier runs saw."""
        home = self.home()
        first = self.etcd.candidate("elections/passed", "node-x")
        second = self.etcd.candidate("elections/passed", "node-y")
        first.resign()
        history = home.baton("show", "ctl/elections/passed", "--json").json["history"]
        text = " ".join(e["text"] for e in history if "etcd's history" in e["text"])
        self.assertIn(f"node-x took it; token {first.create_revision}", text)
        self.assertIn(f"node-y took it from node-x; token {first.create_revision} > {second.create_revision}", text)
        second.resign()
        a, b = (self.pg.session(app=name) for name in ("earlier", "later"))
        a.run("select pg_advisory_lock(88)")
        home.baton("list")
        a.close()
        self.pg_gone(home, "orders/postgres:88")
        b.run("select pg_advisory_lock(88)")
        history = home.baton("show", "orders/postgres:88", "--json").json["history"]
        self.assertEqual([(e["what"], e["text"].split()[0]) for e in history],
                         [("seen", "earlier"), ("seen", "earlier"), ("hand-over", "later")])
        self.assertEqual(sorted(e["at"] for e in history), [e["at"] for e in history])
        b.close()

    def test_watch_tells_what_becomes_of_a_role(self):
        """The worst that there is to tell, two at once, shows at a role only."""
        home = self.home()
        with open(home.config, "a", encoding="utf-8") as config:
            config.write("roles: {nightly: {witnesses: [orders/postgres:99, ctl/elections/billing]}}\n")
        watch = home.popen("watch", "--json", stdout=-1, text=True)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait, 20)
        self.addCleanup(watch.kill)
        with open(os.path.join(TOP, "doc", "baton-1.schema.json"), encoding="utf-8") as file:
            schema = Schema(json.load(file))

        def role_line():
            for text in watch.stdout:
                line = json.loads(text)
                self.assertEqual(schema.faults(line), [])
                if line["id"] == "role/nightly":
                    return line["event"], line["role"]["state"], [f["code"] for f in line["role"]["findings"]]
            return None

        self.assertEqual(role_line(), ("appeared", "CONTENDED", []))
        session = self.pg.session(app="second")
        session.run("select pg_advisory_lock(99)")
        self.assertEqual(role_line(), ("changed", "DUPLICATE", ["dup-holder"]))
        session.close()
        self.assertEqual(role_line(), ("changed", "CONTENDED", ["dup-holder"]))
        with home.popen("watch", "--state", "contended", stdout=-1, text=True) as text:
            for line in text.stdout:
                if "role/" in line:
                    self.assertRegex(line, r"Z  appeared  CONTENDED  role/nightly  -\n$")
                    break
            text.terminate()

    def pg_gone(self, home, lock):
        wait_until(lambda: lock not in home.baton("list", "--no-memory").out, 10)


if __name__ == "__main__":
    unittest.main()
