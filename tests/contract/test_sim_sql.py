"""The built-in fleet's PostgreSQL, tables and scheduler on the command line: pictures, verbs, and the same bytes each time."""

import json
import os
import unittest

from servers import Home

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD = os.path.join(HERE, "worlds", "sql.yaml")
STORY = os.path.join(HERE, "worlds", "sql.txt")


class Sim(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = Home()
        cls.addClassCleanup(cls.home.close)

    def baton(self, *args, at="60s", codes=(0,)):
        done = self.home.baton(*args, "--sim", WORLD, "--at", at)
        self.assertIn(done.code, codes, done)
        return done

    def row(self, singleton, at="60s"):
        rows = [s for s in json.loads(self.baton("list", "--json", at=at).out)["singletons"] if s["id"] == singleton]
        self.assertEqual(len(rows), 1, singleton)
        return rows[0]

    def codes(self, singleton, at="60s"):
        return {finding["code"] for finding in self.row(singleton, at)["findings"]}

    def act(self, verb, singleton, *more, at="60s", outcome="done"):
        if "--expect" not in more and verb in ("release", "step-down", "cancel"):
            more += ("--expect", self.row(singleton, at)["holders"][0]["key"])
        done = self.baton("act", verb, singleton, *more, "--json", "--reason", "a test", "--yes", at=at,
                          codes=(0, 10, 11, 12, 13))
        answer = json.loads(done.out)
        self.assertEqual(answer["outcome"], outcome, answer)
        return answer


class Bytes(Sim):
    def test_the_story_is_the_one_that_is_kept(self):
        """What every compiler must make of it. When the world itself was changed: BATON_UPDATE=1 writes it anew."""
        told = self.baton("watch", at="120s").out
        self.assertEqual(self.baton("watch", at="120s").out, told)
        if os.environ.get("BATON_UPDATE"):
            with open(STORY, "w", encoding="utf-8") as out:
                out.write(told)
        with open(STORY, encoding="utf-8") as kept:
            self.assertEqual(told.splitlines(), kept.read().splitlines())


class Postgres(Sim):
    def test_who_waits_gets_the_lock_of_who_died(self):
        self.assertEqual(self.row("db/app:42", "19s")["holders"][0]["identity"], "a-1")
        self.assertEqual(self.row("db/app:42", "21s")["holders"][0]["identity"], "a-2")

    def test_a_deadlock_is_over_after_a_second(self):
        self.assertEqual(self.row("db/app:1", "3900ms")["state"], "STUCK")
        self.assertIn("lock-cycle", self.codes("db/app:1", "3900ms"))
        self.assertNotIn("lock-cycle", self.codes("db/app:1", "5s"))

    def test_a_prepared_transaction_is_rolled_back(self):
        self.assertIn("prepared-holder", self.codes("db/app:77"))
        self.assertIsNone(self.act("release", "db/app:77")["after"])

    def test_a_holder_that_listens_steps_down(self):
        """a-2 does, and keeps its session; a-1, which came again, gets it."""
        answer = self.act("step-down", "db/app:42", at="50s")
        self.assertEqual((answer["overlap"], answer["after"]["holders"][0]["identity"]), ("closed", "a-1"))

    def test_two_primaries_after_a_promotion(self):
        done = self.baton("check", at="75s", codes=(0, 1, 2))
        self.assertIn("two-primaries", done.out)
        self.assertEqual(self.row("dbb/app:77", "75s")["holders"][0]["identity"], "prepared:tx-9")
        self.assertEqual([s for s in json.loads(self.baton("list", "--json", at="75s").out)["singletons"]
                          if s["id"] == "dbb/app:42"], [])

    def test_a_restart_ends_all_sessions(self):
        sources = {s["name"]: s for s in json.loads(self.baton("list", "--json", at="81s", codes=(0, 13)).out)["sources"]}
        self.assertEqual(sources["db"]["state"], "failing")
        self.assertIn("nobody listens", sources["db"]["error"])
        self.assertEqual(self.row("db/app:42", "100s")["state"], "CONTENDED")


class Tables(Sim):
    def test_a_clock_that_is_ahead_takes_the_row(self):
        row = self.row("t/leases/billing", "39s")
        self.assertEqual((row["holders"][0]["identity"], row["token"], row["token_kind"]), ("row-1", "1", "row_token"))
        self.assertNotIn("clock-skew", self.codes("t/leases/billing", "39s"))
        row = self.row("t/leases/billing", "45s")
        self.assertEqual((row["holders"][0]["identity"], row["token"]), ("row-2", "2"))
        self.assertIn("clock-skew", self.codes("t/leases/billing", "45s"))

    def test_a_row_is_cleared_under_owner_and_token(self):
        answer = self.act("release", "t/leases/billing", "--expect", "row-2", at="45s")
        self.assertIn("owner = $2 AND token = $3", answer["request"])
        self.assertEqual(answer["overlap"], "open")
        self.act("release", "t/leases/billing", "--expect", "row:1/row-1", at="45s", outcome="changed")

    def test_each_slot_is_done_by_one(self):
        runs = self.row("t/runs/nightly", "200s")["runs"]
        self.assertEqual(len(runs), len({run["slot"] for run in runs}))
        self.assertGreaterEqual(len(runs), 2)


class Scheduler(Sim):
    def test_a_dag_and_its_runs(self):
        row = self.row("af/close", "100s")
        self.assertEqual((row["mechanism"], row["state"]), ("airflow-dag", "HELD"))
        self.assertEqual([(run["state"], run["alive"]) for run in row["runs"]], [("running", True), ("succeeded", False)])
        self.assertEqual(self.row("af/paused", "100s")["state"], "SUSPENDED")

    def test_it_is_paused_resumed_and_triggered(self):
        self.assertIn("is_paused", self.act("suspend", "af/close")["request"])
        self.assertEqual(self.act("suspend", "af/paused", outcome="refused")["outcome"], "refused")
        self.act("resume", "af/paused")
        self.assertIn("dagRuns", self.act("trigger", "af/close")["request"])

    def test_a_run_is_marked_as_failed(self):
        run = self.row("af/close", "40s")["runs"][0]
        answer = self.act("release", "af/close", "--expect", run["key"], at="40s")
        self.assertEqual(answer["after"]["runs"][0]["state"], "failed")


if __name__ == "__main__":
    unittest.main()
