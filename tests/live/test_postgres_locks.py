"""Advisory locks of a real PostgreSQL: baton's answer agrees with psql's, row by row."""

import json
import os
import re
import unittest

from pg_truth import codes, one_line, row, seen, source, truth
from servers import Home, Postgres, wait_until
from servers.program import TOP


class Locks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pg = Postgres(conf={"max_locks_per_transaction": "512", "max_connections": "60"})
        cls.pg.database("app")
        cls.pg.database("odd:name/\N{SNOWMAN}")

    @classmethod
    def tearDownClass(cls):
        cls.pg.close()

    def setUp(self):
        self.sessions = []
        self.home = Home(env=self.pg.env())
        self.addCleanup(self.home.close)
        self.addCleanup(self.end_sessions)

    def end_sessions(self):
        for session in self.sessions:
            session.close()
        wait_until(lambda: self.pg.psql("select count(*) from pg_locks where locktype = 'advisory' "
                                        "and pid is not null") == [("0",)])

    def session(self, *args, **kwargs):
        session = self.pg.session(*args, **kwargs)
        self.sessions.append(session)
        return session

    def holder(self, key, app="holder", dbname="app", share=False):
        session = self.session(dbname, app=app)
        session.run(f"select pg_advisory_lock{'_shared' if share else ''}({key})")
        return session

    def waiter(self, key, app, dbname="app", share=False):
        session = self.session(dbname, app=app)
        session.send(f"select pg_advisory_lock{'_shared' if share else ''}({key})")
        waits = f"select count(*) from pg_locks where pid = {session.pid} and not granted"
        if self.pg.version >= 14:
            waits += " and waitstart is not null"
        wait_until(lambda: self.pg.psql(waits) == [("1",)])
        return session

    def list(self, *args):
        result = self.home.baton("list", "--json", *args)
        self.assertEqual(result.code, 0, result)
        return result.json

    def agree(self):
        answer = self.list()
        self.assertEqual(seen(answer), truth(self.pg))
        return answer

    def test_nobody_holds_anything(self):
        self.assertEqual(seen(self.list()), {})

    def test_both_key_spaces_and_two_databases(self):
        """One number, four locks, none of which excludes another."""
        self.holder("7")
        self.holder("0, 7")
        self.holder("7", dbname="postgres")
        self.holder("7", dbname="odd:name/\N{SNOWMAN}")
        answer = self.agree()
        self.assertEqual(set(seen(answer)), {"app:7", "app:(0,7)", "postgres:7", "odd:name/\N{SNOWMAN}:7"})
        for path in seen(answer):
            self.assertEqual(row(answer, path)["state"], "HELD")

    def test_keys_at_the_ends_of_their_types(self):
        numbers = ["9223372036854775807", "-9223372036854775808", "-1", "-42", "4294967296", "-1318387531"]
        pairs = ["2147483647, -2147483648", "-2147483648, 2147483647", "7, -9", "-1, -1"]
        for key in numbers + pairs:
            self.holder(key)
        paths = {f"app:{n}" for n in numbers} | {f"app:({p.replace(' ', '')})" for p in pairs}
        self.assertEqual(set(seen(self.agree())), paths)

    def test_waiters_stand_in_their_order(self):
        self.holder("42", app="first")
        for name in ("second", "third", "fourth"):
            self.waiter("42", name)
        one = row(self.agree(), "app:42")
        names, places = ("second", "third", "fourth"), (1, 2, 3) if self.pg.version >= 14 else (None, None, None)
        self.assertEqual([(c["identity"], c["position"]) for c in one["waiters"]], list(zip(names, places)))
        self.assertEqual(one["state"], "CONTENDED")
        holder = int(one["holders"][0]["detail"]["pid"])
        self.assertIn(holder, one["waiters"][0]["detail"]["blocked_by"])
        starts = [c["detail"].get("wait_start") for c in one["waiters"]]
        self.assertEqual(starts, sorted(starts) if self.pg.version >= 14 else [None, None, None])

    def test_share_locks_have_several_holders(self):
        for name in ("reader-1", "reader-2", "reader-3"):
            self.holder("5", app=name, share=True)
        self.waiter("5", "writer")
        one = row(self.agree(), "app:5")
        self.assertEqual(len(one["holders"]), 3)
        self.assertEqual({c["detail"]["mode"] for c in one["holders"]}, {"share"})

    def test_a_session_that_locks_twice_is_one_holder(self):
        session = self.holder("9")
        session.run("select pg_advisory_lock(9)")
        session.run("select pg_advisory_lock_shared(9)")
        one = row(self.list(), "app:9")
        self.assertEqual(len(one["holders"]), 1)
        self.assertEqual(one["holders"][0]["detail"]["mode"], "exclusive")
        session.run("select pg_advisory_unlock(9)")
        self.assertEqual(len(row(self.list(), "app:9")["holders"]), 1)

    def test_a_prepared_transaction_holds(self):
        session = self.session("app", app="gone")
        session.run("begin")
        session.run("select pg_advisory_xact_lock(3, 4)")
        session.run("prepare transaction 'tx 9/\u00fc'")
        self.addCleanup(lambda: self.pg.psql("rollback prepared 'tx 9/\u00fc'", dbname="app"))
        self.waiter("3, 4", "blocked")
        one = row(self.agree(), "app:(3,4)")
        self.assertEqual(one["state"], "ORPHAN")
        self.assertEqual(one["holders"][0]["identity"], "prepared:tx 9/\u00fc")
        self.assertIsNone(one["holders"][0]["detail"].get("pid"))
        self.assertIn("prepared-holder", codes(one))
        # pg_blocking_pids says 0 for a prepared transaction
        self.assertIn(0, one["waiters"][0]["detail"]["blocked_by"])

    def test_a_session_without_a_name_is_role_and_client(self):
        self.pg.role("batch")
        by_tcp = self.session("app", user="batch", app="")
        by_tcp.run("select pg_advisory_lock(1)")
        self.assertEqual(row(self.agree(), "app:1")["holders"][0]["identity"], "batch@127.0.0.1")
        by_socket = self.session("app", user="batch", app="", host=self.pg.folder.path)
        by_socket.run("select pg_advisory_lock(2)")
        one = row(self.agree(), "app:2")["holders"][0]
        self.assertEqual((one["identity"], one["detail"]["client"]), ("batch@local", "local"))

    def test_idle_in_a_transaction(self):
        session = self.session("app", app="sleeper")
        session.run("begin")
        session.run("select pg_advisory_xact_lock(6)")
        detail = row(self.agree(), "app:6")["holders"][0]["detail"]
        self.assertEqual(detail["state"], "idle in transaction")
        self.assertLessEqual(detail["xact_start"], detail["state_change"])
        self.assertEqual(detail["query"], "select pg_advisory_xact_lock(6);")
        self.assertEqual(detail["user"], "postgres")
        self.assertTrue(detail["superuser"])

    def test_a_cycle_through_something_that_is_no_advisory_lock(self):
        """The holder waits for a table that its own waiter has locked."""
        holder, waiter = self.holder("8", app="builder"), self.session("app", app="deployer")
        self.pg.psql("create table if not exists t ()", dbname="app")
        self.without_deadlock_detection(holder, waiter)
        waiter.run("begin")
        waiter.run("lock table t in access exclusive mode")
        holder.send("select * from t")
        waiter.send("select pg_advisory_lock(8)")
        self.cycle(holder, waiter)

    def test_a_cycle_through_a_waiters_snapshot(self):
        """CREATE INDEX CONCURRENTLY waits for all older snapshots, and that of its own waiter is one."""
        self.pg.psql("create table if not exists u (n int)", dbname="app")
        holder, waiter = self.holder("8", app="builder"), self.session("app", app="deployer")
        self.without_deadlock_detection(holder, waiter)
        waiter.send("select pg_advisory_lock(8)")
        wait_until(lambda: self.pg.psql("select count(*) from pg_locks where not granted") == [("1",)])
        holder.send("create index concurrently on u (n)")
        one = self.cycle(holder, waiter)
        self.assertEqual(one["holders"][0]["detail"]["wait_event"], "Lock/virtualxid")

    def without_deadlock_detection(self, *sessions):
        self.pg.psql("alter system set deadlock_timeout = '1h'; select pg_reload_conf()")
        self.addCleanup(lambda: self.pg.psql("alter system reset deadlock_timeout; select pg_reload_conf()"))
        for session in sessions:
            wait_until(lambda s=session: s.run("show deadlock_timeout") == [("1h",)])

    def cycle(self, holder, waiter):
        wait_until(lambda: self.pg.psql("select count(*) from pg_locks where not granted") == [("2",)])
        one = row(self.agree(), "app:8")
        self.assertEqual(one["holders"][0]["detail"]["blocked_by"], [waiter.pid])
        self.assertEqual(one["waiters"][0]["detail"]["blocked_by"], [holder.pid])
        self.assertIn("lock-cycle", codes(one))
        self.assertEqual(one["state"], "STUCK")
        holder.kill9()
        self.pg.psql(f"select pg_terminate_backend({holder.pid})")
        return one

    def test_hostile_names_are_harmless_and_whole(self):
        """The server makes application_name ASCII (before 16 by question marks); names of roles and databases it keeps."""
        names = {"a\\x1b[31m": "a\\\\x1b[31m", "'; drop table locks; --": "'; drop table locks; --", "y" * 63: "y" * 63}
        for i, name in enumerate(names):
            session = self.session("app")
            session.run("select set_config('application_name', $x$" + name + "$x$, false)")
            session.run(f"select pg_advisory_lock({100 + i})")
        role = "x\N{RIGHT-TO-LEFT OVERRIDE}\N{ZERO WIDTH SPACE}\x1b[2J\n\N{CJK UNIFIED IDEOGRAPH-4E2D}"
        self.pg.psql(f'create role "{role}" login; create database "{role}"')
        self.addCleanup(lambda: self.pg.psql(f'drop database "{role}"'))
        session = self.session("app", user="postgres", app="")
        session.run(f'set session authorization "{role}"')
        session.run("select pg_advisory_lock(200)")
        other = self.session(role, app="in an odd place")
        other.run("select pg_advisory_lock(1)")
        out = self.home.baton("list", "--json").out
        for bad in ("\N{RIGHT-TO-LEFT OVERRIDE}", "\N{ZERO WIDTH SPACE}", "\x1b"):
            self.assertNotIn(bad, out)
            self.assertNotIn(json.dumps(bad)[1:-1], out)
        answer = json.loads(out)
        for i, clean in enumerate(names.values()):
            self.assertEqual(row(answer, f"app:{100 + i}")["holders"][0]["identity"], clean)
        clean = "x\\xe2\\x80\\xae\\xe2\\x80\\x8b\\x1b[2J\\x0a\N{CJK UNIFIED IDEOGRAPH-4E2D}"
        self.assertEqual(row(answer, f"{clean}:1")["holders"][0]["identity"], "in an odd place")
        # and what was printed is taken back
        shown = self.home.baton("show", f"postgres/{clean}:1", "--json")
        self.assertEqual(shown.json["singleton"]["id"], f"postgres/{clean}:1", shown)
        other.close()
        wait_until(lambda: self.pg.psql("select count(*) from pg_stat_activity where application_name = "
                                        "'in an odd place'") == [("0",)])

    def test_names_of_keys(self):
        self.pg.psql("select 1")
        hashed = self.pg.psql("select hashtext('billing-close'), ('x' || substr(md5('reindex'), 1, 16))::bit(64)::bigint")
        self.home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo('app')}"}}
