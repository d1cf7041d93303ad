"""
The simulated PostgreSQL beside a real one: the same script of events is played on both, and what baton says of them is
the same. Left out of the comparison is only what must differ: process ids, times, addresses, roles, the versions.
"""

import json
import os
import re
import subprocess
import tempfile
import time
import unittest

from servers import PgBouncer, Postgres, wait_until

BATON = os.environ["BATON"]
# Sessions that have something to do yet: neither idle, nor asleep, nor waiting for a lock.
BUSY = ("select 1 from pg_stat_activity a where pid in ({}) and state not like 'idle%' and wait_event is distinct from 'PgSleep' "
        "and not (wait_event_type is not distinct from 'Lock' "
        "and exists (select from pg_locks l where l.pid = a.pid and not l.granted))")
BEGAN = "select query_start from pg_stat_activity where pid = {}"


def lock_sql(word, key, rest):
    name = "pg_" + ("try_" if word == "try" else "") + "advisory_" + ("xact_" if "transaction" in rest else "")
    name += ("unlock" if word == "unlock" else "lock") + ("_shared" if "share" in rest else "")
    return f"SELECT {name}{key if key.startswith('(') else f'({key})'}"


def to_sql(step):
    word, *rest = step.split(" ")
    if word in ("lock", "try", "unlock"):
        return lock_sql(word, rest[0], rest[1:])
    if word == "prepare":
        return f"PREPARE TRANSACTION '{rest[0]}'"
    if word == "listen":
        return f"LISTEN {rest[0]}"
    if word == "run":
        return f"SELECT pg_sleep({rest[0].rstrip('s')})"
    return word.upper()


class Real:
    """A script played on a real server: one session for each name, in the order of the script."""

    def __init__(self, test, pg, pooler=None):
        self.test, self.pg, self.pooler, self.sessions = test, pg, pooler, {}
        self.folder = tempfile.TemporaryDirectory(prefix="baton-conform-")
        self.config = os.path.join(self.folder.name, "config.yaml")
        with open(self.config, "w", encoding="ascii") as out:
            out.write(f"sources:\n  db: {{kind: postgres, step_down_channel: hand, conninfo: \"{pg.conninfo('app')}\"}}\n")

    def play(self, script):
        for name in dict.fromkeys(name for _, name, _ in script):
            maker = self.pooler.session if self.pooler and name.startswith("pooled") else self.pg.session
            more = {} if maker == getattr(self.pooler, "session", None) else {"user": "app"}
            self.sessions[name] = maker("app", app=name, **more)
        for i, (at, name, step) in enumerate(script):
            session = self.sessions[name]
            if step == "close":
                self.end(session)
            elif step.startswith("wait"):
                time.sleep(float(step.split(" ")[1].rstrip("s")))
            else:
                self.do(session, to_sql(step), name.startswith("pooled"))
            if i + 1 == len(script) or script[i + 1][0] > at:
                self.baton("list", "--json")  # as the simulation is polled: what it remembers counts
        return self

    def do(self, session, sql, pooled):
        """Until nobody does anything any more but wait."""
        if pooled:
            session.run(sql)
            return
        began = self.pg.psql(BEGAN.format(session.pid))
        session.send(sql)
        wait_until(lambda: self.pg.psql(BEGAN.format(session.pid)) != began, what=sql)
        pids = ", ".join(str(each.pid) for each in self.sessions.values())
        wait_until(lambda: not self.pg.psql(BUSY.format(pids)), what="rest")
        session.done()

    def end(self, session):
        """The server sees the end of one that is idle; one that waits it keeps."""
        waits = session.sent > session.received
        session.close()
        if not waits:
            wait_until(lambda: not self.pg.psql(BEGAN.format(session.pid)), what="the session's end")

    def baton(self, *args):
        return run_baton(self.folder.name, "--config", self.config, *args)

    def close(self):
        for session in self.sessions.values():
            session.close()
        self.sessions = {}
        for row in self.pg.psql("select gid from pg_prepared_xacts", dbname="app"):
            self.pg.psql(f"rollback prepared '{row[0]}'", dbname="app")
        wait_until(lambda: not self.pg.psql("select 1 from pg_locks where locktype = 'advisory'"), what="no lock left")
        self.folder.cleanup()


