"""
The built-in etcd against real ones: the same scene is played on both, and baton must say the same of it: states, holders,
the waiters' order, how tokens stand to each other, findings with their words, forecasts, outcomes.
"""

import json
import os
import re
import time
import unittest

from servers import Etcd, Home, lease_hex, on_each, wait_until

TTL = 30   # seconds; renewals that come late on a busy machine are no difference
SHORT = 5  # of those whose end is waited for
SCENE = """
title: {name}
start: "2026-03-03T03:12:00Z"
seed: 3
world:
  machines: [{{name: node-a}}, {{name: node-b}}, {{name: node-c}}, {{name: node-d}}]
  etcd: [{{name: ctl, {etcd}}}]
  processes:
{processes}
sources: [{{name: ctl, shows: {{etcd: ctl}}, environment: lab}}]
faults:
{faults}
"""


def normal(value, names):
    """Ids become names by the order in which they come, ages and times become #: what is left must be equal."""
    if isinstance(value, dict):
        return {key: normal(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [normal(each, names) for each in value]
    if isinstance(value, str):
        for number, name in names.items():
            value = re.sub(rf"(?<![0-9a-z]){number}(?![0-9a-z])", name, value)
        value = re.sub(r"member:[0-9a-f]{10,16}", "member:M", value)
        value = re.sub(r"\d+(\.\d+)?(ms|h|m|s)(\d+(m|s))?", "#", value)
        return re.sub(r"\b\d+ s\b", "# s", value)
    return value


def names_of(rows):
    """Revisions by their order, leases by that of their keys."""
    revisions, leases = set(), []
    for row in rows:
        for claim in sorted(row["holders"] + row["waiters"], key=lambda c: int(c["detail"]["create_revision"])):
            revisions.add(int(claim["detail"]["create_revision"]))
            lease = claim["detail"]["lease"]
            if lease and lease not in leases:
                leases.append(lease)
    names = {str(revision): f"R{i}" for i, revision in enumerate(sorted(revisions), 1)}
    names.update({lease: f"L{i}" for i, lease in enumerate(leases, 1)})
    return names


def claims(row, kind):
    return [{"identity": claim["identity"], "key": claim["key"], "position": claim.get("position"),
             "details": {name: claim["detail"][name] for name in ("key", "lease", "create_revision")},
             "same_revision": claim["detail"]["create_revision"] == claim["detail"]["mod_revision"],
             "others": claim["detail"].get("other_keys")} for claim in row[kind]]


def row_facts(row):
    granted, left = row["lease_granted_ms"], row["lease_remaining_ms"]
    return {"id": row["id"], "state": row["state"], "mechanism": row["mechanism"], "token": row["token"],
            "token_kind": row["token_kind"], "holders": claims(row, "holders"), "waiters": claims(row, "waiters"),
            "granted": granted, "runs_still": left is not None and 0 < left <= granted + 1000,
            "attention": row["needs_attention"],
            "findings": sorted([f["code"], f["severity"], f["text"], f["advice"]] for f in row["findings"])}


def picture(said):
    rows = sorted(said["singletons"], key=lambda row: row["id"])
    return normal([row_facts(row) for row in rows], names_of(rows))


def forecast_facts(said, rows):
    facts = {key: said[key] for key in ("id", "verb", "allowed", "reasons", "target", "request", "destroys", "keeps", "told",
                                        "successor", "permission", "warnings") if key in said}
    facts["gap"] = said["gap_ms"]["why"]
    facts["overlap"] = said["overlap"]["possible"]
    for items in ("destroys", "keeps"):
        facts[items] = sorted(facts[items], key=lambda item: (item["what"], item["id"]))
    return normal(facts, names_of(rows))


def act_facts(said, rows):
    after = said["after"]
    names = names_of(rows)
    return normal({"outcome": said["outcome"], "overlap": said["overlap"], "verb": said["verb"],
                   "request": said["request"], "target": said["target"],
                   "after": after and {"state": after["state"], "holders": claims(after, "holders"),
                                       "waiters": claims(after, "waiters")}}, names)


class Scene:
    """One scene in a real etcd: baton looks every half second, as the built-in one's drive does."""

    def __init__(self, test, etcd, keys=()):
        self.test, self.etcd = test, etcd
        self.home = Home(config=json.dumps({"sources": {"ctl": {
            "kind": "etcd", "environment": "lab", "endpoints": etcd.endpoints, "keys": list(keys),
            "prefixes": [{"prefix": "elections/", "mechanism": "election"}, {"prefix": "locks/", "mechanism": "lock"}]}}}))
        test.addCleanup(self.home.close)

    def look(self):
        done = self.home.baton("list", "--json")
        self.test.assertEqual(done.code, 0, done)
        return done.json

    def watch(self):
        """Looks on, as a console does: what was seen between is remembered with its clocks."""
        return Watch(self)


class Watch:
    def __init__(self, scene):
        self.test, self.scene = scene.test, scene
        self.lines = open(os.path.join(scene.home.folder.path, "lines"), "w+", encoding="utf-8")
        self.popen = scene.home.popen("watch", "--json", stdout=self.lines)
        scene.test.addCleanup(self.close)
        self.until(lambda rows: "ctl/elections/job" in rows)

    def close(self):
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        self.lines.close()

    def told(self):
        with open(self.lines.name, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines.read().split("\n")[:-1]]

    def until(self, fits, timeout=60):
        """Waits until it is so; returns what was told last of each, as a list tells it."""
        end = time.monotonic() + timeout
        while True:
            rows = {line["id"]: line["singleton"] for line in self.told() if line.get("singleton")}
            if fits(rows):
                return {"singletons": list(rows.values())}
            self.test.assertLess(time.monotonic(), end, rows)
            time.sleep(0.1)


class Sim:
    def __init__(self, test, name, processes, faults=(), etcd="members: [etcd-1]"):
        self.home = Home()
        test.addCleanup(self.home.close)
        self.file = os.path.join(self.home.folder.path, "scene.yaml")
        with open(self.file, "w", encoding="utf-8") as out:
            out.write(SCENE.format(name=name, etcd=etcd, processes="\n".join(f"    - {line}" for line in processes),
                                   faults="\n".join(f"  - {line}" for line in faults) or "  []"))

    def ask(self, command, *words, at):
        return self.home.baton(*command.split(), "--sim", self.file, "--at", at, "--json", *words)

    def look(self, at):
        done = self.ask("list", at=at)
        assert done.code == 0, done
        return done.json


def contender(node, start, kind="etcd-election", name="elections/job", ttl=TTL):
    return (f"{{name: {node}, machine: {node}, start: {start}, runs: [{{{kind}: "
            f"{{server: ctl, name: {name}, ttl: {ttl}s}}}}]}}")


class Both(unittest.TestCase):
    maxDiff = None

    def queue(self, etcd, *names, lock=False, ttl=TTL):
        """Real contenders by etcd's own Go client, one after the other."""
        path = "locks/job" if lock else "elections/job"
        made = []
        for _ in range(100):  # so that no revision is a small number that means something else
            etcd.put("elsewhere", "")
        for i, name in enumerate(names):
            made.append(etcd.campaign(path, name, ttl=ttl, lock=lock))
            self.addCleanup(made[-1].close)
            wait_until(lambda i=i: etcd.count(path + "/") == i + 1, 20, what=f"the key of {name}")
        made[0].wait_held()
        return made

    def same(self, real, sim):
        self.assertEqual(json.dumps(real, indent=1, sort_keys=True), json.dumps(sim, indent=1, sort_keys=True))

    def sims(self, *names, **more):
        return [contender(name, f"{i}s", **more) for i, name in enumerate(names)]


class Same(Both):
    @on_each()
    def test_a_queue(self, etcd):
        self.queue(etcd, "node-a", "node-b", "node-c")
        real = Scene(self, etcd).look()
        sim = Sim(self, "a queue", self.sims("node-a", "node-b", "node-c")).look("9s")
        self.same(picture(real), picture(sim))

    @on_each()
    def test_a_queue_for_a_lock(self, etcd):
        self.queue(etcd, "node-a", "node-b", lock=True)
        real = Scene(self, etcd).look()
        sim = Sim(self, "a lock", self.sims("node-a", "node-b", kind="etcd-lock", name="locks/job")).look("9s")
        self.same(picture(real), picture(sim))

    @on_each()
    def test_who_is_killed_is_followed_when_its_lease_is_over(self, etcd):
        first, second = self.queue(etcd, "node-a", "node-b", ttl=SHORT)
        watch = Scene(self, etcd).watch()
        first.kill9()
        real = watch.until(lambda rows: rows["ctl/elections/job"]["holders"][0]["identity"] == "node-b")
        self.assertTrue(second.held())
        sim = Sim(self, "a kill", self.sims("node-a", "node-b", ttl=SHORT), ["{at: 8s, crash: {process: node-a}}"]).look("14s")
        self.same(picture(real), picture(sim))

    @on_each()
    def test_who_resigns_is_followed_at_once(self, etcd):
        first = etcd.elect("elections/job", "node-a")
        self.addCleanup(first.close)
        wait_until(lambda: etcd.count("elections/job/") == 1, 20, what="the first key")
        second = etcd.elect("elections/job", "node-b")
        self.addCleanup(second.close)
        wait_until(lambda: etcd.count("elections/job/") == 2, 20, what="the second key")
        scene = Scene(self, etcd)
        before = scene.look()
        watch = scene.watch()
        first.stop()
        real = watch.until(lambda rows: rows["ctl/elections/job"]["holders"][0]["identity"] == "node-b")
        processes = [line.replace(f"ttl: {TTL}s", "ttl: 60s") for line in self.sims("node-a", "node-b")]
        sim = Sim(self, "a stop", processes, ["{at: 8s, stop: {process: node-a}}"])
        self.same(picture(before), picture(sim.look("7s")))
        self.same(picture(real), picture(sim.look("9s")))

    @on_each()
    def test_a_key_without_a_lease(self, etcd):
        etcd.put("elections/job/deadbeef", "by hand")
        etcd.campaign("elections/job", "node-a", ttl=TTL)
        wait_until(lambda: etcd.count("elections/job/") == 2, 20, what="the key of node-a")
        real = Scene(self, etcd).look()
        put = "{at: 0s, etcd-put: {server: ctl, key: elections/job/deadbeef, value: by hand}}"
        sim = Sim(self, "an orphan", [contender("node-a", "2s")], [put]).look("9s")
        self.same(picture(real), picture(sim))

    @on_each()
    def test_a_key_that_names_its_holder(self, etcd):
        lease = etcd.grant(30)
        etcd.put("/service/batman/leader", "node-a", lease)
        scene = Scene(self, etcd, keys=["/service/batman/leader"])
        real = scene.look()
        process = ("{name: node-a, machine: node-a, runs: [{etcd-key: {server: ctl, key: /service/batman/leader, "
                   "ttl: 30s, renews: 10s}}]}")
        sim = Sim(self, "a leader key", [process])
        self.same(picture(real), picture(sim.look("9s")))
        etcd.revoke(lease)
        free = scene.look()
        sim = Sim(self, "a leader key goes", [process], ["{at: 8s, stop: {process: node-a}}"]).look("10s")
        self.same(picture(free), picture(sim))


class SameActs(Both):
    """The verbs: what they say before, what they do, and what they refuse."""

    def both(self, etcd, verb, who, names=("node-a", "node-b", "node-c"), expect=None):
        self.queue(etcd, *names)
        return self.compare(Scene(self, etcd), Sim(self, verb, self.sims(*names)), verb, who, expect or who)

    def compare(self, scene, sim, verb, who, expect, path="elections/job"):
        rows, sim_rows = scene.look()["singletons"], sim.look("20s")["singletons"]
        target = (f"ctl/{path}", "--expect", who)
        words = (f"ctl/{path}", "--expect", expect, "--reason", "a test", "--yes")
        self.same(forecast_facts(scene.home.baton("forecast", verb, *target, "--json").json, rows),
                  forecast_facts(sim.ask(f"forecast {verb}", *target, at="20s").json, sim_rows))
        real = scene.home.baton("act", verb, *words, "--json")
        done = sim.ask(f"act {verb}", *words, at="20s")
        self.assertEqual((real.code, real.err), (done.code, done.err))
        self.same(act_facts(real.json, rows), act_facts(done.json, sim_rows))
        return real

    @on_each()
    def test_step_down(self, etcd):
        self.assertEqual(self.both(etcd, "step-down", "node-a").code, 0)

    @on_each()
    def test_step_down_of_who_waits(self, etcd):
        self.assertEqual(self.both(etcd, "step-down", "node-b").code, 11)

    @on_each()
    def test_release_of_who_waits(self, etcd):
        self.assertEqual(self.both(etcd, "release", "node-b").code, 0)

    @on_each()
    def test_another_is_expected(self, etcd):
        self.assertEqual(self.both(etcd, "step-down", "node-a", expect="node-x").code, 11)

    @on_each()
    def test_another_revision_is_expected(self, etcd):
        self.assertEqual(self.both(etcd, "step-down", "node-a", expect="rev:1").code, 11)

    @on_each()
    def test_release_of_a_lock(self, etcd):
        self.queue(etcd, "node-a", "node-b", lock=True)
        scene = Scene(self, etcd)
        sim = Sim(self, "a lock", self.sims("node-a", "node-b", kind="etcd-lock", name="locks/job"))
        holders = [each.look(*at)["singletons"][0]["holders"][0]["key"] for each, at in ((scene, ()), (sim, ("20s",)))]
        words = ("--reason", "a test", "--yes", "--json", "--expect")
        rows, sim_rows = scene.look()["singletons"], sim.look("20s")["singletons"]
        real = scene.home.baton("act", "release", "ctl/locks/job", *words, holders[0])
        done = sim.ask("act release", "ctl/locks/job", *words[:3], "--expect", holders[1], at="20s")
        self.assertEqual((real.code, done.code), (0, 0), (real, done))
        self.same(act_facts(real.json, rows), act_facts(done.json, sim_rows))

    @on_each()
    def test_step_down_of_a_key_that_names_its_holder(self, etcd):
        for _ in range(100):
            etcd.put("elsewhere", "")
        etcd.put("/service/batman/leader", "node-a", etcd.grant(30))
        sim = Sim(self, "a leader key", ["{name: node-a, machine: node-a, runs: [{etcd-key: {server: ctl, "
                                         "key: /service/batman/leader, ttl: 30s, renews: 10s, looks_every: 0s}}]}"])
        scene = Scene(self, etcd, keys=["/service/batman/leader"])
        done = self.compare(scene, sim, "step-down", "node-a", "node-a", "/service/batman/leader")
        self.assertEqual(done.code, 0, done)

    @on_each()
    def test_nobody_waits(self, etcd):
        self.assertEqual(self.both(etcd, "step-down", "node-a", names=("node-a",)).code, 0)

    @on_each()
    def test_revoke_takes_all_that_is_on_the_lease(self, etcd):
        def others():
            found = etcd.etcdctl("get", "--prefix", "elections/job/", parse=True)["kvs"]
            lease = min(found, key=lambda kv: int(kv["create_revision"]))["lease"]
            etcd.put("services/batch", "10.0.0.4", int(lease))
            etcd.put(f"elections/other/{lease_hex(int(lease))}", "node-a", int(lease))

        several = (f"{{name: node-a, machine: node-a, runs: [{{etcd-election: {{server: ctl, name: elections/job, ttl: {TTL}s, "
                   "session: main}}, {etcd-key: {server: ctl, key: services/batch, value: 10.0.0.4, contends: false, "
                   "session: main}}, {etcd-election: {server: ctl, name: elections/other, session: main}}]}")
        self.queue(etcd, "node-a")
        others()
        second = etcd.campaign("elections/job", "node-b", ttl=TTL)
        self.addCleanup(second.close)
        wait_until(lambda: etcd.count("elections/job/") == 2, 20, what="the key of node-b")
        sim = Sim(self, "revoke", [several, contender("node-b", "2s")])
        self.assertEqual(self.compare(Scene(self, etcd), sim, "revoke", "node-a", "node-a").code, 0)


def source_facts(said):
    """What is said of the source itself; endpoints and members are named in their order."""
    source = said["sources"][0]
    names = {}
    for i, member in enumerate(source["members"], 1):
        names[re.escape(member["identity"])] = f"E{i}"
        if member["detail"].get("member_id"):
            names[member["detail"]["member_id"]] = f"M{i}"
            names[str(int(member["detail"]["member_id"], 16))] = f"M{i}"
    facts = {"state": source["state"], "error": source["error"], "attention": source["needs_attention"],
             "alarms": source["detail"].get("alarm"), "ignored": source["detail"].get("keys_ignored"),
             "members": [[member["identity"], " ".join((member["detail"].get("error") or "").split())]
                         for member in source["members"]],
             "findings": sorted([f["code"], f["severity"], f["text"], f["advice"]] for f in source["findings"])}
    return normal(facts, names)


class SameCluster(Both):
    """What is said of the members, and of a cluster that is in trouble."""

    @on_each(members=3)
    def test_all_is_well(self, etcd):
        self.queue(etcd, "node-a")
        sim = Sim(self, "well", self.sims("node-a"), etcd="members: [etcd-1, etcd-2, etcd-3]")
        self.same(source_facts(Scene(self, etcd).look()), source_facts(sim.look("9s")))

    @on_each(members=3)
    def test_one_member_is_out(self, etcd):
        self.queue(etcd, "node-a")
        etcd.members[2].kill9()
        scene = Scene(self, etcd)
        wait_until(lambda: etcd.leader(), 20, what="a leader")
        real = scene.look()
        out = ["{at: 5s, etcd-out: {server: ctl, member: etcd-3}}"]
        sim = Sim(self, "one out", self.sims("node-a"), out, "members: [etcd-1, etcd-2, etcd-3]").look("20s")
        self.same(source_facts(real), source_facts(sim))
        self.same(picture(real), picture(sim))

    @on_each(members=3)
    def test_the_quorum_is_lost(self, etcd):
        self.queue(etcd, "node-a")
        scene = Scene(self, etcd)
        scene.look()
        for member in etcd.members[1:]:
            member.kill9()
        sim = Sim(self, "no quorum", self.sims("node-a"),
                  [f"{{at: 5s, etcd-out: {{server: ctl, member: etcd-{i}}}}}" for i in (2, 3)],
                  "members: [etcd-1, etcd-2, etcd-3]").ask("list", at="20s")
        end = time.monotonic() + 30
        while True:
            real = scene.home.baton("list", "--json")
            if real.code == sim.code and "no leader" in (real.json["sources"][0]["error"] or ""):
                break
            self.assertLess(time.monotonic(), end, real)
            time.sleep(0.5)
        for said in (real, sim):
            source = said.json["sources"][0]
            self.assertEqual(source["state"], "failing", source)
            self.assertRegex(source["error"], "^http://[^ ]+ answers, and knows no leader: the cluster has lost its "
                                              "quorum, or elects$")

    @on_each(members=3)
    def test_another_leads(self, etcd):
        self.queue(etcd, "node-a")
        watch = Scene(self, etcd).watch()
        leader = etcd.leader()
        members = etcd.etcdctl("member", "list", parse=True)["members"]
        other = next(m["ID"] for m in members if m["name"] != leader.name)
        etcd.etcdctl("move-leader", lease_hex(other))
        finding = None

        def is_told():
            nonlocal finding
            for line in watch.told():
                for each in line["source"]["findings"] if line["event"] == "source" else []:
                    finding = each if each["code"] == "ttl-extended" else finding
            return finding

        wait_until(is_told, 20, what="the new leader on the board")
        sim = Sim(self, "another leads", self.sims("node-a"), ["{at: 8s, etcd-leader: {server: ctl}}"],
                  "members: [etcd-1, etcd-2, etcd-3]").look("10s")
        told = [each for each in sim["sources"][0]["findings"] if each["code"] == "ttl-extended"]
        self.assertEqual(len(told), 1, sim["sources"])
        for name in ("severity", "text", "advice"):
            self.assertEqual(re.sub(r"term \d+", "term N", finding[name]), re.sub(r"term \d+", "term N", told[0][name]))

    @on_each()
    def test_no_space(self, etcd):
        self.queue(etcd, "node-a", "node-b")
        etcd.alarm("NOSPACE")
        scene, alarm = Scene(self, etcd), ["{at: 5s, etcd-alarm: {server: ctl}}"]
        real, sim = scene.look(), Sim(self, "no space", self.sims("node-a", "node-b"), alarm)
        self.same(source_facts(real), source_facts(sim.look("20s")))
        target = ("ctl/elections/job", "--expect", "node-a")
        self.same(forecast_facts(scene.home.baton("forecast", "step-down", *target, "--json").json, real["singletons"]),
                  forecast_facts(sim.ask("forecast step-down", *target, at="20s").json, sim.look("20s")["singletons"]))


    @on_each()
    def test_a_lease_that_ran_out_and_stays(self, etcd):
        first, _ = self.queue(etcd, "node-a", "node-b", ttl=SHORT)
        etcd.alarm("CORRUPT")
        watch = Scene(self, etcd).watch()
        first.kill9()
        real = watch.until(lambda rows: rows["ctl/elections/job"]["state"] == "STALE")
        faults = ["{at: 5s, etcd-alarm: {server: ctl, alarm: corrupt}}", "{at: 8s, crash: {process: node-a}}"]
        sim = Sim(self, "corrupt", self.sims("node-a", "node-b", ttl=SHORT), faults)
        self.same(picture(real), picture(sim.look("15s")))
        self.same(source_facts(watch.scene.look()), source_facts(sim.look("15s")))
        target = ("ctl/elections/job", "--expect", "node-a")
        said = watch.scene.home.baton("forecast", "revoke", *target, "--json").json
        self.same(forecast_facts(said, real["singletons"]),
                  forecast_facts(sim.ask("forecast revoke", *target, at="15s").json, sim.look("15s")["singletons"]))


class SameOrder(Both):
    """What is told of a change comes in the order in which it happened."""

    def hand_overs(self, lines):
        seen = []
        for line in lines:
            row = line.get("singleton")
            if not row or line["id"] != "ctl/elections/job":
                continue
            holder = row["holders"][0]["identity"] if row["holders"] else None
            if not seen or seen[-1][0] != holder:
                seen.append((holder, int(row["token"]) if row["token"] else 0))
        return seen

    @on_each()
    def test_a_chain_of_hand_overs(self, etcd):
        names = ("node-a", "node-b", "node-c")
        made = []
        scene = Scene(self, etcd)
        for i, name in enumerate(names):
            made.append(etcd.elect("elections/job", name))
            self.addCleanup(made[-1].close)
            wait_until(lambda i=i: etcd.count("elections/job/") == i + 1, 20, what=f"the key of {name}")
        watch = scene.watch()
        for each, heirs in zip(made, (["node-b"], ["node-c"], [])):
            each.stop()
            # Two changes that come at once would be one.
            watch.until(lambda rows, heirs=heirs: [h["identity"] for h in rows["ctl/elections/job"]["holders"]] == heirs)
        real = self.hand_overs(watch.told())
        faults = [f"{{at: {10 + 2 * i}s, stop: {{process: {name}}}}}" for i, name in enumerate(names)]
        sim = Sim(self, "a chain", self.sims(*names), faults).ask("watch", at="20s")
        self.assertEqual(sim.code, 0, sim)
        told = self.hand_overs(sim.json_lines)
        self.assertEqual([who for who, _ in real], ["node-a", "node-b", "node-c", None])
        self.assertEqual([who for who, _ in told if who], ["node-a", "node-b", "node-c"])
        self.assertIsNone(told[-1][0])
        for tokens in (real, told):
            held = [token for who, token in tokens if who]
            self.assertEqual(held, sorted(set(held)))


if __name__ == "__main__":
    unittest.main()
