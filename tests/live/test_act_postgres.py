"""What PostgreSQL's verbs do on a real server, and what they leave alone. The gate around them is tested elsewhere."""

import json
import threading
import time
import unittest

from servers import Drive, PgBouncer, Postgres, Proxy, Wire, WireClosed, wait_until

LOCKS = "select pid, granted from pg_locks where locktype = 'advisory' and classid = 0 and objid = {} and objsubid = 1"


def texts(items):
    return " | ".join(f"{item['what']}: {item['id']}" for item in items)


class Case(unittest.TestCase):
    conf = None

    @classmethod
    def setUpClass(cls):
        cls.pg = Postgres(conf=cls.conf)
        cls.addClassCleanup(cls.pg.close)
        cls.pg.database("app")
        cls.pg.database("other")

    def drive(self, user=None, dbname="app", port=None, timeout_ms=5000, **options):
        more = {"port": port} if port else {}
        drive = Drive("postgres", "orders", {"conninfo": self.pg.conninfo(dbname, user, **more), **options}, timeout_ms)
        self.addCleanup(drive.close)
        return drive

    def wire(self, app="", dbname="app", user=None, port=None, lock=None):
        wire = Wire(self.pg, dbname, app, user, port)
        self.addCleanup(wire.close)
        wire.start()
        if lock is not None:
            wire.run(f"select pg_advisory_lock({lock})")
        return wire

    def waiter(self, lock, app="", dbname="app"):
        wire = self.wire(app, dbname)
        wire.send(f"select pg_advisory_lock({lock})")
        wait_until(lambda: self.rows(lock, granted=False, pid=wire.pid), what="waiting")
        return wire

    def busy(self, wire, sql):
        """The server has begun with it; it may be over already."""
        wire.send(sql)
        wait_until(lambda: self.pg.psql(f"select 1 from pg_stat_activity where pid = {wire.pid} and query = $${sql}$$ "
                                        "and (wait_event = 'PgSleep' or state = 'idle')"), what="the statement")

    def gone(self, wire):
        """Its locks are free a moment before the server forgets the session itself."""
        wire.close()
        wait_until(lambda: not self.pg.psql(f"select 1 from pg_stat_activity where pid = {wire.pid}"), what="the session's end")

    def rows(self, lock, granted=None, pid=None):
        rows = [(int(row[0] or 0), row[1] == "t") for row in self.pg.psql(LOCKS.format(lock))]
        return [row for row in rows if granted in (None, row[1]) and pid in (None, row[0])]

    def act(self, drive, verb, path, key, reason=""):
        """Polls, plans and sends; the effect."""
        drive.poll().order(verb, path, key, reason)
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "ready", plan)
        return drive.send()

    def assert_gone(self, wire):
        with self.assertRaises(WireClosed) as caught:
            wire.run("select 1")
        self.assertEqual(caught.exception.sqlstate, "57P01")


