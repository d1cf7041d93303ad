"""A record of real servers, replayed: the same states, holders and findings as were shown live, at the same moments."""

import fcntl
import json
import os
import re
import signal
import stat
import struct
import subprocess
import termios
import threading
import time
import unittest

from contract.schema import Schema
from kube_truth import FAR, KubeTest
from servers import Etcd, Home, Node, Postgres, wait_until


TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BATON_BUILD", os.path.join(TOP, "build"))


def now():
    """As --at takes it."""
    at = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03}Z"


def told(picture, claims=True):
    """What must be the same: of each row its state, who claims it and what is found; of each source and role too."""
    rows = {}
    for row in picture["singletons"]:
        rows[row["id"]] = (
            row["state"], row["needs_attention"], row["token"], row["name"], row["mechanism"],
            [(c["identity"], c["key"]) for kind in ("holders", "waiters") for c in row[kind]] if claims else None,
            sorted((f["code"], f["severity"]) for f in row["findings"]))
    sources = {s["name"]: (s["kind"], s["environment"], s["state"], s["server"], s["hidden"]) for s in picture["sources"]}
    roles = {r["name"]: (r["state"], sorted(f["code"] for f in r["findings"])) for r in picture["roles"]}
    return {"rows": rows, "sources": sources, "roles": roles}


# What a redacted record may share with the one that is not: times, numbers, the words of the format and of the systems.
SHARED = re.compile(r"-?[0-9a-f]+|(rev|uid|pid):-?[0-9]+|-?[0-9]+@-?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|v?[0-9.]+|"
                    r"(PostgreSQL|etcd|Kubernetes) v?[0-9.]+|baton [0-9.a-z-]+|baton-record")
# Members whose texts are words of the format, or of the systems.
WORDS = {"line", "kind", "environment", "harm", "state", "code", "severity", "mechanism", "token_kind", "mode", "wait_event",
         "backend_type", "alarm", "strategy", "pod_phase", "phase", "reason", "schedule", "text", "zone", "time_zone", "policy",
         "restart_policy", "replacement_policy", "slot_from", "batch_version", "what", "hold", "why", "fit", "key"}


def texts(path):
    """Every text that stands in a record, and the members in which it stands."""
    found = {}

    def walk(value, member):
        if isinstance(value, dict):
            for name, each in value.items():
                walk(each, name)
        elif isinstance(value, list):
            for each in value:
                walk(each, member)
        elif isinstance(value, str):
            found.setdefault(value, set()).add(member)

    with open(path, encoding="utf-8") as file:
        for line in file:
            walk(json.loads(line), None)
    return found


def kept(record, redacted):
    """The texts that both hold, and that are no word, number or time."""
    before, after = texts(record), texts(redacted)
    return {text: after[text] for text in after.keys() & before.keys()
            if not SHARED.fullmatch(text) and not after[text] <= WORDS}


class Fleet:
    """A PostgreSQL and an etcd on which things happen."""

    def __init__(self):
        self.pg, self.etcd = Postgres(), Etcd()
        dsn = f"host=127.0.0.1 port={self.pg.port} user=postgres dbname=postgres"
        self.home = Home(config=(
            f"sources:\n  orders: {{kind: postgres, environment: lab, conninfo: '{dsn}', interval: 200ms}}\n"
            f"  ctl: {{kind: etcd, endpoints: '{self.etcd.url}', prefixes: [{{prefix: elections/}}]}}\n"
            "names:\n  - {source: orders, key: {bigint: 42}, name: billing-close}\n"
            "roles:\n  close: {harm: harmful, witnesses: ['orders/postgres:42', 'ctl/elections/billing']}\n"))
        self.record = os.path.join(self.home.folder.path, "night.jsonl")

    def close(self):
        for each in (self.etcd, self.pg, self.home):
            each.close()

    def recorder(self, *args):
        process = self.home.popen("record", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: process.poll() is not None or self.frames(args[0]) >= 4, what="the record begins")
        return process

    @staticmethod
    def frames(path):
        try:
            with open(path, encoding="utf-8") as file:
                return sum('"line":"frame"' in line for line in file)
        except FileNotFoundError:
            return 0

    def live(self):
        """What is shown now, once two pictures agree and both recorders have it too; and a moment in between."""
        for _ in range(50):
            first = told(self.home.baton("list", "--json").json)
            time.sleep(0.7)
            caught_up = all(self.shape(told(self.at_its_end(more))) == self.shape(first) for more in ("", ".redacted"))
            at = now()
            time.sleep(0.3)
            if caught_up and told(self.home.baton("list", "--json").json) == first:
                return at, first
        raise AssertionError("nothing stands still here")

    def at_its_end(self, more):
        """The last that was recorded so far."""
        return self.home.baton("list", "--json", "--replay", self.record + more).json

    @staticmethod
    def shape(picture):
        """What there is, without names. Who goes on keeps what it saw of a source that fails; who begins now has nothing."""
        return (sorted(source[2] for source in picture["sources"].values()),
                sorted((row[0], len(row[5])) for row in picture["rows"].values() if row[0] != "UNKNOWN"))

    def stop(self, process):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        return process.returncode, out, err


