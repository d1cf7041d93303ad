"""A kubeconfig that changes while baton runs."""

import os
import time
import unittest

from etcd_rows import Watching
from kube_ask import Files
from servers import ControlPlane, free_port


class Renewed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane(controllers=False)

    @classmethod
    def tearDownClass(cls):
        cls.plane.close()

    def setUp(self):
        self.files = Files()
        self.addCleanup(self.files.close)
        self.path = os.path.join(self.files.path, "c")

    def write(self, text):
        """As the tools do it: the new file takes the old one's place."""
        self.files.write("new", text)
        os.rename(os.path.join(self.files.path, "new"), self.path)

    def watching(self):
        return Watching(f"sources: {{lab: {{kind: kubernetes, kubeconfig: {self.path}, interval: 200ms, timeout: 2s}}}}\n")

    def test_a_cluster_that_was_made_anew_at_another_port(self):
        self.write(self.plane.kubeconfig("admin", port=free_port()))
        with self.watching() as seen:
            self.assertIn("refused", seen.state("failing")["error"])
            # What is wrong meanwhile changes nothing.
            self.write("a: [")
            time.sleep(1)
            self.assertFalse([line for _, line in seen.lines if "YAML" in str(line)])
            began = time.monotonic()
            self.write(self.plane.kubeconfig("admin"))
            seen.state("ok", after=began, timeout=30)

    def test_another_authority(self):
        self.write(self.plane.kubeconfig("admin"))
        with self.watching() as seen:
            seen.state("ok")
            began = time.monotonic()
            self.plane.restart_apiserver(new_authority=True)
            seen.find(lambda line: "certificate" in str(line.get("source", {}).get("error")), timeout=30)
            began = time.monotonic()
            self.write(self.plane.kubeconfig("admin"))
            seen.state("ok", after=began, timeout=60)

    def test_the_context_stays_whatever_is_current_later(self):
        """Another cluster must not show up under this name."""
        self.write(self.plane.kubeconfig("admin", port=free_port(), context="old"))
        with self.watching() as seen:
            seen.state("failing")
            self.write(self.plane.kubeconfig("admin", context="new"))
            time.sleep(6)
            self.assertFalse([line for _, line in seen.lines if line.get("source", {}).get("state") == "ok"])


if __name__ == "__main__":
    unittest.main()
