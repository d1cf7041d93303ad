"""An API server that is paused, killed, restarted, cut off, that forgets, refuses or holds back: what baton says, and that it goes on."""

import http.client
import json
import os
import random
import re
import string
import subprocess
import threading
import time
import unittest

from kube_truth import KubeTest, Watching
from servers import ApiError, Proxy, baton_path, wait_until
from servers.kubernetes import READ, READ_NODES, rfc3339


class Trouble(KubeTest):
    controllers = False
    # The API server drops watches of its own accord only after 30 min; etcd's history is all it has for a resume.
    plane_options = {"args": ["--watch-cache=true"]}

    def setUp(self):
        self.road = Proxy(self.plane.port)
        self.addCleanup(self.road.close)
        self.turn = getattr(type(self), "turns", 0) + 1
        type(self).turns = self.turn
        self.name = f"led-{self.turn}"
        self.row = f"lab/lease/default/{self.name}"
        self.plane.make_lease(self.name, "first", duration=3600)

    def watch(self, **how):
        home = self.home(port=self.road.port, **how)
        watching = Watching(home)
        self.addCleanup(watching.close)
        wait_until(lambda: watching.holder(self.row) == "first", what="the first picture")
        return watching

    def hand_over(self, holder):
        self.plane.renew_lease(self.name, holderIdentity=holder)

    def told(self, watching, holder, timeout=60):
        wait_until(lambda: watching.holder(self.row) == holder, timeout=timeout,
                   what=f"{holder} being told; {watching.lines()[-1:]}")
        self.assertTrue(watching.alive())

    def test_a_change_is_told_at_once(self):
        watching = self.watch()
        self.hand_over("second")
        self.told(watching, "second", timeout=10)  # without a watch it would be listed after 30 s

    def test_paused(self):
        watching = self.watch()
        home = self.home(port=self.road.port)
        self.plane.apiserver.pause()
        try:
            started = time.monotonic()
            done = home.baton("list", "--json", "--timeout", "1", timeout=20)
            self.assertLess(time.monotonic() - started, 10)
            self.assertEqual(done.code, 69, done)
            source, = done.json["sources"]
            self.assertEqual(source["state"], "failing")
            self.assertRegex(source["error"], f":{self.road.port} did not answer within \\d\\.\\d s: it took the connection, and "
                             "the TLS handshake does not end: it may hang")
        finally:
            self.plane.apiserver.resume()
        wait_until(self.plane.ready)
        self.hand_over("second")
        self.told(watching, "second")

    def test_killed_and_started_again(self):
        watching = self.watch()
        self.plane.apiserver.kill9()
        wait_until(lambda: watching.source() and watching.source()["state"] == "failing", timeout=30,
                   what="the source failing")
        self.assertIn(str(self.road.port), watching.source()["error"])
        self.plane.start_apiserver()
        self.hand_over("second")
        self.told(watching, "second")
        wait_until(lambda: watching.source()["state"] == "ok", what="the source being well again")

    def test_another_certificate(self):
        """It is not trusted, and that is said; the right authority in the kubeconfig is."""
        home = self.home()
        self.assertEqual(home.baton("list").code, 0)
        old = self.plane.kubeconfig()
        self.plane.restart_apiserver(new_authority=True)
        with open(home.more["KUBECONFIG"], "w", encoding="utf-8") as out:
            out.write(old)
        done = home.baton("list", "--json")
        self.assertEqual(done.code, 69)
        self.assertRegex(done.json["sources"][0]["error"], "certificate")
        self.plane.write_kubeconfig(home.more["KUBECONFIG"])
        self.assertEqual(home.baton("list").code, 0)

    def test_cut_in_the_middle_of_an_object(self):
        """Each new connection ends after some bytes more: somewhere in the lists, then in the watches."""
        home = self.home(port=self.road.port)
        whole = self.rows(home)
        self.assertIn(self.row, whole)
        for limit in (200, 1500, 2500, 4000, 6000, 9000):
            self.road.truncate(limit)
            done = home.baton("list", "--json", "--timeout", "2")
            self.assertIn(done.code, (0, 13, 69), done)
            if done.code == 69:
                self.assertTrue(done.json["sources"][0]["error"])
        self.road.pass_on()
        self.assertEqual(set(self.rows(home)), set(whole))

    def test_a_watch_that_is_cut_again_and_again_loses_nothing(self):
        watching = self.watch()
        for turn in range(5):
            (self.road.cut if turn % 2 else self.road.reset)()
            self.hand_over(f"after-{turn}")
            self.told(watching, f"after-{turn}")

    def test_nothing_comes_through_for_a_while(self):
        """A stall that nobody announces: no FIN, no RST."""
        watching = self.watch()
        self.road.stall()
        self.hand_over("unseen")
        time.sleep(3)
        self.assertEqual(watching.holder(self.row), "first")
        self.road.pass_on()
        self.told(watching, "unseen")

    def test_nothing_comes_through_and_that_is_said(self):
        watching = self.watch()
        self.road.stall()
        wait_until(lambda: watching.source()["state"] == "failing", timeout=40, what="the source failing")
        # Whichever was asked first: a watch for a sign of life, or something else.
        self.assertRegex(watching.source()["error"], f":{self.road.port} (keeps the connection open and has not answered for 9 s|"
                         "did not answer within \\d\\.\\d s: the connection is there, and it is silent): it may hang")
        anew = re.compile(r"did not answer within \d\.\d s: it took the connection, and the TLS handshake does not end")
        wait_until(lambda: anew.search(watching.source()["error"] or ""), timeout=40, what="what a new connection comes to")
        self.road.pass_on()
        wait_until(lambda: watching.source()["state"] == "ok", timeout=40, what="the source being well again")

    def test_the_past_is_compacted_while_we_are_away(self):
        """What we would go on from is gone: 410, and everything is read again. What went meanwhile is gone from the board."""
        self.plane.make_lease(f"{self.name}-short", "nobody-knows", duration=3600)
        watching = self.watch()
        self.road.refuse()
        self.road.cut()
        self.api.delete("leases", f"{self.name}-short", "default")
        for turn in range(3):
            self.hand_over(f"while-away-{turn}")
        self.plane.compact()
        self.plane.restart_apiserver()
        self.road.pass_on()
        self.told(watching, "while-away-2")
        wait_until(lambda: f"{self.row}-short" in [line["id"] for line in watching.lines() if line["event"] == "gone"],
                   what="the deleted Lease being told as gone")

    def test_the_token_is_taken_away(self):
        """401: said, and no storm of requests; a new token in its file is used."""
        home = self.home()
        with open(home.more["KUBECONFIG"], encoding="utf-8") as file:
            text = file.read()
        token = self.plane.token("baton")
        token_file = home.folder / "token"
        with open(home.more["KUBECONFIG"], "w", encoding="utf-8") as out:
            out.write(text.replace(f"token: {token}", f"tokenFile: {token_file}"))
        with open(token_file, "w", encoding="ascii") as out:
            out.write("stolen-and-withdrawn\n")
        done = home.baton("list", "--json")
        self.assertEqual(done.code, 69)
        self.assertRegex(done.json["sources"][0]["error"], "(?i)unauthorized|401|credentials|token")
        self.assertNotIn("stolen-and-withdrawn", done.out + done.err)
        with open(token_file, "w", encoding="ascii") as out:
            out.write(token + "\n")
        self.assertEqual(home.baton("list").code, 0)

    def test_nothing_was_written(self):
        self.home().baton("list")
        self.assertEqual(self.plane.mutations("baton"), [])


