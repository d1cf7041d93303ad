"""
The built-in ZooKeeper against real ones: the same is done to both, by kazoo's clients there, and the znodes of an election, their
order, sessions, timeouts and epochs must be the same. What `stat` and `cons` tell of the real ones is what baton tells of
the built-in one.
"""

import itertools
import os
import time
import unittest

from servers import Home, ZooKeeper, wait_until

TICK = 2   # seconds, as the built-in one's
SLACK = 5  # what a machine may be late by

SCENE = """
title: {name}
start: "2026-03-03T03:12:00Z"
seed: 3
world:
  machines: [{{name: zk-1}}, {{name: zk-2}}, {{name: zk-3}}, {{name: node-a}}, {{name: node-b}}, {{name: node-c}}, {{name: node-d}}]
  zookeeper: [{{name: zk, servers: [zk-1, zk-2, zk-3]}}]
  processes:
{processes}
sources: [{{name: zk, shows: {{zookeeper: zk}}, environment: lab}}]
faults:
{faults}
"""


def candidate(name, start, timeout="10s"):
    return (f"{{name: {name}, machine: {name}, start: {start}, runs: [{{zk-election: {{server: zk, path: /elections/job, "
            f"timeout: {timeout}, again: 1h}}}}]}}")


class Sim:
    def __init__(self, test, name, processes, faults=()):
        self.home = Home()
        test.addCleanup(self.home.close)
        self.file = os.path.join(self.home.folder.path, "scene.yaml")
        with open(self.file, "w", encoding="utf-8") as out:
            out.write(SCENE.format(name=name, processes="\n".join(f"    - {line}" for line in processes),
                                   faults="\n".join(f"  - {line}" for line in faults) or "  []"))

    def ask(self, *words, at):
        return self.home.baton(*words, "--sim", self.file, "--at", at, "--json")

    def said(self, at):
        done = self.ask("list", at=at)
        assert done.code in (0, 69), done  # 69: a source does not answer
        return done.json

    def row(self, at):
        row, = self.said(at)["singletons"]
        return row

    def picture(self, at):
        return sim_picture(self.row(at))

    def leader(self, at):
        members = self.said(at)["sources"][0]["members"]
        return [i for i, member in enumerate(members, 1) if member["detail"].get("server_mode") == "leader"]


def ranks(values):
    return [sorted(set(values)).index(value) for value in values]


def facts(found, timeouts):
    """Of an election's znodes, in the queue's order: names for sessions and zxids are their order."""
    epochs = [each["czxid"] >> 32 for each in found]
    sessions = [each["session"] for each in found]
    return [{"data": each["data"], "sequence": each["sequence"], "version": each["version"], "order": order,
             "epoch": epoch - epochs[0], "session": session and sessions.index(session), "timeout": timeout}
            for each, order, epoch, session, timeout in
            zip(found, ranks([each["czxid"] for each in found]), epochs, sessions, timeouts)]


def sim_picture(row):
    claims = row["holders"] + row["waiters"]
    found = [{"data": claim["identity"], "sequence": claim["detail"]["sequence"], "version": claim["detail"]["data_version"],
              "czxid": int(claim["detail"]["czxid"]), "session": int(claim["detail"]["session"], 16)} for claim in claims]
    timeouts = [claim["detail"].get("lease_granted_ms") if i else row["lease_granted_ms"] for i, claim in enumerate(claims)]
    return facts(found, timeouts)


class Case(unittest.TestCase):
    maxDiff = None
    paths = itertools.count(1)

    @classmethod
    def setUpClass(cls):
        cls.zk = ZooKeeper()
        cls.addClassCleanup(cls.zk.close)

    def setUp(self):
        self.path = f"/elections-{next(self.paths)}/job"
        self.admin = self.client(timeout=40)

    def client(self, **options):
        client = self.zk.client(**options)
        self.addCleanup(client.close)
        return client

    def candidate(self, name, timeout=10):
        before = len(self.names())
        client = self.client(timeout=timeout).elect(self.path, name)
        wait_until(lambda: len(self.names()) > before, what=f"the znode of {name}")
        return client

    def found(self):
        said = self.admin.ask("children", path=self.path)
        # One that goes while it is read.
        while said.get("error") == "NoNodeError" and self.admin.ask("exists", path=self.path)["exists"]:
            said = self.admin.ask("children", path=self.path)
        return sorted(said.get("children", []), key=lambda child: child["sequence"])

    def names(self):
        return [child["data"] for child in self.found()]

    def picture(self):
        def read():
            found, sessions = self.found(), self.zk.sessions()
            return all(each["session"] in (0, *sessions) for each in found) and (found, sessions)
        # A client may be on its way to another server.
        found, sessions = wait_until(read, what="a connection of every session")
        return facts(found, [sessions.get(each["session"]) for each in found])

    def gone_after(self, names, timeout):
        """How long it takes until these are left, in seconds."""
        began = time.monotonic()
        wait_until(lambda: self.names() == names, timeout, what=f"{names} alone")
        return time.monotonic() - began


