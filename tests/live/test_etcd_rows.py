"""The rows of the etcd source against what etcdctl says, on both versions."""

import time
import unittest

from etcd_rows import Watching, config, keys_of, picture

from servers import Home, b64, lease_hex, on_each, wait_until

class Rows(unittest.TestCase):
    def agree(self, row, keys):
        """A row's claims are etcdctl's keys, in their order, with all that binds them."""
        claims = row["holders"] + row["waiters"]
        told = [(c["detail"]["key"].encode(), int(c["detail"]["create_revision"]), int(c["detail"]["mod_revision"]),
                 int(c["detail"].get("lease") or "0", 16), c["key"]) for c in claims]
        self.assertEqual(told, [(k, create, mod, lease, f"rev:{create}") for k, _, create, mod, lease in keys])
        self.assertEqual(row["token"], str(keys[0][2]))
        self.assertEqual(row["token_kind"], "create_revision")
        self.assertEqual([c["position"] for c in row["waiters"]], list(range(1, len(keys))))

    @on_each()
    def test_an_election_with_a_queue(self, etcd):
        made = [etcd.candidate("elections/job", f"node-{n}", ttl=60) for n in "cab"]
        source, rows = picture(config(etcd))
        row = rows["ctl/elections/job"]
        self.assertEqual(source["state"], "ok")
        self.assertEqual((row["mechanism"], row["state"]), ("etcd-election", "CONTENDED"))
        self.assertEqual([h["identity"] for h in row["holders"]], ["node-c"])
        self.assertEqual([w["identity"] for w in row["waiters"]], ["node-a", "node-b"])
        self.agree(row, keys_of(etcd, "elections/job/"))
        self.assertEqual(row["lease_granted_ms"], 60000)
        self.assertAlmostEqual(row["lease_remaining_ms"], etcd.ttl(made[0].lease)[0] * 1000, delta=15000)
        for each in made:
            each.close()

    @on_each()
    def test_what_etcdctl_elects_and_locks(self, etcd):
        first = etcd.elect("elections/real", "node-a").wait_held()
        lock = etcd.lock("locks/real").wait_held()
        waiting = etcd.lock("locks/real")
        wait_until(lambda: len(keys_of(etcd, "locks/real/")) == 2)
        _, rows = picture(config(etcd))
        self.agree(rows["ctl/elections/real"], keys_of(etcd, "elections/real/"))
        self.agree(rows["ctl/locks/real"], keys_of(etcd, "locks/real/"))
        self.assertEqual(rows["ctl/elections/real"]["holders"][0]["identity"], "node-a")
        self.assertEqual(rows["ctl/locks/real"]["mechanism"], "etcd-lock")
        lease = keys_of(etcd, "locks/real/")[0][4]
        self.assertEqual(rows["ctl/locks/real"]["holders"][0]["identity"], f"lease:{lease_hex(lease)}")
        for each in (waiting, lock, first):
            each.stop()

    @on_each()
    def test_layouts_are_told_by_the_keys(self, etcd):
        lease = etcd.grant(60)
        end = lease_hex(lease)
        etcd.put(f"auto/elect/{end}", "me", lease)
        etcd.put("auto/elect/deadbeef", "ghost")
        etcd.put(f"auto/mutex/{end}", "", lease)
        etcd.put("auto/leased", "node-x", lease)
        etcd.put("auto/plain", "just data")
        etcd.put("auto/other/cafe", "no sibling bears its lease")
        etcd.put(f"auto/{end}", "a key directly below", lease)
        _, rows = picture(config(etcd))
        self.assertEqual({id: row["mechanism"] for id, row in rows.items()},
                         {"ctl/auto/elect": "etcd-election", "ctl/auto/mutex": "etcd-lock",
                          "ctl/auto/leased": "etcd-key", "ctl/auto": "etcd-election"})
        self.agree(rows["ctl/auto/elect"], keys_of(etcd, "auto/elect/"))
        self.assertEqual(rows["ctl/auto/leased"]["holders"][0]["identity"], "node-x")

    @on_each()
    def test_a_key_without_a_lease_leads_for_ever(self, etcd):
        etcd.put("elections/job/deadbeef", "ghost")
        waiting = etcd.candidate("elections/job", "node-a", ttl=60)
        _, rows = picture(config(etcd))
        row = rows["ctl/elections/job"]
        self.assertEqual(row["state"], "ORPHAN")
        self.assertIn("no-lease", [f["code"] for f in row["findings"]])
        self.assertEqual([w["identity"] for w in row["waiters"]], ["node-a"])
        self.assertIsNone(row["lease_remaining_ms"])
        waiting.close()

    @on_each()
    def test_names_of_the_config_stand_free(self, etcd):
        keys = "keys: [/service/batman/leader, elections/mailer]"
        text = config(etcd, more=", " + keys)
        _, rows = picture(text)
        self.assertEqual({id: row["state"] for id, row in rows.items()},
                         {"ctl//service/batman/leader": "FREE", "ctl/elections/mailer": "FREE"})
        lease = etcd.grant(60)
        etcd.put("/service/batman/leader", "pg-1", lease)
        created = keys_of(etcd, "/service/batman/leader")[0][2]
        etcd.put("/service/batman/leader", "pg-1", lease)
        _, rows = picture(text)
        row = rows["ctl//service/batman/leader"]
        self.assertEqual((row["state"], row["mechanism"], row["token"]), ("HELD", "etcd-key", str(created)))
        self.assertEqual(row["holders"][0]["identity"], "pg-1")

    @on_each()
    def test_a_lease_that_ended_and_was_not_revoked(self, etcd):
        gone = etcd.candidate("elections/job", "node-a", ttl=4, keep=False)
        etcd.alarm("CORRUPT")
        wait_until(lambda: etcd.ttl(gone.lease)[0] < -1, what="a lease past its end")
        _, rows = picture(config(etcd))
        row = rows["ctl/elections/job"]
        self.assertEqual(row["state"], "STALE")
        self.assertLess(row["lease_remaining_ms"], 0)
        self.assertAlmostEqual(row["lease_remaining_ms"] / 1000, etcd.ttl(gone.lease)[0], delta=10)
        self.assertIn("stale-holder", [f["code"] for f in row["findings"]])
        with Home(config(etcd)) as home:
            doctor = home.baton("doctor").out
        self.assertIn("replace the member whose data is corrupt", doctor)
        self.assertNotIn("compact", doctor)
        gone.close()

    @on_each()
    def test_hostile_keys_and_values(self, etcd):
        lease = etcd.grant(60)
        end = lease_hex(lease).encode()
        names = [b"esc\x1b[31m", b"nul\0here", b"bad\xff\xfeutf", "bidi\u202eflip".encode(), b"back\\slash",
                 b"long" + b"x" * 4000, "wide\u6f22\u5b57".encode(), b"a//b", b"new\nline"]
        for name in names:
            etcd.put(b"elections/" + name + b"/" + end, b"\x1b]0;owned\x07" + b"v" * 4096, lease)
        with_text = config(etcd)
        _, rows = picture(with_text)
        self.assertEqual(len(rows), len(names))
        for id, row in rows.items():
            self.assertFalse(any(ord(c) < 32 or ord(c) == 127 or c == "\u202e" for c in id + row["holders"][0]["identity"]), id)
        self.assertIn("ctl/elections/nul\\x00here", rows)
        self.assertIn("ctl/elections/back\\\\slash", rows)
        self.assertIn("ctl/elections/wide\u6f22\u5b57", rows)

    @on_each()
    def test_numbers_at_the_ends_of_64_bits(self, etcd):
        for lease in (1, 0x7000000000000001, 0x7fffffffffffffff):
            etcd.grant(60, lease)
            etcd.put(f"elections/n{lease}/{lease_hex(lease)}", "me", lease)
        _, rows = picture(config(etcd))
        self.assertEqual({row["holders"][0]["detail"]["lease"] for row in rows.values()},
                         {"1", "7000000000000001", "7fffffffffffffff"})

    @on_each()
    def test_leases_whose_numbers_are_negative(self, etcd):
        """A client may choose them; etcd's own services write them into keys with a minus."""
        for lease, value in ((-5, "node-a"), (-2**63, "node-b")):
            etcd.grant(60, lease)
            etcd.put(f"elections/job/{lease_hex(lease)}", value, lease)
        etcd.gateway("election/campaign", {"name": b64("elections/own"), "lease": "-5", "value": b64("me")})
        etcd.gateway("lock/lock", {"name": b64("locks/own"), "lease": "-5"})
        for how in (config(etcd), config(etcd, prefixes=None)):
            _, rows = picture(how)
            self.assertEqual({id: (row["mechanism"], row["state"]) for id, row in rows.items()},
                             {"ctl/elections/job": ("etcd-election", "CONTENDED"), "ctl/elections/own": ("etcd-election", "HELD"),
                              "ctl/locks/own": ("etcd-lock", "HELD")})
            job = rows["ctl/elections/job"]
            self.assertEqual([c["identity"] for c in job["holders"] + job["waiters"]], ["node-a", "node-b"])
        with Home(config=config(etcd)) as home:
            done = home.baton("act", "step-down", "ctl/elections/job", "--expect", "node-a", "--reason", "a test", "--yes", "--json")
            self.assertEqual((done.json["outcome"], done.json["after"]["holders"][0]["identity"]), ("done", "node-b"), done)

    @on_each()
    def test_other_keys_on_a_lease_are_listed(self, etcd):
        made = etcd.candidate("elections/job", "me", ttl=60)
        etcd.put("services/me", "up", made.lease)
        _, rows = picture(config(etcd))
        self.assertEqual(rows["ctl/elections/job"]["holders"][0]["detail"]["other_keys"], ["services/me"])
        made.close()

    @on_each()
    def test_without_prefixes_elections_are_found_by_leases(self, etcd):
        a = etcd.candidate("anywhere/deep/job", "me", ttl=60)
        b = etcd.candidate("anywhere/deep/job", "you", ttl=60)
        lock = etcd.candidate("top", "", ttl=60)
        etcd.put("anywhere/leased", "not an election", a.lease)
        _, rows = picture(config(etcd, prefixes=None))
        self.assertEqual({id: row["mechanism"] for id, row in rows.items()},
                         {"ctl/anywhere/deep/job": "etcd-election", "ctl/top": "etcd-lock"})
        self.agree(rows["ctl/anywhere/deep/job"], keys_of(etcd, "anywhere/deep/job/"))
        for each in (a, b, lock):
            each.close()

    @on_each()
    def test_a_name_outside_the_prefixes_is_looked_at(self, etcd):
        text = config(etcd) + ("names:\n  - {source: ctl, key: far/away, name: nightly}\n"
                               "  - {source: ctl, key: far/off, name: weekly}\n")
        made = etcd.candidate("far/away", "me", ttl=60)
        _, rows = picture(text)
        self.assertEqual({id: (row["state"], row["name"]) for id, row in rows.items()},
                         {"ctl/far/away": ("HELD", "nightly"), "ctl/far/off": ("FREE", "weekly")})
        made.close()

    @on_each()
    def test_nothing_is_written_and_nothing_renewed(self, etcd):
        made = etcd.candidate("elections/job", "me", ttl=30, keep=False)
        def written():
            # The raft index counts what no revision shows: every proposal, a renewal or a question about alarms as well.
            return etcd.revision(), etcd.gateway("maintenance/status", {})["raftIndex"]
        before, ttl = written(), etcd.ttl(made.lease)[0]
        for _ in range(3):
            picture(config(etcd))
        with Watching(config(etcd)) as seen:
            seen.state("ok")
            time.sleep(1.5)
        self.assertEqual(written(), before)
        self.assertLessEqual(etcd.ttl(made.lease)[0], ttl)
        made.close()

    @on_each()
    def test_many_leases_in_one_picture(self, etcd):
        made = [etcd.grant(600 + n) for n in range(300)]
        for n, lease in enumerate(made):
            etcd.put(f"elections/j{n}/{lease_hex(lease)}", f"node-{n}", lease)
        _, rows = picture(config(etcd))
        self.assertEqual(len(rows), 300)
        for n in range(300):
            self.assertEqual(rows[f"ctl/elections/j{n}"]["lease_granted_ms"], (600 + n) * 1000)

    @on_each()
    def test_a_picture_of_several_pages(self, etcd):
        """Rows that are told while the next page is read are those that etcdctl tells, with their leases."""
        leases = [etcd.grant(600 + n) for n in range(30)]
        for n, lease in enumerate(leases):
            names = [f"elections/job-{i:05d}" for i in range(n * 600, n * 600 + 600)]
            # every tenth is wanted by two, some names lie within others, and some stand by themselves
            names += [f"elections/job-{i:05d}" for i in range(0, 18000, 10) if i % 300 == 10 * n]
            names += [f"elections/job-{n * 600:05d}/in/side", f"locks/l-{n}"]
            pairs = [(f"{name}/{lease_hex(lease)}", f"node-{n}") for name in names]
            etcd.put_many(pairs + [(f"auto/key-{n}", f"node-{n}")], lease)
        _, rows = picture(config(etcd), args=("--timeout", "30"))
        truth = {}
        for each in keys_of(etcd, ""):
            key = each[0].decode()
            truth.setdefault(key if key.startswith("auto/") else key.rsplit("/", 1)[0], []).append(each)
        self.assertEqual(len(rows), 18000 + 3 * 30)
        self.assertEqual(set(rows), {f"ctl/{name}" for name in truth})
        for name, keys in truth.items():
            row = rows[f"ctl/{name}"]
            self.agree(row, keys)
            self.assertEqual(row["lease_granted_ms"], (600 + leases.index(keys[0][4])) * 1000, name)
        with Home(config(etcd)) as home:
            shown = home.baton("show", "ctl/elections/job-00620", "--json", "--timeout", "30").json["singleton"]
        self.agree(shown, truth["elections/job-00620"])
        self.assertEqual(len(shown["waiters"]), 1)
        self.assertTrue(shown["holders"][0]["detail"]["other_keys"])


if __name__ == "__main__":
    unittest.main()
