"""The commands on a real PostgreSQL and a real etcd: shapes, pipes, partial sight, memory, changes."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unittest

from contract.schema import Schema
from servers import Etcd, Home, Postgres, baton_path, free_port, silent_server, wait_until, within

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEVER = "\x1b\x07\u202e"


class Fixture:
    """One PostgreSQL and one etcd for all tests here, which only look."""

    def __init__(self):
        self.pg, self.etcd = Postgres(), Etcd()
        self.holder = self.pg.session(app="worker-1")
        self.holder.run("select pg_advisory_lock(42)")
        self.waiter = self.pg.session(app="worker|2")
        self.waiter.send("select pg_advisory_lock(42)")
        wait_until(lambda: self.pg.psql("select 1 from pg_locks where not granted"), what="who waits")
        self.pair = self.pg.session(app="pair")
        self.pair.run("select pg_advisory_lock(7, -9)")
        self.candidates = [self.etcd.candidate("elections/bill\\ing", value) for value in ("node-a", "node-b")]
        # Hostile bytes in a candidate that never expires, before one that does.
        self.etcd.put("elections/evil/deadbeef", NEVER + '"\\ü' + "x" * 5000)
        self.candidates.append(self.etcd.candidate("elections/evil", "node-c"))
        self.etcd.put("service/batman/leader", "postgres1")

    def close(self):
        for each in (self.waiter, self.holder, self.pair, *self.candidates, self.etcd, self.pg):
            each.close()


def setUpModule():
    Servers.fixture = Fixture()
    Servers.pg, Servers.etcd = Servers.fixture.pg, Servers.fixture.etcd


def tearDownModule():
    Servers.fixture.close()


class Servers(unittest.TestCase):
    with open(os.path.join(TOP, "doc", "baton-1.schema.json"), encoding="utf-8") as file:
        schema = Schema(json.load(file))

    def config(self, more="", extra_sources=""):
        dsn = f"host=127.0.0.1 port={self.pg.port} user=postgres dbname=postgres"
        return (f"sources:\n  orders: {{kind: postgres, environment: lab, conninfo: '{dsn}', interval: 200ms}}\n"
                f"  ctl: {{kind: etcd, endpoints: '{self.etcd.url}', keys: [service/batman/leader],\n"
                f"        prefixes: [{{prefix: elections/}}]}}\n{extra_sources}"
                "names:\n  - {source: orders, key: {bigint: 42}, name: billing-close}\n"
                "roles:\n  close: {harm: harmful, witnesses: ['orders/postgres:42', 'ctl/elections/x']}\n" + more)

    def home(self, **kwargs):
        home = Home(config=self.config(**kwargs))
        self.addCleanup(home.close)
        return home

    def fits(self, value):
        self.assertEqual(self.schema.faults(value), [])
        return value


class Look(Servers):
    def test_list_json(self):
        done = self.home().baton("list", "--json")
        self.assertEqual((done.code, done.err), (0, ""), done)
        data = self.fits(done.json)
        rows = {row["id"]: row for row in data["singletons"]}
        lock = rows["orders/postgres:42"]
        self.assertEqual((lock["name"], lock["state"], lock["mechanism"]), ("billing-close", "CONTENDED", "pg-advisory"))
        self.assertEqual([h["identity"] for h in lock["holders"]], ["worker-1"])
        self.assertEqual([(w["identity"], w["position"]) for w in lock["waiters"]], [("worker|2", 1)])
        self.assertEqual((lock["role"], lock["runs"], lock["token"], lock["token_kind"]), ("close", [], None, "none"))
        pid, start = lock["holders"][0]["key"].split("@")
        self.assertEqual(int(pid), lock["holders"][0]["detail"]["pid"])
        self.assertRegex(lock["holders"][0]["detail"]["backend_start"], r"\.\d{6}Z$")
        self.assertRegex(start, r"^\d{16}$")
        election = rows["ctl/elections/bill\\\\ing"]
        self.assertEqual((election["state"], election["token_kind"]), ("CONTENDED", "create_revision"))
        self.assertEqual(election["holders"][0]["key"], "rev:" + election["token"])
        self.assertLessEqual(election["lease_remaining_ms"], election["lease_granted_ms"])
        self.assertEqual([r["name"] for r in data["roles"]], ["close"])
        self.assertEqual([w["state"] for w in data["roles"][0]["witnesses"]], ["CONTENDED", None])
        self.assertEqual([(s["name"], s["environment"], s["state"]) for s in data["sources"]],
                         [("orders", "lab", "ok"), ("ctl", None, "ok")])

    def test_hostile_bytes_leave_as_escapes(self):
        home = self.home()
        done = home.baton("list", "--json")
        evil = [r for r in done.json["singletons"] if r["id"] == "ctl/elections/evil"][0]
        self.assertEqual(evil["state"], "ORPHAN")
        self.assertTrue(evil["holders"][0]["identity"].startswith('\\x1b\\x07\\xe2\\x80\\xae"\\\\ü'))
        for out in (done.out, home.baton("list").out, home.baton("show", "ctl/elections/evil").out,
                    home.baton("check").out):
            self.assertFalse(set(NEVER) & set(out))

    def test_the_order_is_by_state_then_id_and_stable(self):
        home = self.home()
        first, second = home.baton("list", "--json").json, home.baton("list", "--json").json
        order = self.schema.root["$defs"]["state"]["enum"]
        keys = [(order.index(r["state"]), r["id"]) for r in first["singletons"]]
        self.assertEqual(keys, sorted(keys))
        self.assertEqual([r["id"] for r in first["singletons"]], [r["id"] for r in second["singletons"]])
        lines = home.baton("list").out.splitlines()[1:]
        self.assertEqual([line.split()[2] for line in lines if "role/" not in line], [r["id"] for r in first["singletons"]])

    def test_text_is_aligned_and_whole_in_a_pipe(self):
        out = self.home().baton("list", env={"COLUMNS": "40"}).out
        self.assertNotIn("\x1b", out)
        lines = out.splitlines()
        self.assertEqual(lines[0].split()[:3], ["S", "STATE", "SINGLETON"])
        at = lines[0].index("HOLDER")
        for line in lines[1:]:
            self.assertEqual(line[at - 2:at], "  ", line)
            self.assertNotEqual(line[at], " ", line)
        self.assertIn("x" * 1000, out)

    def test_color_always_and_never(self):
        home = self.home()
        self.assertIn("\x1b[", home.baton("list", "--color=always", env={"NO_COLOR": "1"}).out)
        self.assertNotIn("\x1b", home.baton("list", "--color", "never").out)
        self.assertNotIn("\x1b", home.baton("list").out)

    def test_state_and_source_choose(self):
        home = self.home()
        data = home.baton("list", "--json", "--state", "cont", "--state=orphan").json
        self.assertEqual({r["state"] for r in data["singletons"]}, {"CONTENDED", "ORPHAN"})
        data = home.baton("--source", "orders", "list", "--json").json
        self.assertEqual([s["name"] for s in data["sources"]], ["orders"])
        self.assertEqual({r["id"].split("/")[0] for r in data["singletons"]}, {"orders"})

    def test_what_is_printed_is_taken_back(self):
        home = self.home()
        for row in home.baton("list", "--json").json["singletons"]:
            done = home.baton("show", row["id"], "--json")
            self.assertEqual(done.code, 0, done)
            data = self.fits(done.json)
            self.assertEqual((data["singleton"]["id"], data["source"]["name"]), (row["id"], row["source"]))
        # The bytes themselves, unescaped, are the same id.
        done = home.baton("show", "ctl/elections/bill\\ing", "--json")
        self.assertEqual(done.json["singleton"]["id"], "ctl/elections/bill\\\\ing")

    def test_no_such_id_names_the_nearest(self):
        home = self.home()
        done = home.baton("show", "orders/postgres:24")
        self.assertEqual((done.code, done.out), (66, ""))
        self.assertEqual(done.err, "baton: there is no 'orders/postgres:24'; did you mean 'orders/postgres:42'?\n")
        done = home.baton("show", "billing-close")
        self.assertEqual((done.code, done.err),
                         (66, "baton: there is no 'billing-close'; did you mean 'orders/postgres:42'?\n"))
        self.assertEqual(home.baton("show", "nowhere/x").code, 66)

    def test_show_in_words(self):
        out = self.home().baton("show", "orders/postgres:42").out
        self.assertTrue(out.startswith('orders/postgres:42  "billing-close"  CONTENDED\n'))
        for word in ("worker-1", "worker|2", "pg-advisory", "history", "orders (postgres, lab), ok"):
            self.assertIn(word, out)

    def test_show_role(self):
        home = self.home()
        data = self.fits(home.baton("show", "role/close", "--json").json)
        self.assertEqual((data["role"]["name"], data["role"]["harm"]), ("close", "harmful"))
        out = home.baton("show", "role/close").out
        self.assertIn("orders/postgres:42 CONTENDED worker-1", out)
        self.assertIn("ctl/elections/x not there -", out)

    def test_doctor(self):
        home = self.home()
        done = home.baton("doctor")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.assertIn("\norders (postgres, lab)\n", done.out)
        self.assertIn(home.config, done.out)
        data = self.fits(home.baton("doctor", "--json").json)
        self.assertEqual([s["error"] for s in data["sources"]], [None, None])
        self.assertTrue(all(s["lines"] for s in data["sources"]))


class Check(Servers):
    def test_the_worst_finding_is_the_exit_code(self):
        home = self.home()
        done = home.baton("check")
        self.assertEqual((done.code, done.err), (1, ""), done)
        first, *rest = done.out.splitlines()
        self.assertRegex(first, r"^BATON WARNING - ctl/elections/evil: [a-z-]+.* \| singletons=\d+;;;0 attention=\d+;;;0 ")
        self.assertIn(" contended=2;;;0 ", first)
        # The bar belongs to the performance data alone.
        self.assertEqual(done.out.count("|"), 1)
        self.assertTrue(any(line.startswith("WARNING no-lease ctl/elections/evil: ") for line in rest), rest)
        data = self.fits(home.baton("check", "--json").json)
        self.assertEqual((data["status"], data["code"]), ("WARNING", 1))

    def test_findings_can_be_passed_over(self):
        home = self.home()
        data = home.baton("check", "--json").json
        codes = {p["code"] for p in data["problems"]}
        ignore = [f"--ignore={code}" for code in codes]
        done = home.baton("check", *ignore)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r"\ABATON OK - \d+ singletons in 2 sources, none needs you \| [^\n]+\n\Z")

    def test_an_unreadable_source_beats_a_warning(self):
        home = self.home(extra_sources=f"  dead: {{kind: etcd, endpoints: 'http://127.0.0.1:{free_port()}'}}\n")
        done = home.baton("check")
        self.assertEqual(done.code, 3)
        self.assertRegex(done.out, r"\ABATON UNKNOWN - dead: unreadable: [^|]+\(and \d+ more\) \| ")
        self.assertIn("\nWARNING no-lease ctl/elections/evil", done.out)
        self.assertIn("unreadable_sources=1;;;0", done.out)


class OneIsDead(Servers):
    """One source that doesn't answer stands beside those that do."""

    def test_nobody_listens(self):
        home = self.home(extra_sources=f"  dead: {{kind: etcd, endpoints: 'http://127.0.0.1:{free_port()}'}}\n")
        done = home.baton("list")
        self.assertEqual(done.code, 13)
        self.assertRegex(done.err, r"\Abaton: dead: [^\n]+\n\Z")
        self.assertIn("orders/postgres:42", done.out)
        data = self.fits(home.baton("list", "--json").json)
        self.assertEqual([s["state"] for s in data["sources"]], ["ok", "ok", "failing"])
        self.assertEqual(home.baton("show", "orders/postgres:42").code, 13)
        done = home.baton("show", "dead/x")
        self.assertEqual(done.code, 13)
        self.assertIn("whether there is 'dead/x' is not known", done.err)
        self.assertEqual(home.baton("show", "orders/nothing").code, 66)
        self.assertEqual(home.baton("doctor").code, 13)
        self.assertEqual(home.baton("list", "-s", "orders", "-s", "ctl").code, 0)

    def test_one_hangs(self):
        silent = silent_server()
        self.addCleanup(silent.close)
        home = self.home(extra_sources=f"  dead: {{kind: postgres, conninfo: 'host=127.0.0.1 port={silent.port}'}}\n")
        done, _ = within(4.0, lambda: home.baton("list", "--timeout", "2", "--json"))
        self.assertEqual(done.code, 13)
        data = self.fits(done.json)
        self.assertEqual([s["state"] for s in data["sources"]][:2], ["ok", "ok"])
        self.assertIsNotNone(data["sources"][2]["error"])
        self.assertIn("orders/postgres:42", {r["id"] for r in data["singletons"]})


