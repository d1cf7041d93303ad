"""Leases: what their holders do, by real contenders where there can be some, and what baton says of it."""

import json
import threading
import time
import unittest

from kube_truth import KubeTest, Watching, codes, finding, seconds
from servers import rfc3339, wait_until

HOUR = 3600


class Renewer:
    """A holder that renews, whose clock is so many seconds ahead of ours."""

    def __init__(self, plane, name, ahead, every=0.5):
        self.plane, self.name, self.ahead, self.every = plane, name, ahead, every
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ended.wait(self.every):
            self.plane.renew_lease(self.name, renewed=time.time() + self.ahead)

    def stop(self):
        self.ended.set()
        self.thread.join()


class Leases(KubeTest):
    controllers = False

    def test_a_row_is_what_the_api_holds(self):
        self.plane.make_lease("plain", "worker-1", duration=20, transitions=4)
        truth = json.loads(self.plane.kubectl("get", "lease", "plain", "-o", "json"))
        row = self.lease("plain")
        self.assertEqual((row["state"], row["mechanism"]), ("HELD", "k8s-lease"))
        self.assertEqual((row["token"], row["token_kind"]), ("4", "lease_transitions"))
        self.assertEqual(row["lease_granted_ms"], 20000)
        holder, = row["holders"]
        self.assertEqual(holder["identity"], "worker-1")
        self.assertEqual(holder["key"], f"uid:{truth['metadata']['uid']}/worker-1/4")
        detail = {**row["detail"], **holder["detail"]}
        self.assertEqual(seconds(detail["renew_time"]), seconds(truth["spec"]["renewTime"]))
        self.assertEqual(detail["duration_s"], 20)

    def test_nobody_holds_a_lease_that_was_given_back(self):
        self.plane.make_lease("given-back", None, duration=1, transitions=7)
        row = self.lease("given-back")
        self.assertEqual((row["state"], row["holders"], row["token"]), ("FREE", [], "7"))

    def test_a_killed_contender_turns_stale_after_its_duration(self):
        contender = self.plane.elect("killed", "one", duration=4).wait_leads()
        home = self.home()
        self.assertEqual(self.lease("killed", home)["state"], "HELD")
        contender.kill9()
        died = time.monotonic()
        wait_until(lambda: self.lease("killed", home)["state"] == "STALE", timeout=30, interval=0.2)
        self.assertGreaterEqual(time.monotonic() - died, 1.5)
        self.assertIn("stale-holder", codes(self.lease("killed", home)))

    def test_a_paused_contender_is_overtaken_and_the_token_rises(self):
        one = self.plane.elect("paused", "one", duration=6).wait_leads()
        two = self.plane.elect("paused", "two", duration=6)
        self.addCleanup(one.close)
        self.addCleanup(two.close)
        home = self.home()
        before = self.lease("paused", home)
        one.pause()
        two.wait_leads(timeout=40)
        after = self.lease("paused", home)
        self.assertEqual([row["holders"][0]["identity"] for row in (before, after)], ["one", "two"])
        self.assertEqual(int(after["token"]), int(before["token"]) + 1)
        self.assertNotIn("token-regress", codes(after))

    def test_stale_by_our_clock_also_when_the_holder_is_an_hour_ahead(self):
        names = {ahead: f"ahead-{ahead}".replace("--", "-behind-") for ahead in (HOUR, -HOUR, 0)}
        for ahead, name in names.items():
            self.plane.make_lease(name, "clock", duration=6, renewed=time.time() + ahead)
        renewers, home = [Renewer(self.plane, name, ahead) for ahead, name in names.items()], self.home()
        try:
            self.stay_held(names.values(), home)
        finally:
            for renewer in renewers:
                renewer.stop()
        stopped = time.monotonic()
        wait_until(lambda: self.states(names.values(), home) == {"STALE"}, timeout=30, interval=0.2)
        self.assertGreaterEqual(time.monotonic() - stopped, 0.5)

    def states(self, names, home):
        rows = self.rows(home)
        return {rows[f"lab/lease/default/{name}"]["state"] for name in names}

    def stay_held(self, names, home):
        """Longer than their duration, whatever the holders' clocks say."""
        end = time.monotonic() + 8
        self.states(names, home)
        while time.monotonic() < end:
            time.sleep(0.3)
            self.assertLessEqual(self.states(names, home), {"HELD", "EXPIRING"})

    def test_a_clock_that_differs_is_told_as_its_own_figure(self):
        """As soon as a renewal was seen as it happened."""
        self.plane.make_lease("skewed", "clock", duration=60, renewed=time.time() + HOUR)
        watching = Watching(self.home())
        self.addCleanup(watching.close)
        wait_until(lambda: watching.row("lab/lease/default/skewed"))
        renewer = Renewer(self.plane, "skewed", HOUR)
        self.addCleanup(renewer.stop)
        wait_until(lambda: "clock-skew" in codes(watching.row("lab/lease/default/skewed")))
        row = watching.row("lab/lease/default/skewed")
        self.assertEqual(row["state"], "HELD")
        self.assertAlmostEqual(finding(row, "clock-skew")["evidence"]["skew_ms"] / 1000, HOUR, delta=30)

    def test_a_token_that_falls_is_an_alarm(self):
        self.plane.make_lease("falling", "one", transitions=5)
        home = self.home()
        self.assertNotIn("token-regress", codes(self.lease("falling", home)))
        self.plane.renew_lease("falling", holderIdentity="two", leaseTransitions=3, acquireTime=rfc3339(micro=True))
        row = self.lease("falling", home)
        self.assertEqual(finding(row, "token-regress")["severity"], "crit")
        self.assertEqual((row["token"], row["highest_token"]), ("3", "5"))

    def test_a_lease_that_was_deleted_and_made_again(self):
        """Its transitions begin anew: the fencing tokens of before are higher."""
        self.plane.make_lease("made-again", "one", transitions=9)
        home = self.home()
        self.lease("made-again", home)
        self.api.delete("leases", "made-again", "default")
        self.plane.make_lease("made-again", "two", transitions=0)
        self.assertIn("token-regress", codes(self.lease("made-again", home)))

    def test_heartbeats_are_counted_and_no_rows(self):
        done = self.home().baton("list", "--json").json
        self.assertFalse([row["id"] for row in done["singletons"] if "kube-node-lease" in row["id"]])
        self.assertFalse([row["id"] for row in done["singletons"] if "/apiserver-" in row["id"]])
        source, = done["sources"]
        self.assertEqual(source["detail"]["heartbeats"], 2)  # the node's and the API server's

    def test_the_pod_that_holds_it_is_looked_up(self):
        pod = self.plane.make_pod("exporter-0")
        self.kubelet.run(pod)
        self.plane.make_lease("exporter", "exporter-0_8d1c2b", duration=600)
        show = self.home().baton("show", "lab/lease/default/exporter", "--json").json
        detail = show["singleton"]["holders"][0]["detail"]
        self.assertEqual((detail["pod"], detail["pod_phase"], detail["pod_node"]), ("exporter-0", "Running", "node-1"))
        self.assertEqual(detail["pod_uid"], pod["metadata"]["uid"])

    def test_many_holders_in_a_short_time(self):
        self.plane.make_lease("flapping", "n-0", transitions=0)
        home = self.home()
        self.lease("flapping", home)
        for turn in range(1, 7):
            self.plane.renew_lease("flapping", holderIdentity=f"n-{turn}", leaseTransitions=turn)
            self.lease("flapping", home)
        self.assertIn("flapping", codes(self.lease("flapping", home)))

    def test_hostile_names_are_shown_and_do_nothing(self):
        hostile = "\u001b]0;owned\u0007\u001b[2J\u202egnp.exe\n\u0000\ufeff" + "é中" * 3 + "'\"`$(id)"
        hostile = hostile.replace("\u0000", "")
        self.plane.make_lease("hostile", hostile, duration=600)
        row = self.lease("hostile")
        identity = row["holders"][0]["identity"]
        self.assertIn("é中", identity)
        for text in (identity, self.home().baton("list").out, self.home().baton("show", row["id"]).out):
            self.assertFalse(set(text) & set("\u001b\u0007\u202e\ufeff"), repr(text))

    def test_a_very_long_identity(self):
        self.plane.make_lease("long", "x" * 100_000, duration=600)
        identity = self.lease("long")["holders"][0]["identity"]
        self.assertTrue(identity.startswith("x" * 100))

    def test_nothing_was_written(self):
        self.home().baton("list")
        self.assertTrue(self.plane.audit("baton"))
        self.assertEqual(self.plane.mutations("baton"), [])


if __name__ == "__main__":
    unittest.main()
