"""The console on real servers and on servers that hang: what it shows, and that nothing makes it wait."""

import os
import re
import socket
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

from pty_program import Program  # noqa: E402
from servers import Etcd, Home, Postgres, baton_path, close_all  # noqa: E402


def tearDownModule():
    close_all()


class Hung:
    """Listens, and never answers."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(16)
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def console(home, *args, rows=24, columns=80, **env):
    return Program(baton_path(), *args, rows=rows, columns=columns, env=home.env(COLORFGBG="15;0", **env))


class Console(unittest.TestCase):
    def test_a_config_without_a_source(self):
        """Said in plain lines, before the terminal is taken. (With no config at all the built-in fleet opens: test_demo.)"""
        with Home() as home:
            home.write_config("theme: mono\n")
            with console(home) as p:
                self.assertEqual(p.end(), 78)
                self.assertIn("PGHOST", p.screen.text)
                self.assertIn("names no source", " ".join(p.screen.text.split()))
                self.assertNotIn(b"\x1b[?1049h", p.raw)
                self.assertEqual(p.settings(), p.before)

    def test_what_a_library_says_on_standard_error_waits_for_the_end(self):
        """libpq warns of a password file that others may read, and would write across the screen."""
        with Home() as home:
            path = os.path.join(home.folder.path, "pgpass")
            with open(path, "w", encoding="ascii") as file:
                file.write("*:*:*:*:x\n")
            os.chmod(path, 0o644)
            home.write_config(f'sources: {{pg: {{kind: postgres, conninfo: "host=127.0.0.1 port=1 passfile={path}"}}}}\n')
            with console(home) as p:
                p.wait("nobody listens")
                # The source may be asked before the terminal is taken: then it is said before.
                before = p.raw.index(b"\x1b[?1049h")
                self.assertNotIn(b"WARNING", p.raw[before:])
                p.keys("q")
                self.assertEqual(p.end(), 0)
                self.assertIn(b"WARNING: password file", p.raw[:before] + p.raw[p.raw.rindex(b"\x1b[?1049l"):])
                self.assertEqual(p.settings(), p.before)

    def test_a_broken_theme_keeps_nobody_out(self):
        with Hung() as hung, Home(config=f"""
theme: nothing-like-it
sources:
  ctl: {{kind: etcd, environment: lab, endpoints: ["http://127.0.0.1:{hung.port}"], timeout: 15s}}
""") as home:
            with console(home) as p:
                p.wait("Connecting").wait("no theme")
                p.keys("q")
                self.assertEqual(p.end(), 0)
            with console(home, "--theme", "neither") as p:
                self.assertNotEqual(p.end(), 0)
                self.assertIn("no theme", p.screen.text)
                self.assertEqual(p.settings(), p.before)
            with console(home, "--theme", "light", "--ascii") as p:
                p.wait("Connecting").keys(":theme\r").wait("theme light")
                self.assertEqual([b for b in p.raw if b >= 0x80], [])

    def test_hung_sources(self):
        """The first frame comes at once, keys work, and leaving takes no time."""
        with Hung() as hung, Home(config=f"""
sources:
  pg: {{kind: postgres, environment: lab, conninfo: "host=127.0.0.1 port={hung.port} user=x dbname=x", timeout: 8s}}
  ctl: {{kind: etcd, environment: lab, endpoints: ["http://127.0.0.1:{hung.port}"], timeout: 8s}}
""") as home, console(home) as p:
            p.wait("Connecting to 2 sources")  # what is shown until the first of them has failed
            p.keys("4").wait("connecting").keys("?").wait("Moving").keys("\x1b").keys("1")
            p.wait("can't be read")
            self.assertRegex(p.screen.text, r"! SOURCE +(pg|ctl) can't be read")
            started = time.monotonic()
            p.keys("q")
            self.assertEqual(p.end(), 0)
            self.assertLess(time.monotonic() - started, 6)
            self.assertEqual(p.settings(), p.before)

    def test_locks_come_and_go(self):
        with Postgres() as pg, Home(env=pg.env()) as home, console(home, rows=36, columns=120) as p:
            p.wait("nobody waits")
            session = pg.session(app="worker-\u6c7a\x1b[31m")
            session.run("select pg_advisory_lock(4711)")
            p.wait("HELD")
            self.assertIn("4711", p.screen.text)
            self.assertNotIn("\x1b[31mred", p.screen.text)
            p.keys("\r").wait("what happened")
            p.wait("holds it")
            session.run("select pg_advisory_unlock(4711)")
            p.wait(lambda s: "FREE" in s.text or "not in the picture" in s.text or "Nobody holds it" in s.text)
            p.keys("3").wait(lambda s: "4711" in s.text and ("released" in s.text or "took" in s.text))
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_a_change_in_etcd_is_shown_at_once(self):
        with Etcd() as etcd, Home(config=f"""
sources:
  ctl: {{kind: etcd, environment: lab, endpoints: ["{etcd.url}"], prefixes: [{{prefix: elections/, mechanism: election}}]}}
""") as home:
            lease = etcd.grant(600)
            etcd.put(f"elections/billing/{lease:x}", "node-a", lease=lease)
            with console(home) as p:
                p.wait("node-a")
                other = etcd.grant(600)
                etcd.put(f"elections/mailer/{other:x}", "node-b", lease=other)
                p.wait("node-b")
                etcd.delete(f"elections/billing/{lease:x}")
                p.wait(lambda s: "node-a" not in s.text.split("\u2500\u2500\u2500")[1] if "\u2500\u2500\u2500" in s.text else False)
                p.keys("q")
                self.assertEqual(p.end(), 0)

    def test_back_in_time_the_holder_before_is_shown(self):
        with Etcd() as etcd, Home(config=f"""
