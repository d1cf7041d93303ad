"""The lab's Kubernetes: CronJobs under each policy, in each kind of trouble, and Leases with real contenders."""

import sys
import time

from servers import ControlPlane, Kubelet, Kubelets, Node, wait_until

CONFIG = """\
  kube:
    kind: kubernetes
    environment: lab
    kubeconfig: {kubeconfig}
    context: lab
"""

ROLES = """\
  orders:
    harm: harmful
    idempotent: false
    fenced: false
    witnesses: ["kube/cronjob/default/ship-orders"]
  scheduler:
    harm: annoying
    idempotent: true
    fenced: true
    witnesses: ["ctl/elections/scheduler", "kube/lease/default/scheduler"]
"""

# What the lab's pods do; every other one runs without an end.
WAYS = {"tidy-up": 20, "import": "leave", "rebuild": "leave"}


class KubeLab:
    """Its servers begin when it is made, and go on when begin_controllers() and populate() are called: other work fits between."""

    def __init__(self):
        self.plane = ControlPlane(start=False)
        self.plane.start_apiserver(wait=False)
        self.kubeconfig = self.plane.write_kubeconfig(self.plane.folder / "kubeconfig", "operator")
        self.kubelet = Kubelet(self.plane)
        self.contenders = []

    def config(self):
        return CONFIG.format(kubeconfig=self.kubeconfig)

    def begin_controllers(self):
        self.plane.wait_apiserver()
        self.plane.grant()
        self.plane.start_controllers(wait=False)

    def populate(self):
        for name in ("node-1", "node-2"):
            Node(self.plane, name)
        Kubelets(self.plane, how=self.way)
        for step in (self.allowed, self.forbidden, self.replaced, self.quiet, self.no_image, self.terminating,
                     self.elected, self.left):
            step()

    @staticmethod
    def way(pod):
        job = pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name", "")
        return WAYS.get(job.rsplit("-", 1)[0], "run")

    def cronjob(self, name, policy, *runs, **spec):
        """runs: how many minutes ago a slot was that still runs. The schedule goes on once they stand."""
        self.plane.make_cronjob(name, policy=policy, suspend=bool(runs) or spec.pop("suspend", False), **spec)
        now = time.time()
        jobs = [self.plane.make_run(name, ago, now=now) for ago in runs]
        if runs:
            self.plane.admin.patch("cronjobs", name, {"spec": {"suspend": False}}, "default")
        return jobs

    def allowed(self):
        """DUPLICATE: Allow, and no run ever ends; one more comes with each minute."""
        self.cronjob("ship-orders", "Allow", 2, 1)

    def forbidden(self):
        """STUCK: Forbid, and the run of five minutes ago does not end: every slot since is lost."""
        self.cronjob("close-books", "Forbid", 5)

    def replaced(self):
        """HELD: Replace; each minute ends the run before."""
        self.cronjob("mirror", "Replace", 1)

    def quiet(self):
        """FREE between its short runs; SUSPENDED; and one whose day never comes."""
        self.cronjob("tidy-up", "Forbid")
        self.cronjob("newsletter", "Forbid", schedule="30 8 * * 1", suspend=True)
        self.cronjob("leap-audit", "Allow", schedule="0 4 30 2 *")

    def no_image(self):
        """A run that can't begin: its image is not to be had."""
        for job in self.cronjob("import", "Forbid", 3):
            self.kubelet.wait_for_image(self.pod_of(job))

    def terminating(self):
        """A run that was deleted, and whose pod does not go: its node is lost."""
        node = Node(self.plane, "node-lost")
        job, = self.cronjob("rebuild", "Forbid", 4)
        pod = self.pod_of(job)
        self.kubelet.run(pod, node="node-lost")
        self.plane.admin.delete("jobs", job["metadata"]["name"], "default", propagationPolicy="Foreground")
        node.lose()

    def pod_of(self, job):
        return wait_until(lambda: self.plane.pods_of(job["metadata"]["name"]))[0]

    def elected(self):
        """HELD: an election between three processes of client-go, which passes on every minute; one without rivals."""
        for letter in "abc":
            self.contend(letter)
        self.plane.elect("scheduler", "node-3", duration=9)

    def contend(self, letter):
        self.contenders.append(self.plane.elect("billing", f"billing-{letter}", duration=9, release=True))

    def pass_leader_on(self):
        """The leader leaves, and comes back as one that waits."""
        leader = next((each for each in self.contenders if each.leads()), None)
        if leader:
            self.contenders.remove(leader)
            leader.stop()
            self.contend(leader.identity[-1])

    def left(self):
        """STALE: nobody renews it. And a Lease that was given back."""
        self.plane.make_lease("exporter", "exporter-0_8d1c", duration=5, transitions=3)
        self.plane.make_lease("given-back", None, duration=1, transitions=7)


def main():
    """By itself, for a look with kubectl: prints the kubeconfig, and stays until its input ends."""
    lab = KubeLab()
    lab.begin_controllers()
    lab.populate()
    print(f"KUBECONFIG={lab.kubeconfig}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
