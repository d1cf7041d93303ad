"""
Two lessons through the real key presses, in tmux: what comes of a way that is typed is what comes of its script, byte for byte.
The clock stands still while something is typed, and :wait lets it go on by an exact time, so that each key has its moment.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from pty_program import Program  # noqa: E402
from servers import Home, baton_path, missing  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE = 30.0
ROWS, COLUMNS = 60, 110


WANTED = re.compile(r"type (\S+) >")


def asked(text):
    """Whether an act waits to be confirmed; a screen that is half drawn may have a part of the question."""
    return "y does it" in text or WANTED.search(text) is not None


class Tmux:
    """One program in a server of its own."""

    def __init__(self, home, *argv):
        self.env = home.env(TERM="screen-256color")
        self.socket = home.folder / "tmux"
        self.call("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "sleep 0.2; exec " + " ".join(argv))
        self.call("set-option", "-g", "remain-on-exit", "on")

    def call(self, *args):
        done = subprocess.run(["tmux", "-f", "/dev/null", "-S", self.socket, *args], env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout

    @property
    def text(self):
        return self.call("capture-pane", "-p")

    def after_the_end(self):
        """What the program printed, lines that the terminal wrapped joined again."""
        return self.call("capture-pane", "-p", "-J", "-S", "-")

    def dead(self):
        return self.call("display-message", "-p", "#{pane_dead}").strip() == "1"

    def wait(self, what):
        test = what if callable(what) else lambda text: what in text
        deadline = time.monotonic() + PATIENCE
        while True:
            text = self.text
            if test(text):
                return text
            assert time.monotonic() < deadline, f"{what!r} did not come; the screen is\n{text}"
            time.sleep(0.03)

    def type(self, text):
        self.call("send-keys", "-l", text)

    def press(self, *keys):
        self.call("send-keys", *keys)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], env=self.env, capture_output=True)


class Trainee:
    """Types a way of a lesson."""

    def __init__(self, tmux, lesson):
        self.tmux, self.lesson = tmux, lesson
        self.now_ms = lesson["begins_ms"]
        tmux.wait("read the story")

    def command(self, text, says):
        self.tmux.press("Escape")
        self.tmux.type(":" + text)
        self.tmux.wait(":" + text)
        self.tmux.press("Enter")
        return self.tmux.wait(says)

    def until(self, at_ms):
        if at_ms > self.now_ms:
            self.command(f"wait {at_ms - self.now_ms}ms", lambda text: "stands still again" in text or "is over" in text)
            self.now_ms = at_ms
            self.settle()

    def settle(self):
        before = None
        while before != self.tmux.text:
            before = self.tmux.text
            time.sleep(0.3)

    def choose(self, word):
        """Moves the cursor of a list to the line that begins with a word; None: the first, which is a holder."""
        for _ in range(60):
            line = next((line for line in self.tmux.text.split("\n") if "▌" in line and "│" in line), "")
            if word is None or f"{line.split('▌', 1)[-1]} ".startswith(f"{word} "):
                self.tmux.press("Enter")
                return
            before = self.tmux.text
            self.tmux.press("Down")
            self.tmux.wait(lambda text, before=before: text != before)
        raise AssertionError(f"{word} is not in the list:\n{self.tmux.text}")

    def act(self, step):
        if step["act"] != "ask":
            self.command("arm", "ARMED")
        self.command(f"open {step['on']}", lambda text: f"> {step['on']}" in text or f"> {step['on'][:20]}" in text)
        self.tmux.press("a")
        self.tmux.wait("Enter chooses")
        self.choose(step["act"])
        text = self.tmux.wait(lambda text: "which one?" in text or asked(text))
        if "which one?" in text:
            self.choose(step["expect"])
        self.confirm(self.tmux.wait(asked), step)
        self.tmux.wait(lambda text: "Esc closes" in text or "5 shows how it ends" in text)
        self.settle()
        for _ in range(3):
            if "Esc closes" in self.tmux.text or "it can't be called back" in self.tmux.text:
                self.tmux.press("Escape")
                time.sleep(0.3)

    def confirm(self, text, step):
        if "reason >" in text:
            self.tmux.type(step["reason"])
            self.tmux.press("Enter")
        if "y does it" in text:
            self.tmux.type("y")
            return
        wanted = WANTED.search(text).group(1)
        self.tmux.type(wanted)
        self.tmux.wait(f"> {wanted}")
        self.tmux.press("Enter")

    def step(self, step):
        self.until(step["at_ms"])
        if step["what"] == "diagnose":
            self.command("diagnose " + " ".join(step["causes"]), "picked: ")
        elif step["what"] == "act":
            self.act(step)
        elif step["what"] == "hint":
            self.command("hint", " points: ")
        elif step["what"] == "note":
            self.command("note " + step["note"], "noted")
        elif step["what"] == "finish":
            self.command("finish", "is over")

    def to_the_end(self):
        while "the lesson is over" not in self.tmux.text:
            self.until(self.now_ms + 10000)
        self.tmux.press("Escape")
        self.tmux.press("q")
        deadline = time.monotonic() + PATIENCE
        while not self.tmux.dead():
            assert time.monotonic() < deadline, self.tmux.text
            time.sleep(0.05)


class Typed(unittest.TestCase):
    def setUp(self):
        if not shutil.which("tmux"):
            missing("tmux", "tmux")
        self.home = Home()
        self.addCleanup(self.home.close)
        self.lessons = json.loads(self.home.baton("train", "--json").out)["lessons"]

    def typed(self, name, way):
        lesson = next(lesson for lesson in self.lessons if lesson["number"] == name)
        steps = next(w for w in lesson["ways"] if w["name"] == way)["steps"]
        tmux = Tmux(self.home, baton_path(), "train", name, "--json")
        self.addCleanup(tmux.close)
        trainee = Trainee(tmux, lesson)
        for step in steps:
            trainee.step(step)
        trainee.to_the_end()
        text = tmux.after_the_end()
        return text[text.index('{"schema"'):]

    def same(self, name, way):
        script = json.loads(self.home.baton("train", name, "--script", way, "--json").out)
        typed, _ = json.JSONDecoder().raw_decode(self.typed(name, way).replace("\n", ""))
        self.assertEqual({**script, "way": None}, typed)
        self.assertIn(f"  {name} ", self.home.baton("train", "--results").out)

    def test_a_way_that_is_typed_gives_what_its_script_gives(self):
        """Of the first lessons that have an act in their first way."""
        ways = [(lesson["number"], way["name"]) for lesson in self.lessons for way in lesson["ways"][:1]
                if any(step["what"] == "act" for step in way["steps"])]
        for number, way in ways[:2]:
            with self.subTest(lesson=number, way=way):
                self.same(number, way)


class Played(unittest.TestCase):
    """What a trainee meets on the way, at 80x24."""

    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def start(self, *args, **env):
        return Program(baton_path(), "train", *args, env=self.home.env(COLORFGBG="15;0", **env))

    def test_causes_hints_notes_and_the_end(self):
        with self.start("S06") as p:
            p.wait("read the story").wait("The clock stands still until you press Z")
            self.assertIn("S06 0:00", p.screen.line(0))
            p.keys("jd").wait("picked: ").wait(">[x]")
            p.keys("d").wait("no cause is picked")
            p.keys("d").wait("picked: ")
            p.keys(":hint\r").wait("for 5 points: ")
            p.keys(":diagnose nonsense\r").wait('no cause "nonsense"')
            p.keys(":note told the others that I look at it\r").wait("noted")
            p.keys(":wait 30s\r").wait("stands still again")
            self.assertIn("S06 0:30", p.screen.line(0))
            p.keys("1").wait("ctl/locks/batch").keys("6").wait("Your task").wait("d diagnose")
            p.keys("Z").wait("time goes on").wait("S06 0:31")
            p.keys(":finish\r").wait("the lesson is over: ").wait("Score, line by line")
            p.keys("d").wait("d does nothing here")
            p.keys("G").wait("The story, as it truly went")
            p.wait(lambda screen: "1 board" in screen.line(23))
            self.assertNotIn("diagnose", p.screen.line(23))
            p.keys("q")
            self.assertEqual(p.end(), 0)
        told = p.raw.decode().rsplit("\x1b[?1049l", 1)[1]
        self.assertRegex(told, r"S06 One lease, six keys: \d+ of 100")
        results = self.home.baton("train", "--results", "--json").out
        self.assertEqual(json.loads(results)["lesson"], "S06")
        self.assertEqual(json.loads(results)["hints"], 5)
        self.assertRegex(self.home.baton("train").out, r"S06 .* best +\d+")

    def test_the_result_goes_into_a_file_and_the_screen_to_the_terminal(self):
        path, fault = os.path.join(self.home.folder.path, "result.json"), "at: 2m, pause: {process: worker-2, for: 5s}"
        with Program("sh", "-c", 'exec "$0" train S06 --json --inject "$1" >"$2"', baton_path(), fault, path, env=self.home.env(COLORFGBG="15;0")) as p:
            p.wait("read the story")
            p.keys(":finish\r").wait("the lesson is over: ").wait(f"A fault was added: {fault}")
            p.keys("q")
            self.assertEqual(p.end(), 0)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        self.assertEqual((result["lesson"], result["inject"], result["way"]), ("S06", fault, None))
        self.assertIn(f"added: {fault}", self.home.baton("train", "--results").out)

    def test_who_is_done_need_not_wait(self):
        with self.start("S06") as p:
            p.wait("read the story")
            p.keys(":wait 2m\r").wait("time runs for 2m")
            p.keys(":finish\r").wait("the lesson is over: ")
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_leaving_early_keeps_no_result(self):
        with self.start("S06", "--ascii", NO_COLOR="1") as p:
            p.wait("read the story")
            self.assertTrue(p.screen.text.isascii())
            p.keys("q")
            self.assertEqual(p.end(), 0)
        self.assertIn("was left before its end: no result is kept", p.raw.decode())
        self.assertIn("No lesson was played", self.home.baton("train", "--results").out)

    def test_there_is_no_lesson_elsewhere(self):
        with Program(baton_path(), "demo", env=self.home.env(COLORFGBG="15;0")) as p:
            p.wait("SIM").keys("6").wait("This is no lesson.")
            p.keys(":hint\r").wait("this is no lesson")


if __name__ == "__main__":
    unittest.main()
