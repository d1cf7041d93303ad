"""The console in a pseudo-terminal: it draws, follows keys, and gives the terminal back on every way out."""

import base64
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from pty_program import STAGE, Program, environment  # noqa: E402

ALT, CURSOR_KEYS, CURSOR, PASTE = 1049, 1, 25, 2004


def stage(*args, rows=24, columns=80, **env):
    return Program(STAGE, *map(str, args), rows=rows, columns=columns, env=environment(**env))


class Case(unittest.TestCase):
    def given_back(self, program):
        """The terminal is as it was: settings, screen, cursor, modes."""
        self.assertEqual(program.settings(), program.before)
        modes = program.screen.modes
        self.assertFalse(modes.get(ALT, False), "still on the alternate screen")
        self.assertFalse(modes.get(CURSOR_KEYS, False), "still in application mode")
        self.assertTrue(modes.get(CURSOR, True), "the cursor is hidden")
        self.assertFalse(modes.get(PASTE, False), "still in bracketed paste")
        self.assertFalse(modes.get(1000, False), "still reports the mouse")


class Draws(Case):
    def test_board(self):
        with stage("mixed") as p:
            p.wait("worker-1").wait("by need")
            self.assertIn("[READ-ONLY]", p.screen.line(0))
            self.assertRegex(p.screen.text, r"T STUCK +orders/app:-42")
            self.assertEqual(p.screen.unknown, [])
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.given_back(p)

    def test_every_size_and_back(self):
        with stage("mixed") as p:
            p.wait("by need")
            for rows, columns in ((36, 120), (50, 200), (60, 250), (24, 80), (8, 40), (24, 80)):
                p.resize(rows, columns)
                p.wait("by need")
                self.assertIn("baton", p.screen.line(0))
                self.assertIn("by need", p.screen.line(rows - 1))

    def test_too_small_says_so(self):
        with stage("mixed", rows=5, columns=20) as p:
            p.wait("too small")
            self.assertIn("20x5", p.screen.text.replace("\n", " "))
            p.resize(24, 80)
            p.wait("by need")
            for rows, columns in ((1, 1), (2, 3), (1, 200), (60, 2), (24, 80)):
                p.resize(rows, columns)
                p.settle()
            p.wait("by need")
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_resized_while_keys_come(self):
        seed = int(time.time())
        dice = random.Random(seed)
        with stage(5000, 50, 20) as p:
            p.wait("by need")
            for _ in range(60):
                p.keys(dice.choice(["j", "k", "G", "g", "\x1b[6~", "\x1b[5~", "S", "3", "1", "4", "\r", "]", "[", "l", "h"]))
                p.resize(dice.randint(1, 60), dice.randint(1, 250))
                p.read(dice.random() * 0.02)
                self.assertIsNone(p.poll(), f"seed {seed}")
            p.resize(24, 80)
            p.keys("\x1b")
            time.sleep(0.1)
            p.keys("1")
            p.wait("by ")
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.given_back(p)

    def test_hostile_names_are_text(self):
        with stage("mixed", rows=50, columns=200) as p:
            p.wait("evil")
            self.assertIn(r"evil\x0a\x1b]0;", p.screen.text)
            self.assertEqual([o for o in p.screen.osc if o.startswith(("0;", "2;"))], [])
            self.assertEqual(p.screen.bells, 0)

    def test_at_rest_little_is_written(self):
        with stage("calm") as p:
            p.wait("by need").settle(1.0)
            before = len(p.raw)
            deadline = time.monotonic() + 4
            while time.monotonic() < deadline:
                p.read(0.2)
            self.assertLess(len(p.raw) - before, 200)