names:
  - {{source: orders, database: app, key: {{hashtext: billing-close}}, name: billing-close}}
  - {{source: orders, key: {{md5: reindex}}, name: reindex}}
  - {{source: orders, key: {{crc32: hello}}, name: greeting}}
  - {{source: orders, database: app, key: {{pair: [7, -9]}}, name: pairs}}
  - {{source: orders, database: app, key: {{bigint: -42}}, name: negative}}
  - {{source: orders, key: "postgres:(1,2)", name: literal}}
""")
        self.holder("hashtext('billing-close')")
        self.holder("7, -9")
        self.holder("72707369")
        answer = self.list()
        self.assertEqual(seen(answer, "orders"), truth(self.pg))
        names = {one["id"]: (one["name"], one["state"]) for one in answer["singletons"]}
        self.assertEqual(names, {
            f"orders/app:{hashed[0][0]}": ("billing-close", "HELD"), f"orders/app:{hashed[0][1]}": ("reindex", "FREE"),
            "orders/app:907060870": ("greeting", "FREE"), "orders/app:(7,-9)": ("pairs", "HELD"),
            "orders/app:-42": ("negative", "FREE"), "orders/postgres:(1,2)": ("literal", "FREE"),
            "orders/app:72707369": (None, "HELD")})
        self.assertEqual(row(answer, "app:72707369", "orders")["detail"]["tool"], "Prisma Migrate")

    def test_only_some_databases(self):
        self.home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo('postgres')}", databases: [app, "odd:name/\N{SNOWMAN}"]}}
""")
        self.holder("1")
        self.holder("1", dbname="postgres")
        self.assertEqual(set(seen(self.list(), "orders")), {"app:1"})

    def test_doctor_names_a_database_that_is_not_there(self):
        """One that was mistyped would be free of locks, and green, for ever."""
        self.home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo('postgres')}", databases: [app, ap]}}
