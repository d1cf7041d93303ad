"""Slots that nothing came of, since the controller manager stood still; and what it makes good afterwards."""

import time
import unittest

from kube_truth import KubeTest, Truth, codes, finding, minute, seconds
from servers import wait_until

LATE = 15  # seconds
CONFIG = f"sources:\n  lab: {{kind: kubernetes, context: lab}}\nthresholds: {{late_start: {LATE}s}}\n"


class Misses(KubeTest):
    def test_a_controller_that_stands_still(self):
        self.plane.make_cronjob("missed")
        self.plane.admin.patch("cronjobs", "missed", {"status": {"lastScheduleTime": self.slot(2)}}, "default", "status")
        wait_until(lambda: Truth(self.plane, "missed").jobs)
        for job in Truth(self.plane, "missed").jobs.values():
            pod = self.pod_of(job)
            self.kubelet.run(pod)
            self.kubelet.end(pod)
        home = self.home(config=CONFIG)
        self.assertNotIn("missed-slots", codes(self.cronjob("missed", home)))
        self.plane.controllers.pause()
        try:
            self.check_missed(home)
        finally:
            self.plane.controllers.resume()
        self.check_made_good(home)

    @staticmethod
    def slot(ago):
        return time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(minute(ago) * 60))

    def check_missed(self, home):
        """Two slots pass, as the API's own record tells them."""
        last = seconds(Truth(self.plane, "missed").cronjob["status"]["lastScheduleTime"])
        wait_until(lambda: time.time() > last + 120 + LATE + 1, timeout=240, interval=1)
        told = finding(self.cronjob("missed", home), "missed-slots")
        self.assertIsNotNone(told)
        self.assertEqual(told["evidence"]["slots_missed"], int((time.time() - LATE - last) // 60))
        self.assertEqual(seconds(Truth(self.plane, "missed").cronjob["status"]["lastScheduleTime"]), last)

    def check_made_good(self, home):
        """It starts the newest of them, late; the older one stays lost."""
        before = set(Truth(self.plane, "missed").jobs)

        def made():
            # It ends by itself when it was stopped in the middle of a renewal, and finds its Lease lost.
            if not self.plane.controllers.running():
                self.plane.start_controllers()
            return set(Truth(self.plane, "missed").jobs) - before
        wait_until(made, timeout=120)
        truth = Truth(self.plane, "missed")
        new, = sorted(set(truth.jobs) - before)[:1]
        row = self.cronjob("missed", home)
        self.assertEqual({run["name"]: seconds(run["slot"]) for run in row["runs"]}[new], truth.slots()[new])


if __name__ == "__main__":
    unittest.main()