class Keys(Case):
    def cursor_row(self, screen):
        return next((line for line in screen.text.split("\n") if line.startswith("▌")), "")

    def test_moves(self):
        with stage("mixed") as p:
            p.wait("by need")
            for keys, expect in (("j", "billing"), ("\x1b[B", "app:-42"), ("k", "billing"), ("\x1bOA", "west"), ("G", "router"),
                                 ("g", "west"), ("\x1b[F", "router"), ("\x1b[H", "west")):
                p.keys(keys).wait(lambda s, e=expect: e in self.cursor_row(s))

    def test_filter_live_and_escape(self):
        with stage("mixed") as p:
            p.wait("by need").keys("/")
            p.keys("state:held").wait(lambda s: "STALE" not in s.text)
            p.keys("\x1b").wait("STALE")
            p.keys("/state:helt\r").wait("is no state")
            self.assertIn("helt", p.screen.line(23))
            p.keys("\x7fd\r").wait(lambda s: "/state:held" in s.line(23) and "STALE" not in s.text)
            p.keys("\x1b").wait("STALE")
            p.keys("/nothing\r").wait("No row matches")

    def test_commands(self):
        with stage("mixed") as p:
            p.wait("by need").keys(":sor").wait("sort")
            p.keys("\x15sort -age\r").wait("turned round (:sort -age)")
            p.keys(":nonsense\r").wait("is no command")
            p.keys(":theme nothing\r").wait("no theme")
            p.keys(":theme light\r").wait("theme light")
            p.keys(":source orders\r").wait(lambda s: "elections" not in s.text)
            p.keys(":filter\r").wait("elections")
            p.keys(":open ctl/elec\tbil\t\r").wait("stale-holder")
            p.keys(":sources\r").wait("ANSWER")
            p.keys(":view events\r").wait("WHAT")
            p.keys("2").wait("has jobs")
            p.keys("5").wait("> actions")
            p.keys(":q\r")
            self.assertEqual(p.end(), 0)

    def test_an_answer_is_not_cut(self):
        with stage("mixed", columns=44) as p:
            p.wait("by need").keys(":theme nix\r").wait('no theme "nix"')
            p.wait(lambda s: "there are: builtin dark light okabe-ito mono contrast" in " ".join(s.text.split()))
            self.assertIn("baton", p.screen.line(0))
            p.keys("j").wait(lambda s: "contrast" not in s.text and "by need" in s.text)

    def test_tab_completes(self):
        with stage("mixed") as p:
            p.wait("by need").keys(":the\tlig\t").wait(lambda s: s.line(23).startswith(":theme light"))
            p.keys("\x15filter state:sta\t").wait(lambda s: s.line(23).startswith(":filter state:stale"))
            p.keys("\x1b").wait("by need")
            p.keys(":\x1b[A").wait(lambda s: s.line(23).startswith(":"))

    def test_help_is_searched(self):
        with stage("mixed") as p:
            p.wait("by need").keys("?").wait("Moving")
            p.keys("bracket").wait("Nothing in the help")
            p.keys("\x15clipb").wait(lambda s: "Moving" not in s.text)
            p.keys("\x15copy").wait("marked rows")
            p.keys("\x1b").wait("by need")
            p.keys("\x1bOP").wait("Moving")

    def test_views_and_back(self):
        with stage("mixed") as p:
            p.wait("by need").keys("jj\r").wait("idle-holder").wait("what happened")
            p.keys("3").wait("TIME (UTC)").keys("[").wait("what happened").keys("[").wait("by need")
            p.keys("]").wait("what happened").keys("]").wait("TIME (UTC)")
            p.keys("\x1b").wait("what happened")
            p.keys("\x1b").wait("by need")

    def test_a_role_leads_to_its_witnesses(self):
        """They are no rows of the board, and stand there all the same."""
        with stage("role-jobs") as p:
            p.wait("by need").keys(":open role/every-close\r").wait("dup-run").wait("its runs are hidden from us")
            p.keys("\r").wait("which of its witnesses?").wait("DUPLICATE  2 runs alive")
            p.keys("\r").wait("> kube/cronjob/billing/close").wait("Two runs are alive")
            self.assertNotIn("not in the picture", p.screen.text)
            p.keys("\x1b").wait("> role/every-close").keys("\x1b").wait("by need")
            p.keys(":open kube/cronjob/ops/leap\r").wait("FREE").wait("0 0 30 2 *")
            p.keys(":open west/cronjob/none\r").wait("its source can't be read now")
            p.keys(":open other/lock\r").wait("the sources are kube, edge, west")
            # In the past as well: what it showed then.
            p.keys(":open kube/cronjob/billing/close\r").wait("Two runs are alive")
            p.keys(":back 1s\r").wait("[PAST").wait("Two runs are alive")
            p.keys(".").wait(lambda s: "[PAST" not in s.line(0)).wait("Two runs are alive")
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_marks_and_copy(self):
        with stage("mixed") as p:
            p.wait("by need").keys("j").keys("  ").wait("2 marked")
            p.keys("y").wait("2 ids sent")
            sent = [o for o in p.screen.osc if o.startswith("52;c;")]
            self.assertEqual(base64.b64decode(sent[-1][5:]).decode(), "ctl/elections/billing\norders/app:-42")
            p.keys("/x\x1b").wait(lambda s: "marked" not in s.line(23))
            p.keys("gjjy").wait("clipboard: orders")
            sent = [o for o in p.screen.osc if o.startswith("52;c;")]
            self.assertEqual(base64.b64decode(sent[-1][5:]).decode(), "orders/app:-42")

    def test_pause(self):
        with stage(1000, 100, 50) as p:
            p.wait("by need").keys("Z").wait("[PAUSED]")
            p.settle(0.5)
            before = len(p.raw)
            time.sleep(0.4)
            p.read(0)
            self.assertLess(len(p.raw) - before, 300)
            p.keys("Z").wait(lambda s: "PAUSED" not in s.line(0))

    def test_while_paused_nothing_ages_but_the_pause(self):
        """A lease that nobody reads runs to no end on the screen."""
        with stage("mixed", columns=120) as p:
            p.wait("by need").keys(":arm\r").wait("[ARMED ").keys("Z").wait("[PAUSED]").wait("held still")
            rows = [p.screen.line(y) for y in range(2, 16)]
            p.wait(lambda s: re.search(r"\[PAUSED \d+s\]", s.line(0)), 30)
            self.assertEqual([p.screen.line(y) for y in range(2, 16)], rows)
            p.wait(lambda s: re.search(r"\[ARMED 4:\d\d\].* orders \d+s", s.line(0)))
            p.keys("Z").wait(lambda s: "PAUSED" not in s.line(0)).wait(lambda s: s.line(7) != rows[5])

    def test_paste_is_never_run(self):
        with stage("mixed") as p:
            p.wait("by need")
            p.keys("\x1b[200~q:q\r:theme light\r\x1b[201~").wait("not run as keys")
            self.assertIsNone(p.poll())
            p.keys("/\x1b[200~state:held\r\x1b[201~").wait(lambda s: "/state:held" in s.line(23))
            p.keys("\x1b").wait("STALE")
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_mouse(self):
        with stage("mixed") as p:
            p.wait("by need")
            p.keys("\x1b[<0;20;6M")
            p.settle()
            self.assertTrue(p.screen.line(3).startswith("▌"), "off by default")
            p.keys("m").wait(lambda s: s.modes.get(1006))
            p.keys("\x1b[<0;20;6M\x1b[<0;20;6m").wait(lambda s: s.line(5).startswith("▌"))
            p.keys("\x1b[<64;20;6M").wait(lambda s: s.line(4).startswith("▌"))
            p.keys("\x1b[<0;20;6M\x1b[<0;20;6m\x1b[<0;20;6M\x1b[<0;20;6m").wait("what happened")
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.given_back(p)