class Etcd(KubeTest):
    """Trouble behind the API server."""

    controllers = False

    def test_a_server_that_takes_no_writes_makes_everybody_look_stale(self):
        """The holders are well and can't renew: suspect the source, not them."""
        contenders = [self.plane.elect(f"writes-{i}", f"worker-{i}", duration=3) for i in range(4)]
        for each in contenders:
            self.addCleanup(each.close)
            each.wait_leads()
        home = self.home()
        self.assertEqual({self.lease(f"writes-{i}", home)["state"] for i in range(4)}, {"HELD"})
        self.plane.etcd.alarm("NOSPACE")
        try:
            wait_until(lambda: self.all_stale(home), timeout=60, interval=0.3)
        finally:
            self.plane.etcd.alarm("NOSPACE", active=False)

    def all_stale(self, home):
        board = home.baton("list", "--json").json
        states = {row["state"] for row in board["singletons"] if "/writes-" in row["id"]}
        return states == {"STALE"} and "all-stale" in {each["code"] for each in board["sources"][0]["findings"]}

    def test_paused(self):
        """The API server answers, and can read nothing anew."""
        member, = self.plane.etcd.members
        member.pause()
        try:
            started = time.monotonic()
            done = self.home().baton("list", "--json", "--timeout", "1", timeout=20)
            self.assertLess(time.monotonic() - started, 10)
            if done.code == 69:
                self.assertRegex(done.json["sources"][0]["error"], "answers other requests, and one not within|did not answer within|"
                                 "began to answer")
        finally:
            member.resume()
        wait_until(self.plane.ready)
        self.assertEqual(self.home().baton("list").code, 0)


