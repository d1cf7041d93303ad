"""PostgreSQL servers in trouble: each kind is named in words, within the deadline, and nothing hangs."""

import os
import re
import signal
import time
import unittest

from pg_truth import codes, one_line, row, seen, source, truth
from servers import (Authority, BlackHole, Folder, Garbage, Home, Postgres, Proxy, endless_server, free_port, html_server,
                     silent_server, wait_until)

TIMEOUT = 2


def ask(conninfo=None, env=None, home=None, *words):
    """One `list`; the answer and how long it took."""
    own = home is None
    home = home or Home()
    try:
        if conninfo is not None:
            home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{conninfo}"}}\n')
        started = time.monotonic()
        result = home.baton("list", "--json", "--timeout", TIMEOUT, *words, env=env)
        return result, time.monotonic() - started
    finally:
        if own:
            home.close()


def connected_to(port):
    """Whether a client has a connection to that port of this machine, as the kernel lists them (01: established)."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        return any(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01" for line in table)


class Trouble(unittest.TestCase):
    def failing(self, conninfo, *says, code=69, env=None, name="pg"):
        result, seconds = ask(conninfo, env)
        self.assertEqual(result.code, code, result)
        one = source(result.json, name)
        self.assertEqual(one["state"], "failing")
        for text in says:
            # Whoever is late says how late.
            self.assertRegex(one_line(one["error"]), re.escape(text).replace(r"within\ 2\.", r"within\ [2-9]\."))
        self.assertLess(seconds, 2 * TIMEOUT + 4)
        self.assertNotIn("only-for-tests", result.out + result.err)
        return one["error"]


class NoServer(Trouble):
    def test_nobody_listens(self):
        port = free_port()
        self.failing(f"host=127.0.0.1 port={port}", f"nobody listens at 127.0.0.1:{port}", "is the port right?")

    def test_nobody_listens_on_an_address_of_the_other_kind(self):
        port = free_port()
        self.failing(f"host=::1 port={port}", f"[::1]:{port}")

    def test_no_socket(self):
        self.failing("host=/nonexistent port=1", "nobody listens at /nonexistent:1", "no such socket")

    def test_a_name_that_nobody_knows(self):
        self.failing("host=nowhere.invalid", "the name of nowhere.invalid:5432 can't be looked up")

    def test_an_http_server(self):
        server = html_server()
        self.addCleanup(server.close)
        self.failing(f"host=127.0.0.1 port={server.port}", "is no PostgreSQL server")
        self.failing(f"host=127.0.0.1 port={server.port} sslmode=disable", "is no PostgreSQL server")

    def test_a_server_that_says_nothing(self):
        server = silent_server()
        self.addCleanup(server.close)
        self.failing(f"host=127.0.0.1 port={server.port}", "took the connection and then said nothing within 2.")

    def test_nothing_comes_back(self):
        hole = BlackHole()
        self.addCleanup(hole.close)
        self.failing(f"host=127.0.0.1 port={hole.port}", f"no answer from {hole.address} within 2.")

    def test_how_far_it_came_is_told(self):
        """Each says something, and then nothing more."""
        let_in, asks = b"R\0\0\0\x08\0\0\0\0", b"R\0\0\0\x08\0\0\0\3"
        for words, answer, more in (("began TLS, and the handshake did not end within 2.", b"S", ""),
                                    ("spoke, and did not let us in within 2.", b"N", ""),
                                    ("spoke, and did not let us in within 2.", asks, "sslmode=disable password=x"),
                                    ("let us in, and did not begin the session within 2.", let_in, "sslmode=disable")):
            server = Garbage(answer, hold=True)
            self.addCleanup(server.close)
            self.failing(f"host=127.0.0.1 port={server.port} {more}", words)

    def test_the_server_of_ssh(self):
        """Its greeting begins with the letter that says yes to TLS."""
        server = Garbage(b"SSH-2.0-OpenSSH_9.2p1\r\n", hold=True, wait_for_request=False)
        self.addCleanup(server.close)
        self.failing(f"host=127.0.0.1 port={server.port}", "no PostgreSQL")

    def test_a_server_that_hangs_up(self):
        server = Garbage(b"")
        self.addCleanup(server.close)
        self.failing(f"host=127.0.0.1 port={server.port} sslmode=disable", "closed the connection without a word")

    def test_an_endless_greeting(self):
        # authentication ok, then parameters without end
        server = endless_server(b"R\0\0\0\x08\0\0\0\0")
        self.addCleanup(server.close)
        self.failing(f"host=127.0.0.1 port={server.port} sslmode=disable", "127.0.0.1")

    def test_a_service_that_is_not_there(self):
        with Folder("service") as folder:
            path = folder / "pg_service.conf"
            with open(path, "w", encoding="ascii") as out:
                out.write("[other]\nhost=h\n")
            self.failing("service=orders", '"orders"', "not found", env={"PGSERVICEFILE": path})

    def test_a_wrong_string_is_refused_without_repeating_it(self):
        result, _ = ask("host=h password=open sesame")
        self.assertNotEqual(result.code, 0)
        self.assertNotIn("sesame", result.out + result.err)
        self.assertIn("single quotes", one_line(result.out + result.err))


class OneServer(Trouble):
    @classmethod
    def setUpClass(cls):
        cls.pg = Postgres(auth="scram-sha-256", conf={"max_connections": "12", "superuser_reserved_connections": "2"},
                          hba=("host all refused 127.0.0.1/32 reject",))
        for name in ("app", "refused", "limited"):
            cls.pg.role(name)
        cls.pg.psql("alter role limited connection limit 0; create database closed; "
                    "alter database closed allow_connections false; create database private; "
                    "revoke connect on database private from public")

    @classmethod
    def tearDownClass(cls):
        cls.pg.close()

    def conninfo(self, user="app", dbname="postgres", password="only-for-tests", **more):
        return self.pg.conninfo(dbname, user=user, password=password, **more)

    def test_a_wrong_password(self):
        error = self.failing(self.conninfo(password="secret-wrong-one"), 'refused the password of role "app"')
        self.assertNotIn("secret-wrong-one", error)

    def test_no_password(self):
        self.failing(self.conninfo(password=None), 'asks for a password of role "app"')

    def test_no_such_role(self):
        # the server doesn't say so, so as not to tell who exists
        self.failing(self.conninfo(user="nobody-here"), 'refused the password of role "nobody-here"')

    def test_pg_hba_refuses(self):
        self.failing(self.conninfo(user="refused"), "pg_hba.conf needs a line")

    def test_no_such_database(self):
        self.failing(self.conninfo(dbname="nix"), "has no such database")

    def test_a_database_that_takes_nobody(self):
        self.failing(self.conninfo(dbname="closed"), "takes no connections to this database")

    def test_a_database_that_may_not_be_entered(self):
        self.failing(self.conninfo(dbname="private"), "needs GRANT CONNECT")

    def test_tls_is_demanded_and_not_spoken(self):
        self.failing(self.conninfo(sslmode="require"), "doesn't speak TLS")

    def test_the_roles_limit(self):
        self.failing(self.conninfo(user="limited"), "takes no more connections")

    def test_a_full_connection_table(self):
        sessions = [self.pg.session(user="app") for _ in range(10)]
        try:
            self.failing(self.conninfo(), "takes no more connections", "connection table is full")
        finally:
            for session in sessions:
                session.close()

    def test_a_password_from_the_environment_a_file_and_pgpass(self):
        with Folder("secrets") as folder, Home(env={"WORD": "only-for-tests"}) as home:
            for name, text in (("word", "only-for-tests\n"),
                               ("pgpass", f"127.0.0.1:{self.pg.port}:*:app:only-for-tests\n")):
                with open(folder / name, "w", encoding="ascii") as out:
                    out.write(text)
                os.chmod(folder / name, 0o600)
            plain = self.conninfo(password=None)
            for option, env in ((", password_env: WORD", {}), (f", password_file: {folder / 'word'}", {}),
                                ("", {"PGPASSFILE": folder / "pgpass"})):
                home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{plain}"{option}}}\n')
                result = home.baton("list", "--json", env=env)
                self.assertEqual(result.code, 0, result)
                self.assertNotIn("only-for-tests", result.out + result.err)

    def test_a_service_file_and_a_uri(self):
        with Folder("service") as folder:
            path = folder / "pg_service.conf"
            with open(path, "w", encoding="ascii") as out:
                out.write(f"[orders]\nhost=127.0.0.1\nport={self.pg.port}\nuser=app\ndbname=postgres\n")
            env = {"PGSERVICEFILE": path, "PGPASSWORD": "only-for-tests"}
            self.assertEqual(ask("service=orders", env)[0].code, 0)
            self.assertEqual(ask(None, {**env, "PGSERVICE": "orders"})[0].code, 0)
        uri = f"postgresql://app:only-for-tests@127.0.0.1:{self.pg.port}/postgres?sslmode=prefer"
        result, _ = ask(uri)
        self.assertEqual(result.code, 0)
        self.assertNotIn("only-for-tests", result.out + result.err)

    def test_several_hosts(self):
        """One where nobody listens, one that hangs, then the right one."""
        silent = silent_server()
        self.addCleanup(silent.close)
        dead = free_port()
        result, _ = ask(self.conninfo(host="127.0.0.1,127.0.0.1,127.0.0.1",
                                            port=f"{dead},{silent.port},{self.pg.port}"))
        self.assertEqual(result.code, 0, result)
        self.assertEqual(source(result.json, "pg")["detail"]["server_address"], f"127.0.0.1:{self.pg.port}")
        self.failing(self.conninfo(host="127.0.0.1,127.0.0.1", port=f"{dead},{silent.port}"), "none of 2 hosts",
                     f"nobody listens at 127.0.0.1:{dead}", "said nothing")

    def test_a_restricted_role_is_told_what_it_does_not_see(self):
        holder = self.pg.session(app="holder")
        nameless = self.pg.session(app="")
        try:
            holder.run("select pg_advisory_lock(1)")
            nameless.run("select pg_advisory_lock(2)")
            result, _ = ask(self.conninfo())
            one = row(result.json, "postgres:1", "pg")["holders"][0]
            self.assertEqual((one["identity"], one["key"]), ("holder", f"{holder.pid}@hidden"))
            for hidden in ("backend_start", "client", "state", "state_change", "query_start"):
                self.assertIsNone(one["detail"][hidden])
            self.assertEqual(one["detail"]["pid"], holder.pid)
            self.assertEqual(row(result.json, "postgres:2", "pg")["holders"][0]["identity"],
                             f"pid {nameless.pid} (hidden)")
            self.assertIn("sessions of other roles", source(result.json, "pg")["hidden"][0])
            self.assertIn('GRANT pg_read_all_stats TO "app"', result.out.replace('\\"', '"'))
            # and with the grant it sees
            self.pg.psql("grant pg_read_all_stats to app")
            result, _ = ask(self.conninfo())
            self.assertEqual(seen(result.json, "pg"), truth(self.pg))
            self.assertEqual(source(result.json, "pg")["hidden"], [])
        finally:
            self.pg.psql("revoke pg_read_all_stats from app")
            holder.close()
            nameless.close()

    def test_doctor_names_the_grants(self):
        with Home() as home:
            home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{self.conninfo()}"}}\n')
            text = one_line(home.baton("doctor").out)
            for word in ("GRANT pg_read_all_stats TO app", "GRANT pg_signal_backend TO app", "PostgreSQL"):
                self.assertIn(word, text)
            self.assertNotIn("only-for-tests", text)


class Hanging(Trouble):
    def setUp(self):
        self.pg = Postgres()
        self.addCleanup(self.pg.close)

    def test_stopped_killed_shut_down_and_restarted(self):
        """A watch lives through all of it, and says each."""
        env = self.pg.env()
        with Home(env=env) as home:
            holder = self.pg.session(app="holder")
            holder.run("begin")
            holder.run("select pg_advisory_xact_lock(3)")
            holder.run("select pg_advisory_lock(4)")
            self.assertEqual(seen(ask(home=home)[0].json), truth(self.pg))
            self.pg.pause()
            result, seconds = ask(home=home)
            self.assertEqual(result.code, 69)
            self.assertIn("said nothing", one_line(source(result.json)["error"]))
            self.assertLess(seconds, 2 * TIMEOUT + 4)
            self.pg.resume()
            self.assertEqual(ask(home=home)[0].code, 0)
            self.pg.kill9()
            self.assertIn("nobody listens", one_line(source(ask(home=home)[0].json)["error"]))
            self.pg.start()
            answer = ask(home=home)[0].json
            self.assertEqual(seen(answer), {})

    def test_whom_the_server_asks_about_a_role_does_not_answer(self):
        directory = silent_server()
        self.addCleanup(directory.close)
        line = f'host all asked 127.0.0.1/32 ldap ldapserver=127.0.0.1 ldapport={directory.port} ldapprefix="cn="'
        with Postgres(hba=(line,)) as pg:
            pg.role("asked")
            error = self.failing(pg.conninfo(user="asked", password="only-for-tests"), "spoke, and did not let us in within 2.")
            self.assertIn("LDAP", error)

    def test_a_prepared_transaction_survives_a_crash(self):
        session = self.pg.session()
        session.run("begin")
        session.run("select pg_advisory_xact_lock(3)")
        session.run("prepare transaction 'kept'")
        with Home(env=self.pg.env()) as home:
            before = seen(ask(home=home)[0].json)
            self.pg.kill9()
            self.pg.start()
            self.assertEqual(seen(ask(home=home)[0].json), before)
            self.assertEqual(list(before), ["postgres:3"])

    def test_a_server_that_is_starting_or_stopping(self):
        session = self.pg.session()
        session.run("select 1")
        # a smart shutdown waits for sessions, and takes no new ones
        os.kill(self.pg.process.pid, signal.SIGTERM)
        wait_until(lambda: not self.pg.ready())
        error = self.failing(self.pg.conninfo(), "doesn't accept connections now")
        self.assertIn("shutting down", error)
        session.close()

    def test_a_console_that_is_open_says_what_happens_and_comes_back(self):
        with Home(env=self.pg.env()) as home, Folder("watch") as folder:
            with open(folder / "out", "wb") as out:
                watch = home.popen("watch", "--json", "--timeout", TIMEOUT, stdout=out, stderr=out)
            try:
                def says(word):
                    with open(folder / "out", encoding="utf-8", errors="replace") as lines:
                        return word in lines.read()
                wait_until(lambda: says('"ok"'))
                self.pg.pause()
                wait_until(lambda: says("answer the query"), timeout=30)
                self.pg.resume()
                session = self.pg.session(app="after-the-pause")
                session.run("select pg_advisory_lock(77)")
                wait_until(lambda: says("after-the-pause"), timeout=30)
                self.pg.process.stop(signal.SIGQUIT)
                # whether the end of the session is seen first, or that nobody listens any more, is a matter of moments
                wait_until(lambda: says("nobody listens"), timeout=40)
            finally:
                watch.terminate()
                watch.wait(10)

    def test_somebody_locks_a_catalog_that_is_read(self):
        """The query gives up by its lock_timeout, and joins no queue for longer."""
        with Home(env=self.pg.env()) as home, Folder("watch") as folder:
            with open(folder / "out", "wb") as out:
                watch = home.popen("watch", "--json", "--timeout", TIMEOUT, stdout=out, stderr=out)

            def says(word):
                with open(folder / "out", encoding="utf-8", errors="replace") as lines:
                    return word in lines.read()
            try:
                wait_until(lambda: says('"ok"'))
                session = self.pg.session()
                session.run("begin; lock table pg_catalog.pg_database in access exclusive mode")
                wait_until(lambda: says("lock_timeout"), timeout=40)
                session.run("rollback")
                session.run("select pg_advisory_lock(12345)")
                wait_until(lambda: says("postgres:12345"), timeout=30)
            finally:
                watch.terminate()
                watch.wait(10)

    def test_it_stops_at_once_while_a_server_hangs(self):
        with Home(env=self.pg.env()) as home:
            self.pg.pause()
            watch = home.popen("watch", "--json", "--timeout", 60, stdout=-3, stderr=-3)
            wait_until(lambda: connected_to(self.pg.port))
            watch.terminate()
            watch.wait(20)  # its own timeout is a minute

    def test_a_password_file_that_is_rotated(self):
        with Postgres(auth="scram-sha-256") as pg, Folder("secrets") as folder, Home() as home:
            word = folder / "word"

            def write(text):
                with open(word, "w", encoding="ascii") as out:
                    out.write(text + "\n")
            write("only-for-tests")
            home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{pg.conninfo()}", password_file: {word}}}\n')
            self.assertEqual(ask(home=home)[0].code, 0)
            pg.psql("alter role postgres password 'another-one'")
            self.assertEqual(ask(home=home)[0].code, 69)
            write("another-one")
            self.assertEqual(ask(home=home)[0].code, 0)

    def test_cut_and_reset_in_the_middle(self):
        proxy = Proxy(self.pg.port)
        self.addCleanup(proxy.close)
        conninfo = self.pg.conninfo(port=proxy.port)
        self.assertEqual(ask(conninfo)[0].code, 0)
        proxy.truncate(700)
        self.failing(conninfo, "127.0.0.1")
        proxy.stall()
        self.failing(conninfo, "said nothing")
        proxy.pass_on()
        self.assertEqual(ask(conninfo)[0].code, 0)


class Standbys(Trouble):
    def roles_through(self, standby):
        """Nobody holds 6 here, and nothing of the primary's locks is seen; 5 is held here, for what that is worth."""
        with Home() as home:
            home.write_config(f'''
sources:
  pg: {{kind: postgres, conninfo: "{standby.conninfo()}"}}
roles:
  away: {{witnesses: ["pg/postgres:6"]}}
  here: {{witnesses: ["pg/postgres:5"]}}
''')
            away, here = home.baton("list", "--json").json["roles"]
            told = home.baton("show", "role/away").out
        self.assertEqual((away["state"], here["state"]), ("UNKNOWN", "HELD"))
        self.assertEqual([(f["code"], f["severity"]) for f in away["findings"]], [("on-standby", "warn")])
        self.assertIn("on-standby", codes(here))
        self.assertEqual([w["sight"] for w in away["witnesses"] + here["witnesses"]], ["standby", "there"])
        self.assertNotIn("not there", told)
        self.assertIn("on a standby", told)

    def test_a_standby_its_promotion_and_two_primaries(self):
        with Postgres() as first, first.standby() as second:
            wait_until(lambda: second.psql("select pg_is_in_recovery()") == [("t",)])
            both = "127.0.0.1,127.0.0.1"
            ports = f"{second.port},{first.port}"

            def asked(attrs):
                result, _ = ask(first.conninfo(host=both, port=ports, target_session_attrs=attrs))
                self.assertEqual(result.code, 0, result)
                return source(result.json, "pg")["detail"]

            for attrs, port in (("any", second.port), ("read-write", first.port), ("primary", first.port),
                                ("standby", second.port), ("read-only", second.port), ("prefer-standby", second.port)):
                detail = asked(attrs)
                self.assertEqual(detail["server_address"], f"127.0.0.1:{port}", attrs)
                self.assertEqual(detail["in_recovery"], port == second.port)
                self.assertEqual(detail["timeline"], 1)
            result, _ = ask(first.conninfo(target_session_attrs="standby"))
            self.assertIn("is a primary", source(result.json, "pg")["error"])
            result, _ = ask(first.conninfo(target_session_attrs="prefer-standby"))
            self.assertEqual(result.code, 0)
            # a lock on the standby excludes nobody on the primary
            session = second.session(app="misrouted")
            session.run("select pg_advisory_lock(5)")
            result, _ = ask(second.conninfo())
            self.assertIn("on-standby", codes(row(result.json, "postgres:5", "pg")))
            self.roles_through(second)
            # two writable servers of one origin
            second.promote()
            with Home() as home:
                home.write_config("sources:\n" + "".join(
                    f'  {name}: {{kind: postgres, conninfo: "{pg.conninfo()}"}}\n'
                    for name, pg in (("one", first), ("two", second))))
                answer = home.baton("list", "--json").json
                one, two = source(answer, "one")["detail"], source(answer, "two")["detail"]
                self.assertEqual(one["system_identifier"], two["system_identifier"])
                self.assertEqual((one["timeline"], two["timeline"]), (1, 2))
                self.assertEqual((one["in_recovery"], two["in_recovery"]), (False, False))
                found = {f["code"] for s in answer["sources"] for f in s["findings"]}
                self.assertIn("two-primaries", found)


class Tls(Trouble):
    def test_certificates(self):
        authority = Authority()
        self.addCleanup(authority.close)
        with Postgres(tls=authority) as pg:
            # one that is for another name, in its own server's folder
            good = pg.conninfo(host="127.0.0.1", sslmode="verify-full", sslrootcert=authority.ca)
            result, _ = ask(good)
            self.assertEqual(result.code, 0, result)
            self.failing(pg.conninfo(host="other.example", hostaddr="127.0.0.1", sslmode="verify-full",
                                     sslrootcert=authority.ca), "is for another name")
            self.failing(pg.conninfo(sslmode="verify-ca", sslrootcert="/nonexistent/ca.pem"), "can't be checked")
            stranger = Authority()
            self.addCleanup(stranger.close)
            self.failing(pg.conninfo(sslmode="verify-ca", sslrootcert=stranger.ca), "not signed by an authority")
            # many rows over TLS: what the library has read ahead is not waited for
            session = pg.session(app="hoarder")
            session.run("select count(pg_advisory_lock(i)) from generate_series(1, 3000) i")
            result, _ = ask(good)
            self.assertEqual(len(result.json["singletons"]), 3000)


if __name__ == "__main__":
    unittest.main()
