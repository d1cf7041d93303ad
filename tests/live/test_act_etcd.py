"""What etcd's verbs do on real servers, and what they leave alone. The gate around them is tested elsewhere."""

import subprocess
import threading
import time
import unittest

from servers import Authority, Drive, Etcd, Proxy, lease_hex, on_each, wait_until

PREFIXES = [{"prefix": "elections/", "mechanism": "election"}, {"prefix": "locks/", "mechanism": "lock"},
            {"prefix": "keys/", "mechanism": "key"}]


def texts(items):
    return " | ".join(f"{item['what']}: {item['id']}" for item in items)


class Case(unittest.TestCase):
    def drive(self, etcd, port=None, timeout_ms=5000, **options):
        endpoints = [f"{etcd.scheme}://127.0.0.1:{port}"] if port else etcd.endpoints
        drive = Drive("etcd", "ctl", {"endpoints": endpoints, "prefixes": PREFIXES, **options}, timeout_ms)
        self.addCleanup(drive.close)
        return drive

    def there(self, etcd, key):
        """The create_revision of a key, or None."""
        found = etcd.etcdctl("get", key, parse=True).get("kvs")
        return found[0]["create_revision"] if found else None

    def planned(self, etcd, verb, path, identity=None, kind="holder", **options):
        drive = self.drive(etcd, **options).poll()
        drive.order(verb, path, drive.claim(path, identity, kind))
        plan = drive.plan()
        self.assertEqual((plan["rc"], plan["verdict"]), (0, "ready"), plan)
        return drive, plan


class StepDown(Case):
    @on_each()
    def test_the_leaders_key_goes_and_the_next_one_leads(self, etcd):
        leader = etcd.candidate("elections/job", "node-a", ttl=10)
        second = etcd.candidate("elections/job", "node-b", ttl=20)
        etcd.candidate("elections/job", "node-c")
        etcd.put("services/a", "here", leader.lease)
        drive, plan = self.planned(etcd, "step-down", "elections/job")
        self.assertEqual((plan["successor"], plan["permission"]), ("node-b", "ok"))
        self.assertEqual((plan["gap_min_ms"], plan["gap_max_ms"] > 15000), (0, True))
        self.assertIn(f"the key: {leader.key}", texts(plan["destroys"]))
        self.assertIn("another key on the same lease: services/a", texts(plan["keeps"]))
        self.assertNotIn("services/a", texts(plan["destroys"]))
        self.assertIn(f'create_revision("{leader.key}") = {leader.create_revision}', plan["request"])
        self.assertIn("may go on as if it led", texts(plan["warnings"]))
        effect = drive.send()
        self.assertEqual((effect["rc"], effect["kind"]), (0, "done"), effect)
        self.assertIsNone(self.there(etcd, leader.key))
        self.assertEqual(self.there(etcd, second.key), second.create_revision)
        self.assertIsNotNone(self.there(etcd, "services/a"))
        sight = drive.look()
        self.assertEqual((sight["settled"], sight["overlap"]), (True, "open"))
        self.assertIn(f"node-b leads now, token {second.create_revision}; 1 waits", sight["text"])
        leader.revoke()
        self.assertEqual(drive.look()["overlap"], "closed")
        self.assertEqual(drive.send()["kind"], "changed")

    @on_each()
    def test_real_contenders_hand_over(self, etcd):
        first = etcd.elect("elections/real", "node-a").wait_held()
        second = etcd.elect("elections/real", "node-b")
        wait_until(lambda: etcd.count("elections/real/") == 2, what="the second candidate")
        drive, plan = self.planned(etcd, "step-down", "elections/real")
        self.assertEqual(plan["successor"], "node-b")
        self.assertEqual(drive.send()["kind"], "done")
        second.wait_held()
        self.assertIn("node-b leads now", drive.look()["text"])
        for each in (first, second):
            each.stop()

    @on_each()
    def test_a_lock_is_taken_from_its_holder(self, etcd):
        first, second = etcd.lock("locks/job").wait_held(), etcd.lock("locks/job")
        wait_until(lambda: etcd.count("locks/job/") == 2, what="the second candidate")
        drive, _ = self.planned(etcd, "step-down", "locks/job")
        self.assertEqual(drive.send()["kind"], "done")
        second.wait_held()
        for each in (first, second):
            each.kill9()

    @on_each()
    def test_who_waits_can_not_step_down(self, etcd):
        etcd.candidate("elections/job", "node-a")
        etcd.candidate("elections/job", "node-b")
        drive = self.drive(etcd).poll()
        drive.order("step-down", "elections/job", drive.claim("elections/job", kind="waiter"))
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "refused")
        self.assertIn("release takes it out of the queue", texts(plan["reasons"]))

    @on_each()
    def test_with_nobody_waiting_it_is_said(self, etcd):
        etcd.candidate("elections/job", "node-a")
        drive, plan = self.planned(etcd, "step-down", "elections/job")
        self.assertIsNone(plan["successor"])
        self.assertIn("nobody waits", texts(plan["warnings"]))
        self.assertEqual(drive.send()["kind"], "done")
        self.assertIn("nobody leads now", drive.look()["text"])

    @on_each()
    def test_a_full_cluster_is_told(self, etcd):
        first, second = etcd.candidate("elections/job", "a"), etcd.candidate("elections/job", "b")
        etcd.alarm("NOSPACE")
        wait_until(lambda: "NOSPACE" in etcd.etcdctl("alarm", "list"), what="the alarm")
        drive, plan = self.planned(etcd, "step-down", "elections/job")
        self.assertIn("NOSPACE is on", texts(plan["warnings"]))
        self.assertEqual(drive.send()["kind"], "done")
        self.assertIsNone(self.there(etcd, first.key))
        self.assertIsNotNone(self.there(etcd, second.key))


    @on_each()
    def test_a_corrupt_cluster_changes_nothing(self, etcd):
        leader = etcd.candidate("elections/job", "a", ttl=600, keep=False)
        drive, _ = self.planned(etcd, "step-down", "elections/job")
        etcd.alarm("CORRUPT")
        effect = drive.send()
        self.assertEqual((effect["rc"], effect["kind"]), (0, "refused"), effect)
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "refused")
        self.assertIn("etcd refuses every change", texts(plan["reasons"]))
        self.assertEqual(self.there(etcd, leader.key), leader.create_revision)


