"""The chart of a CronJob's runs, as text and in the console, over runs that a real controller and a played kubelet made."""

import os
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tty"))

from kube_truth import KubeTest, seconds  # noqa: E402
from pty_program import Program, environment  # noqa: E402
from servers import baton_path, wait_until  # noqa: E402


def clock(job):
    """Its slot, as the chart writes it."""
    slot = seconds(job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"])
    return time.strftime("%H:%M", time.gmtime(slot))


class Chart(KubeTest):
    def show(self, name):
        done = self.home().baton("show", f"lab/cronjob/default/{name}")
        self.assertEqual(done.code, 0, done)
        return done.out

    def is_over(self, job):
        """Other conditions come before these."""
        status = self.api.get("jobs", job["metadata"]["name"], "default")["status"]
        return any(each["type"] in ("Complete", "Failed") for each in status.get("conditions", ()))

    def line(self, text, label):
        """The chart's line of a slot: what stands behind its label."""
        found = re.findall(rf"^  {label} +(.*)$", text, re.M)
        self.assertEqual(len(found), 1, text)
        return found[0]

    def test_two_runs_overlap(self):
        slots = [clock(job) for job in self.seeded("twice", 4, 2)]
        text = self.show("twice")
        for slot in slots:
            self.assertRegex(self.line(text, slot), r"▶ node-1  running \d+s")
        self.assertRegex(self.line(text, "overlap"), r"^▒+ \d+s  two at once$")
        self.assertIn("run     twice-", text)
        self.assertIn("slots   ", text)

    def test_a_run_that_is_over_and_one_that_failed(self):
        job, other = self.seeded("over", 4, 2)
        self.kubelet.end(self.pod_of(job))
        self.kubelet.end(self.pod_of(other), code=3)
        wait_until(lambda: all(self.is_over(each) for each in (job, other)))
        text = self.show("over")
        self.assertRegex(text, r"ok \d+s")
        self.assertRegex(text, r"failed \d+s \(BackoffLimitExceeded\)")
        # Where both were at work for a second or more, their overlap is drawn over it.
        self.assertRegex(text, r"[!▒]  ?failed|failed .*[!▒]")

    def test_the_console_draws_it(self):
        self.seeded("console", 4, 2)
        home = self.home()
        env = environment(KUBECONFIG=home.env()["KUBECONFIG"], HOME=home.env()["HOME"],
                          XDG_STATE_HOME=home.env().get("XDG_STATE_HOME"))
        with Program(baton_path(), rows=30, columns=100, env=env) as program:
            program.wait("lab/cronjob/default/console").keys("/console\r").keys("2")
            program.wait("JOB (times in UTC)").keys("\r")
            program.wait(lambda screen: "overlap" in screen.text and "two at once" in screen.text)
            program.keys("--").wait("a column is")
            program.keys("\x1b").wait("JOB (times in UTC)")
            program.keys("q").end()


if __name__ == "__main__":
    unittest.main()
