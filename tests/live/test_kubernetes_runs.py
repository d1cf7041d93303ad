"""CronJobs and their runs, made by a real controller: baton's reading of each beside kubectl's."""

import json
import time
import unittest

from kube_truth import FAR, KubeTest, Truth, codes, finding, minute, seconds
from servers import Kubelets, wait_until

SLOT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class Runs(KubeTest):
    """
    Three CronJobs run from the first on, each minute and without an end, under each policy; meanwhile the others tests look at
    CronJobs of their own. The last test waits until four minutes are over.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubelets = Kubelets(cls.plane, ("minutely",))
        cls.plane.admin.create("namespaces", {"metadata": {"name": "minutely"}})
        cls.began = time.time()
        for policy in ("Allow", "Forbid", "Replace"):
            cls.plane.make_cronjob(policy.lower(), policy=policy, namespace="minutely")

    @classmethod
    def tearDownClass(cls):
        cls.kubelets.close()
        super().tearDownClass()

    # what each of the others shows

    def test_two_runs_alive_are_a_duplicate_and_named(self):
        jobs = self.seeded("twice", 2, 1)
        row, truth = self.cronjob("twice"), Truth(self.plane, "twice")
        self.assertEqual(row["state"], "DUPLICATE")
        self.assertEqual(finding(row, "dup-run")["severity"], "crit")
        self.assertEqual({run["name"] for run in row["runs"] if run["alive"]}, truth.alive())
        self.assertEqual({run["name"]: seconds(run["slot"]) for run in row["runs"]}, truth.slots())
        self.assertEqual({run["key"] for run in row["runs"]}, {f"uid:{job['metadata']['uid']}" for job in jobs})
        for run in row["runs"]:
            self.assertEqual([pod["name"] for pod in run["pods"]],
                             [pod["metadata"]["name"] for pod in truth.pods[run["name"]]])

    def test_two_jobs_whose_pods_are_over_are_none(self):
        for job in self.seeded("over", 2, 1):
            self.kubelet.end(self.pod_of(job))
        wait_until(lambda: not Truth(self.plane, "over").cronjob["status"].get("active"))
        row = self.cronjob("over")
        self.assertEqual(row["state"], "FREE")
        self.assertEqual([run["state"] for run in row["runs"]], ["succeeded"] * 2)
        self.assertNotIn("dup-run", codes(row))

    def test_one_slot_executed_twice(self):
        job, = self.seeded("slot-twice", 3)
        owner = job["metadata"]["ownerReferences"][0]
        again = self.plane.make_job("slot-twice-again", owner={"metadata": owner}, annotations={SLOT: job["metadata"][
            "annotations"][SLOT]})
        self.kubelet.run(self.pod_of(again))
        row = self.cronjob("slot-twice")
        self.assertEqual(finding(row, "dup-slot")["severity"], "crit")

    def test_a_pod_that_does_not_go_and_its_replacement_are_two(self):
        """The controller starts another pod as soon as one is being deleted; the first has not stopped."""
        job, = self.seeded("two-pods", 1, job={"backoffLimit": 3})
        first = self.pod_of(job)
        self.api.delete("pods", first["metadata"]["name"], "default")
        second = wait_until(lambda: [pod for pod in self.plane.pods_of(job["metadata"]["name"])
                                     if pod["metadata"]["uid"] != first["metadata"]["uid"]])[0]
        self.kubelet.run(second)
        row = self.cronjob("two-pods")
        self.assertEqual(row["state"], "DUPLICATE")
        self.assertEqual(finding(row, "dup-pod")["severity"], "crit")
        self.assertEqual(sorted(pod["name"] for pod in row["runs"][0]["pods"] if pod["alive"]),
                         sorted(pod["metadata"]["name"] for pod in (first, second)))

    def test_a_retry_that_began_again(self):
        job, = self.seeded("retried", 1, job={"backoffLimit": 2})
        self.kubelet.end(self.pod_of(job), code=1)
        name = job["metadata"]["name"]
        second = wait_until(lambda: [pod for pod in self.plane.pods_of(name) if pod["status"]["phase"] == "Pending"],
                            timeout=40)[0]
        self.kubelet.run(second)
        row = self.cronjob("retried")
        self.assertIn("retry-ran-again", codes(row))
        self.assertEqual(row["runs"][0]["attempts"], 2)
        self.assertEqual(row["state"], "HELD")

    def test_several_pods_by_design_are_one_attempt(self):
        job, = self.seeded("indexed", 1, run=False, job={"completions": 3, "parallelism": 3, "completionMode": "Indexed",
                                                         "backoffLimit": 3})
        name = job["metadata"]["name"]
        pods = wait_until(lambda: len(found := self.plane.pods_of(name)) == 3 and found)
        for pod in pods:
            self.kubelet.run(pod)
        row = self.cronjob("indexed")
        self.assertEqual((row["state"], row["runs"][0]["alive"], row["runs"][0]["attempts"]), ("HELD", True, 1))
        self.assertNotIn("retry-ran-again", codes(row))
        self.kubelet.end(pods[0], code=1)
        wait_until(lambda: self.api.get("jobs", name, "default")["status"].get("failed"))
        row = self.cronjob("indexed")
        self.assertEqual(row["runs"][0]["attempts"], 2)
        self.assertIn("retry-ran-again", codes(row))

    def test_a_run_by_hand_is_told_apart(self):
        self.plane.make_cronjob("by-hand", FAR)
        self.plane.kubectl("create", "job", "by-hand-now", "--from=cronjob/by-hand")
        self.kubelet.run(wait_until(lambda: self.plane.pods_of("by-hand-now"))[0])
        run, = self.cronjob("by-hand")["runs"]
        self.assertEqual((run["name"], run["manual"], run["slot"], run["alive"]), ("by-hand-now", True, None, True))

    def test_a_run_that_cannot_begin_says_why(self):
        for name, step, word in (("no-image", self.kubelet.wait_for_image, "ImagePullBackOff"),
                                 ("no-node", self.kubelet.refuse, "Unschedulable")):
            with self.subTest(name):
                job, = self.seeded(name, 1, run=False)
                step(self.pod_of(job))
                text = json.dumps(self.cronjob(name))
                self.assertIn(word, text)

    def test_deleted_and_held_by_a_pod_on_a_lost_node(self):
        from servers import Node
        node = Node(self.plane, "node-lost")
        job, = self.seeded("lost", 2, policy="Forbid", run=False)
        self.kubelet.run(self.pod_of(job), node="node-lost")
        self.api.delete("jobs", job["metadata"]["name"], "default", propagationPolicy="Foreground")
        node.lose()
        wait_until(lambda: self.pod_of(job)["metadata"].get("deletionTimestamp"))
        row = self.cronjob("lost")
        run, = row["runs"]
        self.assertIsNotNone(run["deleted"])
        self.assertIn("foregroundDeletion", run["detail"]["finalizers"])
        self.assertNotEqual(run["alive"], False)  # nobody saw it stop

    def test_switched_off_and_never(self):
        self.plane.make_cronjob("off", FAR, suspend=True)
        self.plane.make_cronjob("never", "0 0 30 2 *")
        self.assertEqual(self.cronjob("off")["state"], "SUSPENDED")
        self.assertIn("never-runs", codes(self.cronjob("never")))

    def test_a_run_that_was_deleted_is_gone(self):
        job, = self.seeded("gone", 1)
        home = self.home()
        self.assertEqual(len(self.cronjob("gone", home)["runs"]), 1)
        self.api.delete("jobs", job["metadata"]["name"], "default", propagationPolicy="Background")
        self.kubelet.remove(self.pod_of(job))
        wait_until(lambda: not Truth(self.plane, "gone").jobs)
        row = self.cronjob("gone", home)
        self.assertEqual((row["runs"], row["state"]), ([], "FREE"))

    def test_the_name_tells_the_slot_where_no_annotation_does(self):
        owner = self.plane.make_cronjob("old-names", FAR)
        first, second = minute(5), minute(4)
        for name in (f"old-names-{first}", f"old-names-{second * 60}"):
            self.plane.make_job(name, owner=owner)
        slots = sorted(seconds(run["slot"]) for run in self.cronjob("old-names")["runs"])
        self.assertEqual(slots, [first * 60, second * 60])

    def test_annotations_and_names_that_are_no_slots(self):
        """The annotation is anybody's text, and so is a name's end."""
        owner = self.plane.make_cronjob("hostile", FAR)
        slot = minute(7)
        good = f"hostile-{slot}"
        texts = {good: "\u001b[2J\u202enot a time", "hostile-a": "", "hostile-b": "9" * 400,
                 "hostile-c": "2026-02-30T00:00:00Z", "hostile-d": "0001-01-01T00:00:00Z", "hostile-99999999999999999999": None}
        for name, text in texts.items():
            self.plane.make_job(name, owner=owner, annotations={} if text is None else {SLOT: text})
        home = self.home()
        slots = {run["name"]: run["slot"] for run in self.cronjob("hostile", home)["runs"]}
        self.assertEqual(set(slots), set(texts))
        self.assertIn(slots.pop(good), (None, f"{self.text_of(slot)}.000Z"))
        self.assertEqual({name for name, slot in slots.items() if slot and not slot.startswith("0001-")}, set(), slots)
        for words in (("list",), ("show", "lab/cronjob/default/hostile")):
            self.assertFalse(set(home.baton(*words).out) & set("\u001b\u202e"))

    @staticmethod
    def text_of(minute_number):
        return time.strftime("%Y-%m-%dT%H:%M:00", time.gmtime(minute_number * 60))

    # the three that run from the first on

    def test_zz_after_four_minutes(self):
        slots = 4
        wait_until(lambda: len(Truth(self.plane, "allow", "minutely").alive()) >= slots, timeout=60 * slots + 30, interval=1)
        for policy, check in (("Allow", self.check_allow), ("Forbid", self.check_forbid), ("Replace", self.check_replace)):
            with self.subTest(policy):
                check(*self.at_one_time(policy.lower()))
        with self.subTest("the wire"):
            self.assertEqual(self.plane.mutations("baton"), [])
            self.assertTrue(self.plane.audit("baton"))

    def at_one_time(self, name):
        """baton's row and kubectl's, between which nothing changed; no run is about to begin, or to go."""
        home = self.home()
        while True:
            before, row = Truth(self.plane, name, "minutely"), self.cronjob(name, home, "minutely")
            if before.alive() == before.staying() and before == Truth(self.plane, name, "minutely"):
                return row, before

    def check_allow(self, row, truth):
        self.assertEqual(row["state"], "DUPLICATE")
        self.assertEqual({run["name"] for run in row["runs"] if run["alive"]}, truth.alive())
        self.assertEqual({run["name"]: seconds(run["slot"]) for run in row["runs"]}, truth.slots())
        self.assertIn("dup-run", codes(row))

    def check_forbid(self, row, truth):
        (name, slot), = truth.slots().items()
        self.assertEqual([run["name"] for run in row["runs"]], [name])
        blocked = finding(row, "forbid-blocked")
        self.assertIsNotNone(blocked, row)
        lost = int(time.time() // 60 - slot // 60)
        self.assertIn(blocked["evidence"]["slots_lost"], (lost, lost - 1))
        self.assertEqual(blocked["evidence"]["run"], [name])
        self.assertGreaterEqual(lost, 3)
        self.assertEqual(row["state"], "STUCK")
        self.assertEqual(blocked["severity"], "crit")

    def check_replace(self, row, truth):
        self.assertEqual({run["name"] for run in row["runs"] if run["alive"]}, truth.alive())
        self.assertFalse(codes(row) & {"dup-run", "dup-slot", "dup-pod"}, row)
        self.assertEqual(row["state"], "HELD")


if __name__ == "__main__":
    unittest.main()