class Looks(Case):
    def test_no_color(self):
        with stage("mixed", NO_COLOR="1") as p:
            p.wait("by need").keys("jj\r").wait("idle-holder").keys("4").wait("ANSWER").keys("q").end()
            self.assertEqual(p.screen.colours_seen, set())
            self.assertIn(7, p.screen.attributes_seen)

    def test_colours_without_it(self):
        with stage("mixed") as p:
            p.wait("by need").keys("q").end()
            self.assertNotEqual(p.screen.colours_seen, set())

    def test_ascii(self):
        for env in ({"STAGE_ASCII": "1"}, {"LC_ALL": "C"}):
            with stage("mixed", **env) as p:
                p.wait("by need").keys("jj\r").wait("idle-holder").keys("3").wait("WHAT").keys("4").wait("ANSWER")
                p.keys("?").wait("Moving").keys("\x1b").settle(0.2).keys("q").end()
                self.assertEqual([b for b in p.raw if b >= 0x80], [], env)

    def test_terminals(self):
        for term in ("xterm", "xterm-256color", "screen", "tmux-256color", "linux", "vt100", "vt220", "rxvt"):
            with self.subTest(term), stage("mixed", TERM=term) as p:
                p.wait(lambda s, p=p: b"by need" in p.raw)
                p.keys("q")
                self.assertEqual(p.end(), 0)
                self.assertEqual(p.settings(), p.before)

    def test_background_is_asked_and_awaited(self):
        with stage("mixed", COLORFGBG=None) as p:
            p.wait("by need").wait(lambda s: "11;?" in s.osc)
            before = len(p.raw)
            p.keys("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c").settle(0.3)
            self.assertGreater(len(p.raw), before, "the theme did not follow")
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_late_answer_is_no_typing(self):
        with stage("mixed", COLORFGBG=None) as p:
            p.wait("by need").keys("q\x1b]11;rgb:0000/0000/0000\x1b\\")
            self.assertEqual(p.end(), 0)
            self.given_back(p)