class Pipes(Servers):
    def shell(self, home, command):
        return subprocess.run(["bash", "-c", command.replace("baton", baton_path())], env=home.env(), timeout=60,
                              capture_output=True, text=True)

    def test_a_reader_that_goes_away_is_no_failure(self):
        done = self.shell(self.home(), "baton list | head -1; echo ${PIPESTATUS[@]}")
        self.assertEqual(done.stderr, "")
        self.assertTrue(done.stdout.startswith("S  STATE"), done.stdout)
        self.assertTrue(done.stdout.endswith("\n0 0\n"), done.stdout)
        done = self.shell(self.home(), "baton list --json | head -c 20 >/dev/null; echo ${PIPESTATUS[@]}")
        self.assertEqual((done.stdout, done.stderr), ("0 0\n", ""))

    def test_a_full_disk_and_a_closed_output_are_failures(self):
        for command in ("list", "list --json", "show orders/postgres:42", "doctor", "help", "version", "init --print"):
            done = self.shell(self.home(), f"baton {command} >/dev/full")
            self.assertEqual(done.returncode, 1, command)
            self.assertIn("baton".join(["", ": can't write the output: No space left on device"]), done.stderr)
            done = self.shell(self.home(), f"baton {command} >&-")
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn("can't write the output: Bad file descriptor", done.stderr)
        self.assertEqual(self.shell(self.home(), "baton check >/dev/full").returncode, 3)

    def test_without_standard_error(self):
        done = self.shell(self.home(), "baton list 2>&- <&- | wc -l")
        self.assertGreater(int(done.stdout), 3)