class Release(Case):
    @on_each()
    def test_one_that_waits_leaves_the_queue(self, etcd):
        leader, second = etcd.candidate("elections/job", "node-a"), etcd.candidate("elections/job", "node-b")
        drive, plan = self.planned(etcd, "release", "elections/job", "node-b", "waiter")
        self.assertIn("may think that it leads", texts(plan["warnings"]))
        self.assertEqual(drive.send()["kind"], "done")
        self.assertIsNone(self.there(etcd, second.key))
        self.assertIsNotNone(self.there(etcd, leader.key))
        sight = drive.look()
        self.assertEqual((sight["settled"], sight["overlap"]), (True, "none"))

    @on_each()
    def test_an_orphan_goes(self, etcd):
        etcd.put("elections/job/deadbeef", "nobody")
        second = etcd.candidate("elections/job", "node-b")
        drive, plan = self.planned(etcd, "release", "elections/job", "nobody")
        self.assertIn("it stays for ever", plan["alone"])
        self.assertIsNone(plan["last_sign"])
        self.assertEqual(drive.send()["kind"], "done")
        self.assertIsNone(self.there(etcd, "elections/job/deadbeef"))
        self.assertIsNotNone(self.there(etcd, second.key))
        self.assertEqual(drive.look()["overlap"], "open")

    @on_each()
    def test_a_key_that_names_its_holder(self, etcd):
        lease = etcd.grant(30)
        etcd.put("keys/leader", "pg-1", lease)
        drive, plan = self.planned(etcd, "step-down", "keys/leader")
        self.assertIn('value = "pg-1"', plan["request"])
        etcd.put("keys/leader", "pg-1", lease)  # renewed: the same holder
        self.assertEqual(drive.send()["kind"], "done")
        self.assertIsNone(self.there(etcd, "keys/leader"))

    @on_each()
    def test_a_key_whose_value_names_another_is_left_alone(self, etcd):
        lease = etcd.grant(30)
        revision = etcd.put("keys/leader", "pg-1", lease)
        drive, _ = self.planned(etcd, "release", "keys/leader")
        etcd.put("keys/leader", "pg-2", lease)  # create_revision and lease stay
        self.assertEqual(self.there(etcd, "keys/leader"), revision)
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertEqual(drive.plan()["verdict"], "changed")
        self.assertEqual(self.there(etcd, "keys/leader"), revision)

    @on_each()
    def test_names_that_are_any_bytes(self, etcd):
        for value in (b"\xff\x00\x1b[31m", b"", "n\u00e9 'x' \\".encode()):
            key = b"keys/\xfe\x01 '\\\"" + value[:3]
            etcd.put(key, value, etcd.grant(30))
            other = etcd.put(key + b"x", value, etcd.grant(30))
            drive = self.drive(etcd).poll()
            path, = [path for path in drive.rows() if path.startswith("keys/\\xfe") and not path.endswith("x")]
            drive.order("release", path, drive.claim(path))
            self.assertEqual(drive.plan()["verdict"], "ready")
            self.assertEqual(drive.send()["kind"], "done")
            self.assertEqual(etcd.count("keys/"), 1)
            self.assertGreater(other, 0)
            etcd.delete(key + b"x")