class WaysOut(Case):
    def test_signals(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)):
            with self.subTest(number), stage("mixed") as p:
                p.wait("by need").kill(number)
                self.assertEqual(p.end(), code)
                if number != signal.SIGHUP:
                    self.given_back(p)

    def test_interrupt_key(self):
        with stage("mixed") as p:
            p.wait("by need").keys(":sort").wait(lambda s: s.line(23).startswith(":sort"))
            p.keys("\x03").wait("by need").keys("?").wait("leaves it").keys("\x03").wait("by need").keys("\x03")
            self.assertEqual(p.end(), 0)
            self.given_back(p)

    def test_crashes(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGQUIT):
            with self.subTest(number), stage("mixed") as p:
                p.wait("by need").keys("m").wait("mouse on")
                p.kill(number)
                self.assertEqual(p.end(), -number, "it must end by the signal itself")
                self.given_back(p)

    def test_stop_and_continue(self):
        with Program(STAGE, "mixed", env=environment(), job=True) as p:
            p.wait("by need")
            for _ in range(3):
                p.keys("\x1a").wait_state("T").settle()
                self.given_back(p)
                p.screen.clear()
                p.kill(signal.SIGCONT).wait("by need")
                self.assertTrue(p.screen.modes.get(ALT))
                p.keys("j").wait("stale-holder")
                p.keys("k").wait("source west")
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.given_back(p)

    def test_a_read_never_waits(self):
        """A key that sends a signal makes the kernel forget what was typed before it: whoever saw that then sleeps in the read."""
        with Program(STAGE, "mixed", env=environment(), job=True) as p:
            p.wait("by need")
            self.assertEqual(p.settings()[6][termios.VMIN], 0)
            p.keys("\x1a").wait_state("T").kill(signal.SIGCONT).wait("by need")
            self.assertEqual(p.settings()[6][termios.VMIN], 0)
            p.kill(signal.SIGSTOP).wait_state("T")
            termios.tcsetattr(p.tty, termios.TCSANOW, p.before)  # as a shell does
            p.kill(signal.SIGCONT)
            p.keys("4").wait("SOURCE  ")
            self.assertEqual(p.settings()[6][termios.VMIN], 0)

    def test_stopped_by_force(self):
        with stage("mixed") as p:
            p.wait("by need").kill(signal.SIGSTOP).wait_state("T")
            p.resize(36, 120)
            p.screen.clear()
            p.kill(signal.SIGCONT).wait("SOURCE  ")
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.given_back(p)

    def test_lost_terminal(self):
        with stage(1000, 100, 20) as p:
            p.wait("by need")
            os.close(p.fd)
            os.close(p.tty)
            p.fd = p.tty = None
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            deadline = time.monotonic() + 15
            while p.poll() is None:
                self.assertLess(time.monotonic(), deadline, "it goes on without a terminal")
                time.sleep(0.01)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.assertLess(after.ru_utime - before.ru_utime, 2, "it span")

    def test_lost_terminal_without_hangup(self):
        """nohup: SIGHUP does nothing, and the end of input has to be enough."""
        with Program("/bin/sh", "-c", f'trap "" HUP; exec {STAGE} mixed', env=environment()) as p:
            p.wait("by need")
            os.close(p.fd)
            os.close(p.tty)
            p.fd = p.tty = None
            deadline = time.monotonic() + 15
            while p.poll() is None:
                self.assertLess(time.monotonic(), deadline, "it goes on without a terminal")
                time.sleep(0.01)