class Simulated:
    """The same script on the simulated server; its moment is a second after the last step."""

    def __init__(self, script, pooled=False, more=""):
        self.folder = tempfile.TemporaryDirectory(prefix="baton-conform-")
        self.scenario = os.path.join(self.folder.name, "scenario.yaml")
        self.at = script[-1][0] + 1
        names = dict.fromkeys(name for _, name, _ in script)
        with open(self.scenario, "w", encoding="ascii") as out:
            out.write('title: conformance\nstart: "2026-03-03T03:00:00Z"\nworld:\n')
            out.write("  machines: [{name: db-1}, {name: pool-1}, {name: node-1}]\n")
            out.write("  postgres: [{name: db, machine: db-1, database: [app, postgres], step_down_channel: hand"
                      f"{more}}}]\n")
            if pooled:
                out.write("  poolers: [{name: pool, machine: pool-1, server: db, size: 2, add_host: false}]\n")
            out.write("  processes:\n")
            for name in names:
                way = "through: pool" if pooled and name.startswith("pooled") else "server: db"
                says = json.dumps([f"{at}s {step}" for at, who, step in script
                                   if who == name and not step.startswith("wait")])
                out.write(f"    - {{name: {name}, machine: node-1, runs: [{{pg-script: {{{way}, says: {says}}}}}]}}\n")
            out.write("sources: [{name: db, shows: {postgres: db}}]\n")

    def baton(self, *args):
        return run_baton(self.folder.name, "--sim", self.scenario, "--at", f"{self.at}s", *args)

    def close(self):
        self.folder.cleanup()


def run_baton(state, *args):
    env = dict(os.environ, XDG_STATE_HOME=state)
    done = subprocess.run([BATON, *args], capture_output=True, text=True, env=env, timeout=60)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


# A pooler's session here is a superuser's, and in the simulation it is not.
DETAILS = ("mode", "state", "wait_event", "query", "prepared", "backend_type", "locks_held", "database",
           "application")


def claim(one, names):
    detail = one["detail"]
    seen = {key: detail.get(key) for key in DETAILS}
    seen["query"] = (seen["query"] or "").rstrip(";")  # psql sends it with the statement
    seen["identity"] = one["identity"]
    seen["keyed"] = bool(re.fullmatch(r"\d+@\d+|prepared:[^@]+@\d+", one["key"]))
    blockers = detail.get("blocked_by")
    blockers = blockers if isinstance(blockers, list) else [] if blockers is None else [blockers]
    seen["blocked_by"] = sorted(names.get(pid, "?") for pid in blockers)
    seen["position"] = one.get("position")
    for when in ("backend_start", "state_change", "query_start", "xact_start", "wait_start", "prepared_at"):
        seen[when] = detail.get(when) is not None
    return seen


def normal_row(row, names):
    return {"state": row["state"], "mechanism": row["mechanism"], "token_kind": row["token_kind"],
            "holders": sorted((claim(one, names) for one in row["holders"]), key=lambda c: c["identity"]),
            "waiters": [claim(one, names) for one in row["waiters"]],
            "findings": sorted(one["code"] for one in row["findings"])}


def names_of(rows):
    return {0: "prepared", **{one["detail"]["pid"]: one["identity"] for row in rows
                              for one in row["holders"] + row["waiters"] if one["detail"].get("pid")}}


def normal_list(answer):
    rows = answer["singletons"]
    return {row["id"]: normal_row(row, names_of(rows)) for row in rows}


