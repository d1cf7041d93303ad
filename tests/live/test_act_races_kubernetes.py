"""
The race on a Kubernetes API server (see test_act_races.py): between plan and send the Lease changes hands, or is deleted and
made again with the same name and holder; the run's Job is deleted and made again with the same name. The newcomer is never hit.
"""

import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from servers import ApiError, ControlPlane, Drive, Folder  # noqa: E402
from test_act_races import LATEST_S, RACES, Lane  # noqa: E402

LANES = 3
SHARE = max(20, RACES // 10)  # of each lane: an object is made and read by a real API server in every race


class KubeLane(Lane):
    latest_s = 2 * LATEST_S

    def __init__(self, plane, kubeconfig, number, races):
        super().__init__(number, races, number)
        self.plane, self.kubeconfig, self.api = plane, kubeconfig, plane.api("admin")
        self.made = 0

    def open(self):
        self.api = type(self.api)(self.plane, "admin")  # a connection of its own
        self.drive = Drive("kubernetes", "kube", {"kubeconfig": self.kubeconfig})

    def close(self):
        self.drive.close()
        self.api.close()

    def poll_until(self, path, key):
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            row = self.drive.poll().rows().get(path)
            if row and key in [claim["key"] for claim in row["claims"]]:
                return
            time.sleep(0.02)
        raise AssertionError(f"{key} is not seen: {row}")

    def act(self):
        plan = self.drive.plan()
        assert plan["rc"] == 0, plan
        if plan["verdict"] == "changed":
            return "changed"
        assert plan["verdict"] == "ready", plan
        if self.random.random() < 0.6:
            time.sleep(self.random.random() * LATEST_S)
        effect = self.drive.send()
        assert effect["kind"] in ("done", "changed"), effect
        return effect["kind"]

    def race(self):
        change = self.random.choice(self.changes())
        self.newcomer = None
        path, key = self.prepare()
        self.poll_until(path, key)
        self.order("release", path, key)
        thread = self.beside(change)
        kind = self.timed_act()
        self.wait_for(thread)
        self.judge(change, kind)
        return f"{change.__name__}:{kind}"


class LeaseLane(KubeLane):
    def changes(self):
        return [self.changes_hands, self.is_made_again, self.is_renewed, self.stays]

    def prepare(self):
        self.made += 1
        self.name = f"race-{self.number}-{self.made}"
        body = self.lease("node-a")
        self.uid = self.api.create("leases", body, "default")["metadata"]["uid"]
        return f"lease/default/{self.name}", f"uid:{self.uid}/node-a/0"

    def lease(self, holder):
        return {"metadata": {"name": self.name, "namespace": "default"},
                "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 0}}

    def changes_hands(self):
        """As a candidate takes it: whatever stands there."""
        self.api.patch("leases", self.name, {"spec": {"holderIdentity": "node-b", "leaseTransitions": 1}}, "default")
        self.newcomer = "node-b"

    def is_made_again(self):
        self.api.delete("leases", self.name, "default")
        self.newcomer = self.api.create("leases", self.lease("node-a"), "default")["metadata"]["uid"]

    def is_renewed(self):
        """The resourceVersion changes, and the holder does not."""
        self.api.patch("leases", self.name, {"metadata": {"annotations": {"renewed": "yes"}}}, "default")

    def stays(self):
        pass

    def judge(self, change, kind):
        lease = self.api.get("leases", self.name, "default")
        holder = lease["spec"]["holderIdentity"]
        if change == self.changes_hands:
            assert holder == "node-b", f"the newcomer was hit: {kind}, {lease}"
        elif change == self.is_made_again:
            assert (lease["metadata"]["uid"], holder) == (self.newcomer, "node-a"), f"the newcomer was hit: {kind}, {lease}"
        else:
            assert (kind, holder) == ("done", ""), (change.__name__, kind, lease)
        self.api.delete("leases", self.name, "default")


class RunLane(KubeLane):
    def open(self):
        super().open()
        self.cronjob = self.plane.make_cronjob(f"race-{self.number}", suspend=True)

    def changes(self):
        return [self.is_made_again, self.is_made_again, self.goes, self.stays]

    def job(self):
        """It makes no pods: it is suspended."""
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "controller": True,
                 "name": self.cronjob["metadata"]["name"], "uid": self.cronjob["metadata"]["uid"]}
        return {"metadata": {"name": self.name, "namespace": "default", "ownerReferences": [owner]},
                "spec": {"suspend": True, "template": self.cronjob["spec"]["jobTemplate"]["spec"]["template"]}}

    def prepare(self):
        self.made += 1
        self.name = f"race-{self.number}-{29933000 + self.made}"
        self.uid = self.api.create("jobs", self.job(), "default")["metadata"]["uid"]
        return f"cronjob/default/race-{self.number}", f"uid:{self.uid}"

    def removed(self):
        """By somebody else; what the act had begun to delete is finished as the garbage collector does it."""
        try:
            self.api.delete("jobs", self.name, "default", propagationPolicy="Background")
            self.api.patch("jobs", self.name, {"metadata": {"finalizers": None}}, "default")
        except ApiError as error:
            if error.code != 404:
                raise

    def is_made_again(self):
        self.removed()
        self.newcomer = self.api.create("jobs", self.job(), "default")["metadata"]["uid"]

    def goes(self):
        self.removed()

    def stays(self):
        pass

    def judge(self, change, kind):
        job = self.api.find("jobs", self.name, "default")
        if self.newcomer:
            assert job and job["metadata"]["uid"] == self.newcomer and "deletionTimestamp" not in job["metadata"], \
                f"the newcomer was hit: {kind}, {job}"
        elif change == self.stays:
            assert kind == "done" and job and "deletionTimestamp" in job["metadata"], (kind, job)
        self.removed()


class Races(unittest.TestCase):
    def test_leases_and_runs(self):
        with ControlPlane(controllers=False) as plane, Folder("races") as folder:
            kubeconfig = plane.write_kubeconfig(folder / "kubeconfig", "admin")
            lanes = [LeaseLane(plane, kubeconfig, n, SHARE) for n in range(LANES)]
            lanes += [RunLane(plane, kubeconfig, n + LANES, SHARE) for n in range(LANES)]
            for lane in lanes:
                lane.start()
            seen = {}
            for lane in lanes:
                lane.join()
                if lane.error:
                    raise AssertionError(f"lane {lane.number}: {lane.error!r}") from lane.error
                for word, n in lane.seen.items():
                    seen[word] = seen.get(word, 0) + n
            print("#", SHARE * len(lanes), "races:", seen)
            for change in ("changes_hands", "is_made_again"):
                for kind in ("done", "changed"):
                    self.assertGreater(seen.get(f"{change}:{kind}", 0), 0, seen)


if __name__ == "__main__":
    unittest.main()
