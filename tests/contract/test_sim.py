"""
The built-in fleet on the command line: one moment of it is the same bytes each time, on each compiler; it is looked at and
acted on as real systems are, and nothing of it stands beside what was seen of real ones.
"""

import json
import os
import tempfile
import unittest

from contract.schema import Schema
from servers import Home

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD = os.path.join(HERE, "worlds", "all.yaml")
STORY = os.path.join(HERE, "worlds", "all.txt")
OPENS, MINUTE = 90, 60


class Sim(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def good(self, *args, codes=(0,), err=""):
        done = self.home.baton(*args)
        self.assertIn(done.code, codes, done)
        self.assertEqual(done.err, err, done)
        return done

    def row(self, singleton, at):
        rows = [s for s in self.good("list", "--sim", WORLD, "--at", at, "--json").json["singletons"] if s["id"] == singleton]
        self.assertEqual(len(rows), 1, singleton)
        return rows[0]


class Bytes(Sim):
    def test_one_moment_is_the_same_each_time(self):
        for args in (("list", "--json"), ("list",), ("check",), ("show", "control/e/a", "--json"), ("watch", "--json"),
                     ("forecast", "step-down", "control/e/a", "--json")):
            with self.subTest(args=args):
                first = self.good(*args, "--sim", WORLD, "--at", "75s", codes=(0, 1, 2))
                self.assertEqual(self.good(*args, "--sim", WORLD, "--at", "75s", codes=(0, 1, 2)).out, first.out)

    def test_another_seed_is_another_fleet(self):
        one, two = (self.good("list", "--sim", WORLD, "--seed", seed, "--json").out for seed in (3, 4))
        self.assertNotEqual(one, two)
        self.assertEqual(one, self.good("list", "--sim", WORLD, "--json").out)

    def test_a_record_ends_by_the_fleets_own_time(self):
        """Nobody waits for it; --at and --for mean the same moment, and the earlier of both ends it."""
        at = {moment: self.recorded("--at", moment) for moment in ("20s", "75s", "5m")}
        self.assertTrue(self.recorded() == self.recorded("--at", "60s"))
        for words, moment in ((("--for", "5m"), "5m"), (("--for", "20s"), "20s"), (("--for", "20s", "--at", "75s"), "20s"),
                              (("--for", "5m", "--at", "75s"), "75s")):
            with self.subTest(words=words):
                self.assertTrue(self.recorded(*words) == at[moment], "it ends elsewhere")
        self.assertLess(len(at["20s"]), len(at["75s"]))
        self.assertLess(len(at["75s"]), len(at["5m"]))

    def test_a_moment_that_a_record_does_not_have_is_not_passed_off(self):
        """Its nearer end is shown, and that is said; within the record nothing is said."""
        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "r.jsonl")
            self.assertEqual(self.home.baton("record", record, "--sim", WORLD, "--at", "20s").code, 0)
            ends = {moment: self.home.baton("list", "--replay", record, "--at", moment) for moment in ("start", "end", "+10s")}
            self.assertEqual([done.err for done in ends.values()], ["", "", ""])
            for moment, end, word in (("1999-01-02T03:04:05Z", "start", "beginning"), ("+3h", "end", "end"), ("-3h", "start", "beginning")):
                with self.subTest(moment=moment):
                    done = self.home.baton("list", "--replay", record, "--at", moment)
                    self.assertEqual(done.out, ends[end].out)
                    self.assertRegex(done.err, rf"^baton: --at \S+: the record goes from \S+Z to \S+Z; its {word} is shown\n$")

    def recorded(self, *words):
        return self.good("record", "-", "--sim", WORLD, *words).out

    def test_the_story_is_the_one_that_is_kept(self):
        """What every compiler must make of it. When the world itself was changed: make update-golden writes it anew."""
        told = self.good("watch", "--sim", WORLD, "--at", "90s").out
        if os.environ.get("BATON_UPDATE_GOLDEN"):
            with open(STORY, "w", encoding="utf-8") as out:
                out.write(told)
        with open(STORY, encoding="utf-8") as kept:
            self.assertEqual(told.splitlines(), kept.read().splitlines())