names:
  - {{source: orders, database: App, key: "1", name: one}}
  - {{source: orders, database: App, key: "2", name: two}}
  - {{source: orders, database: app, key: "3", name: three}}
""")
        done = self.home.baton("doctor", "--json")
        warned = [line["text"] for line in done.json["sources"][0]["lines"] if line["what"] == "database"]
        self.assertEqual(warned, [f"there is no database {name}: none of its locks can be seen" for name in ("ap", "App")])
        self.assertEqual(done.code, 0)

    def test_the_query_can_be_left_out(self):
        self.home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo('postgres')}", query_text: false}}
""")
        self.holder("1")
        self.assertNotIn("query", row(self.list(), "app:1", "orders")["holders"][0]["detail"])

    def test_a_database_that_is_not_looked_at_is_not_free(self):
        self.home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo('postgres')}", databases: [app]}}
roles:
  far: {{witnesses: ["orders/postgres:1"]}}
  near: {{witnesses: ["orders/app:99"]}}
""")
        answer = self.list()
        self.assertEqual([(role["name"], role["state"], role["witnesses"][0]["sight"]) for role in answer["roles"]],
                         [("far", "UNKNOWN", "outside"), ("near", "FREE", "absent")])
        self.assertEqual(source(answer, "orders")["hidden"], [])

    def test_ten_thousand_locks(self):
        self.session("app", app="hoarder").run("select count(pg_advisory_lock(i)) from generate_series(1, 10000) i")
        answer = self.agree()
        self.assertEqual(len(seen(answer)), 10000)
        self.assertEqual(source(answer)["detail"]["lock_rows"], 10000)
        self.assertEqual(row(answer, "app:777")["holders"][0]["detail"]["locks_held"], 10000)

    def test_rows_that_are_not_read_are_counted_and_queues_are_kept(self):
        self.session("app", app="hoarder").run("select count(pg_advisory_lock(i)) from generate_series(1, 3000) i")
        self.waiter("2999", "blocked")
        self.home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{self.pg.conninfo('postgres')}", rows: 100}}
roles:
  close: {{witnesses: ["orders/app:2500"]}}
""")
        answer = self.list()
        self.assertEqual(len(answer["singletons"]), 99)
        role, = answer["roles"]
        self.assertEqual((role["state"], role["findings"][0]["code"]), ("UNKNOWN", "hidden"))
        self.assertEqual(row(answer, "app:2999", "orders")["waiters"][0]["identity"], "blocked")
        self.assertEqual(row(answer, "app:2999", "orders")["holders"][0]["identity"], "hoarder")
        self.assertEqual(source(answer, "orders")["detail"]["rows_cut"], 2901)
        self.assertTrue(any("2901 more" in text for text in source(answer, "orders")["hidden"]))

    def test_the_servers_facts(self):
        detail = source(self.list())["detail"]
        control = self.pg.psql("select system_identifier from pg_control_system()")[0][0]
        self.assertEqual(detail["system_identifier"], control)
        self.assertEqual(detail["timeline"], 1)
        self.assertEqual(detail["in_recovery"], False)
        self.assertEqual(detail["read_only"], False)
        self.assertEqual(detail["server_version"], int(self.pg.psql("show server_version_num")[0][0]))
        self.assertEqual(detail["server_address"], f"127.0.0.1:{self.pg.port}")
        self.assertEqual(detail["lock_capacity"], 512 * (60 + 8))
        self.assertRegex(detail["server_time"], r"^20\d\d-.*Z$")
        # what the operating system does where the settings are 0
        horizon = self.pg.psql("select sum(n) from (select current_setting('tcp_keepalives_idle')::int"
                               " + current_setting('tcp_keepalives_interval')::int"
                               " * current_setting('tcp_keepalives_count')::int) t (n)", socket=False)
        self.assertEqual(detail["keepalive_horizon_ms"], int(horizon[0][0]) * 1000)

    def test_read_only_by_default_is_the_servers_setting_not_ours(self):
        self.pg.psql("alter database app set default_transaction_read_only = on")
        self.addCleanup(lambda: self.pg.psql("alter database app reset default_transaction_read_only"))
        self.assertTrue(source(self.home.baton("list", "--json", env={"PGDATABASE": "app"}).json)["detail"]["read_only"])
        self.assertFalse(source(self.list())["detail"]["read_only"])