class NoScreen(unittest.TestCase):
    def run_stage(self, term="xterm-256color", stdin=subprocess.DEVNULL):
        return subprocess.run([STAGE, "mixed"], stdin=stdin, capture_output=True, text=True,
                              env=environment(TERM=term), timeout=20)

    def test_no_terminal(self):
        done = self.run_stage()
        self.assertEqual(done.returncode, 69)
        self.assertIn("baton list", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_terminals_that_are_none(self):
        for term, says in (("dumb", "can't move its cursor"), ("", "TERM is not set"), (None, "TERM is not set"),
                           ("no-such-terminal", "doesn't know")):
            with self.subTest(term), Program(STAGE, "mixed", env=environment(TERM=term)) as p:
                self.assertEqual(p.end(), 69)
                self.assertIn(says, " ".join(p.screen.text.split()).replace("doesn' t", "doesn't"))
                self.assertNotIn(b"\x1b[?1049h", p.raw)
                self.assertEqual(p.settings(), p.before)



class Past(Case):
    """Back in time with <, forward with >; what is shown there can't be taken for now, and nothing can be done to it."""

    def watch(self, p, seconds):
        """Live pictures come meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            p.read(0.05)
        return p

    def back(self, p):
        p.wait("by need").keys_until("<", lambda s: "[PAST " in s.line(0)).wait("\u2550" * 60)
        return p

    def test_back_no_verb_and_now(self):
        with stage(200, 3, 250) as p:
            self.back(p)
            first = p.screen.line(0)
            self.assertRegex(first, r"\[PAST \d\d:\d\d:\d\d\]")
            self.assertNotIn("READ-ONLY", first)
            self.assertRegex(p.screen.line(1), r"PAST \d\d:\d\d:\d\d \u00b7 \d+s ago .*no verb works here")
            p.keys("a").wait("no verb works here; . returns to now")
            self.assertNotIn("Enter chooses", p.screen.text)
            p.keys(":arm\r").wait(lambda s: "no verb works here; . returns" in s.line(23))
            p.keys("\r").wait("holder over the last ").keys("a").wait(lambda s: ". returns to now" in s.line(23))
            self.assertNotIn("Enter chooses", p.screen.text)
            p.keys("[").wait("by need")
            # Live pictures go on, and don't move it: only its age does.
            was = p.screen.text.split("\n")[2:14]
            self.watch(p, 1.2)
            self.assertEqual(p.screen.text.split("\n")[2:14], was)
            p.keys(".").wait("[READ-ONLY]").wait(lambda s: "PAST" not in s.text)
            p.keys("a").wait("Enter chooses").keys("\x1b").wait("by need")
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.given_back(p)

    def test_forward_to_now_and_escape(self):
        with stage(200, 3, 250) as p:
            self.back(p)
            self.watch(p.keys("<"), 0.1)
            p.keys("\x1b").wait("[READ-ONLY]")
            p.keys("<").wait("[PAST ")
            for _ in range(200):
                self.watch(p.keys(">"), 0.05)
                if "[READ-ONLY]" in p.screen.line(0):
                    break
            self.assertIn("[READ-ONLY]", p.screen.line(0))
            p.keys(">").wait("this is now")
            # Where it was gone back, Esc leads to now; from what was opened there, first back.
            p.keys("<").wait("[PAST ").keys("\r").wait("holder over the last ").keys("\x1b").wait("by need")
            self.assertIn("[PAST ", p.screen.line(0))
            p.keys("\x1b").wait("[READ-ONLY]")

    def test_times_are_typed(self):
        with stage(200, 3, 250) as p:
            self.watch(p.wait("by need"), 2.5)
            p.keys(":back 1s\r").wait("[PAST ")
            p.keys(":back soon\r").wait(":back takes how far")
            p.keys(":back 10h\r").wait("nothing is kept from before")
            p.keys(":now\r").wait("[READ-ONLY]")
            p.keys(":at 2001-01-01T00:00:00Z\r").wait("[PAST ")
            p.keys(":at noon\r").wait("not a time")
            p.keys(":at end\r").wait("[READ-ONLY]")
            p.keys("}").wait("this is now").keys("{").wait("as far as is kept")

    def test_armed_is_not_armed_there(self):
        with stage(200, 3, 250) as p:
            p.wait("by need").keys(":arm\r").wait("[ARMED ")
            p.keys_until("<", lambda s: "[PAST " in s.line(0))
            self.assertNotIn("ARMED", p.screen.text)
            p.keys("a").wait(". returns to now")
            p.keys("\x1b").wait("[ARMED ")

    def test_filter_and_views(self):
        with stage(200, 3, 250) as p:
            self.back(p)
            p.keys("/job-00001\r").wait("/job-00001")
            p.keys("2").wait("has jobs").keys("3").wait("WHAT").keys("4").wait("ANSWER").keys("1").wait("by need")
            self.assertIn("[PAST ", p.screen.line(0))
            p.keys("y").wait("clipboard: big/elections/job-00001")

    def test_without_colours_and_in_ascii(self):
        for env in ({"NO_COLOR": "1"}, {"STAGE_ASCII": "1"}, {"STAGE_THEME": "mono"}, {"TERM": "vt100"}):
            with self.subTest(**env), stage(200, 3, 250, **env) as p:
                p.wait("by need").keys_until("<", lambda s: "[PAST " in s.text)
                p.wait(lambda s: "no verb works here" in s.line(1))
                p.wait(("=" if "STAGE_ASCII" in env else "\u2550") * 60)

    def test_many_rows(self):
        with stage(20000, 200, 100) as p:
            p.wait("by need").keys_until("<", lambda s: "[PAST " in s.line(0))
            for _ in range(2):
                p.keys("<").wait("[PAST ")
            p.keys("\x1b").wait("[READ-ONLY]")
            p.keys("q")
            self.assertEqual(p.end(), 0)


class Acts(Case):
    """The verbs of a row, and the window that stands between them and the servers."""

    def menu(self, p):
        # Not the last line: a message may stand there for a while.
        p.wait("SINGLETON").keys("j").wait("ctl/elections/billing")
        p.keys("a").wait("Enter chooses")
        return p

    def test_read_only_lists_every_verb_with_its_reason(self):
        with stage("mixed") as p:
            self.menu(p)
            self.assertIn("read only: :arm lifts it", p.screen.text)
            self.assertIn("not for an etcd-election", p.screen.text)
            # A hindered verb is not begun.
            p.keys("\r")
            p.wait("its line says why")
            p.keys("k").wait("Enter chooses")
            p.keys("\x1b")
            p.wait("by need")
            self.assertIn("[READ-ONLY]", p.screen.line(0))

    def test_armed_shows_what_is_left_and_ends(self):
        with stage("mixed") as p:
            p.wait("by need").keys(":arm 2\r").wait(lambda s: re.search(r"\[ARMED (2:00|1:5\d)\]", s.line(0)))
            p.wait("[ARMED 1:5")
            p.keys(":disarm\r").wait("[READ-ONLY]")
            p.keys(":arm 0\r").wait("takes minutes")
            p.keys(":arm 61\r").wait("takes minutes")
            p.keys(":arm 1 west\r").wait("protected")
            self.assertIn("[READ-ONLY]", p.screen.line(0))

    def test_a_source_that_is_none_is_said_and_nothing_is_done(self):
        with stage("mixed") as p:
            p.wait("by need").keys(":arm 2\r").wait("[ARMED ")
            p.keys(":disarm ctk\r").wait('no source "ctk": Tab behind :disarm shows them')
            self.assertIn("[ARMED ", p.screen.line(0))
            p.keys(":poll ctk\r").wait('no source "ctk": Tab behind :poll shows them')
            p.keys(":source ctk\r").wait('no source "ctk": Tab behind :source shows them')
            p.keys(":poll ctl\r").wait("polling ctl now")
            p.keys(":disarm ctl\r").wait("read only again: ctl").wait("[READ-ONLY]")
            p.keys(":view nowhere\r").wait('no view "nowhere": Tab behind :view shows them')

    def release(self, p):
        p.wait("by need").keys(":arm\r").wait("[ARMED ")
        self.menu(p)
        while "▌release" not in p.screen.text:
            p.keys("j")
            p.settle()
        p.keys("\r").wait("which one?").keys("\r").wait("takes it from")

    def test_confirmed_by_typing_and_not_by_enter(self):
        with stage("mixed", rows=50, columns=120) as p:
            self.release(p)
            p.keys("\r\r\r").wait("Enter alone confirms nothing")
            p.keys("\t" + "its host is down" + "\r")
            p.keys("ctl/elections/billin\r").wait("that is not")
            p.keys("g\r").wait("node-c leads")
            p.wait("not seen to stop")
            p.keys("\x1b").wait("done: node-c leads")
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.given_back(p)

    def test_marked_rows_are_one_set(self):
        with stage("mixed", rows=50, columns=120) as p:
            p.wait("by need").keys(":arm\r").wait("[ARMED ")
            p.keys("j  ").wait("2 marked")
            p.keys("a").wait("2 marked rows, one by one")
            while "▌release" not in p.screen.text:
                p.keys("j")
                p.settle()
            p.keys("\r").wait("2 of 3 are done")
            p.wait("somebody else holds it now")

    def test_the_row_stays_seen_and_nothing_moves(self):
        with stage("mixed", rows=50, columns=120) as p:
            p.wait("by need")
            self.release(p)
            self.assertRegex(p.screen.text, r"S STALE +elections/billing")
            p.keys("\x1b").wait("nothing was sent")

    def test_escape_leaves_everything(self):
        with stage("mixed", rows=50, columns=120) as p:
            self.release(p)
            p.keys("down\x1b").wait("nothing was sent")
            self.assertIn("by need", p.keys("k").wait("by need").screen.text)

    def test_sent_goes_on_without_the_window(self):
        with stage("mixed", rows=50, columns=120) as p:
            self.release(p)
            p.keys("stay\rctl/elections/billing\r").wait("can't be called back")
            p.keys("\x1b").wait("Esc again")
            p.keys("\x1b").wait("it goes on")

    def test_pasted_text_confirms_nothing(self):
        with stage("mixed", rows=50, columns=120) as p:
            self.release(p)
            p.keys("down\r\x1b[200~ctl/elections/billing\x1b[201~").wait("must be typed")
            p.keys("\r").wait("Enter alone confirms nothing")

    def test_a_stopped_program_gives_up_what_was_not_sent(self):
        with Program(STAGE, "mixed", rows=50, columns=120, env=environment(), job=True) as p:
            self.release(p)
            p.keys("down\rctl/elections/billing")
            p.keys("\x1a").wait_state("T")
            p.kill(signal.SIGCONT).wait("given up")
            p.keys("\r")
            p.settle()
            self.assertNotIn("node-c leads", p.screen.text)

    def test_a_small_terminal_takes_no_confirmation(self):
        with stage("mixed", rows=50, columns=120) as p:
            self.release(p)
            p.keys("down\rctl/elections/billing")
            p.resize(9, 44)
            p.settle()
            p.keys("\r").wait("too small")
            p.resize(50, 120)
            p.settle()
            p.keys("\r").wait("node-c leads")

    def test_the_audit_is_a_view(self):
        with tempfile.TemporaryDirectory() as state:
            os.makedirs(state + "/baton")
            with open(state + "/baton/audit.jsonl", "w") as f:
                for n, outcome in ((1, "done"), (2, "changed"), (3, None)):
                    f.write(audit_line(n, "intent") + "\n")
                    if outcome:
                        f.write(audit_line(n, "outcome", outcome=outcome) + "\n")
                f.write('{"broken')
            with stage("mixed", XDG_STATE_HOME=state) as p:
                p.wait("by need").keys("5").wait("not known")
                self.assertRegex(p.screen.text, r"step-down +no end +ctl/elections/a3")
                p.keys("jj").wait("DELETE something 1")
                p.keys("\r").wait("its host is down")
                with open(state + "/baton/audit.jsonl", "a") as f:
                    f.write("\n" + audit_line(4, "intent") + "\n")
                p.keys("\rg").wait("ctl/elections/a4")

    def test_an_empty_audit_says_so(self):
        with tempfile.TemporaryDirectory() as state, stage("mixed", XDG_STATE_HOME=state) as p:
            p.wait("by need").keys("5").wait("the audit is empty")


def audit_line(n, phase, **more):
    line = {"schema": "baton/1", "at": f"2026-01-02T03:04:0{n}.000Z", "n": n, "phase": phase,
            "id": f"ctl/elections/a{n}", "verb": "step-down",
            "target": {"identity": "node-b", "key": "rev:1482", "token": "1482"},
            "request": f"DELETE something {n}", "reason": "its host is down",
            "who": {"user": "ann", "host": "h", "tty": "/dev/pts/1"}}
    return json.dumps({**line, **more})


if __name__ == "__main__":
    unittest.main()
