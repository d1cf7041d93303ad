"""What the Kubernetes source looks up beside its lists, and a way to the server that has few connections."""

import json
import os
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tty"))

from pty_program import Program, environment  # noqa: E402
from servers import (ControlPlane, Home, baton_path, free_port, kubernetes_missing, missing, rfc3339,  # noqa: E402
                     wait_until)

FAR = "0 0 1 1 *"


class Looks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = kubernetes_missing()
        if why:
            missing("a Kubernetes control plane", why)
        cls.plane = ControlPlane(controllers=False, gates="CoordinatedLeaderElection=true",
                                 api="coordination.k8s.io/v1beta1=true")
        cls.addClassCleanup(cls.plane.close)

    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        self.plane.write_kubeconfig(self.home.folder / "kubeconfig", "admin")
        self.home.more["KUBECONFIG"] = str(self.home.folder / "kubeconfig")

    def show(self, path):
        return self.home.baton("show", f"lab/{path}", "--json").json

    def candidate(self, name, lease):
        self.plane.admin.create("leasecandidates", {
            "apiVersion": "coordination.k8s.io/v1beta1", "kind": "LeaseCandidate",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"leaseName": lease, "binaryVersion": "1.37.0", "emulationVersion": "1.37.0",
                     "strategy": "OldestEmulationVersion"}})

    def test_a_coordinated_election_and_its_candidates(self):
        self.candidate("c-1", "elected")
        self.candidate("c-2", "elected")
        self.candidate("c-9", "another")
        self.plane.make_lease("elected", "c-1", strategy="OldestEmulationVersion", preferredHolder="c-2")
        row = self.show("lease/default/elected")["singleton"]
        self.assertEqual([each["identity"] for each in row["waiters"]], ["c-2"])
        self.assertEqual((row["detail"]["strategy"], row["detail"]["preferred_holder"]), ("OldestEmulationVersion", "c-2"))
        self.assertNotIn("preferred_missing", row["detail"])
        self.plane.renew_lease("elected", holderIdentity="c-1", strategy="OldestEmulationVersion", preferredHolder="c-7")
        row = self.show("lease/default/elected")["singleton"]
        self.assertTrue(row["detail"]["preferred_missing"])

    def step_down(self, name, holder):
        return self.home.baton("act", "step-down", f"lab/lease/default/{name}", "--expect", holder, "--reason", "drain",
                               "--yes", "--json")

    def test_a_coordinated_holder_is_asked_to_yield(self):
        """The preference is set, and nothing else: it is the holder who lets go."""
        for name in ("y-1", "y-2"):
            self.candidate(name, "yields")
        self.plane.make_lease("yields", "y-1", strategy="OldestEmulationVersion")

        def holder():
            spec = wait_until(lambda: (now := self.plane.admin.get("leases", "yields", "default")["spec"]).get(
                "preferredHolder") and now)
            seen.append((spec["holderIdentity"], spec["preferredHolder"], spec["leaseDurationSeconds"]))
            self.plane.admin.patch("leases", "yields", {"spec": {
                "holderIdentity": spec["preferredHolder"], "preferredHolder": None, "leaseTransitions": 1}}, "default")
        seen = []
        thread = threading.Thread(target=holder)
        thread.start()
        done = self.step_down("yields", "y-1")
        thread.join()
        self.assertEqual((done.code, done.json["outcome"]), (0, "done"), done)
        self.assertEqual(seen, [("y-1", "y-2", 15)])

    def test_a_coordinated_holder_without_another_candidate_is_not_asked(self):
        self.candidate("z-1", "lonely")
        self.plane.make_lease("lonely", "z-1", strategy="OldestEmulationVersion")
        done = self.step_down("lonely", "z-1")
        self.assertEqual((done.code, done.json["outcome"]), (10, "refused"), done)
        self.assertIn("no other candidate", done.json["text"])
        self.assertNotIn("preferredHolder", self.plane.admin.get("leases", "lonely", "default")["spec"])

    def host_pod(self, name, node, owner):
        self.plane.admin.create("pods", {
            "metadata": {"name": name, "namespace": "default", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"{owner}-uid", "controller": True}]},
            "spec": {"nodeName": node, "hostNetwork": True, "containers": [{"name": "main", "image": "none"}]}})
        self.plane.admin.patch("pods", name, {"status": {"phase": "Running"}}, "default", sub="status")

    def test_an_identity_that_is_a_hosts_name(self):
        """Two pods of one workload there can't be told apart; others have nothing to do with it."""
        self.plane.admin.create("nodes", {"metadata": {"name": "worker-1"}})
        self.plane.make_lease("by-host", "worker-1", duration=3600)
        self.host_pod("one", "worker-1", "app")
        self.host_pod("beside", "worker-1", "agent")
        holder, = self.show("lease/default/by-host")["singleton"]["holders"]
        self.assertEqual(holder["detail"]["pod_phase"], "Absent")
        self.assertNotIn("pods_matching", holder["detail"])
        self.host_pod("two", "worker-1", "app")
        holder, = self.show("lease/default/by-host")["singleton"]["holders"]
        self.assertEqual(holder["detail"]["pods_matching"], 2)

    def event_of(self, job, name, message):
        self.plane.admin.create("events", {
            "metadata": {"name": name, "namespace": "default"}, "type": "Warning", "reason": "FailedNeedsStart",
            "message": message, "count": 3, "firstTimestamp": rfc3339(time.time() - 60),
            "lastTimestamp": rfc3339(), "source": {"component": "cronjob-controller"},
            "involvedObject": {"apiVersion": "batch/v1", "kind": "CronJob", "namespace": "default",
                               "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}})

    def test_an_event_is_told_once(self):
        """However often its row is opened: "Created job" twice would be two jobs."""
        job, beside = (self.plane.make_cronjob(name, FAR) for name in ("once", "beside"))
        self.event_of(job, "once.1", "the first")
        self.event_of(beside, "beside.1", "of another")
        with Program(baton_path(), rows=40, columns=120, env=environment(**self.home.env())) as console:
            console.wait("cronjob/default/once")
            for name, text in (("once.1", "the first"), ("once.2", "the second"), ("once.3", "the third")):
                if text != "the first":
                    self.event_of(job, name, text)
                console.keys(":open lab/cronjob/default/once\r").wait(text)
                console.keys(":open lab/cronjob/default/beside\r").wait("of another")
            console.keys("3").wait("the third")
            listed = [line for line in console.screen.text.splitlines() if "cronjob/default/once" in line]
            self.assertEqual([sum(f"the {which} (" in line for line in listed) for which in ("first", "second", "third")],
                             [1, 1, 1], console.screen.text)
            console.keys("q").end()

    def test_the_events_of_an_object(self):
        job = self.plane.make_cronjob("told", FAR)
        self.event_of(job, "told.1", "too many missed start times\x1b[2J")
        history = self.show("cronjob/default/told")["history"]
        told = [each for each in history if each["what"] == "FailedNeedsStart"]
        self.assertEqual([each["text"] for each in told], ["too many missed start times\\x1b[2J (3 times)"])

    def test_the_pod_of_the_one_before(self):
        """After a hand-over it is looked at, though nobody asked for that row."""
        self.plane.make_pod("old-1")
        self.plane.make_lease("handed", "old-1_x", duration=3600)
        watching = self.home.popen("watch", "--json", stdout=subprocess.PIPE, text=True)
        self.addCleanup(watching.stdout.close)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.kill)
        limit = threading.Timer(60, watching.kill)
        limit.start()
        self.addCleanup(limit.cancel)
        told = (json.loads(line) for line in watching.stdout)
        rows = (each["singleton"] for each in told if each.get("id") == "lab/lease/default/handed")
        self.assertEqual(next(rows)["holders"][0]["identity"], "old-1_x")
        self.plane.renew_lease("handed", holderIdentity="new-1_x", leaseTransitions=1)
        row = next(row for row in rows if row.get("former"))
        self.assertEqual(row["holders"][0]["identity"], "new-1_x")
        self.assertEqual((row["former"][0]["identity"], row["former"][0]["detail"]["pod"]), ("old-1_x", "old-1"))

    def test_a_way_that_speaks_http_1_only(self):
        """Each watch takes a connection there: with many, some are given up and listed instead, and changes still come."""
        port, config = free_port(), self.home.folder / "proxied"
        proxy = subprocess.Popen([self.plane.programs["kubectl"], "--kubeconfig", str(self.home.folder / "kubeconfig"),
                                  "proxy", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        with open(config, "w", encoding="ascii") as out:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                       "users": [{"name": "u", "user": {}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, out)
        self.home.write_config(f"sources: {{far: {{kind: kubernetes, kubeconfig: {config}, "
                               "namespaces: [billing, default, kube-system, kube-public]}}\n")
        wait_until(lambda: self.home.baton("list", "--json").code == 0, what="the proxy")
        watching = self.home.popen("watch", "--json", stdout=subprocess.PIPE, text=True)
        self.addCleanup(watching.stdout.close)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.kill)
        limit = threading.Timer(90, watching.kill)
        limit.start()
        self.addCleanup(limit.cancel)
        told = (json.loads(line) for line in watching.stdout)
        sources = (each["source"] for each in told if each["event"] == "source")
        # It is at once as it stays: no list waits behind a watch that has the last connection.
        source = next(sources)
        self.assertEqual((source["state"], source["error"]), ("ok", None), source)
        # Five watches at most: those of the four Leases, and one of what was listed first.
        self.assertRegex(source["hidden"][0], r"\Achanges of (?!.*Leases).*Jobs \(in [34] namespaces\).* as they happen: "
                         r"no connection is left for a watch, and they are listed every 30 s\Z")
        self.plane.make_lease("last", "late-1", namespace="kube-public", duration=3600)
        event = next(each for each in told if each["event"] == "source" or "last" in (each["id"] or ""))
        self.assertEqual((event["event"], event["id"]), ("appeared", "far/lease/kube-public/last"))
        # What is listed now and then is listed at once after an act that changed it.
        self.plane.make_cronjob("switched", schedule="0 0 1 1 *", namespace="kube-public")
        done = self.home.baton("act", "suspend", "far/cronjob/kube-public/switched", "--reason", "a test", "--yes", "--json")
        self.assertEqual((done.code, done.json["after"]["detail"]["suspended"]), (0, True), done)


if __name__ == "__main__":
    unittest.main()