class Commands(Sim):
    def test_every_mechanism_is_there(self):
        listed = self.good("list", "--sim", WORLD, "--json").json
        self.assertEqual({s["mechanism"] for s in listed["singletons"]},
                         {"etcd-election", "pg-advisory", "zk-election", "k8s-lease", "k8s-cronjob", "sql-lease", "run-ledger", "airflow-dag", "process"})
        self.assertEqual({s["state"] for s in listed["sources"]}, {"ok"})

    def test_a_fault_comes_at_its_time(self):
        self.assertEqual(self.row("db/app:42", "19s")["holders"][0]["identity"], "b-1")
        self.assertEqual(self.row("db/app:42", "21s")["holders"][0]["identity"], "b-2")
        self.assertEqual(self.row("control/e/a", "30s")["holders"][0]["identity"], "a-2")

    def test_an_act_goes_on_until_it_is_verified(self):
        act = ("act", "step-down", "control/e/a", "--sim", WORLD, "--at", "5s", "--reason", "a test", "--yes", "--json")
        done = self.good(*act, "--expect", "a-1")
        self.assertEqual(done.json["outcome"], "done")
        self.assertEqual(done.json["after"]["holders"][0]["identity"], "a-2")
        self.assertEqual([s["step"] for s in done.json["steps"] if s["step"] != "verify"],
                         ["read", "forecast", "confirm", "read", "record", "send", "answer", "record"])
        self.good(*act, "--expect", "a-2", codes=(11,))

    def test_what_breaks_things_is_there_and_nowhere_else(self):
        done = self.good("act", "crash", "db/app:42", "--sim", WORLD, "--at", "5s", "--expect", "b-1", "--reason", "x", "--yes", "--json")
        self.assertEqual(done.json["outcome"], "done")
        real = self.home.baton("forecast", "crash", "db/app:42")
        self.assertEqual(real.code, 64, real)
        self.assertNotIn("crash,", real.err)
        self.assertNotIn("fence", real.err)

    def test_the_fleet_answers_who_asks_it(self):
        done = self.good("act", "ask", "fleet/process/a-1", "--sim", WORLD, "--at", "5s", "--reason", "x", "--yes", "--json")
        self.assertIn("its owner: ", done.json["text"])

    def test_a_row_of_the_fleet_says_what_it_is(self):
        """A change and a pod are no processes, and nothing of theirs is started again."""
        for scenario, at, row, what in (("S10", "60s", "change/earlier", "a change that was asked for"), ("S09", "2500s", "pod/cleanup-29541600", "the object of a pod"),
                                        ("S09", "60s", "machine/node-2", "a machine of"), ("S09", "60s", "api-server/prod", "an API server of"),
                                        ("S02", "60s", "process/worker-a", "a process of")):
            with self.subTest(row=row):
                shown = self.home.baton("show", f"fleet/{row}", "--sim", scenario, "--at", at).out
                self.assertIn(f"\n  is      {what}", shown)
                self.assertNotIn("holds it", shown)
                self.assertNotIn("took it", shown)
                refused = self.home.baton("forecast", "suspend", f"fleet/{row}", "--sim", scenario, "--at", at, "--json").json
                self.assertIn(f"suspend does not work on this {row.split('/')[0]}", refused["reasons"])
        forecast = self.home.baton("forecast", "ask", "fleet/change/earlier", "--sim", "S10", "--at", "60s").out
        self.assertNotIn("started again", forecast)

    def test_wrong_words(self):
        for words, sentence in ((("list", "--sim", "dmo"), "did you mean 'demo'?"), (("list", "--sim", "demo", "--at", "soon"), "must be a duration such as 90s"),
                                (("list", "--sim", "demo", "--seed", "-1"), "--seed must be"), (("doctor", "--sim", "demo"), "takes no --sim")):
            with self.subTest(words=words):
                done = self.home.baton(*words)
                self.assertEqual((done.code, done.out), (64, ""), done)
                self.assertIn(sentence, done.err)