class Record(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet()
        cls.addClassCleanup(cls.fleet.close)
        cls.home = cls.fleet.home
        cls.moments = []
        recorder = cls.fleet.recorder(cls.fleet.record)
        redacted = cls.fleet.recorder(cls.fleet.record + ".redacted", "--redact")
        cls.night()
        cls.last_check = cls.home.baton("check")
        cls.stopped = cls.fleet.stop(recorder)
        cls.fleet.stop(redacted)

    @classmethod
    def remember(cls, what):
        cls.moments.append((what, *cls.fleet.live()))

    @classmethod
    def state_of_orders(cls):
        """At the end of what was recorded so far, by both."""
        ends = [cls.fleet.at_its_end(more)["sources"][0]["state"] for more in ("", ".redacted")]
        return ends[0] if ends[0] == ends[1] else None

    @classmethod
    def night(cls):
        """Holders and waiters come and go; a candidate that never ends; a hand-over; a server that falls out."""
        pg, etcd = cls.fleet.pg, cls.fleet.etcd
        first = pg.session(app="zebra-one")
        first.run("select pg_advisory_lock(42)")
        cls.remember("held")
        second = pg.session(app="zebra|two")
        second.send("select pg_advisory_lock(42)")
        leader = etcd.candidate("elections/billing", "quagga-a")
        cls.remember("contended")
        heir = etcd.candidate("elections/billing", "quagga-b")
        first.close()
        second.result()
        cls.remember("handed over")
        etcd.put("elections/stranded/deadbeef", "okapi\x1b[31m\\")
        leader.resign()
        cls.remember("stranded")
        pg.stop()
        wait_until(lambda: cls.home.baton("list", "--json").json["sources"][0]["state"] == "failing")
        cls.remember("failing")
        pg.start()
        third = pg.session(app="zebra-three")
        third.run("select pg_advisory_lock(7, -9)")
        # Who goes on comes back with a back-off; who begins now sees it at once.
        wait_until(lambda: cls.state_of_orders() == "ok", timeout=40, what="the recorder comes back")
        cls.remember("again")
        for each in (second, third, heir, leader):
            each.close()

    def replay(self, *args, record=None):
        done = self.home.baton(*args, "--replay", record or self.fleet.record)
        self.assertNotIn("cut short", done.err)
        return done

    def test_every_moment_shows_what_was_shown_live(self):
        self.assertEqual(len(self.moments), 6)
        for what, at, live in self.moments:
            with self.subTest(what):
                shown = told(self.replay("list", "--json", "--at", at).json)
                if what == "failing":
                    # Who goes on keeps the last picture, greyed; who begins now has none.
                    self.assertEqual(shown["rows"].pop("orders/postgres:42")[0], "UNKNOWN")
                    shown["sources"]["orders"] = shown["sources"]["orders"][:3]
                    live["sources"]["orders"] = live["sources"]["orders"][:3]
                self.assertEqual(shown, live)

    def test_the_end_is_the_default(self):
        self.assertEqual(self.replay("list", "--json").json["at"], self.replay("list", "--json", "--at", "end").json["at"])

    def test_the_whole_record_is_watched(self):
        lines = [json.loads(line) for line in self.replay("watch", "--json").out.splitlines()]
        seen = [l["singleton"] for l in lines if l.get("id") == "orders/postgres:42"]
        holders = [s["holders"][0]["identity"] for s in seen if s["holders"]]
        self.assertEqual([h for i, h in enumerate(holders) if i == 0 or holders[i - 1] != h], ["zebra-one", "zebra|two"])
        self.assertEqual([l["at"] for l in lines], sorted(l["at"] for l in lines))
        self.assertIn("failing", [l["source"]["state"] for l in lines if l["event"] == "source"])

    def test_check_ends_with_the_same_code(self):
        self.assertEqual(self.replay("check").code, self.last_check.code)

    def test_show_tells_the_history(self):
        at = self.moments[2][1]
        shown = self.replay("show", "orders/postgres:42", "--json", "--at", at).json
        self.assertEqual(shown["singleton"]["holders"][0]["identity"], "zebra|two")
        self.assertIn("hand-over", [h["what"] for h in shown["history"]])
        before = self.replay("show", "orders/postgres:42", "--json", "--at", self.moments[0][1]).json
        self.assertNotIn("hand-over", [h["what"] for h in before["history"]])

    def test_redacted_the_same_and_no_name(self):
        with open(self.fleet.record + ".redacted", encoding="utf-8") as file:
            text = file.read()
        for name in ("zebra", "quagga", "okapi", "orders", "ctl", "billing", "127.0.0.1", "close\"", "elections", "stranded"):
            self.assertNotIn(name, text)

        self.assertEqual(len(self.moments), 6)

        def bare(rows):
            return sorted((row[0], row[1], row[2], row[4], len(row[5]), row[6]) for row in rows.values())

        for what, at, live in self.moments:
            with self.subTest(what):
                picture = told(self.replay("list", "--json", "--at", at, record=self.fleet.record + ".redacted").json)
                rows = {id: row for id, row in picture["rows"].items() if row[0] != "UNKNOWN"}
                self.assertEqual(bare(rows), bare(live["rows"]))
                self.assertEqual(sorted(s[2] for s in picture["sources"].values()),
                                 sorted(s[2] for s in live["sources"].values()))
                self.assertEqual(list(picture["roles"].values()), list(live["roles"].values()))

    def test_every_line_fits_the_schema(self):
        with open(os.path.join(TOP, "doc", "record-1.schema.json"), encoding="utf-8") as file:
            schema = Schema(json.load(file))
        for path in (self.fleet.record, self.fleet.record + ".redacted"):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    self.assertEqual(schema.faults(json.loads(line)), [], line)

    def test_any_moment_becomes_a_fixture(self):
        folder = os.path.join(self.home.folder.path, "cases")
        os.makedirs(folder, exist_ok=True)
        for n, (what, at, _) in enumerate(self.moments):
            for id in (None, "orders/postgres:42"):
                made = subprocess.run([os.path.join(TOP, "tests", "contract", "fixture"), self.fleet.record, "--at", at,
                                       *(["--id", id] if id else [])], capture_output=True, text=True, timeout=60)
                self.assertEqual((made.returncode, made.stderr), (0, ""))
                if what == "held":
                    self.assertIn("zebra-one", made.stdout)
                with open(os.path.join(folder, f"{n}-{'one' if id else 'all'}.json"), "w", encoding="utf-8") as file:
                    file.write(made.stdout)
        played = subprocess.run([os.path.join(BUILD, "tests", "bin", "test-cases"), folder], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(played.returncode, 0, played.stdout + played.stderr)
        self.assertIn("12", played.stdout)

    def test_it_was_stopped_with_a_word(self):
        code, out, err = self.stopped
        self.assertEqual((code, out), (0, ""))
        self.assertRegex(err, r"^baton: recorded \d+ bytes; baton replay shows them\n$")
        self.assertEqual(stat.S_IMODE(os.stat(self.fleet.record).st_mode), 0o600)


def waits_in(pipe):
    """How many bytes nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


class Scenario(unittest.TestCase):
    """The built-in fleet has every mechanism: its record with names replaced has none of the scenario's."""

    @classmethod
    def setUpClass(cls):
        cls.home = Home()
        cls.addClassCleanup(cls.home.close)
        cls.record, cls.redacted = (os.path.join(cls.home.folder.path, name) for name in ("plain.jsonl", "bare.jsonl"))
        for path, more in ((cls.record, ()), (cls.redacted, ("--redact",))):
            done = cls.home.baton("record", path, "--sim", "demo", "--at", "10m", *more)
            assert done.code == 0, done

    def names(self):
        """Of the scenario: whatever is called something in it, with its place before it."""
        with open(os.path.join(TOP, "scenarios", "demo.yaml"), encoding="utf-8") as file:
            text = file.read().split("faults:")[0]
        found = set(re.findall(r"(?:name|path|key|machine|namespace|deployment|database|cluster|lease|job|server|about|hold|duty|"
                               r"resource): \"?([a-z][a-z0-9/ -]*[a-z0-9])\"?[,}]", text))
        self.assertGreater(len(found), 150)
        return found

    def test_no_name_is_left(self):
        with open(self.redacted, encoding="utf-8") as file:
            bare = file.read()
        # A word of the format is no name.
        bare = re.sub(r'"kind":"[a-z]+"|"line":"[a-z]+"', "", bare)
        self.assertEqual([name for name in sorted(self.names()) if re.search(
            rf"(?<![A-Za-z0-9_-]){re.escape(name)}(?![A-Za-z0-9_-])", re.sub(r'"[a-z_]+":', "", bare))], [])

    def stopped(self, *args):
        """Its exit code once it was told to end, which it does long before the fleet's moment; and what it complained of."""
        process = self.home.popen(*args, "--sim", "demo", "--at", "31d", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # A pipe that nobody reads is full soon; a file holds more than the first picture then.
        wait_until(lambda: waits_in(process.stdout) > 60000 if args[1] == "-" else
                   os.path.exists(args[1]) and os.path.getsize(args[1]) > 300000)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        err = process.stderr.read().decode()
        for each in (process.stdout, process.stderr):
            each.close()
        return process.returncode, err

    def test_it_can_be_stopped_on_its_way(self):
        path = os.path.join(self.home.folder.path, "stopped.jsonl")
        code, err = self.stopped("record", path)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.home.baton("list", "--replay", path).err, "")
        os.unlink(path)
        code, err = self.stopped("record", "-")
        self.assertEqual(code, 1, err)
        self.assertIn("its reader takes nothing more", err)

    def test_nothing_else_is_shared(self):
        self.assertEqual(kept(self.record, self.redacted), {})

    def test_the_pictures_are_the_same(self):
        for at in ("start", "90s", "4m", "end"):
            shown = [self.home.baton("list", "--json", "--replay", path, "--at", at).json for path in (self.record, self.redacted)]
            rows = [sorted((row["state"], row["mechanism"], len(row["holders"]), len(row["waiters"]), len(row["runs"]),
                            sorted(f["code"] for f in row["findings"])) for row in each["singletons"]) for each in shown]
            self.assertEqual(*rows)
        self.assertEqual({row["mechanism"] for row in shown[0]["singletons"]}, {
                "pg-advisory", "etcd-election", "etcd-lock", "etcd-key", "k8s-lease", "k8s-cronjob", "zk-election", "process",
                "sql-lease", "run-ledger", "airflow-dag"})


class Cluster(KubeTest):
    """A real Kubernetes, recorded twice at once: with its names, and without."""

    maxDiff = None

    def things(self):
        """What stands on the cluster; returns every name that it has."""
        for name in ("quagga-space", "okapi-space"):
            self.api.create("namespaces", {"metadata": {"name": name, "labels": {"herd": "zorilla"}}})
        node = Node(self.plane, "zebra-node")
        self.addCleanup(node.close)
        job = {"template": {"metadata": {"labels": {"herd": "kudu-label"}, "annotations": {"herd": "eland-note"}}, "spec": {
            "restartPolicy": "Never", "serviceAccountName": "bongo-account",
            "containers": [{"name": "gerenuk", "image": "registry.dikdik.example/oryx:7"}]}}, "backoffLimit": 2}
        self.plane.make_cronjob("impala-nightly", FAR, "Allow", namespace="quagga-space", job=job, timeZone="Europe/Berlin")
        now = time.time()
        jobs = [self.plane.make_run("impala-nightly", ago, "quagga-space", now) for ago in (2, 1)]
        names = {"quagga", "okapi", "zebra-node", "impala", "zorilla", "kudu", "eland", "bongo", "gerenuk", "dikdik", "oryx", "lab/",
                 "127.0.0.1", str(self.plane.port), "default", "kube-system", "nyala", "saiga", "baton/"}
        for each in jobs:
            pods = wait_until(lambda each=each: self.plane.pods_of(each["metadata"]["name"], "quagga-space"))
            self.kubelet.run(pods[0], node="zebra-node")
            names |= {each["metadata"]["name"], each["metadata"]["uid"], pods[0]["metadata"]["name"], pods[0]["metadata"]["uid"]}
        holder = self.plane.make_pod("nyala-0", "okapi-space")
        self.kubelet.run(holder, node="zebra-node")
        self.plane.make_lease("saiga-lease", "nyala-0_5c1d9b8e-aaaa-bbbb-cccc-0123456789ab", "okapi-space", duration=600)
        self.plane.make_lease("saiga-other", "nyala-9", "okapi-space", duration=3600)
        for kind, namespace in (("cronjobs", "quagga-space"), ("leases", "okapi-space"), ("leases", "kube-system")):
            for each in self.api.list(kind, namespace):
                names |= {each["metadata"]["name"], each["metadata"]["uid"]}
                names |= {each["spec"]["holderIdentity"]} if kind == "leases" else set()
        return names | {holder["metadata"]["uid"]}

    def test_recorded_with_and_without_names(self):
        names = self.things()
        home = self.home()
        paths = [os.path.join(home.folder.path, name) for name in ("plain.jsonl", "bare.jsonl")]
        recorders = [home.popen("record", path, *more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                     for path, more in zip(paths, ((), ("--redact",)))]
        wait_until(lambda: all(Fleet.frames(path) >= 2 for path in paths))
        self.plane.renew_lease("saiga-other", "okapi-space", holderIdentity="nyala-10", leaseTransitions=1)
        wait_until(lambda: any(row["holders"] and row["holders"][0]["identity"] == "nyala-10"
                               for row in self.rows(home).values()))
        wait_until(lambda: all(any(row["token"] == "1" for row in home.baton("list", "--json", "--replay", path).json["singletons"])
                               for path in paths), what="both records having the new holder")
        time.sleep(1)
        live, at = told(home.baton("list", "--json").json), now()
        time.sleep(1)
        for each in recorders:
            each.send_signal(signal.SIGINT)
            self.assertEqual(each.wait(timeout=20), 0)
        plain, bare = (home.baton("list", "--json", "--replay", path, "--at", at).json for path in paths)
        # Who looks once has not seen that the holder changed.
        row = told(plain)["rows"].pop("lab/lease/okapi-space/saiga-other")
        self.assertEqual((row[0], row[5][0][0], row[6]), ("HELD", "nyala-10", [("possible-overlap", "warn")]))
        self.assertEqual(live["rows"].pop("lab/lease/okapi-space/saiga-other")[0], "HELD")
        replayed = told(plain)
        replayed["rows"].pop("lab/lease/okapi-space/saiga-other")
        self.assertEqual(replayed, live)
        self.assertEqual({row["id"] for row in plain["singletons"] if row["state"] == "DUPLICATE"},
                         {"lab/cronjob/quagga-space/impala-nightly"})

        def shape(picture):
            return sorted((row["state"], row["mechanism"], len(row["holders"]), [len(run["pods"]) for run in row["runs"]],
                           [run["state"] for run in row["runs"]], sorted(f["code"] for f in row["findings"]))
                          for row in picture["singletons"])

        self.assertEqual(shape(bare), shape(plain))
        with open(paths[1], encoding="utf-8") as file:
            text = file.read()
        self.assertEqual([name for name in sorted(names) if name in text], [])
        self.assertEqual(kept(*paths), {})


class Trouble(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet()
        cls.addClassCleanup(cls.fleet.close)
        cls.home = cls.fleet.home
        cls.holder = cls.fleet.pg.session(app="worker-1")
        cls.holder.run("select pg_advisory_lock(42)")
        cls.addClassCleanup(cls.holder.close)

    def path(self, name):
        return os.path.join(self.home.folder.path, name)

    def test_killed_in_the_middle_it_replays_to_its_end(self):
        record = self.path("killed.jsonl")
        recorder = self.fleet.recorder(record)
        recorder.kill()
        recorder.communicate()
        with open(record, "r+b") as file:
            whole = file.read()
            # As a machine that loses power leaves it: in the middle of a line.
            file.truncate(len(whole) - 20)
        done = self.home.baton("list", "--json", "--replay", record)
        self.assertEqual(done.code, 0, done)
        self.assertIn("worker-1", done.out)
        self.assertIn("the record was cut short", done.err)

    def test_a_file_is_not_replaced_unless_asked(self):
        record = self.path("twice.jsonl")
        self.assertEqual(self.home.baton("record", record, "--for", "3s").code, 0)
        done = self.home.baton("record", record, "--for", "1s")
        self.assertEqual(done.code, 1)
        self.assertIn("is there already; --force replaces it", done.err)
        self.assertEqual(self.home.baton("record", record, "--for", "3s", "--force").code, 0)

    def test_standard_output_and_a_reader_that_leaves(self):
        done = self.home.baton("record", "-", "--for", "1s")
        lines = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual((lines[0]["format"], lines[0]["version"], lines[-1]["line"]), ("baton-record", 1, "end"))
        process = self.home.popen("record", "-", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=20), 0, process.stderr.read())
        process.stderr.close()

    def test_a_bound_and_a_full_disk(self):
        record = self.path("bound.jsonl")
        many = self.fleet.pg.session(app="many")
        done = threading.Event()

        def churn():
            while not done.wait(0.3):
                many.run("select pg_advisory_lock(i) from generate_series(100, 120) i")
                time.sleep(0.3)
                many.run("select pg_advisory_unlock_all()")

        thread = threading.Thread(target=churn)
        thread.start()
        ended = self.home.baton("record", record, "--most", "100k")
        done.set()
        thread.join()
        many.close()
        self.assertEqual(ended.code, 0)
        self.assertIn("its bound was reached", ended.err)
        self.assertLessEqual(os.path.getsize(record), 100000)
        self.assertGreater(os.path.getsize(record), 80000)
        self.assertEqual(self.home.baton("list", "--replay", record).err, "")
        limited = subprocess.run(["bash", "-c", 'ulimit -f 4; exec "$0" record "$1"', os.environ["BATON"], self.path("full")],
                                 env=self.home.env(), capture_output=True, text=True, timeout=60)
        self.assertEqual(limited.returncode, 1, limited)
        self.assertIn("File too large", limited.stderr)
        done = self.home.baton("record", self.path("no/such/folder"))
        self.assertEqual(done.code, 1)
        self.assertIn("No such file or directory", done.err)

    def test_what_is_no_record(self):
        for text, sentence in (("", "this is no record"), ("{}\n", "this is no record"), ("\0" * 100 + "\n", "this is no record"),
                               ('{"format":"baton-record","version":2}\n', "format version 2")):
            with open(self.path("none"), "w", encoding="utf-8") as file:
                file.write(text)
            done = self.home.baton("list", "--replay", self.path("none"))
            self.assertEqual(done.code, 78, done)
            self.assertIn(sentence, done.err)
        os.mkfifo(self.path("fifo"))
        for path, sentence in ((self.path("fifo"), "it is no file"), (self.path(""), "it is a folder"),
                               (self.path("absent"), "No such file")):
            done = self.home.baton("list", "--replay", path)
            self.assertEqual(done.code, 78, done)
            self.assertIn(sentence, done.err)
        self.assertEqual(self.home.baton("list", "--at", "end").code, 64)

    def test_nothing_can_be_done_in_a_record(self):
        record = self.path("acts.jsonl")
        self.assertEqual(self.home.baton("record", record, "--for", "3s").code, 0)
        done = self.home.baton("act", "release", "orders/postgres:42", "--replay", record, "--expect", "x", "--reason", "x", "--yes")
        self.assertEqual(done.code, 64, done)


if __name__ == "__main__":
    unittest.main()
