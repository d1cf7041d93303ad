"""
The race: between what the screen showed and what is sent, the holder changes. Whoever came after it is never hit. Real
servers, real concurrency, random moments: BATON_RACES says how many races are run (`./bootstrap check --long`: 10,000).
"""

import json
import os
import random
import threading
import time
import unittest

from servers import Drive, Etcd, Home, Postgres, SqlError, VERSIONS, Wire, WireClosed, b64

RACES = int(os.environ.get("BATON_RACES", "600"))
BY_PROGRAM = max(8, RACES // 100)  # of them as many more by `baton act`, where a race takes a second
LANES = 4
LATEST_S = 0.012  # the change comes at a random moment within so long
LATEST_PROGRAM_S = 0.15
DATABASE = "app"


class Lane(threading.Thread):
    """One of several that race at the same time, each with a connection of its own. race() is one race."""

    latest_s = LATEST_S  # where an act takes longer, as on a busy machine, the change comes later too

    def __init__(self, number, races, seed):
        super().__init__(daemon=True)
        self.number, self.races, self.random = number, races, random.Random(seed)
        self.seen, self.error, self.takes_s = {}, None, 0

    def run(self):
        try:
            self.open()
            for _ in range(self.races):
                word = self.race()
                self.seen[word] = self.seen.get(word, 0) + 1
        except BaseException as error:  # told by the test
            self.error = error
        finally:
            self.close()

    def beside(self, change):
        """Runs the change in a thread of its own, at a random moment; returns the thread."""
        latest_s = max(self.latest_s, 2 * self.takes_s)
        delay = self.random.random() * latest_s if self.random.random() < 0.9 else 0
        self.failed = None

        def work():
            time.sleep(delay)
            try:
                change()
            except BaseException as error:
                self.failed = error
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def order(self, verb, path, key):
        self.drive.order(verb, path, key)

    def timed_act(self):
        began = time.monotonic()
        kind = self.act()
        self.takes_s += (time.monotonic() - began - self.takes_s) / 4
        return kind

    def act(self):
        """What the gate does: perhaps waits for the operator, plans, perhaps waits, sends; or sends at once."""
        if self.random.random() < 0.3:
            time.sleep(self.random.random() * LATEST_S)
        if self.random.random() < 0.6:
            plan = self.drive.plan()
            assert plan["rc"] == 0, plan
            if plan["verdict"] == "changed" and self.random.random() < 0.5:
                return "changed"
            if self.random.random() < 0.3:
                time.sleep(self.random.random() * LATEST_S / 2)
        effect = self.drive.send()
        assert effect["kind"] in ("done", "changed"), effect
        return effect["kind"]

    def wait_for(self, thread):
        thread.join()
        if self.failed:
            raise self.failed


class PostgresLane(Lane):
    """Sessions come and go on one lock; baton is to end one of them."""

    def __init__(self, server, number, races, seed):
        super().__init__(number, races, seed)
        self.server, self.lock, self.path = server, 1000 + number, f"{DATABASE}:{1000 + number}"

    def open(self):
        self.drive = Drive("postgres", "orders", {"conninfo": self.server.conninfo(DATABASE)})
        self.holder, self.spare = self.session(), self.session()
        self.holder.run(f"select pg_advisory_lock({self.lock})")

    def close(self):
        for each in (self.drive, self.holder, self.spare):
            each.close()

    def session(self):
        wire = Wire(self.server, DATABASE, app="contender")
        wire.start()
        return wire

    def ends(self):
        """The holder ends, and another session takes the lock."""
        self.holder.close()
        self.spare.run(f"select pg_advisory_lock({self.lock})")

    def passes_on(self):
        """The holder lives on, without the lock."""
        self.holder.run(f"select pg_advisory_unlock({self.lock})")
        self.spare.run(f"select pg_advisory_lock({self.lock})")

    def takes_again(self):
        """The same session lets go and takes it again: it is the target still."""
        for _ in range(3):
            self.holder.run(f"select pg_advisory_unlock({self.lock})")
            self.holder.run(f"select pg_advisory_lock({self.lock})")

    def stays(self):
        pass

    def race(self):
        change = self.random.choice([self.ends, self.passes_on, self.takes_again, self.stays])
        forged = self.random.random() < 0.1
        key = f"{self.holder.pid}@{self.holder.started - forged}"
        self.drive.poll()
        self.order("release", self.path, key)
        thread = self.beside(change)
        kind = self.timed_act()
        hit = False
        try:
            self.wait_for(thread)
        except (WireClosed, SqlError, OSError):
            hit = True  # it was ended in the middle; that must have been the target
        return self.judge(change, forged, kind, hit)

    def judge(self, change, forged, kind, hit):
        was_closed = change == self.ends
        alive = not was_closed and not hit and self.holder.alive()
        assert self.spare.alive(), f"the newcomer was hit: {change.__name__}, {kind}"
        if forged:
            assert kind == "changed", "another backend_start is another session"
        if kind == "done":
            assert was_closed or not alive, "done, and the session lives"
        elif not was_closed:
            assert alive, f"{kind}, and the session was ended ({change.__name__})"
        self.prepare(alive)
        return f"{change.__name__}:{kind}"

    def prepare(self, alive):
        """Whoever lives holds the lock in the next race, and a new session stands by."""
        if not alive:
            self.holder.close()
            self.holder, self.spare = self.spare, self.session()
        for each in (self.holder, self.spare):
            each.run("select pg_advisory_unlock_all()")
        self.holder.run(f"select pg_advisory_lock({self.lock})")


class EtcdLane(Lane):
    """A candidate's key goes and comes; baton is to delete one of them."""

    def __init__(self, server, number, races, seed):
        super().__init__(number, races, seed)
        self.server, self.name = server, f"elections/race-{number}"

    def open(self):
        self.drive = Drive("etcd", "ctl", {"endpoints": self.server.endpoints, "prefixes": [
            {"prefix": self.name + "/", "mechanism": "election"}]})
        self.lease, self.other_lease = self.server.grant(3600), self.server.grant(3600)
        self.key = f"{self.name}/{self.lease:x}"
        self.revision = self.server.put(self.key, "node-a", self.lease)

    def close(self):
        self.drive.close()

    def is_made_again(self):
        """The same name, the same value, the same lease."""
        for _ in range(self.random.randint(1, 3)):
            self.server.delete(self.key)
            self.newest = self.server.put(self.key, "node-a", self.lease)

    def is_swapped_at_once(self):
        """Another one in its place, without a moment between that could be seen: two transactions, back to back."""
        self.server.delete(self.key)
        self.newest = self.server.put(self.key, "node-b", self.other_lease)

    def moves_to_another_lease(self):
        """create_revision stays where the key was there still."""
        self.server.put(self.key, "node-b", self.other_lease)
        self.moved = True

    def goes(self):
        self.server.delete(self.key)

    def stays(self):
        pass

    def race(self):
        change = self.random.choice(self.changes())
        self.newest, self.moved = None, False
        self.poll_until(f"rev:{self.revision}")
        self.order(self.random.choice(["release", "step-down"]), self.name, f"rev:{self.revision}")
        thread = self.beside(change)
        kind = self.timed_act()
        self.wait_for(thread)
        return self.judge(change, kind)

    def changes(self):
        return [self.is_made_again, self.is_made_again, self.is_swapped_at_once, self.moves_to_another_lease, self.goes,
                self.stays]

    def poll_until(self, key):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            row = self.drive.poll().rows().get(self.name)
            if row and [claim["key"] for claim in row["claims"]] == [key]:
                return
        raise AssertionError(f"{key} is not seen")

    def there(self):
        found = self.server.gateway("kv/range", {"key": b64(self.key)}).get("kvs")
        return int(found[0]["create_revision"]) if found else None

    def judge(self, change, kind):
        there = self.there()
        if self.newest is not None:
            assert there == self.newest, f"the newcomer was hit: {change.__name__}, {kind}"
        elif self.moved:
            # Deleted before it moved, it is made anew by the put; else it is the same key on another lease, which
            # is another claim, and stays.
            assert there is not None, f"the moved key was hit: {kind}"
            assert (kind == "done") == (there != self.revision), (kind, there, self.revision)
        elif change == self.stays:
            assert (kind == "done") == (there is None), (kind, there)
            assert kind == "done", "nothing had changed"
        self.server.delete(self.key)
        self.revision = self.server.put(self.key, "node-a", self.lease)
        return f"{change.__name__}:{kind}"


class ByProgram:
    """The same races with `baton act`: the whole gate, in a process for each act."""

    latest_s = LATEST_PROGRAM_S
    home = None  # set by whoever makes the lane

    def timed_act(self):
        return self.act()

    def order(self, verb, path, key):
        self.words = ["act", verb, f"{self.source}/{path}", "--expect", key, "--reason", "a race", "--yes", "--json"]

    def act(self):
        done = self.home.baton(*self.words)
        if done.code == 66:
            return "changed"  # free at the moment of its first look: there is no such row, and nothing to send
        assert done.out.startswith("{"), done
        outcome = json.loads(done.out)["outcome"]
        assert (done.code, outcome) in ((0, "done"), (11, "changed")), done
        return outcome


class PostgresProgramLane(ByProgram, PostgresLane):
    source = "orders"


class EtcdProgramLane(ByProgram, EtcdLane):
    source = "ctl"

    def changes(self):
        # --expect names a create_revision, which stays when a key moves to another lease before the program looks.
        return [change for change in super().changes() if change != self.moves_to_another_lease]


class Races(unittest.TestCase):
    def run_lanes(self, lanes):
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        seen = {}
        for lane in lanes:
            if lane.error:
                raise AssertionError(f"lane {lane.number}: {lane.error!r}") from lane.error
            for word, n in lane.seen.items():
                seen[word] = seen.get(word, 0) + n
        return seen

    def both_ways(self, seen, *changes):
        """Each change must have come too late in some races, and in time in others: else nothing was raced."""
        for change in changes:
            for kind in ("done", "changed"):
                self.assertGreater(seen.get(f"{change}:{kind}", 0), 0, seen)

    def test_postgres_sessions(self):
        races = RACES // 2
        with Postgres(conf={"max_connections": "60"}) as server:
            server.database(DATABASE)
            seen = self.run_lanes([PostgresLane(server, n, races // LANES, n) for n in range(LANES)])
        print("#", races, "races:", seen)
        self.both_ways(seen, "ends", "passes_on")

    def test_etcd_keys(self):
        races = RACES - RACES // 2
        for version in VERSIONS:
            with self.subTest(etcd=version), Etcd(version) as server:
                share = races // len(VERSIONS) // LANES
                seen = self.run_lanes([EtcdLane(server, n, share, n) for n in range(LANES)])
                print("#", share * LANES, "races:", seen)
                self.both_ways(seen, "is_made_again", "is_swapped_at_once")

    def test_by_the_program(self):
        with Postgres() as pg, Etcd("3.4") as etcd, Home(f"""
sources:
  orders: {{kind: postgres, environment: lab, conninfo: "{pg.conninfo(DATABASE)}"}}
  ctl: {{kind: etcd, environment: lab, endpoints: ["{etcd.url}"],
         prefixes: [{{prefix: elections/, mechanism: election}}]}}
""") as home:
            pg.database(DATABASE)
            share = BY_PROGRAM // LANES
            lanes = [PostgresProgramLane(pg, n, share, n) for n in range(LANES // 2)]
            lanes += [EtcdProgramLane(etcd, n, share, n) for n in range(LANES // 2)]
            for lane in lanes:
                lane.home = home
            print("#", share * LANES, "races:", self.run_lanes(lanes))


if __name__ == "__main__":
    unittest.main()