class Release(Case):
    def test_a_holder_is_ended_and_the_queues_head_gets_the_lock(self):
        holder, beside = self.wire("worker-1", lock=1), self.wire("worker-1", lock=2)
        first, second = self.waiter(1, "worker-2"), self.waiter(1, "worker-3")
        drive = self.drive().poll().order("release", "app:1", holder.start())
        plan = drive.plan()
        self.assertEqual((plan["verdict"], plan["permission"], plan["successor"]), ("ready", "ok", "worker-2"))
        self.assertIn("1 other session of the same client and application", texts(plan["warnings"]))
        self.assertIn("57P01", texts(plan["told"]))
        effect = drive.send()
        self.assertEqual((effect["rc"], effect["kind"]), (0, "done"), effect)
        wait_until(lambda: drive.look()["settled"], what="the session's end")
        sight = drive.look()
        self.assertEqual(sight["overlap"], "open")
        self.assertIn("worker-2 holds it now; 1 waits", sight["text"])
        self.assert_gone(holder)
        first.result()
        self.assertEqual(self.rows(1, granted=True), [(first.pid, True)])
        self.assertTrue(beside.alive())
        self.assertEqual(self.rows(1, granted=False), [(second.pid, False)])

    def test_a_waiter_is_ended_and_the_holder_keeps_the_lock(self):
        holder, waiter = self.wire("worker-1", lock=3), self.waiter(3, "worker-2")
        drive = self.drive()
        self.assertEqual(self.act(drive, "release", "app:3", waiter.start())["kind"], "done")
        wait_until(lambda: drive.look()["settled"], what="the session's end")
        self.assertEqual(drive.look()["overlap"], "none")
        self.assertEqual(self.rows(3), [(holder.pid, True)])
        with self.assertRaises(WireClosed):
            waiter.result()

    def test_what_goes_with_the_session_is_told_before(self):
        self.pg.psql("create table if not exists t (i int)", dbname="app")
        holder = self.wire("worker-1", lock=4)
        holder.run("select pg_advisory_lock(7, -9)")
        elsewhere = self.wire("worker-2", lock=5)
        elsewhere.run("begin")
        holder.run("begin")
        holder.run("insert into t values (1)")
        drive = self.drive().poll().order("release", "app:4", holder.start())
        said = texts(drive.plan()["destroys"])
        self.assertIn(f"its session, with every lock and setting of it: pid {holder.pid}, role postgres, client 127", said)
        self.assertIn("another advisory lock of the same session: orders/app:(7,-9)", said)
        self.assertIn("its open transaction, which has written", said)
        self.assertIn(" other locks of its transaction", said)
        self.assertNotIn("app:5", said)

    def test_a_long_statement_and_an_index_built_concurrently_are_told(self):
        self.pg.psql("create table if not exists big (i int)", dbname="app")
        block = self.wire("block")
        block.run("begin; insert into big values (1)")
        holder = self.wire("migrator", lock=6)
        holder.send("create index concurrently on big (i)")
        wait_until(lambda: self.pg.psql("select 1 from pg_stat_activity where query like 'create index conc%' "
                                        "and wait_event is not null"), what="the index")
        drive = self.drive().poll().order("release", "app:6", holder.start())
        plan = drive.plan()
        self.assertIn("invalid index", texts(plan["warnings"]))
        self.assertIn("create index concurrently on big (i)", texts(plan["destroys"]))
        self.assertEqual(plan["last_sign"], "it executes a statement now")

    def test_a_holder_that_is_blocked_by_its_own_waiter_is_told(self):
        self.pg.psql("create table if not exists cycle (i int)", dbname="app")
        holder, waiter = self.wire("holder", lock=8), self.wire("waiter")
        waiter.run("begin")
        waiter.run("lock table cycle")
        waiter.send("select pg_advisory_lock(8)")
        wait_until(lambda: self.rows(8, granted=False), what="waiting")
        holder.send("set deadlock_timeout = '60s'; select * from cycle")
        drive = self.drive()
        wait_until(lambda: self.pg.psql("select 1 from pg_locks where not granted and locktype = 'relation'"), what="it")
        drive.poll().order("release", "app:8", holder.start())
        said = texts(drive.plan()["warnings"])
        self.assertIn(f"it is itself blocked by pid {waiter.pid}, which waits for this lock", said)

    def test_in_share_mode_it_does_not_become_free(self):
        holder, other = self.wire("reader-1"), self.wire("reader-2")
        for each in (holder, other):
            each.run("select pg_advisory_lock_shared(9)")
        waiter = self.waiter(9, "writer")
        drive = self.drive().poll().order("release", "app:9", holder.start())
        plan = drive.plan()
        self.assertIsNone(plan["successor"])
        self.assertIn("reader-2 still holds it in share mode", plan["gap_why"])
        self.assertFalse(waiter.waiting == 0)

    def test_the_head_of_a_long_queue_is_found(self):
        """Among more waiters than are read, and with the newest pid."""
        late = [self.wire(f"late-{n}") for n in range(70)]
        holder, first = self.wire("worker-1", lock=11), self.waiter(11, "first")
        for wire in late:
            wire.send("select pg_advisory_lock(11)")
        wait_until(lambda: len(self.rows(11, granted=False)) == 71, what="71 that wait")
        drive = self.drive().poll().order("release", "app:11", holder.start())
        # Older servers don't tell who came first.
        self.assertEqual(drive.plan()["successor"], "first" if self.pg.version >= 14 else None)
        self.assertEqual(drive.send()["kind"], "done")
        first.result()
        wait_until(lambda: drive.look()["settled"], what="the session's end")
        self.assertIn("first holds it now; 70 wait", drive.look()["text"])

    def test_a_holder_of_another_database_is_released_from_here(self):
        holder = self.wire("worker-1", dbname="other", lock=10)
        self.assertEqual(self.act(self.drive(), "release", "other:10", holder.start())["kind"], "done")
        self.assert_gone(holder)


