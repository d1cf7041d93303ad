"""The part of a kubelet, played over the API: nodes that beat, and pods that are bound, run, end, hang or never start."""

import threading

from .kubernetes import ApiError, rfc3339
from .process import disown, own

NODE_LEASES = "kube-node-lease"
BEAT = 2.0  # seconds between two heartbeats of a node


class Node:
    """A Node object with a heartbeat Lease, which a thread renews until die()."""

    def __init__(self, plane, name):
        self.api, self.name = plane.admin, name
        self.api.create("nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        self.ended = threading.Event()
        self.report(ready=True)
        self._make_lease()
        own(self)
        threading.Thread(target=self._beat, daemon=True).start()

    def report(self, ready):
        """What it says of itself."""
        now = rfc3339()
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastHeartbeatTime": now,
                     "lastTransitionTime": now, "reason": "KubeletReady" if ready else "KubeletNotReady"}
        self.api.patch("nodes", self.name, {"status": {
            "conditions": [condition], "capacity": {"cpu": "64", "memory": "64Gi", "pods": "1000"},
            "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "1000"}}}, sub="status", strategic=True)

    def lose(self):
        """What the controller manager writes of a node that it has not heard of for 40 s, without that wait."""
        self.die()
        now = rfc3339()
        self.api.patch("nodes", self.name, {"status": {"conditions": [
            {"type": "Ready", "status": "Unknown", "lastTransitionTime": now, "reason": "NodeStatusUnknown",
             "message": "Kubelet stopped posting node status."}]}}, sub="status", strategic=True)

    def _make_lease(self):
        now = rfc3339(micro=True)
        self.api.create("leases", {"metadata": {"name": self.name, "namespace": NODE_LEASES}, "spec": {
            "holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now}})

    def _beat(self):
        while not self.ended.wait(BEAT):
            try:
                self.api.patch("leases", self.name, {"spec": {"renewTime": rfc3339(micro=True)}}, NODE_LEASES)
            except (OSError, ApiError, ValueError):
                pass  # the API server is paused, or away

    def die(self):
        """It beats no more."""
        disown(self)
        self.ended.set()

    close = die


class Kubelet:
    """
    Steps of a pod's life, each one or two calls. A pod is named by its object, or by (namespace, name).
    """

    def __init__(self, plane, node="node-1"):
        self.api, self.node = plane.admin, node

    def bind(self, pod, node=None):
        """What the scheduler does."""
        namespace, name = which(pod)
        self.api.create("pods", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace},
                                 "target": {"apiVersion": "v1", "kind": "Node", "name": node or self.node}},
                        namespace, sub="binding", name=name)

    def status(self, pod, **status):
        namespace, name = which(pod)
        return self.api.patch("pods", name, {"status": status}, namespace, sub="status")

    def run(self, pod, node=None, restarts=0):
        """Bound where it is not yet, and running."""
        namespace, name = which(pod)
        if not self.api.get("pods", name, namespace)["spec"].get("nodeName"):
            self.bind(pod, node)
        now = rfc3339()
        return self.status(pod, phase="Running", startTime=now, conditions=conditions(ready=True), containerStatuses=[
            container(restarts, ready=True, started=True, state={"running": {"startedAt": now}})])

    def end(self, pod, code=0, reason=None):
        """Its only container ends by itself, with this exit code."""
        now = rfc3339()
        ended = {"exitCode": code, "reason": reason or ("Error" if code else "Completed"), "startedAt": now,
                 "finishedAt": now}
        return self.status(pod, phase="Failed" if code else "Succeeded", conditions=conditions(ready=False),
                           containerStatuses=[container(0, ready=False, started=False, state={"terminated": ended})])

    def restart(self, pod, restarts=1, code=1):
        """The container ended with an error and runs again in the same pod, as under restartPolicy OnFailure."""
        now = rfc3339()
        last = {"terminated": {"exitCode": code, "reason": "Error", "startedAt": now, "finishedAt": now}}
        return self.status(pod, phase="Running", containerStatuses=[container(
            restarts, ready=True, started=True, state={"running": {"startedAt": now}}, lastState=last)])

    def wait_for_image(self, pod, reason="ImagePullBackOff"):
        """Bound, and its image can't be had."""
        namespace, name = which(pod)
        if not self.api.get("pods", name, namespace)["spec"].get("nodeName"):
            self.bind(pod)
        waiting = {"reason": reason, "message": "Back-off pulling image \"example.invalid/work:1\""}
        return self.status(pod, phase="Pending", startTime=rfc3339(), conditions=conditions(ready=False),
                           containerStatuses=[container(0, ready=False, started=False, state={"waiting": waiting})])

    def refuse(self, pod, message="0/1 nodes are available: 1 Insufficient cpu."):
        """The scheduler found no node for it."""
        return self.status(pod, phase="Pending", conditions=[
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
             "lastTransitionTime": rfc3339()}])

    def remove(self, pod):
        """A pod that is being deleted has stopped: its object goes."""
        namespace, name = which(pod)
        try:
            self.api.delete("pods", name, namespace, gracePeriodSeconds=0)
        except ApiError as error:
            if error.code != 404:
                raise

    def finalizers(self, pod, *names):
        """Its finalizers are these from now on (a pod of a Job has batch.kubernetes.io/job-tracking)."""
        namespace, name = which(pod)
        return self.api.patch("pods", name, {"metadata": {"finalizers": list(names) or None}}, namespace)


class Kubelets:
    """
    A thread that does it for every pod of some namespaces: binds and runs what is pending, removes what is being
    deleted. `how(pod)` says what becomes of one: "run" (the default), "hang" (it runs, and a deletion never ends it), a
    number of seconds after which it succeeds, or "leave" (as it is).
    """

    def __init__(self, plane, namespaces=("default",), how=None, node="node-1", every=0.3):
        self.kubelet, self.namespaces, self.how, self.every = Kubelet(plane, node), namespaces, how, every
        self.started = {}
        self.trouble = None
        self.ended = threading.Event()
        own(self)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        clock = 0.0
        while not self.ended.wait(self.every):
            clock += self.every
            for namespace in self.namespaces:
                try:
                    for pod in self.kubelet.api.list("pods", namespace):
                        self._step(pod, self.how(pod) if self.how else "run", clock)
                except (OSError, ApiError, ValueError) as error:
                    self.trouble = error

    def _step(self, pod, way, clock):
        uid, phase = pod["metadata"]["uid"], pod.get("status", {}).get("phase")
        if way == "leave" or phase in ("Succeeded", "Failed") and not pod["metadata"].get("deletionTimestamp"):
            return
        if pod["metadata"].get("deletionTimestamp"):
            if way != "hang":
                self.kubelet.remove(pod)
        elif phase == "Pending":
            self.kubelet.run(pod)
            self.started[uid] = clock
        elif isinstance(way, (int, float)) and clock - self.started.setdefault(uid, clock) >= way:
            self.kubelet.end(pod)

    def close(self):
        disown(self)
        self.ended.set()
        if threading.current_thread() is not self.thread:
            self.thread.join(5)


def which(pod):
    if isinstance(pod, dict):
        return pod["metadata"]["namespace"], pod["metadata"]["name"]
    return pod


def container(restarts, **more):
    return {"name": "work", "image": "example.invalid/work:1", "imageID": "", "restartCount": restarts, **more}


def conditions(ready):
    now, word = rfc3339(), "True" if ready else "False"
    return [{"type": "PodScheduled", "status": "True", "lastTransitionTime": now},
            {"type": "Initialized", "status": "True", "lastTransitionTime": now},
            {"type": "Ready", "status": word, "lastTransitionTime": now},
            {"type": "ContainersReady", "status": word, "lastTransitionTime": now}]
