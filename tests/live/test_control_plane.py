"""The control plane itself: what the other Kubernetes tests stand on."""

import json
import os
import subprocess
import tempfile
import time
import unittest

from servers import ApiError, ControlPlane, Kubelet, Kubelets, Node, port_open, wait_until
from servers.kubernetes import PROGRAMS, VERSION, prepare, rfc3339


def minutes_ago(n):
    return rfc3339(time.time() // 60 * 60 - 60 * n)


class Plane(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane()
        cls.kubelet = Kubelet(cls.plane)
        cls.node = Node(cls.plane, "node-1")

    @classmethod
    def tearDownClass(cls):
        cls.node.close()
        cls.plane.close()

    def first_run(self, name):
        """The controller's first Job of a CronJob that it believes to be late, and its pod."""
        self.plane.admin.patch("cronjobs", name, {"status": {"lastScheduleTime": minutes_ago(2)}}, "default", "status")
        run = wait_until(lambda: self.plane.runs_of(name))[0]["metadata"]["name"]
        return run, wait_until(lambda: self.plane.pods_of(run))[0]

    def pod(self, pod):
        return self.plane.admin.get("pods", pod["metadata"]["name"], "default")

    def job_done(self, run, word):
        job = self.plane.admin.get("jobs", run, "default")
        return any(each["type"] == word and each["status"] == "True" for each in job["status"].get("conditions", ()))

    def test_it_is_the_version_that_is_pinned(self):
        version = json.loads(self.plane.kubectl("version", "-o", "json"))
        self.assertEqual((version["clientVersion"]["gitVersion"], version["serverVersion"]["gitVersion"]),
                         (f"v{VERSION}",) * 2)

    def test_the_controller_runs_a_job_and_the_pod_ends_well(self):
        self.plane.make_cronjob("good")
        run, pod = self.first_run("good")
        self.assertEqual(self.pod(pod)["status"]["phase"], "Pending")
        self.kubelet.run(pod)
        wait_until(lambda: self.plane.admin.get("jobs", run, "default")["status"].get("ready") == 1)
        self.kubelet.end(pod)
        wait_until(lambda: self.job_done(run, "Complete"))
        wait_until(lambda: self.plane.admin.get("cronjobs", "good", "default")["status"].get("lastSuccessfulTime"))

    def test_a_pod_that_fails_fails_its_job(self):
        self.plane.make_cronjob("bad")
        run, pod = self.first_run("bad")
        self.kubelet.run(pod)
        self.kubelet.end(pod, code=3)
        wait_until(lambda: self.job_done(run, "Failed"))

    def test_forbid_skips_and_says_so(self):
        self.plane.make_cronjob("forbidden", policy="Forbid", suspend=True)
        run = self.plane.make_run("forbidden", 3)["metadata"]["name"]
        self.kubelet.run(wait_until(lambda: self.plane.pods_of(run))[0])
        self.plane.admin.patch("cronjobs", "forbidden", {"spec": {"suspend": False}}, "default")

        def told():
            return any(event["reason"] == "JobAlreadyActive" and event["involvedObject"]["name"] == "forbidden"
                       for event in self.plane.admin.list("events", "default"))
        wait_until(told)
        self.assertEqual([job["metadata"]["name"] for job in self.plane.runs_of("forbidden")], [run])

    def test_a_pod_that_hangs_keeps_its_job_from_going(self):
        self.plane.make_job("hanging")
        pod = wait_until(lambda: self.plane.pods_of("hanging"))[0]
        self.kubelet.run(pod)
        self.plane.admin.delete("jobs", "hanging", "default", propagationPolicy="Foreground")
        wait_until(lambda: self.pod(pod)["metadata"].get("deletionTimestamp"))
        self.assertIn("foregroundDeletion", self.plane.admin.get("jobs", "hanging", "default")["metadata"]["finalizers"])
        self.kubelet.remove(pod)
        wait_until(lambda: self.plane.admin.find("jobs", "hanging", "default") is None)

    def test_states_of_a_pod(self):
        for name, step, seen in (
                ("image", self.kubelet.wait_for_image, "ImagePullBackOff"),
                ("scheduling", self.kubelet.refuse, "Unschedulable"),
                ("again", lambda pod: (self.kubelet.run(pod), self.kubelet.restart(pod, 2)), '"restartCount": 2')):
            with self.subTest(name):
                self.plane.make_job(name)
                pod = wait_until(lambda name=name: self.plane.pods_of(name))[0]
                step(pod)
                self.assertIn(seen, json.dumps(self.pod(pod)["status"]))

    def test_a_node_beats_and_can_be_lost(self):
        node = Node(self.plane, "node-lost")

        def renewed():
            return self.plane.admin.get("leases", "node-lost", "kube-node-lease")["spec"]["renewTime"]
        first = renewed()
        wait_until(lambda: renewed() != first)
        node.lose()
        self.assertIn("Unknown", self.plane.kubectl("get", "node", "node-lost", "-o", "json"))

    def test_each_user_may_what_it_may(self):
        for user, kind, namespace, may in (
                ("baton", "cronjobs", None, True), ("baton", "leases", None, True), ("baton", "nodes", None, True),
                ("billing-reader", "cronjobs", "billing", True), ("billing-reader", "cronjobs", None, False),
                ("billing-reader", "leases", "default", False), ("nobody", "pods", "billing", False)):
            with self.subTest(user=user, kind=kind, namespace=namespace):
                try:
                    self.plane.api(user).list(kind, namespace)
                    allowed = True
                except ApiError as error:
                    self.assertEqual(error.reason, "Forbidden")
                    allowed = False
                self.assertEqual(allowed, may)
        with self.assertRaises(ApiError):
            self.plane.api("baton").create("leases", {"metadata": {"name": "x", "namespace": "default"}})

    def test_what_was_changed_is_in_the_audit_log(self):
        """The same request by another user is not; neither is a review of one's own rights."""
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
            "resourceAttributes": {"verb": "list", "resource": "pods"}}}
        nobody = self.plane.api("nobody")
        nobody.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
        self.assertEqual(self.plane.mutations("nobody"), [])
        for call in (lambda: nobody.list("pods"), lambda: nobody.delete("pods", "x", "default")):
            with self.assertRaises(ApiError):
                call()
        wait_until(lambda: self.plane.mutations("nobody") == ["delete /api/v1/namespaces/default/pods/x"])
        self.assertIn("list", [entry["verb"] for entry in self.plane.audit("nobody")])

    def test_a_client_certificate_names_its_user(self):
        certificate = self.plane.client_certificate("billing-reader")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(self.plane.kubeconfig("by-certificate", certificate=certificate))
            file.flush()
            for namespace, code in (("billing", 0), ("default", 1)):
                done = subprocess.run([self.plane.programs["kubectl"], "--kubeconfig", file.name, "get", "cronjobs", "-n",
                                       namespace], capture_output=True, text=True)
                self.assertEqual(done.returncode, code, done.stderr)

    def test_contenders_take_over_from_each_other(self):
        one = self.plane.elect("contended", "one").wait_leads()
        two = self.plane.elect("contended", "two")
        self.addCleanup(two.close)
        lease = self.plane.admin.get("leases", "contended", "default")
        self.assertEqual((lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]), ("one", 0))
        one.kill9()
        two.wait_leads()
        lease = self.plane.admin.get("leases", "contended", "default")
        self.assertEqual((lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]), ("two", 1))