class Elections(Case):
    def test_a_queue_and_the_timeouts_that_are_given(self):
        for name, timeout in (("node-a", 10), ("node-b", 1), ("node-c", 100)):
            self.candidate(name, timeout)
        sim = Sim(self, "a queue", [candidate("node-a", "0s", "10s"), candidate("node-b", "1s", "1s"),
                                    candidate("node-c", "2s", "100s")])
        self.assertEqual(self.picture(), sim.picture("9s"))
        self.assertEqual([each["timeout"] for each in self.picture()], [10000, 4000, 40000])

    def test_who_leaves_is_followed_at_once(self):
        first, second = self.candidate("node-a", 20), self.candidate("node-b", 20)
        first.wait_told("leads")
        self.assertFalse(second.has_told("leads"))
        first.stop()
        second.wait_told("leads", 15)
        sim = Sim(self, "a stop", [candidate("node-a", "0s", "20s"), candidate("node-b", "1s", "20s")],
                  ["{at: 9s, stop: {process: node-a}}"])
        self.assertEqual(len(sim.picture("8s")), 2)
        self.assertEqual(self.picture(), sim.picture("10s"))

    def test_who_is_killed_is_followed_when_its_session_is_over(self):
        """It was heard last a third of the timeout ago at most, and sessions end with a tick of the servers."""
        timeout = 6
        first, second = self.candidate("node-a", timeout), self.candidate("node-b", 20)
        first.kill9()
        took = self.gone_after(["node-b"], timeout + TICK + 2 * SLACK)
        second.wait_told("leads")
        self.assertGreater(took, timeout / 3)
        self.assertLess(took, timeout + TICK + SLACK)
        sim = Sim(self, "a kill", [candidate("node-a", "0s", "6s"), candidate("node-b", "1s", "20s")],
                  ["{at: 9s, crash: {process: node-a}}"])
        self.assertEqual([each["data"] for each in sim.picture(f"{9 + timeout * 2 // 3}s")], ["node-a", "node-b"])
        self.assertEqual(self.picture(), sim.picture(f"{9 + timeout + TICK}s"))

    def test_who_stands_still_learns_of_its_end_when_it_moves_again(self):
        first, second = self.candidate("node-a"), self.candidate("node-b")
        first.pause()
        second.wait_told("leads")
        left = self.picture()
        self.assertFalse(first.has_told("lost"))
        first.resume()
        first.wait_told("lost")
        sim = Sim(self, "a pause", [candidate("node-a", "0s"), candidate("node-b", "1s")],
                  ["{at: 9s, pause: {process: node-a, for: 30s}}"])
        self.assertEqual(left, sim.picture("25s"))
        # Its node does not come back with it.
        self.assertEqual(self.picture(), sim.picture("45s"))

    def test_numbers_are_not_given_twice(self):
        for name in ("node-a", "node-b"):
            self.candidate(name).stop()
        self.assertEqual(self.names(), [])
        self.candidate("node-c")
        sim = Sim(self, "numbers", [candidate("node-a", "0s"), candidate("node-b", "3s"), candidate("node-c", "9s")],
                  ["{at: 2s, stop: {process: node-a}}", "{at: 5s, stop: {process: node-b}}"])
        self.assertEqual(sim.picture("7s"), [])
        self.assertEqual(self.picture(), sim.picture("12s"))
        self.assertEqual(self.picture()[0]["sequence"], 2)

    def test_a_znode_that_belongs_to_no_session(self):
        self.admin.ask("create", path=f"{self.path}/by-hand__lock__", data="by hand", sequence=True)
        second = self.candidate("node-a")
        sim = Sim(self, "a persistent one", [candidate("node-a", "2s")],
                  ["{at: 1s, zk-put: {server: zk, path: /elections/job, data: by hand}}"])
        self.assertEqual(self.picture(), sim.picture("9s"))
        self.assertEqual(sim.row("9s")["holders"][0]["identity"], "by hand")
        self.assertFalse(second.has_told("leads"))

    def test_a_delete_of_the_leaders_znode(self):
        """Its session goes on, the next one leads at once, and nothing tells the one that led."""
        first, second = self.candidate("node-a", 20), self.candidate("node-b", 20)
        node = self.found()[0]
        where = f"{self.path}/{node['name']}"
        self.assertEqual(self.admin.ask("delete", path=where, version=node["version"] + 1), {"error": "BadVersionError"})
        self.assertEqual(self.admin.ask("delete", path=where, version=node["version"]), {})
        second.wait_told("leads")
        self.assertIn(first.session, self.zk.sessions())
        self.assertFalse(first.has_told("lost"))
        sim = Sim(self, "a delete", [candidate("node-a", "0s", "20s"), candidate("node-b", "1s", "20s")])
        done = sim.ask("act", "step-down", "zk/elections/job", "--expect", "node-a", "--reason", "a test", "--yes", at="9s")
        self.assertEqual((done.code, done.json["overlap"]), (0, "open"), done)
        self.assertIn(f"data version is {node['version']}", done.json["request"])
        self.assertEqual(self.picture(), sim_picture(done.json["after"]))


