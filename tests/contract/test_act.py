"""forecast, act and audit on a real etcd: words, exit codes, shapes, what is asked on a terminal, and what a crash leaves."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from contract.schema import Schema
from servers import Etcd, Home, baton_path, free_port, wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOB = "ctl/elections/job"


def setUpModule():
    Acts.etcd = Etcd()


def tearDownModule():
    Acts.etcd.close()


class Acts(unittest.TestCase):
    with open(os.path.join(TOP, "doc", "baton-1.schema.json"), encoding="utf-8") as file:
        schema = Schema(json.load(file))

    def setUp(self):
        for key in ("elections/", "services/"):
            self.etcd.etcdctl("del", "--prefix", key)

    def home(self, environment="lab", more="", protect="false"):
        home = Home(config=f"sources:\n  ctl: {{kind: etcd, environment: {environment}, endpoints: '{self.etcd.url}', "
                           f"protect: {protect}, prefixes: [{{prefix: elections/, mechanism: election}}]}}\n" + more)
        self.addCleanup(home.close)
        return home

    def candidates(self, *names):
        made = [self.etcd.candidate("elections/job", name, ttl=60) for name in names]
        for each in made:
            self.addCleanup(each.close)
        return made

    def fits(self, value, name):
        self.assertEqual(self.schema.faults(value, self.schema.resolve(f"#/$defs/{name}")), [])
        self.assertEqual(self.schema.faults(value), [])
        return value

    def act(self, home, *args, code=0):
        done = home.baton("act", *args, "--reason", "a test", "--yes", "--json")
        self.assertEqual(done.code, code, done)
        return self.fits(done.json, "act")

    def holder(self):
        found = self.etcd.etcdctl("get", "--prefix", "elections/job/", parse=True).get("kvs", [])
        return min(found, key=lambda kv: int(kv["create_revision"]))["create_revision"] if found else None


class Words(Acts):
    def test_what_is_missing_is_said(self):
        home = self.home()
        for args, want in (
                (("act", "step-down", JOB, "--yes", "--reason", "x"), "needs --expect"),
                (("act", "step-down", JOB, "--yes", "--expect", "a"), "needs --reason"),
                (("act", "step-down", JOB, "--yes", "--expect", "a", "--reason", "  "), "needs --reason"),
                (("act", "step-down", JOB, "--expect", "a", "--reason", "x"), "needs --yes"),
                (("act", "step-dwn", JOB, "--expect", "a", "--reason", "x", "--yes"), "did you mean 'step-down'?"),
                (("act", "step-down", JOB, "--expect", "a", "--expect-token", "1x"), "must be a whole number"),
                (("forecast", "step-down"), "needs VERB ID")):
            done = home.baton(*args)
            self.assertEqual((done.code, done.out), (64, ""), done)
            self.assertIn(want, done.err)

    def test_an_id_that_was_never_there(self):
        home = self.home()
        self.candidates("node-a")
        for args in (("forecast", "step-down"), ("act", "step-down")):
            more = ("--expect", "node-a", "--reason", "x", "--yes") if args[0] == "act" else ()
            done = home.baton(*args, "ctl/elections/jib", *more)
            self.assertEqual((done.code, done.out), (66, ""), done)
            self.assertIn(f"did you mean '{JOB}'?", done.err)
        self.assertEqual(home.baton("forecast", "step-down", "nowhere/x").code, 66)
        self.assertEqual(home.baton("audit").out, "")

    def test_a_role_is_no_singleton(self):
        """It is there, `show` knows it: what is said is which ids a verb can be about."""
        home = self.home(more="roles: {close: {witnesses: [ctl/elections/job, ctl/elections/other]}}\n")
        for args in (("forecast", "step-down"), ("act", "step-down")):
            more = ("--expect", "node-a", "--reason", "x", "--yes") if args[0] == "act" else ()
            done = home.baton(*args, "role/close", *more)
            self.assertEqual((done.code, done.out), (64, ""), done)
            self.assertEqual(done.err, "baton: 'role/close' is a role: name one of its witnesses instead: "
                                       "ctl/elections/job, ctl/elections/other\n")
        done = home.baton("show", "role/clse")
        self.assertEqual((done.code, done.err), (66, "baton: there is no 'role/clse'; did you mean 'role/close'?\n"))

    def test_a_source_that_does_not_answer(self):
        home = Home(config=f"sources: {{ctl: {{kind: etcd, endpoints: 'http://127.0.0.1:{free_port()}'}}}}")
        self.addCleanup(home.close)
        done = home.baton("act", "step-down", JOB, "--expect", "a", "--reason", "x", "--yes", "--timeout", "1")
        self.assertEqual(done.code, 69, done)
        self.assertIn("nothing was sent", done.err)


class LongTexts(Acts):
    """Names of characters of three bytes, which a cut at any byte would break, in all that is printed."""

    def printed(self, home, *args):
        done = subprocess.run([baton_path(), *args], env=home.env(), stdin=subprocess.DEVNULL, capture_output=True)
        return (done.stdout + done.stderr).decode("utf-8", errors="strict")

    def test_a_cut_is_made_where_a_character_ends(self):
        shifts = [n * "x" + 400 * "\u6f22" for n in range(3)]
        home = self.home(more="roles:\n" + "".join(
            f"  r{n}: {{witnesses: ['ctl/elections/{name[:100]}', 'ctl/elections/job{n}']}}\n" for n, name in enumerate(shifts)))
        for n, name in enumerate(shifts):
            for election, value in ((name[:100], "a" + name), (f"job{n}", "b" + name), (f"job{n}", "c" + name), (f"key{n}/x", name)):
                lease = self.etcd.grant(60)
                key = f"elections/{election}" + ("" if election.endswith("/x") else f"/{lease:x}")
                self.etcd.put(key, value, lease)
        for args in (("list",), ("check",), ("list", "--json"), ("doctor",)):
            self.printed(home, *args)
        for n, name in enumerate(shifts):
            sure = ("--reason", name, "--yes")
            for args in (("show", f"role/r{n}"), ("show", f"ctl/elections/job{n}"), ("show", f"ctl/elections/{name[:99]}"),
                         ("forecast", "step-down", f"ctl/elections/{name[:100]}"), ("forecast", "step-down", f"ctl/elections/key{n}/x"),
                         ("forecast", "release", f"ctl/elections/job{n}", "--expect", name),
                         ("act", "release", f"ctl/elections/job{n}", "--expect", name, *sure),
                         ("act", "step-down", f"ctl/elections/key{n}/x", "--expect", name, *sure), ("audit",)):
                self.assertIn("\u6f22", self.printed(home, *args), args)


class Forecast(Acts):
    def test_it_fits_the_schema_and_sends_nothing(self):
        home = self.home()
        first, second = self.candidates("node-a", "node-b")
        before = self.etcd.etcdctl("get", "x", parse=True)["header"]["revision"]
        said = self.fits(home.baton("forecast", "step-down", JOB, "--json").json, "forecast")
        self.assertEqual((said["allowed"], said["reasons"], said["permission"]), (True, [], "ok"))
        self.assertEqual(said["target"], {"identity": "node-a", "key": f"rev:{first.create_revision}",
                                          "token": str(first.create_revision)})
        self.assertEqual((said["successor"], said["overlap"]["possible"]), ("node-b", True))
        self.assertEqual(self.etcd.etcdctl("get", "x", parse=True)["header"]["revision"], before)
        text = home.baton("forecast", "step-down", JOB).out
        for label in ("takes it from node-a", "sends ", "guarded by ", "destroys ", "tells ", "next ", "overlap ", "permission "):
            self.assertIn(label, text)

    def test_what_may_not_be_done_is_forecast_and_refused(self):
        home = self.home(more="read_only: true\n")
        self.candidates("node-a")
        done = home.baton("forecast", "step-down", JOB, "--json")
        said = self.fits(done.json, "forecast")
        self.assertEqual((done.code, said["allowed"]), (0, False))
        self.assertIn("read_only", said["reasons"][0])
        self.assertIn("txn", said["request"])
        said = self.fits(home.baton("forecast", "cancel", JOB, "--json").json, "forecast")
        self.assertEqual(said["reasons"][0], "cancel does not work on etcd-election")
        self.act(home, "step-down", JOB, "--expect", "node-a", code=10)
        home = self.home(protect="true")
        said = self.act(home, "step-down", JOB, "--expect", "node-a", code=10)
        self.assertIn("protects", said["text"])
        self.assertIsNotNone(self.holder())


class Act(Acts):
    def test_done(self):
        home = self.home()
        first, second = self.candidates("node-a", "node-b")
        said = self.act(home, "step-down", JOB, "--expect", f"rev:{first.create_revision}",
                        "--expect-token", str(first.create_revision))
        self.assertEqual((said["outcome"], said["after"]["holders"][0]["identity"]), ("done", "node-b"))
        self.assertEqual([step["step"] for step in said["steps"] if step["step"] != "verify"],
                         ["read", "forecast", "confirm", "read", "record", "send", "answer", "record"])
        lines = [self.fits(line, "audit") for line in home.baton("audit", "--json").json_lines]
        self.assertEqual([(line["n"], line["phase"], line["outcome"]) for line in lines],
                         [(1, "intent", None), (1, "outcome", "done")])
        self.assertEqual((lines[0]["request"], lines[0]["reason"]), (said["request"], "a test"))
        self.assertIn("a test", home.baton("audit").out)

    def test_who_only_waits_is_there_and_holds_nothing(self):
        home = self.home()
        self.candidates("node-a", "node-b")
        data = self.act(home, "step-down", JOB, "--expect", "node-b", code=11)
        self.assertRegex(data["text"], r"^node-b only waits for it: there is rev:\d+ \(node-a\)$")
        out = home.baton("forecast", "release", JOB, "--expect", "node-b").out
        self.assertRegex(out, r"(?m)^ends the wait node-b  \(rev:\d+\)$")

    def test_changed(self):
        home = self.home()
        first, second = self.candidates("node-a", "node-b")
        for more in (("--expect", "node-z"), ("--expect", "rev:1"), ("--expect", "node-a", "--expect-token", "1")):
            said = self.act(home, "step-down", JOB, *more, code=11)
            self.assertEqual(said["outcome"], "changed")
        self.assertEqual(self.holder(), first.create_revision)
        # What was there and is not any more.
        first.revoke(), second.revoke()
        wait_until(lambda: self.holder() is None, what="the candidates' end")
        said = self.act(home, "step-down", JOB, "--expect", "node-a", code=11)
        self.assertEqual(said["target"]["identity"], "node-a")
        self.assertEqual([line["outcome"] for line in home.baton("audit", "--json").json_lines if line["outcome"]],
                         ["changed"] * 4)

    def test_an_identity_that_several_hold(self):
        home = self.home()
        first, second = self.candidates("node-a", "node-a")
        said = self.act(home, "release", JOB, "--expect", "node-a", code=10)
        for each in (first, second):
            self.assertIn(f"rev:{each.create_revision}", said["text"])
        self.assertEqual(self.act(home, "release", JOB, "--expect", f"rev:{second.create_revision}")["outcome"], "done")
        self.assertEqual(self.holder(), first.create_revision)

    def test_names_that_are_any_bytes(self):
        home = self.home()
        key = self.etcd.candidate("elections/job", "n\u00f6de|\\ \"x\"", ttl=60)
        self.addCleanup(key.close)
        said = self.act(home, "step-down", JOB, "--expect", "n\u00f6de|\\\\ \"x\"")
        self.assertEqual(said["outcome"], "done")
        key = self.etcd.candidate("elections/job", "n\u00f6de|\\ \"x\"", ttl=60)
        self.addCleanup(key.close)
        self.assertEqual(self.act(home, "step-down", JOB, "--expect", "n\u00f6de|\\ \"x\"")["outcome"], "done")

    def test_without_a_place_for_the_audit_nothing_is_sent(self):
        home = self.home()
        first, = self.candidates("node-a")
        os.makedirs(os.path.join(home.state, "baton", "audit.jsonl"))
        said = self.act(home, "step-down", JOB, "--expect", "node-a", code=10)
        self.assertIn("nothing was sent", said["text"])
        self.assertEqual(self.holder(), first.create_revision)

    def test_a_file_that_may_not_grow(self):
        home = self.home()
        first, = self.candidates("node-a")
        # The observation memory is left alone, so that only the audit meets the limit.
        command = [baton_path(), "act", "step-down", JOB, "--expect", "node-a", "--reason", "x", "--yes", "--json", "--no-memory"]

        def limited(words):
            return subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@" | cat', "sh", *words], env=home.env(),
                                  capture_output=True, text=True, timeout=60)
        if not limited([baton_path(), "version"]).stdout:
            # The thread sanitizer's own start writes to a file: then the disk is full instead.
            os.makedirs(os.path.join(home.state, "baton"))
            os.symlink("/dev/full", os.path.join(home.state, "baton", "audit.jsonl"))
            done = subprocess.run(command, env=home.env(), capture_output=True, text=True, timeout=60)
        else:
            done = limited(command)
        self.assertEqual(json.loads(done.stdout)["outcome"], "refused", done)
        self.assertEqual(self.holder(), first.create_revision)

    def test_a_second_copy(self):
        copy = os.path.join(Home().state, "copy")
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        home = self.home(more=f"audit: {{program: [dd, 'of={copy}', oflag=append, conv=notrunc, status=none]}}\n")
        self.candidates("node-a")
        self.act(home, "step-down", JOB, "--expect", "node-a")
        with open(copy, encoding="utf-8") as file:
            self.assertEqual(file.read(), home.baton("audit", "--json").out)
        home = self.home(more="audit: {program: /no/such/program}\n")
        self.candidates("node-b")
        said = self.act(home, "step-down", JOB, "--expect", "node-b")
        self.assertIn("the second copy", " ".join(step["text"] for step in said["steps"]))


class Terminal(Acts):
    """Without --yes a terminal is asked."""

    def ask(self, home, answers, *more):
        pid, master = pty.fork()
        if pid == 0:
            os.execve(baton_path(), [baton_path(), "act", "step-down", JOB, "--expect", "node-a", *more], home.env())
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        out, answers = b"", list(answers)
        while True:
            ready = select.select([master], [], [], 30)[0]
            self.assertTrue(ready, out)
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            if not got:
                break
            out += got
            if out.endswith(b"> ") and answers:
                os.write(master, answers.pop(0).encode() + b"\r")
                out += b"\n"
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(master)
        return code, out.decode()

    def test_the_name_typed(self):
        home = self.home()
        self.candidates("node-a", "node-b")
        code, out = self.ask(home, ["my reason", "node-a"])
        self.assertEqual(code, 0, out)
        for want in ("takes it from node-a", "reason >", "type node-a to go on", "done "):
            self.assertIn(want, out)
        self.assertIn("my reason", home.baton("audit").out)

    def test_enter_alone_leaves_it_as_it_is(self):
        home = self.home()
        first, = self.candidates("node-a")
        for answers, more in ((["", ""], ()), (["why", ""], ()), (["y", "nonsense"], ("--reason", "why")), (["", ""], ("--reason", "w"))):
            code, out = self.ask(home, answers, *more) if answers[0] != "y" else self.ask(home, ["y", "node", "Y"], *more)
            self.assertEqual(code, 10, out)
        self.assertEqual(self.holder(), first.create_revision)
        self.assertEqual(home.baton("audit").out, "")

    def test_production_wants_the_id(self):
        home = self.home(environment="prod")
        first, = self.candidates("node-a")
        self.assertEqual(self.ask(home, ["why", "node-a", ""])[0], 10)
        self.assertEqual(self.holder(), first.create_revision)
        self.assertEqual(self.ask(home, ["why", JOB])[0], 0)
        self.assertIsNone(self.holder())


class Asked(Acts):
    """Asked to end by a signal."""

    def test_before_it_is_confirmed_nothing_happens(self):
        home = self.home()
        first, = self.candidates("node-a")
        pid, master = pty.fork()
        if pid == 0:
            os.execve(baton_path(), [baton_path(), "act", "step-down", JOB, "--expect", "node-a"], home.env())
        out = b""
        while not out.endswith(b"> "):
            self.assertTrue(select.select([master], [], [], 30)[0], out)
            out += os.read(master, 65536)
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 10)
        os.close(master)
        self.assertEqual((self.holder(), home.baton("audit").out), (first.create_revision, ""))

    def test_what_was_sent_gets_its_outcome(self):
        home = self.home()
        self.candidates("node-a", "node-b")
        audit = os.path.join(home.state, "baton", "audit.jsonl")
        child = home.popen("act", "step-down", JOB, "--expect", "node-a", "--reason", "x", "--yes", "--json",
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # The old holder's lease runs on, so that it is looked after for a second.
        wait_until(lambda: os.path.exists(audit) and os.path.getsize(audit) > 0, what="the intent", interval=0.005)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual((child.returncode, json.loads(out)["outcome"]), (0, "done"), err)
        self.assertIn("can't be called back", err)
        self.assertEqual([line["outcome"] for line in home.baton("audit", "--json").json_lines], [None, "done"])


class Crash(Acts):
    def test_killed_before_the_answer(self):
        """etcd stands still while the request is out; baton is killed then."""
        home = self.home()
        first, = self.candidates("node-a")
        slow = [baton_path(), "act", "step-down", JOB, "--expect", "node-a", "--reason", "x", "--yes", "--timeout", "60"]
        etcd = self.etcd.members[0].process
        audit = os.path.join(home.state, "baton", "audit.jsonl")
        # The second copy's program stops etcd as soon as the intent is written, before it is sent.
        with open(home.config, "a", encoding="utf-8") as file:
            file.write(f"audit: {{program: [kill, '-STOP', '{etcd.pid}']}}\n")
        child = subprocess.Popen(slow, env=home.env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: os.path.exists(audit) and os.path.getsize(audit) > 0, what="the intent")
            time.sleep(0.3)
            child.send_signal(signal.SIGKILL)
            child.wait()
        finally:
            os.kill(etcd.pid, signal.SIGCONT)
        lines = [self.fits(line, "audit") for line in home.baton("audit", "--json").json_lines]
        self.assertEqual([(line["n"], line["phase"], line["outcome"]) for line in lines], [(1, "intent", None)])
        text = home.baton("audit").out
        self.assertIn("no outcome recorded", text)
        self.assertIn("its end is not known", text)
