"""
The built-in world's cluster beside a real control plane: one script is played on both, with client-go's own contenders and
the real controllers on one side, and what baton says after each step must be the same. Left out of the comparison is what must
differ: names that are drawn, uids, times, and what other Leases a real control plane has of its own.
"""

import json
import os
import subprocess
import time

from kube_truth import FAR, KubeTest, codes, seconds
from servers import Kubelets, wait_until
from servers.process import Folder
from servers.program import TOP

# Lease durations of client-go's proportions, as tests/servers/elect takes them.
DURATION = 8  # seconds: of a Lease that is lost because the machine was busy both would not tell the same
LEASE = "lease_duration: 8s, renew_deadline: 5333ms, retry_period: 1067ms"
WORLD = """\
title: beside a real one
start: "2026-03-03T03:12:05Z"
world:
  machines: [{{name: api-1}}, {{name: node-1}}, {{name: node-2}}]
  clusters: [{{name: lab, machine: api-1, nodes: [node-1, node-2]}}]
{more}
sources: [{{name: lab, shows: {{kubernetes: lab}}, environment: lab}}]
"""
CONTENDERS = """\
  processes:
    - {{name: a, machine: node-1, started: false, runs: [{{lease: {{cluster: lab, lease: one, {lease}}}}}]}}
    - {{name: b, machine: node-2, started: false, runs: [{{lease: {{cluster: lab, lease: one, {lease}}}}}]}}
""".format(lease=LEASE)
CRONJOBS = f"""\
  cronjobs:
    - {{cluster: lab, name: forb, schedule: "* * * * *", policy: Forbid, hangs: true, backoff_limit: 0, grace: 1s}}
    - {{cluster: lab, name: once, schedule: "{FAR}", duration: 3s, backoff_limit: 0, grace: 1s}}
    - {{cluster: lab, name: fails, schedule: "{FAR}", duration: 2s, fails: -1, backoff_limit: 0, grace: 1s}}
    - {{cluster: lab, name: repl, schedule: "* * * * *", policy: Replace, hangs: true, backoff_limit: 0, grace: 1s}}
    - {{cluster: lab, name: retry, schedule: "{FAR}", duration: 2s, hangs: true, fails: 1, backoff_limit: 1, grace: 1s}}
    - {{cluster: lab, name: twice, schedule: "{FAR}", hangs: true, backoff_limit: 0, grace: 1s}}
"""