class Encodings(unittest.TestCase):
    def test_names_and_queries_in_several_encodings(self):
        """A row's id doesn't depend on the encoding of the database to which baton connects; nothing fails on others'."""
        with Postgres() as pg:
            pg.psql("create database latin template template0 encoding latin1 lc_collate 'C' lc_ctype 'C'; "
                    "create database japan template template0 encoding euc_jp lc_collate 'C' lc_ctype 'C'; "
                    "create database \"uni\N{SNOWMAN}\"")
            holder = pg.session("uni\N{SNOWMAN}", app="holder")
            holder.run("select pg_advisory_lock(1) as \"\N{SNOWMAN}\"")
            latin = pg.session("latin", app="latin")
            latin.run("set client_encoding to utf8")
            latin.run("select pg_advisory_lock(hashtext('f\u00fcr')) as \"f\u00fcr\"")
            for database in ("postgres", "latin", "japan"):
                with Home(env=pg.env(database)) as home:
                    answer = home.baton("list", "--json").json
                    one = row(answer, "uni\N{SNOWMAN}:1")["holders"][0]
                    self.assertIn("\N{SNOWMAN}", one["detail"]["query"], database)
                    other = next(one for one in answer["singletons"] if "/latin:" in one["id"])
                    self.assertIn("\\xfc", other["holders"][0]["detail"]["query"])
            # hashtext is that of the text in the database's own encoding
            with Home() as home:
                home.write_config(f"""
sources:
  orders: {{kind: postgres, conninfo: "{pg.conninfo('latin')}"}}
names:
  - {{source: orders, database: latin, key: {{hashtext: "f\u00fcr"}}, name: in latin}}
""")
                answer = home.baton("list", "--json").json
                self.assertEqual([(one["name"], one["state"]) for one in answer["singletons"] if one["name"]],
                                 [("in latin", "HELD")])
            holder.close()
            latin.close()