class Believers(Case):
    """What etcd's own client believes after an act: this is why the forecasts warn."""

    def campaign(self, etcd, name, value, **more):
        contender = etcd.campaign(name, value, **more)
        self.addCleanup(contender.kill9)
        if value:
            wait_until(lambda: value in self.values(etcd, name), what="its key")
        return contender

    @staticmethod
    def values(etcd, name):
        return etcd.etcdctl("get", "--prefix", "--print-value-only", name + "/").splitlines()

    @on_each()
    def test_who_stepped_down_is_not_told(self, etcd):
        first = self.campaign(etcd, "elections/job", "node-a").wait_held()
        second = self.campaign(etcd, "elections/job", "node-b")
        drive, plan = self.planned(etcd, "step-down", "elections/job", "node-a")
        self.assertIn("the process is not told", texts(plan["warnings"]))
        self.assertEqual(drive.send()["kind"], "done")
        wait_until(second.held, what="the next one leads")
        time.sleep(0.5)
        self.assertNotIn("session ended", first.text())  # it goes on as if it led
        self.assertEqual(drive.look()["overlap"], "open")

    @on_each()
    def test_who_was_taken_out_of_the_queue_may_lead_without_a_key(self, etcd):
        first = self.campaign(etcd, "elections/job", "node-a").wait_held()
        second = self.campaign(etcd, "elections/job", "node-b")
        drive, plan = self.planned(etcd, "release", "elections/job", "node-b", "waiter")
        self.assertIn("may think that it leads", texts(plan["warnings"]))
        self.assertEqual(drive.send()["kind"], "done")
        first.kill9()
        drive, _ = self.planned(etcd, "revoke", "elections/job", "node-a")
        self.assertEqual(drive.send()["kind"], "done")
        self.assertEqual(etcd.count("elections/job/"), 0)
        wait_until(lambda: "leads" in second.text(), what="a leader without a key")

    @on_each()
    def test_a_lock_looks_at_its_own_key(self, etcd):
        first = self.campaign(etcd, "locks/job", "", lock=True).wait_held()
        second = self.campaign(etcd, "locks/job", "", lock=True)
        wait_until(lambda: etcd.count("locks/job/") == 2, what="the second candidate")
        drive, plan = self.planned(etcd, "release", "locks/job", kind="waiter")
        self.assertNotIn("may think that it leads", texts(plan["warnings"]))
        self.assertEqual(drive.send()["kind"], "done")
        drive.poll()
        drive, _ = self.planned(etcd, "step-down", "locks/job")
        self.assertEqual(drive.send()["kind"], "done")
        wait_until(lambda: "refused" in second.text(), what="a refusal")
        self.assertNotIn("leads", second.text())
        self.assertIn("leads", first.text())

    @on_each()
    def test_a_revoke_ends_its_session(self, etcd):
        first = self.campaign(etcd, "elections/job", "node-a", ttl=6).wait_held()
        drive, plan = self.planned(etcd, "revoke", "elections/job")
        self.assertIn("when it next renews", texts(plan["told"]))
        self.assertEqual(drive.send()["kind"], "done")
        wait_until(lambda: "session ended" in first.text(), timeout=30, what="the session's end")
        self.assertEqual(drive.look()["overlap"], "closed")


