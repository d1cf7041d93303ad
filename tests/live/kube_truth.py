"""What the API holds, told by kubectl, to compare baton's rows with; and the homes and CronJobs that the Kubernetes tests share."""

import datetime
import json
import subprocess
import time
import unittest

from servers import ControlPlane, Home, Kubelet, Node, kubernetes_missing, missing, wait_until

# A schedule that starts nothing while a test runs.
FAR = "0 0 1 1 *"


def minute(ago=0):
    """A full minute of now, as a slot is written."""
    return int(time.time() // 60) - ago


def seconds(text):
    """A time of the API or of baton, in seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else None


def codes(row):
    return {finding["code"] for finding in row["findings"]}


def finding(row, code):
    return next((each for each in row["findings"] if each["code"] == code), None)


class Truth:
    """kubectl's reading of one CronJob, its Jobs and their Pods."""

    def __init__(self, plane, name, namespace="default"):
        everything = json.loads(plane.kubectl("get", "cronjobs,jobs,pods", "-n", namespace, "-o", "json"))["items"]
        of_kind = {kind: [each for each in everything if each["kind"] == kind] for kind in ("CronJob", "Job", "Pod")}
        self.cronjob = next(each for each in of_kind["CronJob"] if each["metadata"]["name"] == name)
        self.jobs = {job["metadata"]["name"]: job for job in self.owned(of_kind["Job"], self.cronjob)}
        self.pods = {name: self.owned(of_kind["Pod"], job) for name, job in self.jobs.items()}

    def __eq__(self, other):
        return (self.cronjob, self.jobs, self.pods) == (other.cronjob, other.jobs, other.pods)

    @staticmethod
    def owned(objects, owner):
        uid = owner["metadata"]["uid"]
        return [each for each in objects
                if any(ref["uid"] == uid for ref in each["metadata"].get("ownerReferences", ()))]

    def alive(self):
        """The names of the runs of which a pod runs."""
        return {name for name, pods in self.pods.items()
                if any(pod["status"]["phase"] == "Running" for pod in pods)}

    def staying(self):
        """The names of all runs; none, while one is being deleted."""
        going = any("deletionTimestamp" in job["metadata"] for job in self.jobs.values())
        return None if going else set(self.jobs)

    def slots(self):
        """Each run's slot, by the controller's annotation."""
        return {name: seconds(job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"])
                for name, job in self.jobs.items()}


class KubeTest(unittest.TestCase):
    """A control plane for a class of tests, a node on it, and a home of baton's that finds it by KUBECONFIG."""

    controllers = True
    plane_options = {}

    @classmethod
    def setUpClass(cls):
        if why := kubernetes_missing():
            missing("a Kubernetes control plane: " + why, "golang-go, or a newer Go from its makers")
        cls.plane = ControlPlane(controllers=cls.controllers, **cls.plane_options)
        cls.kubelet, cls.node = Kubelet(cls.plane), Node(cls.plane, "node-1")
        cls.api = cls.plane.admin

    @classmethod
    def tearDownClass(cls):
        cls.node.close()
        cls.plane.close()

    def home(self, user="baton", config=None, **how):
        """how: as ControlPlane.kubeconfig() takes it."""
        path = self.plane.write_kubeconfig(self.plane.folder / f"home-{id(how)}-{time.monotonic_ns()}", user, **how)
        home = Home(config, env={"KUBECONFIG": path})
        self.addCleanup(home.close)
        return home

    def rows(self, home=None, *words):
        """The board's rows by their ids; one of baton's readings."""
        done = (home or self.home()).baton("list", "--json", *words)
        self.assertIn(done.code, (0, 13), done)
        return {row["id"]: row for row in done.json["singletons"]}

    def cronjob(self, name, home=None, namespace="default"):
        return self.rows(home)[f"lab/cronjob/{namespace}/{name}"]

    def lease(self, name, home=None, namespace="default"):
        return self.rows(home)[f"lab/lease/{namespace}/{name}"]

    def seeded(self, name, *minutes_ago, policy="Allow", schedule=FAR, run=True, **spec):
        """A CronJob with a run of each of these slots, and their pods running; returns the Jobs."""
        self.plane.make_cronjob(name, schedule, policy, **spec)
        now = time.time()
        jobs = [self.plane.make_run(name, ago, now=now) for ago in minutes_ago]
        for job in jobs if run else ():
            self.kubelet.run(self.pod_of(job))
        return jobs

    def pod_of(self, job):
        return wait_until(lambda: self.plane.pods_of(job["metadata"]["name"]))[0]


class Watching:
    """`baton watch --json` on a home; its lines as they come."""

    def __init__(self, home):
        self.path = home.folder / "watch.out"
        self.out = open(self.path, "wb")
        self.popen = home.popen("watch", "--json", stdout=self.out, stderr=subprocess.STDOUT)

    def lines(self):
        with open(self.path, encoding="utf-8") as text:
            return [json.loads(line) for line in text if line.startswith("{") and line.endswith("\n")]

    def row(self, id):
        """The last that was told of it; None: nothing, or that it is gone."""
        told = [line.get("singleton") for line in self.lines() if line.get("id") == id]
        return told[-1] if told else None

    def holder(self, id):
        row = self.row(id)
        return row["holders"][0]["identity"] if row and row["holders"] else None

    def source(self):
        told = [line["source"] for line in self.lines() if line["event"] == "source"]
        return told[-1] if told else None

    def alive(self):
        return self.popen.poll() is None

    def close(self):
        if self.alive():
            self.popen.terminate()
            self.popen.wait(10)
        self.out.close()