class Terminal(Servers):
    """Standard output is a terminal: colour, and lines that fit."""

    def run_in(self, columns, *args, **env):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with self.home().popen(*args, env=env, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as program:
            os.close(theirs)
            text = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
            self.assertEqual(program.wait(20), 0)
            self.assertEqual(program.stderr.read(), b"")
        os.close(ours)
        return text.decode().replace("\r\n", "\n")

    def test_lines_fit_and_ids_are_whole(self):
        for columns in (80, 120, 60):
            text = re.sub(r"\x1b\[[0-9;]*m", "", self.run_in(columns, "list"))
            for line in text.splitlines():
                self.assertLessEqual(len(line), columns, line)
            self.assertIn("ctl/service/batman/leader", text)
            self.assertIn("ctl/elections/bill\\\\ing", text)
        self.assertIn("\u2026", text)
        text = self.run_in(60, "list", "--ascii", "--color=never")
        self.assertTrue(text.isascii())
        self.assertIn("~", text)
        # Too narrow for the ids: they are whole all the same.
        self.assertIn("ctl/elections/bill\\\\ing", self.run_in(20, "list"))

    def test_color_follows_the_terminal(self):
        self.assertIn("\x1b[", self.run_in(80, "list"))
        self.assertNotIn("\x1b", self.run_in(80, "list", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.run_in(80, "list", TERM="dumb"))
        self.assertNotIn("\x1b", self.run_in(80, "list", "--color=never"))

    def test_show_wraps(self):
        text = self.run_in(60, "show", "orders/postgres:42", "--color=never")
        self.assertTrue(all(len(line) <= 60 or " " not in line.strip() for line in text.splitlines()), text)


class Memory(Servers):
    def test_a_second_list_knows_when_the_holder_was_first_seen(self):
        home = self.home()

        def first_seen():
            rows = home.baton("list", "--json").json["singletons"]
            return {r["id"]: (r["first_seen"], r["known_since"]) for r in rows if r["holders"]}

        first = first_seen()
        self.assertTrue(all(seen for seen, _ in first.values()), first)
        self.assertEqual(first_seen(), first)
        files = [os.path.join(folder, name) for folder, _, names in os.walk(home.state) for name in names]
        self.assertTrue(files)
        self.assertEqual({os.stat(path).st_mode & 0o777 for path in files}, {0o600})

    def test_a_memory_that_can_not_be_kept_is_said_and_changes_nothing_else(self):
        done = self.home().baton("list", env={"XDG_STATE_HOME": "/proc/nowhere"})
        self.assertEqual(done.code, 0)
        self.assertIn("orders/postgres:42", done.out)
        self.assertRegex(done.err, r"\Abaton: the observation memory: [^\n]*/proc/nowhere[^\n]*\n\Z")

    def test_no_memory_leaves_nothing_behind(self):
        home = self.home()
        home.baton("list", "--no-memory")
        self.assertFalse(os.path.exists(os.path.join(home.state, "baton")))


class Watch(Servers):
    def lines(self, watch, until, limit=20):
        """Reads lines until one fits; the test's own time limit ends a watch that says nothing."""
        found = []
        for text in watch.stdout:
            line = json.loads(text)
            self.fits(line)
            found.append(line)
            if until(line):
                return found
        self.fail(f"the watch ended: {found}\n{watch.stderr.read()}")

    def start(self, *args, home=None):
        watch = (home or self.home()).popen("watch", *args, stdout=-1, stderr=-1, text=True)
        self.addCleanup(watch.wait, 20)
        self.addCleanup(watch.kill)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.stderr.close)
        return watch

    def test_appeared_changed_gone_and_the_end(self):
        watch = self.start("--json")
        first = self.lines(watch, lambda e: e["id"] == "orders/postgres:42")
        self.assertIn(("source", "orders"), {(e["event"], e.get("source", {}).get("name")) for e in first})
        session = self.pg.session(app="late")
        session.run("select pg_advisory_lock(4711)")
        new = self.lines(watch, lambda e: e["id"] == "orders/postgres:4711")[-1]
        self.assertEqual((new["event"], new["singleton"]["holders"][0]["identity"]), ("appeared", "late"))
        second = self.pg.session(app="later")
        second.send("select pg_advisory_lock(4711)")
        new = self.lines(watch, lambda e: e["id"] == "orders/postgres:4711")[-1]
        self.assertEqual((new["event"], new["singleton"]["state"]), ("changed", "CONTENDED"))
        session.close()
        new = self.lines(watch, lambda e: e["id"] == "orders/postgres:4711" and
                         e["singleton"]["holders"][0]["identity"] == "later")[-1]
        self.assertEqual(new["event"], "changed")
        second.close()
        self.lines(watch, lambda e: e["id"] == "orders/postgres:4711" and e["event"] == "gone")
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(watch.wait(10), 0)

    def test_what_is_only_hidden_is_not_gone(self):
        """More locks than are read push the last ones out of sight; whoever holds them holds on."""
        home = self.home()
        home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo('postgres')}", rows: 100}}
