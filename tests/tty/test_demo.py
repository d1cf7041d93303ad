"""
The built-in fleet in the console: `baton` with nothing to look at opens it, within a minute of its time each kind of trouble is on
the screen, and an operator breaks something by the menu and sees it recorded.
"""

import json
import os
import re
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from pty_program import Program, environment  # noqa: E402
from servers import baton_path  # noqa: E402


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="baton-demo-")
        self.addCleanup(self.folder.cleanup)

    def baton(self, *args, rows=40, columns=110, **more):
        """With no environment but a terminal and an empty home."""
        env = environment(HOME=self.folder.name, **more)
        return Program(baton_path(), *args, rows=rows, columns=columns, env=env)

    def test_nothing_to_look_at_opens_it(self):
        with self.baton() as p:
            p.wait("[SIM x1]").wait("baton init").wait("control/elections/archiver")
            self.assertIn("[ARMED]", p.screen.line(0))
            self.assertIn("DEMO", p.screen.line(0))
            self.assertNotIn("\u2500", p.screen.line(1), "the frame is as that of real systems")
            p.keys("q")
            self.assertEqual(p.end(), 0)
        self.assertEqual(os.listdir(self.folder.name), [], "something was written")

    def test_no_cause_is_to_be_picked_outside_of_a_lesson(self):
        with self.baton("demo") as p:
            p.wait("[SIM x1]").keys("6").wait("This is no lesson.").settle()
            hints = p.screen.line(39)
            self.assertIn("x faster", hints)
            self.assertNotIn("diagnose", hints)
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_whoever_has_a_config_is_no_newcomer(self):
        """Names that were taken out, a file that can't be read, a server that is down: said, and never a made-up fleet."""
        config = os.path.join(self.folder.name, "config.yaml")
        for text, code, said in (("theme: mono\n", 78, "names no source"), ("sources: {}\n", 78, "names no source"), ("", 78, "config.yaml"),
                                 ("sources: [", 78, "config.yaml"), (None, 78, "config.yaml")):
            with self.subTest(text=text):
                if text is None:
                    os.remove(config)
                else:
                    with open(config, "w", encoding="utf-8") as out:
                        out.write(text)
                with self.baton(BATON_CONFIG=config) as p:
                    p.wait(said)
                    self.assertNotIn("SIM", p.screen.text)
                    self.assertEqual(p.end(), code)
        with self.baton(ETCDCTL_ENDPOINTS="http://127.0.0.1:1") as p:
            p.wait("etcd").wait("failing")
            self.assertNotIn("SIM", p.screen.text)
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_ascii_and_mono_tell_it_too(self):
        with self.baton("--ascii", "demo", NO_COLOR="1") as p:
            p.wait("[SIM x1]").wait("control/elections/archiver")
            self.assertNotIn("---", p.screen.line(1), "the frame is as that of real systems")
            self.assertTrue(p.screen.text.isascii())
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_each_kind_of_trouble_comes_within_the_first_minute(self):
        with self.baton("demo") as p:
            p.wait("[SIM x1]").wait("control/elections/archiver")
            p.keys(":speed 10\r").wait("[SIM x10]")
            for word in ("D DUPLICATE", "S STALE", "O ORPHAN"):
                p.wait(word)
            p.keys("3")
            p.wait(lambda screen: any("hand-over" in line and "settler" in line for line in screen.text.splitlines()))
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_time_stands_still_and_goes_step_by_step(self):
        with self.baton("demo") as p:
            p.wait("[SIM x1]").wait("control/elections/archiver")
            p.keys("Z").wait("[PAUSED]").settle()
            p.keys("3").wait("TIME").settle()
            before = p.screen.text
            p.settle(1.2)
            self.assertEqual(p.screen.text, before, "time goes on")
            # What the next things are is said as soon as it is seen.
            p.keys("1").keys("sss").wait(lambda screen: re.search(r"2026-03-03T0\S+Z  \w+ \w+/\S+: \w", screen.text))
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_a_crash_by_the_menu(self):
        """And a record of it has what was done to the fleet, and nothing that was done to real systems meanwhile."""
        record, state = (os.path.join(self.folder.name, path) for path in ("r.jsonl", ".local/state/baton"))
        with self.baton("demo", "--seed", "7") as p:
            p.wait("[SIM x1]").wait("control/elections/fx-rates")
            p.keys(f":record {record}\r").wait("recording to").settle()
            p.keys("/fx-rates\r").wait("/fx-rates").settle()
            p.keys("a").wait("crash")
            self.choose(p, "crash")
            self.choose(p, "fx-1")
            p.wait("kill -9 fx-1").keys("y\r").wait("Now watch what comes of it")
            p.keys("\x1b").settle()
            p.keys("/\x15\r").settle()
            self.assertFalse(os.path.exists(os.path.join(state, "audit.jsonl")))
            with open(os.path.join(state, "audit.jsonl"), "w", encoding="utf-8") as audit:
                audit.write(json.dumps({"n": 1, "phase": "intent", "verb": "release"}) + "\n")
            time.sleep(1)  # some pictures more
            p.keys("R").wait("recorded in")
            p.keys("q")
            self.assertEqual(p.end(), 0)
        with open(record, encoding="utf-8") as lines:
            acts = [line["audit"]["verb"] for line in map(json.loads, lines) if line["line"] == "act"]
        self.assertEqual(acts, ["crash", "crash"])
        with open(os.path.join(self.folder.name, ".local/state/baton/sim/audit.jsonl"), encoding="utf-8") as audit:
            lines = [json.loads(line) for line in audit]
        self.assertEqual([(line["verb"], line["sim"], line["outcome"]) for line in lines], [("crash", True, None), ("crash", True, "done")])

    def test_the_menu_has_what_a_row_of_the_fleet_can_have(self):
        """What can be done now comes first; what can't says why; what is for machines, pods and changes is not there."""
        with self.baton("demo") as p:
            p.wait("[SIM x1]").wait("control/elections/archiver")
            p.keys("/invoicer-1\r").wait("fleet/process/invoicer-1").settle()
            p.keys("ja").wait("Enter chooses")
            menu = [line.split("\u2502")[1].strip("\u258c ") for line in p.screen.text.splitlines() if line.count("\u2502") == 2]
            self.assertEqual([line.split()[0] for line in menu][:4], ["ask", "stop", "restart", "start"])
            self.assertIn("it runs already", menu[3])
            self.assertFalse({"fence", "isolate", "apply", "unhold", "mend"} & {line.split()[0] for line in menu})
            p.keys("\x1bq")
            self.assertEqual(p.end(), 0)

    def choose(self, p, word):
        """Moves down a list to the line of that word, and takes it."""
        for _ in range(40):
            p.wait(word).settle(0.05)
            if any(line.strip("\u2502 ").startswith("\u258c" + word) for line in p.screen.text.splitlines()):
                p.keys("\r")
                return
            p.keys("j")
        self.fail(f"{word} can't be reached:\n{p.screen.text}")


if __name__ == "__main__":
    unittest.main()