class Changed(Case):
    """The one that is asked for is not there any more: nothing may happen to who is there instead."""

    def test_the_session_ended_and_another_holds_the_lock(self):
        old = self.wire("worker-1", lock=1)
        drive = self.drive().poll().order("release", "app:1", old.start())
        self.gone(old)
        new = self.wire("worker-1", lock=1)
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "changed")
        self.assertIn("has ended", texts(plan["reasons"]))
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertTrue(new.alive())

    def test_a_pid_of_another_session_is_another_target(self):
        holder = self.wire("worker-1", lock=2)
        drive = self.drive().poll()
        for verb in ("release", "cancel", "step-down"):
            drive.order(verb, "app:2", f"{holder.pid}@{holder.started - 1}")
            self.assertEqual(drive.plan()["verdict"], "changed")
        drive.order("release", "app:2", f"{holder.pid}@{holder.started - 1}")
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertTrue(holder.alive())
        self.assertEqual(self.rows(2), [(holder.pid, True)])

    def test_a_session_that_let_go_is_left_alone(self):
        holder = self.wire("worker-1", lock=3)
        drive = self.drive().poll().order("release", "app:3", holder.start())
        self.assertEqual(drive.plan()["verdict"], "ready")
        holder.run("select pg_advisory_unlock(3)")
        self.assertEqual(drive.send()["kind"], "changed")
        holder.run("select pg_advisory_lock(33)")
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertEqual(drive.plan()["verdict"], "changed")
        self.assertTrue(holder.alive())

    def test_a_waiter_that_got_the_lock_is_no_waiter(self):
        holder = self.wire("worker-1", lock=4)
        waiter = self.waiter(4, "worker-2")
        drive = self.drive().poll().order("release", "app:4", waiter.start())
        holder.close()
        waiter.result()
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "changed")
        self.assertIn("it holds it", texts(plan["reasons"]))
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertTrue(waiter.alive())

    def test_the_same_key_in_another_database_or_space_is_another_lock(self):
        holder = self.wire("worker-1", lock=5)
        others = [self.wire("worker-1", dbname="other", lock=5), self.wire("worker-1", lock="0, 5")]
        drive = self.drive().poll().order("release", "app:5", holder.start())
        holder.close()
        wait_until(lambda: "app:5" not in self.drive().poll().rows(), what="free")
        for other in others:
            drive.order("release", "app:(0,5)", holder.start())
            self.assertEqual(drive.send()["kind"], "changed")
            self.assertTrue(other.alive())