def without_numbers(text):
    """Process ids and times are of one run; what is said about them is not."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text or "")
    text = re.sub(r"\d+@\d+", "KEY", text)
    text = re.sub(r"\$\d+ = '(\d+|TIME)'", "$ = 'N'", text)
    text = re.sub(r"client \S+", "client C", re.sub(r"pid(\W+)\d+", r"pid\1N", text))
    text = re.sub(r"for \d+\.?\d*(ms|s|m)", "for AGE", text)
    return re.sub(r"postgres(?= holds|;|$)|role \w+", "role R", text)


def normal_act(answer):
    after = answer["after"]
    return {"verb": answer["verb"], "outcome": answer["outcome"], "overlap": answer["overlap"],
            "identity": answer["target"]["identity"], "request": without_numbers(answer["request"]),
            "steps": [(one["step"], without_numbers(one["text"])) for one in answer["steps"]
                      if one["step"] not in ("send", "record")],
            "after": normal_row(after, names_of([after])) if after else None}


def everywhere(value):
    if isinstance(value, dict):
        return {key: everywhere(one) for key, one in value.items()}
    if isinstance(value, list):
        return [everywhere(one) for one in value]
    return without_numbers(value) if isinstance(value, str) else value


def normal_forecast(answer):
    said = {key: answer[key] for key in ("verb", "allowed", "reasons", "destroys", "keeps", "told", "successor", "permission")}
    said["gap"] = answer["gap_ms"]
    said["request"] = without_numbers(answer["request"])
    return everywhere(said)


QUEUE = [
    (1, "a", "lock 42"), (2, "b", "lock 42"), (3, "c", "lock 42"), (4, "d", "try 42"), (5, "d", "lock 43"),
]


class Conformance(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # Who waits first is ended by a deadlock, also where the machine is busy between the two.
        cls.pg = Postgres(conf={"deadlock_timeout": "3s"})
        cls.addClassCleanup(cls.pg.close)
        cls.pg.database("app")
        cls.pg.role("app")

    def both(self, script, pooler=None, more=""):
        real = Real(self, self.pg, pooler)
        self.addCleanup(real.close)
        simulated = Simulated(script, pooled=pooler is not None, more=more)
        self.addCleanup(simulated.close)
        return real.play(script), simulated

    def same_list(self, script, pooler=None, more=""):
        real, simulated = self.both(script, pooler, more)
        seen = normal_list(real.baton("list", "--json"))
        said = normal_list(simulated.baton("list", "--json"))
        real.close()
        self.assertEqual(said, seen)
        return seen

    def same_act(self, script, verb, path, expect, **more):
        real, simulated = self.both(script)
        answers = []
        for side in (real, simulated):
            args = ["act", verb, f"db/{path}", "--json", "--reason", "conformance", "--yes", "--expect", expect]
            answers.append(normal_act(side.baton(*args)))
        self.assertEqual(answers[1], answers[0])
        return answers[0]

    def test_a_queue_of_two_waiters_and_a_try_that_nobody_sees(self):
        seen = self.same_list(QUEUE)
        self.assertEqual([one["identity"] for one in seen["db/app:42"]["waiters"]], ["b", "c"])
        self.assertEqual(set(seen), {"db/app:42", "db/app:43"})

    def test_who_waits_first_gets_it(self):
        seen = self.same_list([*QUEUE, (6, "a", "unlock 42")])
        self.assertEqual([one["identity"] for one in seen["db/app:42"]["holders"]], ["b"])

    def test_a_waiter_in_share_mode_queues_behind_an_exclusive_one(self):
        seen = self.same_list([(1, "a", "lock 42 share"), (2, "b", "lock 42 share"), (3, "c", "lock 42"),
                               (4, "d", "lock 42 share"), (5, "e", "try 42 share")])
        self.assertEqual([one["identity"] for one in seen["db/app:42"]["waiters"]], ["c", "d"])
        self.assertEqual(seen["db/app:42"]["waiters"][1]["blocked_by"], ["c"])

    def test_two_shares_follow_the_exclusive_one_together(self):
        self.same_list([(1, "a", "lock 42"), (2, "b", "lock 42 share"), (3, "c", "lock 42 share"),
                        (4, "d", "lock 42"), (5, "a", "unlock 42")])

    def test_a_lock_that_stacks_must_be_unlocked_as_often(self):
        self.same_list([(1, "a", "lock 42"), (2, "a", "lock 42"), (3, "a", "unlock 42"), (4, "b", "try 42")])
        self.same_list([(1, "a", "lock 42"), (2, "a", "lock 42"), (3, "a", "unlock 42"), (4, "a", "unlock 42"),
                        (5, "a", "unlock 42"), (6, "b", "try 42")])

    def test_share_and_exclusive_of_one_session_are_one_holder(self):
        self.same_list([(1, "a", "lock 42 share"), (2, "a", "lock 42"), (3, "b", "lock 42 share")])

    def test_an_upgrade_goes_before_who_waits(self):
        self.same_list([(1, "a", "lock 42 share"), (2, "b", "lock 42"), (3, "a", "lock 42"), (4, "a", "unlock 42 share")])

    def test_a_transactions_lock_ends_with_it(self):
        self.same_list([(1, "a", "begin"), (2, "a", "lock 42 transaction"), (3, "b", "lock 42")])
        seen = self.same_list([(1, "a", "begin"), (2, "a", "lock 42 transaction"), (3, "b", "lock 42"),
                               (4, "a", "commit")])
        self.assertEqual([one["identity"] for one in seen["db/app:42"]["holders"]], ["b"])

    def test_a_pair_is_another_key_than_the_bigint_of_its_halves(self):
        value = 7 << 32 | (2 ** 32 - 9)
        seen = self.same_list([(1, "a", "lock (7,-9)"), (2, "b", f"try {value}"), (3, "c", "lock -42"),
                               (4, "d", "try (7,-9)")])
        self.assertEqual(set(seen), {"db/app:(7,-9)", f"db/app:{value}", "db/app:-42"})

    def test_a_prepared_transaction_holds_and_blocks(self):
        self.same_list([(1, "a", "begin"), (2, "a", "lock 42 transaction"), (3, "a", "prepare tx-9"), (4, "b", "lock 42")])

    def test_a_deadlock_ends_one_statement_and_no_lock_of_the_session(self):
        seen = self.same_list([(1, "a", "lock 1"), (1, "b", "lock 2"), (2, "a", "lock 2"), (2, "b", "lock 1"),
                               (4, "a", "wait 4.5s")])
        self.assertEqual([one["identity"] for one in seen["db/app:1"]["waiters"]], ["b"])
        self.assertEqual(seen["db/app:2"]["waiters"], [])

    def test_the_clients_end_frees_its_locks_and_not_its_place(self):
        self.same_list([*QUEUE, (6, "a", "close")])

    def test_a_waiters_end_is_noticed_where_it_is_looked_for(self):
        """A dead client's session stays in the queue, and would take the lock: unless the server looks now and then."""
        script = [*QUEUE, (6, "b", "close"), (7, "a", "wait 3s")]
        seen = self.same_list(script)
        self.assertEqual([one["identity"] for one in seen["db/app:42"]["waiters"]], ["b", "c"])
        if self.pg.version < 14:
            return  # which has no such setting
        self.pg.psql("alter system set client_connection_check_interval = '500ms'")
        self.addCleanup(self.pg.psql, "select pg_reload_conf()")
        self.addCleanup(self.pg.psql, "alter system reset client_connection_check_interval")
        self.pg.psql("select pg_reload_conf()")
        seen = self.same_list(script, more=", client_connection_check_interval: 500ms")
        self.assertEqual([one["identity"] for one in seen["db/app:42"]["waiters"]], ["c"])

    def test_a_stray_unlock_through_a_pooler_leaves_the_lock(self):
        with PgBouncer(self.pg, pool_mode="transaction", pool_size=2) as pooler:
            seen = self.same_list([(1, "pooled-a", "lock 42"), (2, "pooled-b", "begin"), (3, "pooled-a", "unlock 42"),
                                   (4, "b", "try 42")], pooler)
        self.assertIn("db/app:42", seen)

    def test_a_holder_is_released(self):
        done = self.same_act(QUEUE, "release", "app:42", "a")
        self.assertEqual((done["outcome"], done["overlap"]), ("done", "open"))
        self.assertEqual([one["identity"] for one in done["after"]["holders"]], ["b"])

    def test_a_waiters_statement_is_cancelled(self):
        self.assertEqual(self.same_act(QUEUE, "cancel", "app:42", "b")["outcome"], "done")

    def test_an_idle_holder_has_nothing_to_cancel(self):
        self.assertEqual(self.same_act(QUEUE, "cancel", "app:42", "a")["outcome"], "refused")

    def test_another_backend_start_is_another_session(self):
        self.assertEqual(self.same_act(QUEUE, "release", "app:42", "1@1767225600000000")["outcome"], "changed")

    def test_a_prepared_transaction_is_rolled_back(self):
        script = [(1, "a", "begin"), (2, "a", "lock 42 transaction"), (3, "a", "prepare tx-9"), (4, "b", "lock 42")]
        done = self.same_act(script, "release", "app:42", "prepared:tx-9")
        self.assertEqual([one["identity"] for one in done["after"]["holders"]], ["b"])

    def test_a_waiter_can_not_be_asked_to_step_down(self):
        self.assertEqual(self.same_act(QUEUE, "step-down", "app:42", "b")["outcome"], "changed")

    def test_who_is_asked_and_does_not_listen_keeps_the_lock(self):
        done = self.same_act([(1, "a", "listen hand"), (2, "a", "lock 42"), (3, "b", "lock 42")], "step-down", "app:42", "a")
        self.assertEqual([one["identity"] for one in done["after"]["holders"]], ["a"])

    def test_a_waiter_is_released(self):
        done = self.same_act(QUEUE, "release", "app:42", "b")
        self.assertEqual([one["identity"] for one in done["after"]["waiters"]], ["c"])

    def test_what_goes_with_a_session_is_forecast_alike(self):
        script = [(1, "a", "lock 42"), (2, "a", "lock (7,-9)"), (3, "a", "lock 43 share"), (4, "b", "lock 42")]
        real, simulated = self.both(script)
        seen = [normal_forecast(side.baton("forecast", "release", "db/app:42", "--json")) for side in (simulated, real)]
        self.assertEqual(seen[0], seen[1])
        self.assertIn("db/app:(7,-9)", str(seen[0]["destroys"]))

    def test_names_are_hashed_alike(self):
        texts = ["billing-close", "", "a", "twelve bytes", "thirteen byte", "\u00e4\u00f6\u00fc and more than two dozen bytes"]
        for text in texts:
            with self.subTest(text=text):
                quoted = text.replace("'", "''")
                key = self.pg.psql(f"select hashtext('{quoted}')", dbname="app")[0][0]
                script = [(1, "a", f"lock {key}")]
                simulated = Simulated(script)
                self.addCleanup(simulated.close)
                with open(simulated.scenario, "a", encoding="utf-8") as out:
                    out.write(f"names:\n  - {{source: db, key: {{hashtext: {json.dumps(text, ensure_ascii=False)}}}, name: n}}\n")
                rows = simulated.baton("list", "--json")["singletons"]
                self.assertEqual([(row["id"], row["name"]) for row in rows], [(f"db/app:{key}", "n")])


if __name__ == "__main__":
    unittest.main()