class Large(KubeTest):
    """Objects with much in them that nobody needs."""

    controllers = False
    megabytes = 50

    def test_answers_of_fifty_megabytes(self):
        """A list of so much in all passes through in little memory; what was sent is packed."""
        note = "".join(random.Random(7).choices(string.ascii_letters, k=250_000))
        for i in range(self.megabytes * 4):
            self.plane.make_lease(f"large-{i:03d}", f"worker-{i}", duration=3600)
            self.api.patch("leases", f"large-{i:03d}", {"metadata": {"annotations": {"note": note}}}, "default")
        home = self.home()
        argv = [baton_path(), "list", "--json", "--no-memory", "--timeout", "30"]
        popen = subprocess.Popen(argv, env=home.env(), stdout=subprocess.PIPE)
        rows = json.load(popen.stdout)["singletons"]
        _, status, usage = os.wait4(popen.pid, 0)
        popen.returncode = os.waitstatus_to_exitcode(status)
        popen.stdout.close()
        self.assertEqual(popen.returncode, 0)
        self.assertEqual(len(rows), self.megabytes * 4)
        if not sanitized():
            self.assertLess(usage.ru_maxrss, 80 * 1024)


class Busy(KubeTest):
    """An API server that takes one request at a time, and sends the others away: 429, Retry-After."""

    controllers = False
    plane_options = {"args": ["--enable-priority-and-fairness=false", "--max-requests-inflight=1"]}

    def setUp(self):
        self.ended = threading.Event()
        self.addCleanup(self.ended.set)
        self.sent_away = 0

    def crowd(self, n=6):
        threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(n)]
        for thread in threads:
            thread.start()
        self.addCleanup(lambda: [thread.join() for thread in threads])
        self.addCleanup(self.ended.set)

    def ask(self):
        while not self.ended.is_set():
            try:
                self.plane.api("billing-reader").list("leases", "billing")  # an administrator is never sent away
            except ApiError as error:
                self.sent_away += error.code == 429
            except (OSError, ValueError, AttributeError, http.client.HTTPException):
                if not self.ended.is_set():
                    raise

    def test_it_is_asked_again_as_it_says(self):
        for i in range(400):
            self.plane.make_lease(f"crowd-{i}", f"worker-{i}", "billing", duration=3600)
        self.crowd()
        wait_until(lambda: self.sent_away > 20)
        home = self.home()
        done = home.baton("list", "--json", "--timeout", "4")
        self.assertIn(done.code, (0, 13, 69), done)
        if done.code == 69:
            self.assertRegex(done.json["sources"][0]["error"], "takes no more requests")
        asked = [entry for entry in self.plane.audit() if entry["user"].get("username") == "baton"]
        self.assertLess(len(asked), 200)  # no storm of retries
        self.ended.set()
        wait_until(lambda: home.baton("list").code == 0)


def sanitized():
    return any(name.endswith("SAN_OPTIONS") for name in os.environ)


