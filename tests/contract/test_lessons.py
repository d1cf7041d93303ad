"""Every lesson is a test: each of its ways is played, and gives what its text says, twice the same bytes."""

import glob
import hashlib
import json
import os
import unittest

from contract.schema import Schema
from servers import Home

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What each way gave when it was written down: every compiler and every optimisation must give the same bytes.
DIGESTS = os.path.join(TOP, "tests", "contract", "lessons.digests")


def files():
    return sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(TOP, "scenarios", "[A-Z][0-9][0-9]*.yaml")))


class Lessons(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = Home()
        cls.addClassCleanup(cls.home.close)
        done = cls.home.baton("train", "--json")
        assert done.code == 0, done
        cls.lessons = json.loads(done.out)["lessons"]
        if not cls.lessons:
            raise unittest.SkipTest("there is no lesson in scenarios/")

    def play(self, lesson, way, *more):
        return self.home.baton("train", lesson["number"], "--script", way["name"], "--json", *more)

    def test_every_file_is_in_the_list(self):
        self.assertEqual(sorted(lesson["number"] for lesson in self.lessons), [name[:3] for name in files()])

    def test_there_are_twelve_lessons(self):
        numbers = [lesson["number"] for lesson in self.lessons if lesson["kind"] == "lesson"]
        self.assertEqual(numbers, [f"S{n:02d}" for n in range(1, 13)])
        self.assertEqual(self.home.baton("train").out.count("  best "), len(self.lessons))

    def test_the_questions_of_senior_practice_are_answered_by_lessons_of_that_name(self):
        asked = {lesson["question"]: lesson["number"] for lesson in self.lessons if lesson["question"]}
        for question in ("When would you need fencing though only one process runs?",
                         "What happens to a job whose pod dies holding the lock?",
                         "Why is idempotent work often better than election?"):
            self.assertIn(question, asked)
            self.assertIn(f"answers: {question}", self.home.baton("train").out)

    def test_lessons_stand_before_studies_and_in_order(self):
        kinds = [lesson["kind"] for lesson in self.lessons]
        self.assertEqual(kinds, sorted(kinds, key=["lesson", "study"].index))
        numbers = [lesson["number"] for lesson in self.lessons if lesson["kind"] == "lesson"]
        self.assertEqual(numbers, sorted(numbers))

    def test_each_way_gives_what_its_text_says_and_twice_the_same(self):
        for lesson in self.lessons:
            for way in lesson["ways"]:
                with self.subTest(lesson=lesson["number"], way=way["name"]):
                    done = self.play(lesson, way)
                    self.assertEqual((done.code, done.err), (0, ""), done)
                    result = json.loads(done.out)
                    self.assertEqual(result["faults"], [])
                    self.assertEqual([act for act in result["acts"] if not act["was"] and act["verb"] != "ask"], [],
                                     "the debrief says of each act what it did")
                    self.assertTrue(way["least"] <= result["score"] <= way["most"],
                                    f"{result['score']} is not {way['least']} to {way['most']}: {result['lines']}")
                    self.assertEqual(self.play(lesson, way).out, done.out)

    def test_with_other_seeds_right_is_right_and_wrong_is_wrong(self):
        """Other pids, other times; what a script looks at in between (sees) is of the lesson's own seed."""
        for lesson in self.lessons:
            for way in lesson["ways"]:
                for seed in ("1", "2", "3") if way["kind"] != "nothing" else ():
                    with self.subTest(lesson=lesson["number"], way=way["name"], seed=seed):
                        result = json.loads(self.play(lesson, way, "--seed", seed).out)
                        self.assertTrue(way["least"] <= result["score"] <= way["most"], result["lines"])
                        ended = [fault for fault in result["faults"] if " ended as " in fault]
                        self.assertTrue(way["kind"] != "right" or not ended, ended)

    def test_each_way_gives_the_bytes_that_are_written_down(self):
        lines = []
        for lesson in self.lessons:
            for way in lesson["ways"]:
                done = self.play(lesson, way)
                digest = hashlib.sha256(done.out.encode()).hexdigest()
                lines.append(f"{lesson['number']} {way['name']} {json.loads(done.out)['score']} {digest[:32]}\n")
        if os.environ.get("BATON_UPDATE_GOLDEN"):
            with open(DIGESTS, "w", encoding="utf-8") as out:
                out.writelines(lines)
        with open(DIGESTS, encoding="utf-8") as written:
            self.assertEqual(written.readlines(), lines, "\nif that is meant: make update-lessons, and read the difference")

    def test_right_ways_earn_ninety_and_wrong_ones_forty_at_most(self):
        for lesson in self.lessons:
            if lesson["kind"] != "lesson":
                continue
            with self.subTest(lesson=lesson["number"]):
                kinds = {way["kind"] for way in lesson["ways"]}
                self.assertEqual(kinds, {"right", "wrong", "nothing"})
                for way in lesson["ways"]:
                    if way["kind"] == "right":
                        self.assertGreaterEqual(way["least"], 90)
                    if way["kind"] == "wrong":
                        self.assertLessEqual(way["most"], 40)

    def test_who_does_nothing_restores_nothing(self):
        """But for the study in which watching is the task: what comes right by itself earns no points for time."""
        for lesson in self.lessons:
            for way in lesson["ways"]:
                if way["kind"] == "nothing" and lesson["kind"] == "lesson":
                    with self.subTest(lesson=lesson["number"]):
                        self.assertEqual(json.loads(self.play(lesson, way).out)["parts"]["time"], 0)

    def test_the_debrief_is_whole_and_fits_eighty_columns(self):
        for lesson in self.lessons:
            with self.subTest(lesson=lesson["number"]):
                done = self.home.baton("train", lesson["number"], "--script", lesson["ways"][0]["name"], "--ascii")
                self.assertEqual(done.code, 0, done)
                for part in ("Score, line by line", "What truly happened", "What you did", "In real life",
                             "The principle", "The story, as it truly went", "Ways through it"):
                    self.assertIn(part, done.out)
                flowing = " ".join(done.out.split())
                for way in lesson["ways"]:
                    self.assertIn(" ".join(way["text"].split()), flowing)
                self.assertEqual([line for line in done.out.splitlines() if len(line) > 80], [])
                self.assertTrue(done.out.isascii())

    def test_the_timeline_shows_what_the_score_counts(self):
        """Time in which nobody worked, or two: the chart and the score tell the same, from the first moment on."""
        for lesson in self.lessons:
            for way in lesson["ways"]:
                with self.subTest(lesson=lesson["number"], way=way["name"]):
                    result = json.loads(self.play(lesson, way).out)
                    bands = {(band["group"], band["label"]): band["spans"] for band in result["timeline"]}
                    self.assertTrue(bands, "there is something to draw")
                    # What the records said stands beside it, where there are records: a CronJob names no holder.
                    named = [group for group, _ in bands if group.endswith(": whom the record named")]
                    self.assertTrue(named or lesson["number"] in ("S09", "S10", "O01"))
                    for measure in result["measures"]:
                        label = {"vacant": "nobody", "overlap": "two at once"}.get(measure["measure"])
                        spans = [span for duty in measure["of"] for span in bands.get((f"{duty}: who did the work", label), ())]
                        drawn = sum(max(0, span["to_ms"] - max(span["from_ms"], lesson["begins_ms"])) for span in spans)
                        if label == "nobody":
                            self.assertEqual(drawn, measure["value"], measure)
                        elif label:
                            # Of three at once it counts twice.
                            self.assertTrue(drawn <= measure["value"] <= drawn * 2, measure)

    def test_the_story_tells_what_truly_happened(self):
        """Who is done was not stopped; what somebody did, and what came of it, is never lost among what many do."""
        for lesson in self.lessons:
            for way in lesson["ways"]:
                with self.subTest(lesson=lesson["number"], way=way["name"]):
                    result = json.loads(self.play(lesson, way).out)
                    told = [event["text"] for event in result["events"]]
                    self.assertLess(len(told), 80, "it is told to its end")
                    stopped = {text.split()[0] for text in told if "was asked to stop" in text}
                    acted = {act["id"].rsplit("/", 1)[-1] for act in result["acts"]}
                    self.assertEqual({name for name in stopped if not any(name.startswith(one) for one in acted)}, set())
        # The first lesson's cause lies minutes before its trainee comes.
        result = json.loads(self.play(self.lessons[0], self.lessons[0]["ways"][-1]).out)
        self.assertTrue([event for event in result["events"] if "answers false" in event["text"]], result["events"])
        # A run that is over is told with its own end.
        result = json.loads(self.home.baton("train", "S09", "--script", "remove-the-finalizer-only", "--json").out)
        told = [event["text"] for event in result["events"]]
        self.assertIn("the run cleanup-29541640 is over: Complete", told)
        self.assertIn("the run cleanup-29541600 is over: DeadlineExceeded", told)

    def test_what_is_printed_is_as_the_schema_says(self):
        with open(os.path.join(TOP, "doc", "baton-1.schema.json"), encoding="utf-8") as file:
            schema = Schema(json.load(file))
        printed = [self.home.baton("train", "--json").out]
        printed += [self.play(lesson, way).out for lesson in self.lessons for way in lesson["ways"]]
        printed.append(self.home.baton("train", "S12", "--script", "cancel-the-waiter", "--json", "--inject", "at: 10m, crash: {process: deploy-app}").out)
        for text in printed:
            self.assertEqual(schema.faults(json.loads(text)), [], text[:200])
        self.assertEqual(json.loads(printed[-1])["inject"], "at: 10m, crash: {process: deploy-app}")

    def test_results_are_listed_by_lesson(self):
        """With what was added to it, which the best score does not count."""
        with Home() as home:
            os.makedirs(os.path.join(home.state, "baton"))
            line = {"schema": "baton-lesson-result/1", "at": "2026-01-02T03:04:05Z", "title": "One", "seed": 7, "inject": None, "diagnosis": 30, "safety": 40,
                    "time": 20, "communication": 0, "hints": 0, "end": "restored", "after_ms": 65000}
            lines = [{**line, "lesson": "S01", "score": 60}, {**line, "lesson": "S02", "score": 70},
                     {**line, "lesson": "S01", "score": 90, "inject": "at: 1m, pause: {process: web-1, for: 9s}"}]
            with open(os.path.join(home.state, "baton", "lessons.jsonl"), "w", encoding="utf-8") as out:
                out.writelines(json.dumps(one) + "\n" for one in lines)
            with open(os.path.join(TOP, "doc", "baton-1.schema.json"), encoding="utf-8") as file:
                schema = Schema(json.load(file))
            told = [json.loads(text) for text in home.baton("train", "--results", "--json").out.splitlines()]
            self.assertEqual(told, lines)
            self.assertEqual([fault for one in told for fault in schema.faults(one)], [])
            own = home.baton("train", "--results", "s01").out.splitlines()
            self.assertEqual([("S01" in text, "added: at: 1m, pause" in text) for text in own], [(True, False), (True, True)])
            self.assertIn("S03 was not played", home.baton("train", "--results", "S03").out)
            self.assertEqual(home.baton("train", "--results", "S77").code, 66)
            best = {lesson["number"]: lesson["best"] for lesson in json.loads(home.baton("train", "--json").out)["lessons"]}
            self.assertEqual((best["S01"], best["S02"], best["S03"]), (60, 70, None))

    def test_playing_a_script_keeps_no_result(self):
        self.play(self.lessons[0], self.lessons[0]["ways"][0])
        self.assertIn("No lesson was played", self.home.baton("train", "--results").out)

    def test_a_script_of_ones_own(self):
        lesson = self.lessons[0]
        path = os.path.join(self.home.folder.path, "mine.yaml")
        at = lesson["begins_ms"] // 1000 + 5
        for text, says in ((f"- {{at: {at}s, note: we look at it}}\n- {{at: {at + 1}s, hint: 1}}\n", None),
                           (f"steps: [{{at: {at}s, note: we look at it}}, {{at: {at + 1}s, hint: 1}}]\n", None),
                           (f"- {{at: {at}s, hit: 1}}\n", "unknown key 'hit' in item 1 of 'steps'; did you mean 'hint'?"),
                           ("- {at: 0s, hint: 1}\n", "mine.yaml:1:8: a step is not before"),
                           ("nonsense\n", "mine.yaml:1:1: the script must be a map")):
            with self.subTest(text=text):
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
                done = self.home.baton("train", lesson["number"], "--script", path, "--json")
                if says:
                    self.assertEqual((done.code, done.out), (64, ""), done)
                    self.assertIn(says, done.err)
                    continue
                self.assertEqual([said["what"] for said in json.loads(done.out)["said"]], ["note", "hint"])
                # As the results tell it: what it cost.
                self.assertEqual(json.loads(done.out)["parts"]["hints"], 5)

    def test_the_debrief_says_of_an_act_what_it_did_then(self):
        """The same verb on the same row helps or harms by whom it was about, by when, and by what was done before."""
        builder, deploy = ({"act": "cancel", "on": "orders/billing:72707369", "expect": who} for who in ("builder-billing", "deploy-billing"))
        leader = {"act": "release", "on": "ctl//placer/leader", "expect": "placer-1"}
        resume = {"act": "resume", "on": "prod/cronjob/billing/invoices"}
        allow = {"act": "apply", "on": "fleet/change/allow"}
        for lesson, acts, was in (
                ("S01", [(160, {"act": "release", "on": "orders/app:1000", "expect": "pod-4"})], ["needless"]),
                ("S01", [(160, {"act": "restart", "on": "fleet/process/web-1"})], ["harmed"]),
                ("S02", [(60, {"act": "release", "on": "orders/app:1000", "expect": "worker-a"}), (75, {"act": "stop", "on": "fleet/process/worker-a"})],
                 ["harmed", "helped"]),
                ("S02", [(60, {"act": "release", "on": "orders/app:1000", "expect": "worker-b"})], ["harmed"]),
                ("S04", [(105, {"act": "fence", "on": "fleet/machine/place-1"}), (108, leader)], ["helped", "helped"]),
                ("S04", [(105, leader)], ["harmed"]),
                ("S05", [(60, {"act": "stop", "on": "fleet/process/payer-b"}), (62, {"act": "start", "on": "fleet/process/payer-b"}),
                         (90, {"act": "stop", "on": "fleet/process/payer-a"})], ["helped", "helped", "helped"]),
                ("S09", [(2560, allow)], ["harmed"]),
                ("S09", [(2550, {"act": "fence", "on": "fleet/machine/node-2"}), (2610, allow)], ["helped", "needless"]),
                ("S10", [(110, resume)], ["harmed"]),
                ("S10", [(320, resume)], ["helped"]),
                ("S11", [(95, {"act": "release", "on": "ctl/elections/mail", "expect": "mailer-b"})], ["harmed"]),
                ("S12", [(590, builder)], ["harmed"]),
                ("S12", [(590, deploy)], ["helped"]),
                ("S12", [(590, {"act": "stop", "on": "fleet/process/builder-app"})], ["harmed"])):
            with self.subTest(lesson=lesson, acts=acts):
                path = os.path.join(self.home.folder.path, "acts.yaml")
                with open(path, "w", encoding="utf-8") as out:
                    json.dump([{"at": f"{at}s", "reason": "to see what comes of it", **act} for at, act in acts], out)
                result = json.loads(self.home.baton("train", lesson, "--script", path, "--json").out)
                self.assertEqual((result["faults"], [act["was"] for act in result["acts"]]), ([], was), result["acts"])

    def test_a_trainee_breaks_nothing_on_purpose(self):
        """What breaks is the lesson's: the verbs of the demo that break the process behind a row are not there."""
        path = os.path.join(self.home.folder.path, "mine.yaml")
        for act, on in (("crash", "orders/app:1000"), ("partition", "orders/app:1000"), ("kill-connection", "orders/app:1000")):
            with self.subTest(act=act):
                with open(path, "w", encoding="utf-8") as out:
                    out.write(f"- {{at: 60s, act: {act}, on: '{on}', expect: worker-a, reason: to see what comes of it}}\n")
                done = self.home.baton("train", "S02", "--script", path, "--json")
                self.assertEqual(done.code, 1, done)
                self.assertIn("does not work on pg-advisory", json.dumps(json.loads(done.out)["faults"]))
                shown = self.home.baton("forecast", act, on, "--sim", os.path.join(TOP, "scenarios", "S02.yaml"), "--at", "60s", "--expect", "worker-a", "--json")
                self.assertTrue(json.loads(shown.out)["allowed"], shown)

    def test_another_seed_is_another_world(self):
        lesson, way = self.lessons[0], self.lessons[0]["ways"][0]
        one, two = (self.play(lesson, way, "--seed", seed).out for seed in ("41", "42"))
        self.assertNotEqual(one, two)
        self.assertEqual(json.loads(two)["seed"], 42)

    def test_what_is_wrong_is_named(self):
        for args, code, says in (
                (("S99",), 66, "there is no lesson 'S99'"),
                (("--script", "nothing"), 64, "train needs a LESSON"),
                (("S02",), 1, "the console needs a terminal"),
                (("./nothing.yaml",), 66, "nothing.yaml"),
                ((self.lessons[0]["number"], "--script", "nonsense"), 64, "has no way 'nonsense'; there are "),
                ((self.lessons[0]["number"], "--inject", "at: 1s, paus: {process: x}"), 78, "--inject:1:10: unknown key 'paus'"),
                ((self.lessons[0]["number"], "--inject", "at: 1s, pause: {process: nobody-at-all, for: 1s}"), 78, "nobody-at-all")):
            with self.subTest(args=args):
                done = self.home.baton("train", *args)
                self.assertEqual((done.code, done.out), (code, ""), done)
                self.assertIn(says, done.err)


class Example(unittest.TestCase):
    """The whole example of doc/scenario-format.md."""

    def test_what_its_world_has_not_is_named_with_its_place(self):
        path = os.path.join(TOP, "doc", "example-lesson.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with Home() as home:
            mine = os.path.join(home.folder.path, "mine.yaml")
            for old, new, says in (
                    ("of: settle, text: two", "of: settel, text: two", "overlap 'settel', which its world has not; did you mean 'settle'?"),
                    ("duty: settle, workers: 1", "duty: settles, workers: 1", "a duty 'settles', which its world has not; did you mean 'settle'?"),
                    ("unless: stop fleet", "unless: stopp fleet", "no verb 'stopp'; did you mean 'stop'?"),
                    ("unless: stop fleet/process/worker-a", "unless: stop", "'unless' must be a verb and an id")):
                with self.subTest(new=new):
                    self.assertEqual(text.count(old), 1)
                    at = text.index(old)
                    line = text.count("\n", 0, at) + 1
                    with open(mine, "w", encoding="utf-8") as out:
                        out.write(text.replace(old, new))
                    done = home.baton("train", mine, "--script", "nothing")
                    self.assertEqual(done.code, 78, done)
                    self.assertRegex(done.err, rf"mine\.yaml:{line}:\d+: ")
                    self.assertIn(says, done.err)

    def test_it_loads_and_its_ways_give_what_they_say(self):
        path = os.path.join(TOP, "doc", "example-lesson.yaml")
        with Home() as home:
            for way, least, most in (("stop-then-wait", 90, 100), ("release-first", 0, 40), ("nothing", 30, 60)):
                with self.subTest(way=way):
                    done = home.baton("train", path, "--script", way, "--json")
                    self.assertEqual((done.code, done.err), (0, ""), done)
                    self.assertTrue(least <= json.loads(done.out)["score"] <= most, done.out)


if __name__ == "__main__":
    unittest.main()