class Apart(Sim):
    def test_nothing_is_remembered_and_the_audit_is_its_own(self):
        self.good("list", "--sim", WORLD)
        self.assertFalse(os.path.exists(os.path.join(self.home.state, "baton")))
        self.good("act", "stop", "fleet/process/a-1", "--sim", WORLD, "--reason", "x", "--yes")
        self.assertEqual(sorted(os.listdir(os.path.join(self.home.state, "baton"))), ["sim"])
        lines = self.good("audit", "--sim", "--json").json_lines
        self.assertEqual([(line["phase"], line["sim"]) for line in lines], [("intent", True), ("outcome", True)])
        self.assertEqual(self.good("audit", "--json").out, "")

    def test_real_sources_and_their_config_are_not_read(self):
        self.home.write_config("this is: [no config")
        self.good("list", "--sim", WORLD, "--json")
        record = os.path.join(self.home.folder.path, "r.jsonl")
        self.home.baton("record", "--sim", WORLD, "--at", "5s", record)
        for words in (("list", "--sim", WORLD), ("check", "--replay", record)):
            done = self.home.baton(*words, "--config", self.home.config)
            self.assertEqual(done.code, 64 if words[0] == "list" else 3, done)
            self.assertIn("--config is not read with " + words[1], done.err + done.out)


class Marked(Sim):
    """Nobody may take it for the real thing."""

    def test_each_output_says_what_it_is(self):
        with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "doc", "baton-1.schema.json"), encoding="utf-8") as file:
            schema = Schema(json.load(file))
        record = os.path.join(self.home.folder.path, "r.jsonl")
        self.home.baton("record", "--sim", WORLD, "--at", "75s", record)
        act = ("--reason", "x", "--yes", "--expect", "a-2")
        for words, more in ((("list",), ()), (("show", "control/e/a"), ()), (("check",), ()), (("watch",), ()),
                            (("forecast", "step-down", "control/e/a"), None), (("act", "step-down", "control/e/a"), None)):
            for source, mark, marks in ((("--sim", WORLD, "--at", "75s"), "SIM: ", {"sim": True}),
                                        (("--replay", record), "REPLAY SIM: ", {"sim": True, "replay": True})):
                if source[0] == "--replay" and more is None:
                    continue
                args = (*words, *source, *(act if words[0] == "act" else ()))
                with self.subTest(args=args):
                    text = self.home.baton(*args).out.splitlines()
                    self.assertTrue(text[0].startswith(mark) or (words[0] == "check" and f" - {mark}" in text[0]), text[0])
                    done = self.home.baton(*args, "--json")
                    for line in done.json_lines if words[0] == "watch" else [done.json]:
                        self.assertEqual({k: line.get(k) for k in ("sim", "replay") if k in line}, marks)
                        self.assertEqual(schema.faults(line), [])


class Demo(Sim):
    def test_within_the_first_minute_each_kind_of_trouble_comes(self):
        lines = [json.loads(line) for line in self.good("watch", "--sim", "demo", "--at", f"{OPENS + MINUTE}s", "--json").out.splitlines()]
        start = min(line["at"] for line in lines)
        minute = [line["singleton"] for line in lines if line.get("singleton") and self.seconds(start, line["at"]) >= OPENS]
        self.assertLessEqual({"DUPLICATE", "STALE", "ORPHAN"}, {s["state"] for s in minute})
        settlers = {s["holders"][0]["identity"] for s in minute if s["id"] == "control/elections/settler" and s["holders"]}
        self.assertGreater(len(settlers), 1, "no hand-over")

    @staticmethod
    def seconds(start, at):
        day = [sum(int(part) * unit for part, unit in zip(text[11:19].split(":"), (3600, 60, 1))) for text in (start, at)]
        return day[1] - day[0]

    def test_it_is_about_forty_over_all_mechanisms_and_lives_on(self):
        for at in (f"{OPENS}s", "1h"):
            listed = self.good("list", "--sim", "demo", "--at", at, "--json").json["singletons"]
            rows = [s for s in listed if s["mechanism"] != "process"]
            self.assertTrue(36 <= len(rows) <= 52, len(rows))
            self.assertTrue(any(s["needs_attention"] for s in rows) or at != "1h")
        mechanisms = {s["mechanism"] for s in listed}
        self.assertLessEqual({"etcd-election", "etcd-lock", "etcd-key", "pg-advisory", "zk-election", "k8s-lease", "k8s-cronjob", "sql-lease",
                              "run-ledger", "airflow-dag"}, mechanisms)


if __name__ == "__main__":
    unittest.main()