class Cancel(Case):
    def test_the_statement_ends_and_session_and_lock_stay(self):
        holder = self.wire("worker-1", lock=1)
        self.busy(holder, "select pg_sleep(600)")
        drive = self.drive()
        self.assertEqual(self.act(drive, "cancel", "app:1", holder.start())["kind"], "done")
        with self.assertRaisesRegex(Exception, "57014"):
            holder.result()
        wait_until(lambda: drive.look()["settled"], what="the statement's end")
        self.assertIn("keeps the lock", drive.look()["text"])
        self.assertTrue(holder.alive())
        self.assertEqual(self.rows(1), [(holder.pid, True)])

    def test_an_idle_holder_has_nothing_to_cancel(self):
        holder = self.wire("worker-1", lock=2)
        drive = self.drive().poll().order("cancel", "app:2", holder.start())
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "refused")
        self.assertIn("it executes nothing (its state is idle)", texts(plan["reasons"]))
        self.assertEqual(drive.send()["kind"], "unsent")

    def test_another_statement_of_the_same_session_is_left_alone(self):
        holder = self.wire("worker-1", lock=3)
        self.busy(holder, "select pg_sleep(600)")
        drive = self.drive().poll().order("cancel", "app:3", holder.start())
        self.assertEqual(drive.plan()["verdict"], "ready")
        self.pg.psql(f"select pg_cancel_backend({holder.pid})")
        with self.assertRaisesRegex(Exception, "57014"):
            holder.result()
        self.busy(holder, "select pg_sleep(2), 2")
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertEqual(holder.result()[0][1], "2")

    def test_what_is_told_again_directly_before_is_comparable(self):
        """What has an id is compared by it: a statement that goes on is the same, another one of the same text is not."""
        holder, drive = self.wire("worker-1", lock=5), self.drive().poll()

        def told(verb):
            plan = drive.order(verb, "app:5", holder.start()).plan()
            return [item["id"] for item in plan["destroys"] if "statement" in item["what"]]

        def begin():
            holder.send("select pg_sleep(600)")
            wait_until(lambda: told("cancel"), what="the statement")

        def end():
            self.pg.psql(f"select pg_cancel_backend({holder.pid})")
            with self.assertRaisesRegex(Exception, "57014"):
                holder.result()
        begin()
        first = told("cancel")
        self.assertIn(told("release"), ([""], first))  # a short one is not compared
        time.sleep(2.1)
        self.assertEqual(told("cancel"), first)
        self.assertEqual(told("release"), first)
        end()
        begin()
        self.assertNotEqual(told("cancel"), first)
        end()

    def test_a_waiters_request_is_cancelled(self):
        holder, waiter = self.wire("worker-1", lock=4), self.waiter(4, "worker-2")
        drive = self.drive()
        drive.poll().order("cancel", "app:4", waiter.start())
        self.assertNotIn("keeps the lock", texts(drive.plan()["warnings"]))  # it has none
        self.assertEqual(drive.send()["kind"], "done")
        with self.assertRaisesRegex(Exception, "57014"):
            waiter.result()
        self.assertEqual(self.rows(4), [(holder.pid, True)])
        self.assertTrue(waiter.alive())


class StepDown(Case):
    def test_who_listens_lets_go(self):
        """The source is connected to another database than the lock's."""
        holder = self.wire("worker-1", dbname="other", lock=1)
        holder.run("listen baton")
        outsider = self.wire("outsider", dbname="app")
        outsider.run("listen baton")
        drive = self.drive(step_down_channel="baton")
        reason = 'drain "n\u00e9" \\ \U0001f600'
        self.assertEqual(self.act(drive, "step-down", "other:1", holder.start(), reason)["kind"], "done")
        self.assertFalse(drive.look()["settled"])
        self.assertEqual(drive.look()["overlap"], "open")
        (channel, payload), = holder.listen(30)
        said = json.loads(payload)
        self.assertEqual(channel, "baton")
        self.assertTrue(payload.isascii())
        self.assertEqual(said["schema"], "baton-step-down/1")
        self.assertEqual((said["id"], said["database"], said["key"], said["pid"], said["reason"]),
                         ("orders/other:1", "other", "1", holder.pid, reason))
        rows = holder.run(f"select 1 from pg_stat_activity where pid = {said['pid']} "
                          f"and backend_start = '{said['backend_start']}'")
        self.assertEqual(len(rows), 1)
        holder.run("select pg_advisory_unlock(1)")
        sight = drive.look()
        self.assertEqual((sight["settled"], sight["overlap"]), (True, "closed"))
        self.assertIn("let go of the lock by itself", sight["text"])
        self.assertEqual(outsider.listen(0.2), [])

    def test_without_a_channel_nobody_can_be_asked(self):
        holder = self.wire("worker-1", lock=2)
        drive = self.drive().poll().order("step-down", "app:2", holder.start())
        plan = drive.plan()
        self.assertEqual(plan["verdict"], "refused")
        self.assertIn("not available: no session can be asked", texts(plan["reasons"]))
        self.assertEqual(drive.send()["kind"], "unsent")

    def test_who_took_it_over_is_not_asked(self):
        holder = self.wire("worker-1", lock=3)
        drive = self.drive(step_down_channel="baton").poll().order("step-down", "app:3", holder.start())
        self.assertEqual(drive.plan()["verdict"], "ready")
        self.gone(holder)
        new = self.wire("worker-1", lock=3)
        new.run("listen baton")
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertEqual(new.listen(0.2), [])

    def test_a_waiter_is_not_asked(self):
        self.wire("worker-1", lock=4)
        waiter = self.waiter(4, "worker-2")
        drive = self.drive(step_down_channel="baton").poll().order("step-down", "app:4", waiter.start())
        self.assertIn("only a holder", texts(drive.plan()["reasons"]))

    def test_a_long_reason_is_cut_and_nothing_else(self):
        holder = self.wire("worker-1", lock=5)
        holder.run("listen baton")
        drive = self.drive(step_down_channel="baton")
        self.assertEqual(self.act(drive, "step-down", "app:5", holder.start(), "\u00e9" * 30000)["kind"], "done")
        (_, payload), = holder.listen(30)
        self.assertLess(len(payload), 8000)
        self.assertGreater(len(payload), 2000)
        self.assertTrue(payload.endswith('\\u00e9"}'))