class Revoke(Case):
    @on_each()
    def test_every_key_on_the_lease_is_told_and_goes(self, etcd):
        leader, second = etcd.candidate("elections/job", "node-a"), etcd.candidate("elections/job", "node-b")
        also = f"elections/other/{lease_hex(leader.lease)}"
        etcd.put(also, "node-a", leader.lease)
        etcd.put("services/a", "here", leader.lease)
        drive, plan = self.planned(etcd, "revoke", "elections/job")
        said = texts(plan["destroys"])
        for words in (f"the key: {leader.key}", f"its lease: {lease_hex(leader.lease)}",
                      f"another candidacy on the same lease: {also}", "another key on the same lease: services/a"):
            self.assertIn(words, said)
        self.assertIn("not guarded by the server", texts(plan["warnings"]))
        self.assertIsNone(plan["guarded_by"])
        self.assertIn("with 3 keys", plan["request"])
        self.assertEqual(drive.send()["kind"], "done")
        for key in (leader.key, also, "services/a"):
            self.assertIsNone(self.there(etcd, key))
        self.assertIsNotNone(self.there(etcd, second.key))
        sight = drive.look()
        self.assertEqual((sight["settled"], sight["overlap"]), (True, "closed"))
        self.assertEqual(drive.send()["kind"], "changed")

    @on_each()
    def test_a_key_that_joined_the_lease_stops_it(self, etcd):
        leader = etcd.candidate("elections/job", "node-a")
        drive, _ = self.planned(etcd, "revoke", "elections/job")
        etcd.put("services/a", "here", leader.lease)
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertIsNotNone(self.there(etcd, "services/a"))
        self.assertIsNotNone(self.there(etcd, leader.key))

    @on_each()
    def test_a_key_made_again_on_the_lease_stops_it(self, etcd):
        leader = etcd.candidate("elections/job", "node-a")
        drive, _ = self.planned(etcd, "revoke", "elections/job")
        leader.resign()
        etcd.put(leader.key, "node-a", leader.lease)
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertIsNotNone(self.there(etcd, leader.key))

    @on_each()
    def test_a_key_without_a_lease_has_nothing_to_revoke(self, etcd):
        etcd.put("elections/job/deadbeef", "nobody")
        drive = self.drive(etcd).poll()
        drive.order("revoke", "elections/job", drive.claim("elections/job"))
        self.assertIn("release deletes it", texts(drive.plan()["reasons"]))
        self.assertEqual(drive.send()["kind"], "unsent")
        self.assertIsNotNone(self.there(etcd, "elections/job/deadbeef"))


class Changed(Case):
    @on_each()
    def test_the_key_was_made_again_with_the_same_name_and_lease(self, etcd):
        leader = etcd.candidate("elections/job", "node-a")
        drive = self.drive(etcd).poll()
        drive.order("release", "elections/job", drive.claim("elections/job"))
        leader.resign()
        revision = etcd.put(leader.key, "node-a", leader.lease)
        effect = drive.send()
        self.assertEqual(effect["kind"], "changed")
        self.assertIn(f"create_revision {revision}", effect["answer"])
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "changed")
        self.assertIn("deleted and made again", texts(plan["reasons"]))
        self.assertEqual(self.there(etcd, leader.key), revision)

    @on_each()
    def test_the_key_was_put_on_another_lease(self, etcd):
        leader = etcd.candidate("elections/job", "node-a")
        drive, _ = self.planned(etcd, "step-down", "elections/job")
        etcd.put(leader.key, "node-a", etcd.grant(60))  # create_revision stays
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertEqual(self.there(etcd, leader.key), leader.create_revision)

    @on_each()
    def test_it_is_gone(self, etcd):
        leader = etcd.candidate("elections/job", "node-a")
        second = etcd.candidate("elections/job", "node-b")
        drive = self.drive(etcd).poll()
        drive.order("step-down", "elections/job", drive.claim("elections/job"))
        leader.revoke()
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertIn("not there any more", texts(drive.plan()["reasons"]))
        self.assertIsNotNone(self.there(etcd, second.key))