class PlaneTrouble(unittest.TestCase):
    """An API server of its own, since each of these stops it."""

    def setUp(self):
        self.plane = ControlPlane(controllers=False)
        self.addCleanup(self.plane.close)

    def list_leases(self):
        return json.loads(self.plane.kubectl("get", "leases", "-A", "-o", "json"))["items"]

    def test_paused_killed_and_with_another_certificate(self):
        self.plane.make_lease("kept", "somebody")
        self.plane.apiserver.pause()
        self.assertTrue(port_open(self.plane.port))
        self.assertFalse(self.plane.ready())
        self.plane.apiserver.resume()
        wait_until(self.plane.ready)
        old = self.plane.tls.ca
        self.plane.restart_apiserver(new_authority=True)
        self.assertIn("kept", [lease["metadata"]["name"] for lease in self.list_leases()])
        self.assertNotEqual(old, self.plane.tls.ca)
        with self.assertRaisesRegex(AssertionError, "certificate"):
            self.plane.tls, new = type(self.plane.tls)(), self.plane.tls
            try:
                self.plane.kubectl("get", "leases")
            finally:
                self.plane.tls.close()
                self.plane.tls = new
        self.plane.apiserver.kill9()
        self.assertFalse(port_open(self.plane.port))

    def test_what_is_compacted_is_gone(self):
        version = self.plane.make_lease("old", "somebody")["metadata"]["resourceVersion"]
        for _ in range(3):
            self.plane.renew_lease("old")
        self.plane.compact()
        self.plane.restart_apiserver()
        with self.assertRaises(AssertionError) as caught:
            self.watch_from(version)
        self.assertIn('"code":410', str(caught.exception))

    def watch_from(self, version):
        text = self.plane.kubectl("get", "--raw", "/apis/coordination.k8s.io/v1/namespaces/default/leases?watch=1"
                                  f"&timeoutSeconds=2&resourceVersion={version}")
        assert '"code":410' not in text, text

    def test_pods_are_played_and_a_deletion_ends_them(self):
        """Without the controllers: pods of the test's own."""
        hang = {"slow": "hang", "left": "leave", "short": 1}
        kubelets = Kubelets(self.plane, how=lambda pod: hang.get(pod["metadata"]["name"], "run"))
        self.addCleanup(kubelets.close)
        for name in ("slow", "left", "short", "other"):
            self.plane.make_pod(name)

        def phases():
            return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in self.plane.admin.list("pods", "default")}
        wait_until(lambda: phases() == {"slow": "Running", "left": "Pending", "short": "Succeeded", "other": "Running"})
        for name in ("slow", "other"):
            self.plane.admin.delete("pods", name, "default")
        wait_until(lambda: sorted(phases()) == ["left", "short", "slow"])
        self.assertIsNone(kubelets.trouble)


class Assets(unittest.TestCase):
    def test_programs_that_are_given_are_used(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in PROGRAMS:
                os.symlink("/bin/true", os.path.join(folder, name))
            old = os.environ.get("KUBEBUILDER_ASSETS")
            os.environ["KUBEBUILDER_ASSETS"] = folder
            try:
                self.assertEqual(prepare(), folder)
                os.unlink(os.path.join(folder, "kube-controller-manager"))  # as envtest itself has it
                self.assertNotEqual(prepare(), folder)
            finally:
                os.environ.pop("KUBEBUILDER_ASSETS")
                if old is not None:
                    os.environ["KUBEBUILDER_ASSETS"] = old


if __name__ == "__main__":
    unittest.main()