class OnTheWire(unittest.TestCase):
    def test_nothing_is_written_and_no_lock_is_taken(self):
        with Postgres(conf={"log_statement": "all", "log_line_prefix": "app=%a ", "log_min_messages": "info"}) as pg, \
                Home(env=pg.env()) as home:
            holder = pg.session(app="holder")
            holder.run("select pg_advisory_lock(1)")
            self.assertEqual(home.baton("list", "--json").code, 0)
            self.assertEqual(home.baton("doctor").code, 0)
            with open(pg.folder / "log", encoding="utf-8") as log:
                text = log.read()
            words = re.findall(r"^app=baton LOG:  (?:statement|execute [^:]*): *(\w+)", text, re.M)
            self.assertGreater(len(words), 3)
            self.assertEqual(set(words) - {"SELECT", "WITH", "SET", "BEGIN", "COMMIT"}, set())
            self.assertNotRegex(text, r"app=baton.*(advisory_lock|nextval|INSERT|UPDATE|DELETE)\b")
            self.assertIn("'default_transaction_read_only', 'on'", text)
            # and the manual shows the query that is sent
            with open(os.path.join(TOP, "doc", "source-postgres.md"), encoding="utf-8") as manual:
                shown = re.search(r"```sql\n(WITH .*?)```", manual.read(), re.S).group(1)
            if 140000 <= int(pg.psql("show server_version_num")[0][0]):
                self.assertIn(one_line(shown).strip(), one_line(text))

    def test_the_session_is_read_only_and_bounded(self):
        with Postgres() as pg, Home(env=pg.env()) as home:
            watcher = home.popen("watch", "--json", stdout=-3, stderr=-3)
            try:
                wait_until(lambda: pg.psql("select count(*) from pg_stat_activity where application_name = 'baton'")
                           == [("1",)])
                held = pg.psql("select count(*) from pg_locks l join pg_stat_activity a using (pid) where "
                               "application_name = 'baton' and locktype = 'advisory'")
                self.assertEqual(held, [("0",)])
            finally:
                watcher.terminate()
                watcher.wait(10)


if __name__ == "__main__":
    unittest.main()