class Prepared(Case):
    GIDS = ["", "plain", "it''s", "back\\slash", "sp ace\u00e9"]

    def prepare(self, gid, lock, dbname="app"):
        self.pg.psql(f"begin; select pg_advisory_xact_lock({lock}); prepare transaction '{gid}'", dbname=dbname)

    def rolled_back(self):
        for (gid, dbname) in self.pg.psql("select gid, database from pg_prepared_xacts"):
            self.pg.psql("rollback prepared '" + gid.replace("'", "''") + "'", dbname=dbname)

    def tearDown(self):
        self.rolled_back()

    def test_it_is_rolled_back_in_its_own_database(self):
        for n, gid in enumerate(self.GIDS):
            for dbname in ("app", "other"):
                with self.subTest(gid=gid, dbname=dbname):
                    self.prepare(gid, 10 + n, dbname)
                    waiter = self.waiter(10 + n, "next", dbname)
                    drive = self.drive().poll()
                    path = f"{dbname}:{10 + n}"
                    drive.order("release", path, drive.claim(path))
                    plan = drive.plan()
                    self.assertEqual((plan["verdict"], plan["successor"]), ("ready", "next"), plan)
                    self.assertIn("the server does not guard", texts(plan["warnings"]))
                    self.assertIsNone(plan["guarded_by"])
                    self.assertEqual(drive.send()["kind"], "done")
                    sight = drive.look()
                    self.assertEqual((sight["settled"], sight["overlap"]), (True, "none"))
                    waiter.result()
                    waiter.close()
                    self.assertEqual(self.pg.psql("select gid from pg_prepared_xacts"), [])

    def test_another_one_under_the_same_gid_is_left_alone(self):
        self.prepare("again", 20)
        drive = self.drive().poll()
        drive.order("release", "app:20", drive.claim("app:20"))
        self.assertEqual(drive.plan()["verdict"], "ready")
        self.rolled_back()
        self.prepare("again", 20)
        self.assertEqual(drive.send()["kind"], "changed")
        self.assertEqual(drive.plan()["verdict"], "changed")
        self.assertEqual(self.pg.psql("select gid from pg_prepared_xacts"), [("again",)])

    def test_only_the_owner_or_a_superuser(self):
        self.pg.role("watcher", grants=["pg_read_all_stats", "pg_signal_backend"])
        self.prepare("owned", 21)
        drive = self.drive(user="watcher").poll()
        drive.order("release", "app:21", drive.claim("app:21"))
        plan = drive.plan()
        self.assertEqual((plan["verdict"], plan["permission"]), ("refused", "missing"))
        self.assertIn('only its owner "postgres" or a superuser', texts(plan["reasons"]))
        effect = drive.send()  # the server says the same
        self.assertEqual(effect["kind"], "refused", effect)
        self.assertEqual(len(self.pg.psql("select gid from pg_prepared_xacts")), 1)

    def test_it_can_be_neither_asked_nor_cancelled(self):
        self.prepare("deaf", 22)
        drive = self.drive(step_down_channel="baton").poll()
        for verb in ("step-down", "cancel"):
            drive.order(verb, "app:22", drive.claim("app:22"))
            self.assertIn("release rolls it back", texts(drive.plan()["reasons"]))