class Permission(Case):
    @on_each()
    def test_who_may_not_write_is_refused_by_etcd(self, etcd):
        etcd.candidate("elections/job", "node-a")
        etcd.enable_auth()
        reader = etcd.user("reader", prefix="elections/")
        writer = etcd.user("writer", prefix="elections/", rights="readwrite")
        before = etcd.revision()
        for user, permission, kind in ((reader, "unknown", "refused"), (writer, "unknown", "done")):
            name, password = user.split(":")
            drive = self.drive(etcd, user=name, password=password, prefixes=PREFIXES[:1]).poll()
            drive.order("step-down", "elections/job", drive.claim("elections/job"))
            plan = drive.plan()
            self.assertEqual((plan["verdict"], plan["permission"]), ("ready", permission), plan)
            self.assertIn(f"etcdctl user get {name}", plan["permission_why"])
            effect = drive.send()
            self.assertEqual(effect["kind"], kind, effect)
            self.assertEqual(etcd.count("elections/job/"), 0 if kind == "done" else 1)
        self.assertEqual(etcd.revision(), before + 1)

    @on_each()
    def test_root_may(self, etcd):
        etcd.candidate("elections/job", "node-a")
        etcd.enable_auth()
        drive = self.drive(etcd, user="root", password=etcd.root_password).poll()
        drive.order("step-down", "elections/job", drive.claim("elections/job"))
        self.assertEqual(drive.plan()["permission"], "ok")
        self.assertEqual(drive.send()["kind"], "done")

    @on_each()
    def test_a_token_that_is_not_taken_any_more(self, etcd):
        """A forecast signs in again; what changes something is refused and said, and never sent twice."""
        leader = etcd.candidate("elections/job", "node-a", ttl=600, keep=False)
        etcd.enable_auth()
        drive = self.drive(etcd, user="root", password=etcd.root_password).poll()
        drive.order("step-down", "elections/job", drive.claim("elections/job"))
        self.assertEqual(drive.plan()["verdict"], "ready")
        self.forget_tokens(etcd)
        effect = drive.send()
        self.assertEqual((effect["rc"], effect["kind"]), (0, "refused"), effect)
        self.assertEqual(etcd.count("elections/job/"), 1)
        plan = drive.plan()
        self.assertEqual((plan["rc"], plan["verdict"]), (0, "ready"), plan)
        self.forget_tokens(etcd)
        plan = drive.plan()
        self.assertEqual((plan["rc"], plan["verdict"]), (0, "ready"), plan)
        self.assertEqual(drive.send()["kind"], "done")
        self.assertIsNone(self.there(etcd, leader.key))

    @staticmethod
    def forget_tokens(etcd):
        etcd.etcdctl("auth", "disable")
        password, etcd.root_password = etcd.root_password, None
        etcd.etcdctl("auth", "enable")
        etcd.root_password = password

    @on_each(tls=Authority)
    def test_over_tls(self, etcd):
        leader = etcd.candidate("elections/job", "node-a")
        drive, _ = self.planned(etcd, "step-down", "elections/job", ca=etcd.tls.ca)
        self.assertEqual(drive.send()["kind"], "done")
        self.assertIsNone(self.there(etcd, leader.key))


class ReadOnly(Case):
    @on_each()
    def test_a_forecast_moves_neither_revision_nor_raft(self, etcd):
        leader = etcd.candidate("elections/job", "node-a", ttl=60, keep=False)
        etcd.candidate("elections/job", "node-b", ttl=60, keep=False)
        drive = self.drive(etcd).poll()
        drive.order("step-down", "elections/job", drive.claim("elections/job"))
        drive.plan()
        time.sleep(0.3)

        def raft():
            status = etcd.gateway("maintenance/status", {})
            return etcd.revision(), int(status["raftIndex"])
        before = raft()
        for verb in ("step-down", "release", "revoke"):
            for kind in ("holder", "waiter"):
                drive.poll().order(verb, "elections/job", drive.claim("elections/job", kind=kind))
                drive.plan()
                drive.look()
        self.assertEqual(raft(), before)
        self.assertEqual(self.there(etcd, leader.key), leader.create_revision)