sources:
  ctl: {{kind: etcd, environment: lab, endpoints: ["{etcd.url}"], prefixes: [{{prefix: elections/, mechanism: election}}]}}
""") as home:
            first, second = etcd.grant(600), etcd.grant(600)
            etcd.put(f"elections/billing/{first:x}", "node-a", lease=first)
            etcd.put(f"elections/billing/{second:x}", "node-b", lease=second)
            with console(home, "--write", rows=30, columns=100) as p:
                holder = re.compile(r"ctl/elections/billing +(\S+)")
                p.wait(lambda s: holder.search(s.text) and holder.search(s.text)[1] == "node-a")
                p.settle(0.3)
                etcd.delete(f"elections/billing/{first:x}")
                p.wait(lambda s: holder.search(s.text) and holder.search(s.text)[1] == "node-b")
                p.keys("3").wait("took it from").keys("1")
                p.wait(lambda s: holder.search(s.text)).keys("<").wait("[PAST ")
                p.wait(lambda s: holder.search(s.text)[1] == "node-a")
                self.assertNotIn("ARMED", p.screen.text)
                # What happened later is not told there.
                p.keys("3").wait("WHAT")
                self.assertNotIn("took it from", p.screen.text)
                p.keys("1").wait(lambda s: holder.search(s.text)).keys("a").wait("no verb works here; . returns to now")
                p.keys(".").wait("[ARMED]")
                p.wait(lambda s: holder.search(s.text) and holder.search(s.text)[1] == "node-b")
                p.keys("q")
                self.assertEqual(p.end(), 0)
            self.assertIn("node-b", etcd.etcdctl("get", "--prefix", "elections/"))

    def test_the_built_in_fleet_is_gone_back_in_as_well(self):
        with Home() as home, console(home, "demo", rows=24, columns=110) as p:
            p.wait("[SIM").wait("CONTENDED")
            # Where nothing has changed yet there is nothing to go back to, and that is said.
            p.keys(":speed 20\r").wait("[SIM x20]")
            p.keys_until("<", lambda s: "[SIM" in s.line(0) and "[PAST " in s.line(0) and "no verb works here" in s.line(1))
            p.keys("a").wait("no verb works here; . returns to now")
            p.keys("\x1b").wait(lambda s: "PAST" not in s.text)
            p.keys("q")
            self.assertEqual(p.end(), 0)

    def test_what_an_earlier_console_saw_is_remembered(self):
        with Etcd() as etcd, Home(config=f"""
sources:
  ctl: {{kind: etcd, environment: lab, endpoints: ["{etcd.url}"], prefixes: [{{prefix: elections/, mechanism: election}}]}}
""") as home:
            first, second, third = (etcd.grant(600) for _ in range(3))
            etcd.put(f"elections/billing/{first:x}", "node-a", lease=first)
            etcd.put(f"elections/billing/{second:x}", "node-b", lease=second)
            etcd.put(f"elections/billing/{third:x}", "node-c", lease=third)
            with console(home, rows=30, columns=100) as p:
                p.wait("node-a")
                etcd.delete(f"elections/billing/{first:x}")
                p.wait("node-b")
                # A finding that comes and goes.
                etcd.put("elections/mailer/abc123", "node-x")
                etcd.put(f"elections/mailer/{third:x}", "node-y", lease=third)
                p.wait("ORPHAN")
                etcd.delete("elections/mailer/abc123")
                p.wait(lambda s: "ORPHAN" not in s.text)
                p.keys("q")
                self.assertEqual(p.end(), 0)
            # While nobody looks.
            etcd.delete(f"elections/billing/{second:x}")
            with console(home, rows=30, columns=120) as p:
                p.wait("node-c").keys("3").wait("remembered: node-b took it from node-a")
                p.wait("remembered: no-lease").wait("remembered: no-lease is over")
                p.wait("node-c holds it; node-b held it when it was last looked at")
                text = p.screen.text
                self.assertLess(text.index("remembered: node-b took"), text.index("node-c holds it; node-b"))
                p.keys("q")
                self.assertEqual(p.end(), 0)
            told = subprocess.run([baton_path(), "show", "ctl/elections/billing"], env=home.env(), text=True,
                                  capture_output=True, timeout=20, check=False).stdout
            self.assertIn("node-b took it from node-a", told)
            self.assertIn("node-c holds it; node-b held it", told)
            files = [os.path.join(at, name) for at, _, names in os.walk(home.state) for name in names if name.endswith(".past")]
            self.assertEqual(len(files), 1)
            self.assertEqual(os.stat(files[0]).st_mode & 0o777, 0o600)

    def test_a_lost_server_greys_its_rows(self):
        with Postgres() as pg, Home(env=pg.env()) as home:
            session = pg.session(app="worker-1")
            session.run("select pg_advisory_lock(4711)")
            with console(home, rows=36, columns=120) as p:
                p.wait("HELD")
                pg.stop()
                p.wait("UNKNOWN")
                self.assertRegex(p.screen.text, r"\? UNKNOWN .*worker-1 \((seen )?\d+s ago")
                self.assertIn("postgres!", p.screen.line(0))
                p.keys("q")
                self.assertEqual(p.end(), 0)


if __name__ == "__main__":
    unittest.main()