class Rights(KubeTest):
    """Users that may read less."""

    controllers = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plane.make_lease("seen", "one", namespace="billing", duration=3600)
        cls.plane.make_lease("unseen", "one", namespace="default", duration=3600)
        cls.plane.make_cronjob("close", "0 0 1 1 *", namespace="billing")

    def test_one_namespace_only(self):
        """It is the context's, or the config names it; the rest is said to be hidden."""
        done = self.home("billing-reader", namespace="billing").baton("list", "--json")
        ids = {row["id"] for row in done.json["singletons"]}
        self.assertEqual(ids, {"lab/lease/billing/seen", "lab/cronjob/billing/close"})
        self.assertTrue(done.json["sources"][0]["hidden"])

    def test_a_role_out_of_sight_is_not_free(self):
        """Its Lease is held where this user may not look: who took it for free would be the second one."""
        home = self.home("billing-reader", namespace="billing")
        with open(home.config, "a", encoding="utf-8") as out:
            out.write("roles: {far: {witnesses: [lab/lease/default/unseen]}, near: {witnesses: [lab/lease/billing/none]}}\n")
        roles = {role["name"]: role for role in home.baton("list", "--json").json["roles"]}
        self.assertEqual((roles["far"]["state"], roles["near"]["state"]), ("UNKNOWN", "FREE"))
        finding, = roles["far"]["findings"]
        self.assertEqual((finding["code"], finding["severity"]), ("hidden", "warn"))
        self.assertRegex(finding["text"], "lab/lease/default/unseen .*Leases in all namespaces but billing")
        self.assertIn("ClusterRole that allows list and watch on leases", finding["advice"])
        self.assertIn("lab/lease/default/unseen hidden", home.baton("show", "role/far").out)

    def test_a_namespace_that_is_not_looked_at_is_not_free(self):
        home = self.home()
        home.write_config("sources: {lab: {kind: kubernetes, namespaces: [billing]}}\nroles: {far: {witnesses: [lab/lease/default/unseen]}, near: {witnesses: [lab/lease/billing/none]}}\n")
        answer = home.baton("list", "--json").json
        self.assertEqual([(role["name"], role["state"], role["witnesses"][0]["sight"]) for role in answer["roles"]],
                         [("far", "UNKNOWN", "outside"), ("near", "FREE", "absent")])
        self.assertEqual(answer["sources"][0]["hidden"], [])

    def test_nothing_at_all(self):
        """An empty board would look like a quiet one."""
        home = self.home("nobody")
        done = home.baton("list", "--json")
        self.assertEqual((done.code, done.json["singletons"]), (69, []))
        source, = done.json["sources"]
        self.assertEqual(source["state"], "failing")
        self.assertRegex(source["error"], "forbidden")
        self.assertEqual(home.baton("check").code, 3)

    def test_a_failed_job_whose_pods_are_hidden(self):
        """Whether they have ended is known only where the Job counts those that are terminating."""
        rules = [{**rule, "resources": [word for word in rule["resources"] if word != "pods"]} for rule in READ]
        self.plane.grant_more("no-pods", rules + READ_NODES, "no-pods")
        for name, counted, ago in (("failed-old", {}, 60), ("failed-new", {"terminating": 0}, 60), ("failed-long-ago", {}, 3 * 86400)):
            self.plane.make_cronjob(name, "0 0 1 1 *", namespace="billing")
            self.addCleanup(self.plane.admin.delete, "cronjobs", name, "billing")
            job = self.plane.make_run(name, 5, "billing")
            begun, over = (rfc3339(time.time() - each) for each in (ago + 230, ago))
            self.plane.admin.patch("jobs", job["metadata"]["name"], {"status": {
                "startTime": begun, "failed": 1, **counted, "conditions": [
                    {"type": word, "status": "True", "reason": "DeadlineExceeded", "lastTransitionTime": over}
                    for word in ("FailureTarget", "Failed")]}}, "billing", "status")
            self.plane.admin.patch("cronjobs", name, {"status": {"active": None}}, "billing", "status")
        home = self.home("by-certificate", certificate=self.plane.client_certificate("no-pods"))
        with open(home.config, "a", encoding="utf-8") as out:
            out.write("roles: {old: {witnesses: [lab/cronjob/billing/failed-old]}, new: {witnesses: [lab/cronjob/billing/failed-new]}, "
                      "older: {witnesses: [lab/cronjob/billing/failed-long-ago]}}\n")
        answer = home.baton("list", "--json").json
        rows = {row["name"] or row["id"].rsplit("/", 1)[1]: row for row in answer["singletons"]}
        old, new, long_ago = rows["failed-old"], rows["failed-new"], rows["failed-long-ago"]
        self.assertEqual([(run["state"], run["alive"]) for run in old["runs"] + new["runs"] + long_ago["runs"]],
                         [("failed", None), ("failed", False), ("failed", None)])
        self.assertEqual((old["state"], new["state"], long_ago["state"]), ("HELD", "FREE", "FREE"))
        self.assertEqual({f["code"]: f["severity"] for f in old["findings"] if f["code"] != "late-run"}, {"hidden": "warn"})
        hidden, = (f for f in old["findings"] if f["code"] == "hidden")
        self.assertRegex(hidden["text"], r"failed-old-\d+ .*is over \(failed\) since 20\S+, and whether its pods have ended is not known")
        self.assertEqual({f["code"]: f["severity"] for f in new["findings"] if f["code"] != "late-run"}, {"hidden": "info"})
        self.assertEqual({f["code"]: f["severity"] for f in long_ago["findings"] if f["code"] != "late-run"}, {"hidden": "info"})
        hidden, = (f for f in long_ago["findings"] if f["code"] == "hidden")
        self.assertRegex(hidden["text"], r"whether its pods have ended is not known\. A node that answers has ended them")
        # A CronJob is known to be free only where its pods may be seen.
        self.assertEqual([(role["state"], role["witnesses"][0]["sight"]) for role in answer["roles"]],
                         [("HELD", "there"), ("UNKNOWN", "hidden"), ("UNKNOWN", "hidden")])
        told = home.baton("show", "lab/cronjob/billing/failed-old").out
        self.assertIn("failed, not known whether it is alive", " ".join(told.split()))
        whole = self.home().baton("list", "--json").json["singletons"]
        row, = (row for row in whole if row["id"].endswith("failed-old"))
        self.assertEqual((row["state"], row["runs"][0]["alive"]), ("FREE", False))

    def test_a_cronjob_whose_jobs_are_hidden(self):
        """That its own list is empty does not make it free: a run that was started by hand is in no list."""
        rules = [{**rule, "resources": [word for word in rule["resources"] if word != "jobs"]} for rule in READ]
        self.plane.grant_more("no-jobs", rules + READ_NODES, "no-jobs")
        home = self.home("by-certificate", certificate=self.plane.client_certificate("no-jobs"))
        with open(home.config, "a", encoding="utf-8") as out:
            out.write("roles: {close: {witnesses: [lab/cronjob/billing/close]}}\n")
        answer = home.baton("list", "--json").json
        row, = (row for row in answer["singletons"] if row["id"] == "lab/cronjob/billing/close")
        self.assertEqual((row["state"], row["needs_attention"]), ("UNKNOWN", True))
        self.assertEqual([(f["code"], f["severity"]) for f in row["findings"]], [("hidden", "warn")])
        self.assertEqual([(role["state"], role["witnesses"][0]["sight"]) for role in answer["roles"]], [("UNKNOWN", "hidden")])
        self.assertRegex(home.baton("show", row["id"]).out, r"\Alab/cronjob/billing/close  UNKNOWN\n")
        self.assertEqual(home.baton("check").code, 1)

    def test_leases_only(self):
        """Half a sight is one, and what is missing is said."""
        self.plane.grant_more("leases-only", [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                                               "verbs": ["list", "watch"]}], "nobody-yet")
        certificate = self.plane.client_certificate("nobody-yet")
        done = self.home("by-certificate", certificate=certificate).baton("list", "--json")
        self.assertIn("lab/lease/default/unseen", [row["id"] for row in done.json["singletons"]])
        self.assertIn("CronJobs in default and all other namespaces", done.json["sources"][0]["hidden"])

    def test_doctor_tells_what_is_missing(self):
        whole = self.home().baton("doctor")
        self.assertEqual(whole.code, 0, whole)
        partial = self.home("billing-reader", namespace="billing").baton("doctor")
        self.assertIn("billing", partial.out)
        self.assertNotIn(self.plane.token("billing-reader"), partial.out + partial.err)

    def test_doctor_names_a_namespace_that_is_not_there(self):
        """The lists of one that was mistyped are empty, and no failure: it would be green for ever."""
        for user, want in (("baton", ["there is no namespace biling: nothing of it can be seen"]), ("billing-reader", [])):
            home = self.home(user)
            home.write_config("sources: {lab: {kind: kubernetes, namespaces: [biling, billing]}}\n")
            lines = home.baton("doctor", "--json").json["sources"][0]["lines"]
            self.assertEqual([line["text"] for line in lines if line["what"] == "namespace"], want)

    def test_a_client_certificate_instead_of_a_token(self):
        home = self.home("by-certificate", namespace="billing", certificate=self.plane.client_certificate("billing-reader"))
        self.assertIn("lab/lease/billing/seen", self.rows(home))

    def test_nothing_was_written_by_any_of_them(self):
        for user in ("baton", "billing-reader", "nobody"):
            self.home(user).baton("doctor")
            self.assertEqual(self.plane.mutations(user), [])


if __name__ == "__main__":
    unittest.main()