class Privileges(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pg.role("plain")
        cls.pg.role("sees", grants=["pg_read_all_stats"])
        cls.pg.role("signals", grants=["pg_read_all_stats", "pg_signal_backend"])
        cls.pg.role("blind", grants=["pg_signal_backend"])
        cls.pg.role("worker")
        cls.pg.role("boss", grants=["pg_read_all_stats", "worker"])

    def plan(self, user, lock, key=None, verb="release"):
        drive = self.drive(user=user).poll()
        drive.order(verb, f"app:{lock}", key or drive.claim(f"app:{lock}"))
        return drive, drive.plan()

    def test_without_backend_start_there_is_no_identity(self):
        holder = self.wire("w", user="worker", lock=1)
        for user in ("plain", "blind"):
            drive, plan = self.plan(user, 1)
            self.assertEqual(plan["verdict"], "refused")
            self.assertIn("GRANT pg_read_all_stats", texts(plan["reasons"]))
            self.assertEqual(drive.send()["kind"], "unsent")
            _, plan = self.plan(user, 1, key=holder.start())  # as another role had seen it
            self.assertIn("can't be verified", texts(plan["reasons"]))
        self.assertTrue(holder.alive())

    def test_the_grant_that_lacks_is_named_and_the_server_agrees(self):
        holder = self.wire("w", user="worker", lock=2)
        drive, plan = self.plan("sees", 2)
        self.assertEqual((plan["verdict"], plan["permission"]), ("refused", "missing"))
        self.assertIn('GRANT pg_signal_backend TO "sees"', texts(plan["reasons"]))
        self.assertEqual(drive.send()["kind"], "refused")
        self.assertTrue(holder.alive())

    def test_a_superusers_session_needs_a_superuser(self):
        holder = self.wire("root", lock=3)
        drive, plan = self.plan("signals", 3)
        self.assertEqual((plan["verdict"], plan["permission"]), ("refused", "missing"))
        self.assertIn("only a superuser", texts(plan["reasons"]))
        effect = drive.send()
        self.assertEqual(effect["kind"], "refused")
        # Its message until 15, the detail of it from 16 on.
        self.assertIn("superuser", effect["answer"].lower())
        self.assertTrue(holder.alive())

    def test_who_may_does(self):
        for user in ("signals", "boss", "worker"):
            with self.subTest(user=user):
                holder = self.wire("w", user="worker", lock=4)
                drive, plan = self.plan(user, 4)
                self.assertEqual((plan["verdict"], plan["permission"]), ("ready", "ok"), plan)
                self.assertEqual(drive.send()["kind"], "done")
                self.assert_gone(holder)

    def test_a_function_that_was_taken_away(self):
        holder = self.wire("w", user="worker", lock=5)
        self.pg.psql("revoke execute on function pg_terminate_backend from public", dbname="app")
        try:
            drive, plan = self.plan("signals", 5)
            self.assertIn("GRANT EXECUTE ON FUNCTION pg_terminate_backend", texts(plan["reasons"]))
            self.assertEqual(drive.send()["kind"], "refused")
        finally:
            self.pg.psql("grant execute on function pg_terminate_backend to public", dbname="app")
        self.assertTrue(holder.alive())

    def test_a_database_that_may_not_be_entered(self):
        self.pg.psql("revoke connect on database other from public")
        holder = self.wire("w", dbname="other", lock=6)
        drive = self.drive(user="sees", step_down_channel="baton").poll()
        drive.order("step-down", "other:6", holder.start())
        self.assertIn('GRANT CONNECT ON DATABASE "other"', texts(drive.plan()["reasons"]))
        self.assertEqual(drive.send()["kind"], "unsent")


class Pooled(Case):
    def test_through_a_pooler_nothing_is_done(self):
        holder = self.wire("worker-1", lock=1)
        with PgBouncer(self.pg) as pooler:
            drive = self.drive(port=pooler.port).poll()
            for verb in ("release", "cancel", "step-down"):
                drive.order(verb, "app:1", holder.start())
                self.assertIn("goes through a pooler", texts(drive.plan()["reasons"]))
                self.assertEqual(drive.send()["kind"], "unsent")
        self.assertTrue(holder.alive())

    def test_a_lock_that_is_stranded_on_a_poolers_session(self):
        conf = {"application_name_add_host": "1"}
        with PgBouncer(self.pg, conf=conf) as pooler:
            client = pooler.session("app", app="job")
            client.run("select pg_advisory_lock(2)")
            drive = self.drive().poll()
            drive.order("release", "app:2", drive.claim("app:2"))
            plan = drive.plan()
            self.assertIn("the pooler's server connection", texts(plan["destroys"]))
            self.assertIn("may not be who uses the session now", texts(plan["warnings"]))
            self.assertEqual(drive.send()["kind"], "done")
            wait_until(lambda: not self.rows(2), what="free")
            client.close()


class Standby(Case):
    def test_a_standbys_lock(self):
        with self.pg.standby() as standby:
            holder = Wire(standby, "app", "reader")
            self.addCleanup(holder.close)
            holder.run("select pg_advisory_lock(1)")
            drive = Drive("postgres", "orders", {"conninfo": standby.conninfo("app"), "step_down_channel": "baton"})
            self.addCleanup(drive.close)
            drive.poll().order("step-down", "app:1", holder.start())
            self.assertIn("NOTIFY does not work", texts(drive.plan()["reasons"]))
            drive.order("release", "app:1", holder.start())
            plan = drive.plan()
            self.assertEqual(plan["verdict"], "ready")
            self.assertIn("its locks exclude nobody on the primary", texts(plan["warnings"]))
            self.assertEqual(drive.send()["kind"], "done")
            self.assert_gone(holder)


class Faults(Case):
    """Whatever breaks, and when: the effect that is told is what happened."""

    def setUp(self):
        self.proxy = Proxy(self.pg.port)
        self.addCleanup(self.proxy.close)
        self.holder = self.wire("worker-1", lock=1)

    def planned(self, timeout_ms=2500):
        drive = self.drive(port=self.proxy.port, timeout_ms=timeout_ms).poll()
        drive.order("release", "app:1", self.holder.start())
        self.assertEqual(drive.plan()["verdict"], "ready")
        return drive

    def find_out(self, effect):
        """Whether the session is there, by the words that the effect gives."""
        return bool(self.pg.psql(effect["find_out"].split(" -- ")[0]))

    def test_cut_before(self):
        drive = self.planned()
        self.proxy.refuse()
        self.proxy.cut()
        effect = drive.send()
        self.assertEqual(effect["kind"], "unsent")
        self.assertLess(effect["rc"], 0)
        self.assertTrue(self.holder.alive())

    def test_cut_while_it_is_under_way(self):
        drive = self.planned()
        self.proxy.stall()
        cut = threading.Thread(target=lambda: (wait_until(lambda: self.proxy.held), self.proxy.reset()))
        cut.start()
        effect = drive.send()
        cut.join()
        self.assertEqual(effect["kind"], "unknown", effect)
        self.assertTrue(self.find_out(effect))
        self.assertTrue(self.holder.alive())

    def test_the_answer_is_lost(self):
        drive = self.planned()
        self.proxy.swallow()
        effect = drive.send()
        self.assertEqual(effect["kind"], "unknown", effect)
        self.assert_gone(self.holder)
        wait_until(lambda: not self.find_out(effect), what="the session's end")
        self.proxy.pass_on()
        wait_until(lambda: drive.look()["settled"], what="the session's end, seen again")

    def test_a_server_that_stands_still(self):
        drive = self.planned()
        self.pg.pause()
        started = time.monotonic()
        try:
            effect = drive.send()
        finally:
            self.pg.resume()
        self.assertLess(time.monotonic() - started, 8)
        self.assertEqual(effect["kind"], "unknown", effect)
        # It may have been taken or not; what it is told to ask says which.
        wait_until(lambda: self.find_out(effect) == self.holder.alive(), what="find_out saying what is so")

    def test_a_server_that_is_gone(self):
        drive = self.planned()
        self.pg.stop()
        try:
            effect = drive.send()
        finally:
            self.pg.start()
        self.assertEqual(effect["kind"], "unsent")

    def test_a_rollback_whose_answer_is_lost(self):
        self.pg.psql("begin; select pg_advisory_xact_lock(7); prepare transaction 'lost'", dbname="app")
        drive = self.drive(port=self.proxy.port, timeout_ms=2500).poll()
        drive.order("release", "app:7", drive.claim("app:7"))
        self.assertEqual(drive.plan()["verdict"], "ready")
        self.proxy.swallow(b"ROLLBACK PREPARED 'lost'")
        effect = drive.send()
        self.assertEqual(effect["kind"], "unknown", effect)
        self.assertEqual(self.pg.psql(effect["find_out"].split(" -- ")[0]), [])
        self.assertEqual(self.pg.psql("select gid from pg_prepared_xacts"), [])

    def test_a_rollbacks_check_whose_answer_is_lost(self):
        self.pg.psql("begin; select pg_advisory_xact_lock(8); prepare transaction 'kept'", dbname="app")
        drive = self.drive(port=self.proxy.port, timeout_ms=2500).poll()
        drive.order("release", "app:8", drive.claim("app:8"))
        self.assertEqual(drive.plan()["verdict"], "ready")
        self.proxy.swallow()
        self.assertEqual(drive.send()["kind"], "unsent")
        self.assertEqual(self.pg.psql("select gid from pg_prepared_xacts"), [("kept",)])
        self.pg.psql("rollback prepared 'kept'", dbname="app")

    def test_a_notification_whose_answer_is_lost(self):
        self.holder.run("listen baton")
        drive = self.drive(port=self.proxy.port, timeout_ms=2500, step_down_channel="baton").poll()
        drive.order("step-down", "app:1", self.holder.start())
        self.assertEqual(drive.plan()["verdict"], "ready")
        self.proxy.swallow(b"pg_notify")
        self.assertEqual(drive.send()["kind"], "unknown")
        self.assertEqual(len(self.holder.listen(30)), 1)


class ReadOnly(Case):
    conf = {"log_statement": "all", "log_min_messages": "log"}

    def test_a_forecast_sends_nothing_that_changes_anything(self):
        holder = self.wire("worker-1", lock=1)
        self.waiter(1, "worker-2")
        self.pg.psql("begin; select pg_advisory_xact_lock(2); prepare transaction 'p'", dbname="app")
        mark = len(self.pg.process.log_text())
        drive = self.drive(step_down_channel="baton").poll()
        for verb in ("step-down", "cancel", "release"):
            drive.order(verb, "app:1", holder.start())
            drive.plan()
            drive.look()
            drive.order(verb, "app:2", drive.claim("app:2"))
            drive.plan()
            drive.look()
        log = self.pg.process.log_text()[mark:]
        statements = [line.split(":", 3)[3] for line in log.splitlines() if "execute <unnamed>:" in line
                      or " statement:" in line]
        self.assertGreater(log.count("execute <unnamed>"), 10)
        for word in ("pg_terminate", "pg_cancel", "pg_notify", "ROLLBACK", "NOTIFY", "LISTEN", "advisory_lock(",
                     "unlock", "UPDATE", "INSERT", "DELETE", "BEGIN"):
            self.assertNotIn(word.lower(), "\n".join(statements).lower().replace("pg_stat", ""), word)
        self.assertTrue(holder.alive())
        self.assertEqual(len(self.pg.psql("select 1 from pg_prepared_xacts")), 1)


if __name__ == "__main__":
    unittest.main()
