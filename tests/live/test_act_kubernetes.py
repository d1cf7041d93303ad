"""
`baton act` on a real Kubernetes API server, with its real controllers: each verb on Leases and CronJobs, the effect as the API
holds it, and the audit's two lines. Real contenders of client-go hold the Leases. And what happens when the object is another one
by the time that it is sent.
"""

import json
import socket
import threading
import time
import unittest

from servers import ControlPlane, Drive, Home, Kubelet, Node, Proxy, TlsFront, wait_until
from servers.kubernetes import READ_NODES

CONFIG = """\
sources:
  kube: {{kind: kubernetes, environment: lab, kubeconfig: "{kubeconfig}"}}
"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane()
        cls.addClassCleanup(cls.plane.close)
        cls.node = Node(cls.plane, "node-1")
        cls.addClassCleanup(cls.node.close)
        cls.kubelet = Kubelet(cls.plane)
        cls.api = cls.plane.admin

    def setUp(self):
        self.home = self.home_of("operator")

    def home_of(self, user, **how):
        home = Home()
        self.addCleanup(home.close)
        path = self.plane.write_kubeconfig(home.folder / "kubeconfig", user, **how)
        home.write_config(CONFIG.format(kubeconfig=path))
        return home

    def show(self, row, home=None):
        return (home or self.home).baton("show", row, "--json").json["singleton"]

    def holder_key(self, row):
        return self.show(row)["holders"][0]["key"]

    def act(self, verb, row, expect=None, code=0, home=None, more=()):
        """Acts, and compares what it says with the audit; returns what it says."""
        home = home or self.home
        words = ["--expect", expect] if expect else []
        done = home.baton("act", verb, row, *words, "--reason", f"test of {verb}", "--yes", "--json", *more)
        self.assertEqual(done.code, code, done)
        said = json.loads(done.out)
        lines = [line for line in home.baton("audit", "--json").json_lines if line["n"] == said.get("n")]
        if said["outcome"] in ("done", "unknown", "partial"):
            self.assertEqual([line["phase"] for line in lines], ["intent", "outcome"])
            self.assertEqual([line["request"] for line in lines], [said["request"]] * 2)
            self.assertEqual(lines[1]["outcome"], said["outcome"])
        return said

    def forecast(self, verb, row, expect=None):
        words = ["--expect", expect] if expect else []
        return self.home.baton("forecast", verb, row, *words, "--json").json

    def cronjob(self, name, policy="Allow", **spec):
        """Suspended, so that no slot of the wall clock mixes in."""
        return self.plane.make_cronjob(name, policy=policy, **{"suspend": True, **spec})

    def running(self, cronjob, minutes_ago, now=None):
        """A run of it whose pod works; its Job."""
        job = self.plane.make_run(cronjob, minutes_ago, now=now)
        uid = job["metadata"]["uid"]
        pod = wait_until(lambda: [pod for pod in self.plane.pods_of(job["metadata"]["name"])
                                  if pod["metadata"]["ownerReferences"][0]["uid"] == uid])[0]
        self.kubelet.run(pod)
        return job

    def is_suspended(self, name):
        return self.api.get("cronjobs", name, "default")["spec"].get("suspend", False)

    def deleting(self, job):
        found = self.api.find("jobs", job["metadata"]["name"], "default")
        return found is None or "deletionTimestamp" in found["metadata"]


class Leases(Case):
    def test_release_from_a_dead_holder_goes_to_the_next(self):
        first = self.plane.elect("dead", "first", duration=30)
        first.wait_leads()
        first.kill9()
        second = self.plane.elect("dead", "second", duration=30)
        row = "kube/lease/default/dead"
        said = self.act("release", row, self.holder_key(row))
        second.wait_leads()
        self.assertEqual((said["outcome"], said["target"]["identity"]), ("done", "first"))
        spec = self.api.get("leases", "dead", "default")["spec"]
        self.assertEqual((spec["holderIdentity"], spec["leaseTransitions"]), ("second", 1))
        self.assertEqual(said["overlap"], "open")

    def test_a_holder_that_lives_takes_it_straight_back(self):
        alone = self.plane.elect("alive", "alone", duration=15)
        alone.wait_leads()
        row = "kube/lease/default/alive"
        foretold = self.forecast("step-down", row, "alone")
        self.assertIn("straight back", json.dumps(foretold))
        said = self.act("step-down", row, "alone", code=13)
        self.assertEqual(said["outcome"], "partial")
        self.assertEqual(self.api.get("leases", "alive", "default")["spec"]["holderIdentity"], "alone")

    def test_what_was_seen_is_done_however_short_the_time(self):
        """Less than the time in which a holder that lives would take it back: the record is free, and that is known."""
        self.plane.make_lease("quick", "one", duration=3600)
        done = self.home.baton("act", "step-down", "kube/lease/default/quick", "--expect", "one", "--reason", "a test", "--yes",
                               "--json", "--timeout", "2500ms")
        self.assertEqual((done.code, done.json["outcome"], done.json["overlap"]), (0, "done", "open"), done)
        self.assertIn("nobody holds it", done.json["text"])

    def test_another_holder_is_never_hit(self):
        self.plane.make_lease("moved", "old")
        row = "kube/lease/default/moved"
        key = self.holder_key(row)
        self.plane.renew_lease("moved", holderIdentity="new", leaseTransitions=1)
        said = self.act("release", row, key, code=11)
        self.assertEqual(said["outcome"], "changed")
        self.assertEqual(self.api.get("leases", "moved", "default")["spec"]["holderIdentity"], "new")

    def test_another_lease_of_the_same_name_and_holder_is_never_hit(self):
        self.plane.make_lease("again", "same")
        row = "kube/lease/default/again"
        key = self.holder_key(row)
        self.api.delete("leases", "again", "default")
        self.plane.make_lease("again", "same")
        self.assertEqual(self.act("release", row, key, code=11)["outcome"], "changed")
        self.assertEqual(self.api.get("leases", "again", "default")["spec"]["holderIdentity"], "same")

    def test_a_renewal_in_between_is_no_other_holder(self):
        holder = self.plane.elect("busy", "one", duration=2)
        holder.wait_leads()
        row = "kube/lease/default/busy"
        key = self.holder_key(row)
        holder.pause()
        self.plane.renew_lease("busy")
        self.assertEqual(self.act("release", row, key)["outcome"], "done")
        self.assertEqual(self.api.get("leases", "busy", "default")["spec"]["holderIdentity"], "")

    def test_hostile_identities_are_compared_as_they_are(self):
        for n, holder in enumerate(("a\"b\\c", "\u202eevil\n\x1b[2J", "ü/日本", "<a&b>\u2028", "x" * 3000)):
            name = f"hostile-{n}"
            self.plane.make_lease(name, holder)
            row = f"kube/lease/default/{name}"
            self.assertEqual(self.act("release", row, self.holder_key(row))["outcome"], "done")
            self.assertEqual(self.api.get("leases", name, "default")["spec"]["holderIdentity"], "")

    def test_who_may_not_is_refused_with_what_lacks(self):
        self.plane.make_lease("forbidden", "one")
        home = self.home_of("baton")
        said = self.act("release", "kube/lease/default/forbidden", "one", code=10, home=home)
        self.assertIn("patch", json.dumps(said))
        self.assertEqual(self.plane.mutations("baton"), [])
        self.assertEqual(self.api.get("leases", "forbidden", "default")["spec"]["holderIdentity"], "one")


class CronJobs(Case):
    def test_suspend_and_resume_are_explicit(self):
        self.cronjob("switch", schedule="0 0 1 1 *", suspend=False)
        row = "kube/cronjob/default/switch"
        self.assertEqual(self.act("suspend", row)["outcome"], "done")
        self.assertTrue(self.is_suspended("switch"))
        self.assertEqual(self.act("suspend", row, code=10)["outcome"], "refused")
        self.assertEqual(self.act("resume", row)["outcome"], "done")
        self.assertFalse(self.is_suspended("switch"))
        self.assertEqual(self.act("resume", row, code=10)["outcome"], "refused")

    def test_resume_says_which_slot_starts_at_once(self):
        self.cronjob("late", schedule="*/2 * * * *")
        self.api.patch("cronjobs", "late", {"status": {"lastScheduleTime": "2026-01-02T00:00:00Z"}}, "default", "status")
        row = "kube/cronjob/default/late"
        self.assertIn("starts at once", json.dumps(self.forecast("resume", row)))
        self.act("resume", row)
        wait_until(lambda: self.plane.runs_of("late"))

    def test_suspend_takes_the_work_from_nobody(self):
        """The run that is active is meant to go on: that it was not seen to stop is no warning."""
        self.cronjob("goes-on", suspend=False, schedule="0 0 1 1 *")
        job = self.running("goes-on", 3)
        row = "kube/cronjob/default/goes-on"
        said = self.act("suspend", row)
        self.assertEqual((said["outcome"], said["overlap"]), ("done", "none"))
        self.assertIn("1 run is active", said["text"])
        self.assertFalse(self.deleting(job))

    def test_step_down_lets_the_active_run_end(self):
        self.cronjob("slow", suspend=False, schedule="0 0 1 1 *")
        job = self.running("slow", 3)
        row = "kube/cronjob/default/slow"
        said = self.act("step-down", row, job["metadata"]["name"])
        self.assertEqual((said["outcome"], said["overlap"]), ("done", "open"))
        self.assertTrue(self.is_suspended("slow"))
        self.assertFalse(self.deleting(job))

    def test_release_ends_one_run_and_its_pods(self):
        self.cronjob("one")
        job, other = self.running("one", 5), self.running("one", 3)
        row = "kube/cronjob/default/one"
        foretold = self.forecast("release", row, job["metadata"]["name"])
        self.assertIn("pod", [each["what"] for each in foretold["destroys"]])
        said = self.act("release", row, f"uid:{job['metadata']['uid']}")
        self.assertEqual((said["outcome"], said["overlap"]), ("done", "open"))
        self.assertTrue(self.deleting(job))
        self.assertFalse(self.deleting(other))
        # The Job stays until its pod is gone: the controllers' part, once the kubelet has done its own.
        self.assertIsNotNone(self.api.find("jobs", job["metadata"]["name"], "default"))
        for pod in self.plane.pods_of(job["metadata"]["name"]):
            self.kubelet.remove(pod)
        wait_until(lambda: self.api.find("jobs", job["metadata"]["name"], "default") is None)

    def test_a_run_of_the_same_name_is_never_hit(self):
        self.cronjob("renamed")
        now = time.time()
        job = self.running("renamed", 5, now)
        row = "kube/cronjob/default/renamed"
        key = f"uid:{job['metadata']['uid']}"
        self.show(row)
        for pod in self.plane.pods_of(job["metadata"]["name"]):
            self.kubelet.end(pod)
        self.api.delete("jobs", job["metadata"]["name"], "default", propagationPolicy="Background")
        wait_until(lambda: self.api.find("jobs", job["metadata"]["name"], "default") is None)
        again = self.running("renamed", 5, now)
        self.assertEqual(again["metadata"]["name"], job["metadata"]["name"])
        self.assertEqual(self.act("release", row, key, code=11)["outcome"], "changed")
        self.assertFalse(self.deleting(again))

    def test_keep_one_ends_all_others(self):
        self.cronjob("twice")
        now = time.time()
        jobs = [self.running("twice", n, now) for n in (7, 5, 3)]
        row = "kube/cronjob/default/twice"
        wait_until(lambda: self.show(row)["state"] == "DUPLICATE")
        said = self.act("keep-one", row, jobs[1]["metadata"]["name"])
        self.assertEqual(said["outcome"], "done")
        self.assertEqual([self.deleting(job) for job in jobs], [True, False, True])

    def test_keep_one_ends_what_waits_to_start(self):
        """Its pod would be at work beside the one that is kept in a moment."""
        self.cronjob("waits")
        kept, waits = self.running("waits", 5), self.plane.make_run("waits", 3)
        wait_until(lambda: self.plane.pods_of(waits["metadata"]["name"]))
        row = "kube/cronjob/default/waits"
        foretold = self.forecast("keep-one", row, kept["metadata"]["name"])
        self.assertIn(waits["metadata"]["name"], json.dumps(foretold["destroys"]))
        self.assertEqual(self.act("keep-one", row, kept["metadata"]["name"])["outcome"], "done")
        wait_until(lambda: self.api.find("jobs", waits["metadata"]["name"], "default") is None)
        self.assertFalse(self.deleting(kept))

    def test_trigger_makes_the_job_that_kubectl_makes(self):
        self.cronjob("by-hand", policy="Forbid")
        row = "kube/cronjob/default/by-hand"
        said = self.act("trigger", row)
        self.assertEqual(said["outcome"], "done")
        self.plane.kubectl("create", "job", "by-kubectl", "--from=cronjob/by-hand")
        ours, theirs = [job for job in self.plane.runs_of("by-hand") if "manual" in job["metadata"]["name"]][0], \
            self.api.get("jobs", "by-kubectl", "default")
        self.assertEqual(ours["metadata"]["annotations"]["cronjob.kubernetes.io/instantiate"], "manual")
        for word in ("annotations", "ownerReferences"):
            self.assertEqual(ours["metadata"][word], theirs["metadata"][word])
        for job in (ours, theirs):
            for made in ("selector",):
                job["spec"].pop(made, None)
            job["spec"]["template"].pop("metadata", None)
        self.assertEqual(ours["spec"], theirs["spec"])
        self.assertTrue([run for run in self.show(row)["runs"] if run["manual"]])

    def test_names_that_are_made_fit(self):
        name = "n" * 52
        self.cronjob(name)
        self.act("trigger", f"kube/cronjob/default/{name}")
        made = [job["metadata"]["name"] for job in self.plane.runs_of(name)]
        self.assertEqual(len(made), 1)
        self.assertLessEqual(len(made[0]), 63)

    def test_the_templates_values_are_nobodys_business(self):
        self.cronjob("secret", job={"template": {"spec": {
            "restartPolicy": "Never", "containers": [{
                "name": "work", "image": "example.invalid/work:1",
                "env": [{"name": "TOKEN", "value": "hunter2hunter2"}]}]}}})
        done = self.home.baton("act", "trigger", "kube/cronjob/default/secret", "--reason", "r", "--yes", "--json")
        self.assertEqual(done.code, 0, done)
        self.assertNotIn("hunter2", done.out + self.home.baton("audit", "--json").out)
        made = self.plane.runs_of("secret")[0]
        self.assertEqual(made["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"], "hunter2hunter2")


class BetweenShownAndSent(Case):
    """What changes between the forecast and the send, by the source's own functions."""

    def drive(self):
        drive = Drive("kubernetes", "kube", {"kubeconfig": str(self.home.folder / "kubeconfig")})
        self.addCleanup(drive.close)
        return drive

    def seen(self, drive, path, key=None):
        wait_until(lambda: path in drive.poll().rows() and (not key or key in [
            claim["key"] for claim in drive.rows()[path]["claims"]]))

    def test_the_run_that_is_to_be_kept_has_ended(self):
        self.cronjob("kept")
        jobs = [self.running("kept", n) for n in (5, 3)]
        key = f"uid:{jobs[0]['metadata']['uid']}"
        drive = self.drive()
        self.seen(drive, "cronjob/default/kept", key)
        drive.order("keep-one", "cronjob/default/kept", key)
        self.assertEqual(drive.plan()["verdict"], "ready")
        for pod in self.plane.pods_of(jobs[0]["metadata"]["name"]):
            self.kubelet.end(pod)
        wait_until(lambda: any(each["type"] == "Complete" for each in self.api.get(
            "jobs", jobs[0]["metadata"]["name"], "default")["status"].get("conditions", ())))
        self.assertEqual(drive.plan()["verdict"], "changed")
        self.assertFalse(self.deleting(jobs[1]))

    def test_another_template_than_the_one_that_was_shown(self):
        self.cronjob("edited")
        drive = self.drive()
        self.seen(drive, "cronjob/default/edited")
        drive.order("trigger", "cronjob/default/edited", "")
        first = drive.plan()
        self.assertEqual(first["verdict"], "ready")
        self.assertEqual(drive.plan()["request"], first["request"])
        self.api.patch("cronjobs", "edited", {"spec": {"jobTemplate": {"spec": {"backoffLimit": 3}}}}, "default")
        self.assertEqual(drive.plan()["verdict"], "changed")
        self.assertEqual(self.plane.runs_of("edited"), [])