class Faults(Case):
    """Whatever breaks, and when: the effect that is told is what happened. Each verb once."""

    def ready(self, etcd, verb="step-down", timeout_ms=2500):
        proxy = Proxy(etcd.port)
        self.addCleanup(proxy.close)
        leader = etcd.candidate("elections/job", "node-a", ttl=60, keep=False)
        drive, _ = self.planned(etcd, verb, "elections/job", port=proxy.port, timeout_ms=timeout_ms)
        return proxy, leader, drive

    def find_out(self, etcd, effect, leader):
        """Whether it is still there, by the words that the effect gives."""
        words = effect["find_out"].replace("etcdctl", etcd.ctl, 1)
        done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, env=etcd.ctl_env(), timeout=20)
        if "lease" in words:
            return "already expired" not in done.stdout
        return f'"CreateRevision" : {leader.create_revision}\n' in done.stdout

    def agrees(self, etcd, effect, leader):
        """What was passed on may still be on its way to etcd: both are asked until they agree."""
        wait_until(lambda: self.find_out(etcd, effect, leader) == (self.there(etcd, leader.key) is not None),
                   what="find_out saying what is so")

    @on_each()
    def test_cut_before(self, etcd):
        for verb in ("step-down", "revoke"):
            proxy, leader, drive = self.ready(etcd, verb)
            proxy.refuse()
            proxy.reset()
            effect = drive.send()
            self.assertEqual(effect["kind"], "unsent", effect)
            self.assertLess(effect["rc"], 0)
            self.assertEqual(self.there(etcd, leader.key), leader.create_revision)
            leader.revoke()

    @on_each()
    def test_cut_while_it_is_under_way(self, etcd):
        proxy, leader, drive = self.ready(etcd)
        proxy.stall()
        cut = threading.Thread(target=lambda: (wait_until(lambda: proxy.held), proxy.reset()))
        cut.start()
        effect = drive.send()
        cut.join()
        self.assertEqual(effect["kind"], "unknown", effect)
        self.assertTrue(self.find_out(etcd, effect, leader))
        proxy.pass_on()
        time.sleep(0.5)  # nothing is sent again
        self.assertEqual(self.there(etcd, leader.key), leader.create_revision)

    @on_each()
    def test_the_answer_is_lost(self, etcd):
        proxy, leader, drive = self.ready(etcd)
        proxy.swallow()
        effect = drive.send()
        self.assertEqual(effect["kind"], "unknown", effect)
        self.assertFalse(self.find_out(etcd, effect, leader))
        self.assertIsNone(self.there(etcd, leader.key))
        proxy.pass_on()
        proxy.cut()
        self.assertTrue(drive.look()["settled"])

    @on_each()
    def test_the_answer_to_a_revoke_is_lost(self, etcd):
        proxy, leader, drive = self.ready(etcd, "revoke")
        proxy.swallow(b"LeaseRevoke")
        effect = drive.send()
        # The path may be packed on the wire; then the check before it gets its answer all the same.
        if effect["kind"] == "unknown":
            self.assertFalse(self.find_out(etcd, effect, leader))
        self.assertIsNone(self.there(etcd, leader.key))

    @on_each()
    def test_cut_at_once_after_it_was_sent(self, etcd):
        for n in range(20):
            proxy, leader, drive = self.ready(etcd)
            threading.Timer(0.0005 * n, proxy.reset).start()
            effect = drive.send()
            there = self.there(etcd, leader.key) is not None
            if effect["kind"] == "done":
                self.assertFalse(there)
            elif effect["kind"] == "unsent":
                self.assertTrue(there)
            else:
                self.assertEqual(effect["kind"], "unknown", effect)
                self.agrees(etcd, effect, leader)
            proxy.close()
            leader.revoke()

    @on_each()
    def test_a_server_that_stands_still(self, etcd):
        _, leader, drive = self.ready(etcd)
        etcd.members[0].pause()
        started = time.monotonic()
        try:
            effect = drive.send()
        finally:
            etcd.members[0].resume()
        self.assertLess(time.monotonic() - started, 8)
        self.assertEqual(effect["kind"], "unknown", effect)
        self.agrees(etcd, effect, leader)

    @on_each(members=3)
    def test_no_quorum(self, etcd):
        leader = etcd.candidate("elections/job", "node-a", ttl=60, keep=False)
        drive = Drive("etcd", "ctl", {"endpoints": [etcd.url], "prefixes": PREFIXES}, 3000)
        self.addCleanup(drive.close)
        drive.poll().order("step-down", "elections/job", drive.claim("elections/job"))
        self.assertEqual(drive.plan()["verdict"], "ready")
        for member in etcd.members[1:]:
            member.pause()
        effect = drive.send()
        for member in etcd.members[1:]:
            member.resume()
        self.assertIn(effect["kind"], ("unknown", "refused"), effect)
        time.sleep(1)
        wait_until(lambda: self.healthy(etcd), what="a leader")
        if effect["kind"] == "refused":
            self.assertIsNotNone(self.there(etcd, leader.key))
        else:
            self.agrees(etcd, effect, leader)

    @staticmethod
    def healthy(etcd):
        return etcd.members[0].healthy()


if __name__ == "__main__":
    unittest.main()
