"""Recording and replaying in a terminal: R, and a record's time driven by keys."""

import glob
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from pty_program import Program, environment  # noqa: E402
from servers import Home, baton_path  # noqa: E402


def console(home, *args, rows=24, columns=110):
    env = environment(HOME=home.folder.path, XDG_STATE_HOME=home.state, XDG_CONFIG_HOME=home.config_folder)
    return Program(baton_path(), *args, rows=rows, columns=columns, env=env)


class Record(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def test_R_records_and_ends(self):
        with console(self.home, "demo") as p:
            p.wait("[SIM").wait("CONTENDED")
            p.keys("R").wait("recording to").wait(lambda s: "[REC]" in s.line(0))
            # Also while a window stands over the picture.
            p.keys("a").wait("step-down").keys("\x1b")
            p.keys("R").wait("recorded in").wait(lambda s: "[REC]" not in s.line(0))
            p.keys(":record /nonexistent/x\r").wait("No such file or directory")
            p.keys("RRRR").wait("recorded in")
            p.keys("q")
            self.assertEqual(p.end(), 0)
        path, *more = sorted(glob.glob(os.path.join(self.home.state, "baton", "records", "*.jsonl")))
        self.assertEqual(len(more), 2)
        done = self.home.baton("list", "--replay", path)
        # It may end before every source has answered.
        self.assertIn((done.code, done.err), ((0, ""), (13, "")), done)
        self.assertIn("CONTENDED", done.out)

    def test_what_is_recorded_when_the_console_leaves_is_whole(self):
        path = os.path.join(self.home.folder.path, "r.jsonl")
        with console(self.home, "demo") as p:
            p.wait("[SIM").wait("CONTENDED")
            p.keys(f":record {path}\r").wait(lambda s: "[REC]" in s.line(0))
            p.keys("q")
            self.assertEqual(p.end(), 0)
        self.assertEqual(self.home.baton("list", "--replay", path).err, "")

    def test_a_record_that_is_lost_while_the_console_leaves_is_said(self):
        path = os.path.join(self.home.folder.path, "r.jsonl")
        with console(self.home, "demo") as p:
            p.wait("[SIM").wait("CONTENDED")
            p.keys(f":record {path}\r").wait(lambda s: "[REC]" in s.line(0))
            os.unlink(path)
            p.keys("q")
            self.assertEqual(p.end(), 0)
        self.assertIn(f"the record {path}: the file was deleted while it was written", p.raw.decode())

    def test_a_record_is_driven_by_keys(self):
        path = os.path.join(self.home.folder.path, "r.jsonl")
        self.assertEqual(self.home.baton("record", path, "--sim", "demo", "--at", "2m").code, 0)
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        first, last = (line["at"][11:19] for line in (lines[0], lines[-1]))
        # So wide that the first line has all sources: each shows the new moment in its own time.
        with console(self.home, "replay", path, columns=200) as p:
            p.wait("[REPLAY x1]").wait("CONTENDED")
            self.assertIn("═", p.screen.line(1))
            p.keys("Z").wait("[PAUSED]")
            p.keys(":seek end\r").wait(lambda s: last in s.line(0) and not re.search(r"\b\d+m\b", s.line(0)))
            p.settle()
            end = p.screen.text
            p.keys("{").wait(lambda s: last not in s.line(0))
            p.keys(":seek start\r").wait(lambda s: first in s.line(0))
            p.keys("}").wait(lambda s: first not in s.line(0))
            p.keys(":seek +10s\r").keys("(").keys(")")
            p.keys("s").wait("[PAUSED]")
            p.keys(":seek end\r").wait(lambda s: last in s.line(0))
            p.wait(lambda s: s.text.splitlines()[2:-1] == end.splitlines()[2:-1])
            # Also where a second of the record is a millisecond.
            p.keys(":speed 1000\r").wait("[REPLAY x1000]")
            for second in ("07", "41", "22"):
                p.keys(f":seek 08:59:{second}\r").wait(f"2026-03-03T08:59:{second}Z")
            p.keys(":seek end\r").keys(":speed 1\r").keys("x").wait("[REPLAY x2]")
            p.keys(":speed 0.5\r").wait("[REPLAY x0.5]")
            p.keys("R").wait("this is a record already")
            p.keys(":now\r").wait("a record has no now: :seek end goes to its end")
            p.keys("a").wait("this is a record of what was")
            p.keys("5").wait("Nothing was done with baton up to this moment")
            p.keys("1").keys("q")
            self.assertEqual(p.end(), 0)

    def test_a_jump_says_what_is_there(self):
        path = os.path.join(self.home.folder.path, "r.jsonl")
        self.assertEqual(self.home.baton("record", path, "--sim", "demo", "--at", "2m").code, 0)
        with open(path, encoding="utf-8") as file:
            events = [line for line in map(json.loads, file) if line["line"] == "event" and line["what"] == "finding"]
        first, _, third = sorted({event["at"][:19] + "Z  finding" for event in events})[:3]
        with console(self.home, "replay", path, columns=120) as p:
            p.wait("[REPLAY x1]").wait("CONTENDED")
            p.keys("}").wait(first)
            p.keys("}}").wait(third)
            # Time has gone on a little since: that is no way to be caught at one finding.
            p.keys("{{").wait(lambda s: "Z  finding" in s.text and third not in s.text)
            p.keys("s").wait("[PAUSED]")
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_keys_behind_a_jump_back_find_no_event_that_is_none(self):
        """All in one write: the cursor moves before anything of the new time was drawn."""
        path = os.path.join(self.home.folder.path, "r.jsonl")
        self.assertEqual(self.home.baton("record", path, "--sim", "demo", "--at", "2m").code, 0)
        with console(self.home, "replay", path) as p:
            p.wait("[REPLAY x1]").wait("CONTENDED")
            p.keys("Z").wait("[PAUSED]")
            p.keys(":seek end\r3").wait("took it").settle()
            for keys in ("jjj", "Gkk", "y", "\r"):
                p.keys("3").keys(":seek end\r").settle()
                p.keys(f":seek start\r{keys}").settle()
            p.keys("1").wait("SUSPENDED").keys("q")
            self.assertEqual(p.end(), 0)

    def test_what_was_done_is_shown_at_its_time(self):
        path = os.path.join(self.home.folder.path, "r.jsonl")
        self.assertEqual(self.home.baton("record", path, "--sim", "demo", "--at", "2m").code, 0)
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        id = "orders/orders:1000"
        intent = {"schema": "baton/1", "at": "2026-03-03T08:59:25.250Z", "n": 7, "phase": "intent", "id": id, "verb": "release",
                  "target": {"identity": "invoicer-1", "key": "4711@1"}, "request": "pg_terminate_backend\u001b[31m",
                  "reason": "it \u001b]0;hangs", "who": {"user": "zoe", "host": "desk"}, "outcome": None, "evidence": [[[{}]]]}
        outcome = {**intent, "at": "2026-03-03T08:59:26.000Z", "phase": "outcome", "outcome": "done", "answer": "it let go"}
        place = next(i for i, line in enumerate(lines) if line["line"] == "frame" and line["t"] >= 61000)
        for each in (outcome, intent):
            lines.insert(place, {"t": lines[place - 1]["t"], "line": "act", "at": "2026-03-03T08:59:26.000000Z", "audit": each})
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        with console(self.home, "replay", path, rows=40, columns=140) as p:
            p.wait("[REPLAY x1]").keys("Z").wait("[PAUSED]")
            p.keys(":seek start\r").wait("08:58:25").keys("5").wait("Nothing was done with baton up to this moment")
            p.keys(":seek end\r").wait("pg_terminate_backend\\x1b[31m").wait("it let go").wait("zoe on desk")
            self.assertNotIn(b"\x1b]0;hangs", p.raw)
            p.keys(":seek start\r").wait("Nothing was done with baton up to this moment")
            p.keys(":seek end\r").keys("3").keys("/act\r").wait("release begun by zoe on desk: it \\x1b]0;hangs").wait("release done: it let go")
            p.keys("q")
            self.assertEqual(p.end(), 0)
        told = self.home.baton("show", id, "--replay", path, "--json").json["history"]
        self.assertEqual([(each["at"][:23], each["text"]) for each in told if each["what"] == "act"], [
            ("2026-03-03T08:59:25.250", "release begun by zoe on desk: it \\x1b]0;hangs"),
            ("2026-03-03T08:59:26.000", "release done: it let go")])
        before = self.home.baton("show", id, "--replay", path, "--json", "--at", "30s").json["history"]
        self.assertNotIn("act", [each["what"] for each in before])

    def test_a_record_without_names_says_that_acts_are_left_out(self):
        path = os.path.join(self.home.folder.path, "r.jsonl")
        self.assertEqual(self.home.baton("record", path, "--sim", "demo", "--at", "5s", "--redact").code, 0)
        with console(self.home, "replay", path) as p:
            p.wait("[REPLAY x1]").keys("5").wait("what was done is left out")
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_live_time_can_not_be_driven(self):
        record = os.path.join(self.home.folder.path, "r.jsonl")
        with console(self.home, "demo") as p:
            p.wait("[SIM").wait("CONTENDED")
            p.keys(")").wait("a record can be gone back in")
            p.keys("q")
            self.assertEqual(p.end(), 0)
        self.assertFalse(os.path.exists(record))


if __name__ == "__main__":
    unittest.main()