class NoAnswer(Proxy):
    """Passes on all but what the server answers on connections after the first, once TLS stands."""

    def __init__(self, port):
        self.taken, self.sent = 0, {}
        super().__init__(port)

    def handle(self, sock):
        self.taken += 1
        if self.taken == 1:
            super().handle(sock)
            return
        server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
        server.settimeout(None)
        self._track(server)
        threading.Thread(target=self.forth, args=(sock, server), daemon=True).start()
        try:
            while data := server.recv(65536):
                if self.sent.get(server, 0) < 2:
                    sock.sendall(data)
        except OSError:
            pass

    def forth(self, sock, server):
        try:
            while data := sock.recv(65536):
                self.sent[server] = self.sent.get(server, 0) + 1
                server.sendall(data)
        except OSError:
            pass


class Faults(Case):
    def test_an_act_without_an_answer_is_unknown(self):
        """It was done, and nobody said so."""
        self.plane.make_lease("unanswered", "one")
        proxy = NoAnswer(self.plane.port)
        self.addCleanup(proxy.close)
        home = self.home_of("operator", port=proxy.port)
        said = self.act("release", "kube/lease/default/unanswered", "one", code=12, home=home, more=("--timeout", "6"))
        self.assertEqual(said["outcome"], "unknown")
        self.assertIn("kubectl get --raw", json.dumps(said))
        self.assertEqual(self.api.get("leases", "unanswered", "default")["spec"]["holderIdentity"], "")

    def test_a_server_that_is_gone_was_sent_nothing(self):
        self.plane.make_lease("unreached", "one")
        proxy = Proxy(self.plane.port)
        self.addCleanup(proxy.close)
        home = self.home_of("operator", port=proxy.port)
        key = self.show("kube/lease/default/unreached", home)["holders"][0]["key"]
        proxy.refuse()
        proxy.cut()
        done = home.baton("act", "release", "kube/lease/default/unreached", "--expect", key, "--reason", "r", "--yes")
        self.assertIn(done.code, (10, 69), done)
        self.assertEqual(self.api.get("leases", "unreached", "default")["spec"]["holderIdentity"], "one")

    def test_what_is_told_to_be_so_after_an_act_is_from_after_it(self):
        """The watches tell of it later than the answer to the request came."""
        front = TlsFront(self.plane, late_s=1.2)
        self.addCleanup(front.close)
        home = self.home_of("operator", port=front.port)
        self.plane.make_lease("told-late", "one", duration=3600)
        said = self.act("release", "kube/lease/default/told-late", "one", home=home)
        self.assertEqual((said["after"]["state"], said["after"]["holders"]), ("FREE", []))
        self.cronjob("told-late", suspend=False, schedule="0 0 1 1 *")
        row = "kube/cronjob/default/told-late"
        self.assertTrue(self.act("suspend", row, home=home)["after"]["detail"]["suspended"])
        said = self.act("trigger", row, home=home)
        self.assertEqual([run["manual"] for run in said["after"]["runs"]], [True])
        runs = [self.running("told-late", n)["metadata"]["uid"] for n in (7, 5)]
        wait_until(lambda: len(self.show(row)["runs"]) == 3)
        said = self.act("keep-one", row, f"uid:{runs[0]}", home=home)
        left = [run["key"] for run in said["after"]["runs"] if not run["deleted"]]
        self.assertEqual(left, [f"uid:{runs[0]}"], said["after"]["runs"])

    def test_what_can_not_be_seen_is_not_waited_for(self):
        """Who may make a Job and list none: no picture will have it, and the CronJob is told as it is."""
        self.plane.grant_more("makes-jobs", [
            {"apiGroups": ["batch"], "resources": ["cronjobs"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "create"]}] + READ_NODES, "nobody")
        self.cronjob("blind")
        said = self.act("trigger", "kube/cronjob/default/blind", home=self.home_of("nobody"))
        self.assertEqual((said["outcome"], said["after"]["id"]), ("done", "kube/cronjob/default/blind"))

    def test_looking_and_forecasting_change_nothing(self):
        self.cronjob("looked-at")
        self.running("looked-at", 3)
        self.plane.make_lease("looked-at", "one")
        home = self.home_of("baton")
        before = len(self.plane.audit("baton"))
        for words in (("list",), ("show", "kube/cronjob/default/looked-at"), ("check",), ("doctor",),
                      ("forecast", "suspend", "kube/cronjob/default/looked-at"),
                      ("forecast", "trigger", "kube/cronjob/default/looked-at"),
                      ("forecast", "release", "kube/lease/default/looked-at", "--expect", "one")):
            home.baton(*words)
        time.sleep(0.5)
        self.assertGreater(len(self.plane.audit("baton")), before)
        self.assertEqual(self.plane.mutations("baton"), [])


if __name__ == "__main__":
    unittest.main()