class Servers(Case):
    def setUp(self):
        # Each test breaks the servers.
        self.zk = ZooKeeper()
        self.addCleanup(self.zk.close)
        super().setUp()

    @classmethod
    def setUpClass(cls):
        pass

    def wait_leader(self):
        return wait_until(self.zk.leader, 60, what="a leader")

    def test_a_new_leader_begins_a_new_epoch(self):
        """The sessions live on, and what is made next is of the next epoch."""
        self.candidate("node-a", 20)
        before = self.wait_leader()
        before.kill9()
        self.assertNotEqual(self.wait_leader(), before)
        self.candidate("node-b", 20)
        sim = Sim(self, "a new leader", [candidate("node-a", "0s", "20s"), candidate("node-b", "30s", "20s")],
                  ["{at: 9s, zk-out: {server: zk, member: zk-3}}"])
        self.assertEqual((sim.leader("8s"), sim.leader("20s")), ([3], [2]))
        self.assertEqual(self.picture(), sim.picture("40s"))
        self.assertEqual([each["epoch"] for each in self.picture()], [0, 1])

    def test_no_session_ends_while_there_is_no_quorum(self):
        """Nobody counts its time; with a quorum all of it begins anew."""
        timeout = 12
        first = self.candidate("node-a", timeout)
        second = self.candidate("node-b", 40)
        for member in self.zk.members[:2]:
            member.kill9()
        wait_until(lambda: self.zk.leader() is None, what="no leader")
        first.kill9()
        time.sleep(timeout + TICK + 1)
        for member in self.zk.members[:2]:
            member.start(wait=False)
        self.wait_leader()
        # One that was there goes on trying at longer and longer intervals.
        self.admin = self.client(hosts=self.zk.members[2].address, timeout=40)
        self.assertEqual(self.names(), ["node-a", "node-b"])
        took = self.gone_after(["node-b"], timeout + TICK + 3 * SLACK)
        second.wait_told("leads")
        self.assertLess(took, timeout + TICK + SLACK)
        sim = Sim(self, "no quorum", [candidate("node-a", "0s", "12s"), candidate("node-b", "1s", "40s")],
                  [f"{{at: 9s, zk-out: {{server: zk, member: zk-{i}, for: 18s}}}}" for i in (1, 2)] +
                  ["{at: 10s, crash: {process: node-a}}"])
        self.assertEqual(sim.said("20s")["sources"][0]["state"], "failing")
        self.assertEqual([each["data"] for each in sim.picture("31s")], ["node-a", "node-b"])
        self.assertEqual([each["data"] for each in sim.picture("48s")], ["node-b"])


if __name__ == "__main__":
    unittest.main()