""")
        session = self.pg.session(app="late")
        self.addCleanup(session.close)
        session.run("select pg_advisory_lock(4711)")
        words, told = self.start(home=home), self.start("--json", home=home)

        def about(event):
            return event["id"] == "orders/postgres:4711"

        self.assertEqual(self.lines(told, about, 200)[-1]["event"], "appeared")
        flood = self.pg.session(app="flood")
        flood.run("select count(pg_advisory_lock(i)) from generate_series(1000, 1200) i")
        hidden = self.lines(told, about, 300)[-1]
        self.assertEqual((hidden["event"], hidden["singleton"]["state"]), ("changed", "UNKNOWN"))
        self.assertEqual(hidden["singleton"]["holders"][0]["identity"], "late")
        finding, = hidden["singleton"]["findings"]
        self.assertEqual(finding["code"], "hidden")
        self.assertRegex(finding["text"], "more advisory lock rows than the 100 that were read")
        flood.close()
        self.assertEqual(self.lines(told, about, 300)[-1]["event"], "appeared")
        mine = (line.split("  ", 1)[1] for line in words.stdout if " orders/postgres:4711 " in line)
        self.assertRegex(next(mine), "^appeared  HELD ")
        self.assertRegex(next(mine), "^changed   UNKNOWN .* late .*hidden")

    def test_sigint_ends_it_too(self):
        watch = self.start()
        self.assertRegex(watch.stdout.readline(), r"^\d{4}-\d\d-\d\dT[\d:.]+Z  source    ok ")
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(10), 0)
        self.assertEqual(watch.stderr.read(), "")

    def test_it_ends_when_the_reader_goes_away_though_nothing_changes(self):
        watch = self.start("--json")
        self.lines(watch, lambda e: e["id"] == "orders/postgres:42")
        watch.stdout.close()
        wait_until(lambda: watch.poll() is not None, 10)
        self.assertEqual(watch.returncode, 0)

    def test_only_some_states(self):
        watch = self.start("--json", "--state", "orphan")
        found = self.lines(watch, lambda e: e["event"] != "source")
        self.assertEqual(found[-1]["singleton"]["state"], "ORPHAN")


if __name__ == "__main__":
    unittest.main()