class Sim:
    """The scenario, driven (tests/live/sim-drive.c)."""

    def __init__(self, test, more):
        self.folder = Folder("sim")
        test.addCleanup(self.folder.close)
        with open(self.folder / "world.yaml", "w", encoding="ascii") as out:
            out.write(WORLD.format(more=more))
        build = os.environ.get("BATON_BUILD", os.path.join(TOP, "build"))
        path = os.path.join(build, "tests", "bin", "sim-drive")
        if not os.access(path, os.X_OK):
            test.skipTest(f"{path} is not built: make check-programs")
        self.popen = subprocess.Popen([path, self.folder / "world.yaml", self.folder / "state"], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        test.addCleanup(self.close)
        self.at = 0

    def order(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def ask(self, line):
        self.order(line)
        answer = json.loads(self.popen.stdout.readline())
        assert answer["rc"] == 0, (line, answer)
        return answer

    def later(self, seconds_on):
        self.at += int(seconds_on * 1000)
        self.ask(f"to {self.at}")

    def fault(self, text):
        self.ask(f"fault {{{text}}}")

    def rows(self):
        self.order("list")
        text = ""
        for line in iter(self.popen.stdout.readline, "\n"):
            text += line
        return {row["id"]: row for row in json.loads(text)["singletons"]}

    def act(self, verb, path, expect=""):
        """The outcome and the overlap; it takes a moment of the world."""
        answer = self.ask(f"act {verb}\tlab/{path}\t{expect}")
        return answer["outcome"], answer["overlap"]

    def close(self):
        self.popen.stdin.close()
        code = self.popen.wait(20)
        self.popen.stdout.close()
        assert code == 0, code


class Beside(KubeTest):
    maxDiff = None

    def both(self, path, what, read):
        """What `read` makes of a row is the same in both, once the real one, which takes its time, has come so far."""
        want = read(self.sim.rows()[f"lab/{path}"])
        end = time.monotonic() + 25
        while True:
            real = self.rows(self.known).get(f"lab/{path}")
            if real and read(real) == want or time.monotonic() > end:
                break
            time.sleep(0.3)
        with self.subTest(what):
            self.assertIsNotNone(real, what)
            self.assertEqual(want, read(real), what)
        return real

    def act(self, verb, path, expect=None, sim_expect=None):
        """Carried out in both; outcome and overlap are the same."""
        words = ["--expect", expect] if expect else []
        done = self.known.baton("act", verb, f"lab/{path}", *words, "--yes", "--reason", "a test", "--json", timeout=90)
        sim = self.sim.act(verb, path, sim_expect or expect or "")
        with self.subTest(f"{verb} {path}"):
            self.assertEqual(sim, (done.json["outcome"], done.json["overlap"]), done)
        return done.json


def lease_facts(row):
    """Whether the pod of a former holder was looked for is the one-shot command's affair, and no finding is told of it."""
    return {"state": row["state"], "mechanism": row["mechanism"], "token": row["token"], "kind": row["token_kind"],
            "granted": row["lease_granted_ms"], "highest": row["highest_token"],
            "holders": [holder["identity"] for holder in row["holders"]], "waiters": len(row["waiters"]),
            "codes": sorted(codes(row) - {"possible-overlap", "stale-holder"})}


class Leases(Beside):
    """A Lease that is taken, asked back, taken over, deleted."""

    def setUp(self):
        self.known = self.home("operator")
        self.sim = Sim(self, CONTENDERS)

    def test_the_same_script_gives_the_same_rows(self):
        path, contenders = "lease/default/one", {}

        def real(name):
            contenders[name] = self.plane.elect("one", name, duration=DURATION)
            self.addCleanup(contenders[name].close)
            return contenders[name]

        real("a").wait_leads()
        self.sim.fault("start: {process: a}")
        self.sim.later(3)
        self.both(path, "it is taken", lease_facts)
        self.act("step-down", path, "a")
        self.sim.later(3)
        row = self.both(path, "who lives takes it straight back, and that counts", lease_facts)
        self.assertEqual((row["token"], row["holders"][0]["identity"]), ("1", "a"))
        real("b")
        self.sim.fault("start: {process: b}")
        time.sleep(3)
        self.sim.later(3)
        self.both(path, "another one waits, and can't be seen", lease_facts)
        contenders["a"].pause()
        self.sim.fault("pause: {process: a}")
        contenders["b"].wait_leads(timeout=60)
        self.sim.later(18)
        row = self.both(path, "it is taken over after its time", lease_facts)
        self.assertEqual((row["token"], row["holders"][0]["identity"]), ("2", "b"))
        self.act("step-down", path, "a")
        contenders["a"].resume()
        self.sim.fault("resume: {process: a}")
        time.sleep(3)
        self.sim.later(3)
        self.both(path, "the old one is back, and changes nothing", lease_facts)
        contenders["a"].kill9()
        self.sim.fault("stop: {process: a}")
        self.api.delete("leases", "one", "default")
        self.sim.fault("delete-lease: {cluster: lab, lease: one}")
        wait_until(lambda: self.api.find("leases", "one", "default"), timeout=40)
        self.sim.later(4)
        row = self.both(path, "deleted by hand, it is made anew", lease_facts)
        self.assertEqual(row["token"], "2")  # who leads makes it anew with what it knows
        self.assertIn("token-regress", codes(row))  # it repeats: it is another Lease


class CronJobs(Beside):
    """Slots under Forbid, suspension, runs by hand, one that fails, one that is deleted, two at once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubelets = Kubelets(cls.plane, how=cls.how)

    @classmethod
    def tearDownClass(cls):
        cls.kubelets.close()
        super().tearDownClass()

    @staticmethod
    def how(pod):
        name = pod["metadata"]["name"]
        return 3 if name.startswith("once-") else "leave" if name.startswith(("fails-", "retry-")) else "run"

    def setUp(self):
        self.known = self.home("operator")
        self.sim = Sim(self, CRONJOBS)
        self.first = None

    def facts(self, row):
        """Slots in minutes from the first one; a run by hand has a name that is drawn."""
        def run(each):
            slot = each["slot"] and round(seconds(each["slot"]) / 60)
            return {"slot": slot and slot - self.first[self.side(row)],
                    "manual": each["manual"], "state": each["state"], "alive": each["alive"],
                    "attempts": each["attempts"], "deleted": each["deleted"] is not None,
                    "active": each["detail"].get("job_active"), "failed": each["detail"].get("job_failed"),
                    "succeeded": each["detail"].get("job_succeeded"), "reason": each["detail"].get("job_reason"),
                    "pods": [(pod["phase"], pod["alive"], pod["restarts"]) for pod in each["pods"]]}
        detail = row["detail"]
        return {"state": row["state"], "policy": detail["policy"], "suspended": detail["suspended"],
                "active": detail["active_listed"], "holders": len(row["holders"]), "codes": sorted(codes(row)),
                "runs": [run(each) for each in row["runs"]]}

    @staticmethod
    def side(row):
        return "sim" if row["runs"] and "2026-03-03T0" in json.dumps(row["runs"][0]) else "real"

    def wait_for_slot(self, number):
        """Both come to ten seconds after that slot, from 0; to a later one, where it is over, or about to be."""
        number = max(number, int((time.time() + 25) // 60) - self.first["real"])
        time.sleep(max(0, (self.first["real"] + number) * 60 + 10 - time.time()))
        self.sim.at = 65000 + 60000 * number
        self.sim.later(0)

    def test_the_same_script_gives_the_same_rows(self):
        while not 2 <= time.time() % 60 <= 10:
            time.sleep(0.2)
        for name, schedule, policy in (("forb", "* * * * *", "Forbid"), ("repl", "* * * * *", "Replace"),
                                       ("once", FAR, "Allow"), ("fails", FAR, "Allow"), ("twice", FAR, "Allow")):
            self.plane.make_cronjob(name, schedule, policy)
        self.plane.make_cronjob("retry", FAR, job={"backoffLimit": 1})
        self.first = {"real": int(time.time() // 60) + 1, "sim": round(seconds("2026-03-03T03:13:00Z") / 60)}
        self.sim.later(5)
        self.both("cronjob/default/forb", "nothing yet", self.facts)
        self.wait_for_slot(0)
        row = self.both("cronjob/default/forb", "the first slot", self.facts)
        self.assertEqual([run["alive"] for run in row["runs"]], [True])
        self.runs_by_hand()
        self.two_at_once()
        self.tried_again()
        self.wait_for_slot(1)
        self.both("cronjob/default/forb", "the second slot is not started", self.facts)
        self.both("cronjob/default/repl", "the second slot has taken the first one's place", self.facts)
        run = row["runs"][0]["name"]
        self.act("suspend", "cronjob/default/forb")
        self.both("cronjob/default/forb", "suspended, and its run goes on", self.facts)
        self.act("resume", "cronjob/default/forb")
        self.act("release", "cronjob/default/forb", run, "forb-29541793")
        self.sim.at += 15000
        self.sim.later(6)
        row = self.both("cronjob/default/forb", "the missed slot starts when the run is gone", self.facts)
        self.assertEqual(len(row["runs"]), 1)

    def pods(self, prefix, n=1):
        """Those of the real one, the newest last."""
        found = wait_until(lambda: (lambda all: all if len(all) >= n else None)(
            [pod for pod in self.api.list("pods", "default") if pod["metadata"]["name"].startswith(prefix)]), timeout=40)
        return sorted(found, key=lambda pod: pod["metadata"]["creationTimestamp"])

    def runs_by_hand(self):
        for name in ("once", "fails", "retry"):
            self.act("trigger", f"cronjob/default/{name}")
        for name in ("fails", "retry"):
            pod, = self.pods(f"{name}-")
            self.kubelet.run(pod)
            self.kubelet.end(pod, code=1)
        self.sim.later(15)
        row = self.both("cronjob/default/once", "a run by hand that ended", self.facts)
        self.assertEqual([run["state"] for run in row["runs"]], ["succeeded"])
        row = self.both("cronjob/default/fails", "a run by hand that failed", self.facts)
        self.assertEqual([run["state"] for run in row["runs"]], ["failed"])

    def tried_again(self):
        """The first execution failed; ten seconds later there is another one."""
        self.kubelet.run(self.pods("retry-", 2)[-1])
        row = self.both("cronjob/default/retry", "tried again", self.facts)
        self.assertEqual(row["runs"][0]["attempts"], 2)
        self.assertIn("retry-ran-again", codes(row))

    def two_at_once(self):
        self.act("trigger", "cronjob/default/twice")
        time.sleep(2)
        self.sim.later(2)
        self.act("trigger", "cronjob/default/twice")
        self.sim.later(4)
        row = self.both("cronjob/default/twice", "two at once", self.facts)
        self.assertEqual(row["state"], "DUPLICATE")
        sim = self.sim.rows()["lab/cronjob/default/twice"]
        self.act("keep-one", "cronjob/default/twice", row["runs"][0]["name"], sim["runs"][0]["name"])
        self.sim.later(8)
        row = self.both("cronjob/default/twice", "one of them was kept", self.facts)
        self.assertEqual(len(row["runs"]), 1)


class LostNode(Beside):
    """A run on a node that is not heard of any more; it is released, and can't go."""

    def setUp(self):
        self.known = self.home("operator")
        self.sim = Sim(self, f"""\
  cronjobs:
    - {{cluster: lab, name: far, schedule: "{FAR}", hangs: true, backoff_limit: 0, grace: 1s, node: node-2}}
""")

    @staticmethod
    def facts(row):
        run, = row["runs"]
        pod, = run["pods"]
        return {"state": row["state"], "codes": sorted(codes(row)), "listed": row["detail"]["active_listed"],
                "run": (run["state"], run["alive"], run["deleted"] is not None, run["attempts"], run["detail"].get("finalizers")),
                "pod": (pod["phase"], pod["alive"], pod["node_ready"], pod["deleted"] is not None)}

    def test_the_same_script_gives_the_same_rows(self):
        from servers import Node
        node, path = Node(self.plane, "node-lost"), "cronjob/default/far"
        self.addCleanup(node.close)
        self.plane.make_cronjob("far", FAR)
        self.sim.later(3)
        self.act("trigger", path)
        run = wait_until(lambda: self.plane.runs_of("far"))[0]["metadata"]["name"]
        self.kubelet.run(self.pods_of(run)[0], node="node-lost")
        self.sim.later(5)
        self.both(path, "it works", self.facts)
        node.lose()
        self.sim.fault("node-lost: {cluster: lab, node: node-2}")
        self.sim.later(60)
        self.both(path, "nobody knows whether it works", self.facts)
        sim_run = self.sim.rows()[f"lab/{path}"]["runs"][0]["name"]
        self.act("release", path, run, sim_run)
        self.both(path, "it is to go, and can't", self.facts)

    def pods_of(self, job):
        return wait_until(lambda: self.plane.pods_of(job))
