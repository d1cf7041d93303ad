"""The harness itself: what the other live tests stand on."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from servers import (Authority, PgBouncer, Postgres, Proxy, SqlError, endless_server, html_server, on_each, port_open,
                     wait_until)


class PostgresServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pg = Postgres()

    @classmethod
    def tearDownClass(cls):
        cls.pg.close()

    def locks(self):
        return self.pg.psql("select granted, objid from pg_locks where locktype = 'advisory' order by 1, 2")

    def test_rows_keep_null_newlines_and_quotes(self):
        rows = self.pg.psql("select 1, null, 'a''b\nc', ''; select 'second'")
        self.assertEqual(rows, [("1", None, "a'b\nc", ""), ("second",)])

    def test_an_error_is_raised(self):
        with self.assertRaisesRegex(SqlError, "no_such_column"):
            self.pg.psql("select no_such_column")
        with self.pg.session() as session, self.assertRaisesRegex(SqlError, "no_such_column"):
            session.run("select no_such_column")

    def test_a_waiter_waits_until_the_holder_leaves(self):
        holder, waiter = self.pg.session(app="holder"), self.pg.session(app="waiter")
        holder.run("select pg_advisory_lock(42)")
        waiter.send("select pg_advisory_lock(42)")
        wait_until(lambda: self.locks() == [("f", "42"), ("t", "42")])
        self.assertFalse(waiter.done())
        holder.kill9()
        waiter.result()
        self.assertEqual(self.locks(), [("t", "42")])
        waiter.close()
        wait_until(lambda: self.locks() == [])

    def test_a_lock_is_stranded_behind_a_pooler(self):
        with PgBouncer(self.pg) as pooler:
            client = pooler.session(app="client")
            client.run("select pg_advisory_lock(7)")
            client.close()
            self.assertEqual(self.locks(), [("t", "7")])
        wait_until(lambda: self.locks() == [])

    def test_paused_it_takes_connections_and_says_nothing(self):
        self.pg.pause()
        try:
            self.assertTrue(port_open(self.pg.port))
            self.assertFalse(self.pg.ready())
        finally:
            self.pg.resume()
        wait_until(self.pg.ready)

    def test_restart_and_kill(self):
        self.pg.restart()
        self.assertEqual(self.pg.psql("select 1"), [("1",)])
        self.pg.kill9()
        self.assertFalse(port_open(self.pg.port))
        self.pg.start()
        self.assertEqual(self.pg.psql("select 1"), [("1",)])

    def test_a_standby_can_be_promoted(self):
        standby = self.pg.standby()
        try:
            self.assertEqual(standby.psql("select pg_is_in_recovery()"), [("t",)])
            standby.promote()
            self.assertEqual(standby.psql("select pg_is_in_recovery()"), [("f",)])
            ident = "select system_identifier from pg_control_system()"
            self.assertEqual(standby.psql(ident), self.pg.psql(ident))
        finally:
            standby.close()


class EtcdServer(unittest.TestCase):
    @on_each()
    def test_contenders_queue_by_create_revision(self, etcd):
        first = etcd.candidate("elections/x", "node-a")
        second = etcd.candidate("elections/x", "node-b")
        self.assertLess(first.create_revision, second.create_revision)
        self.assertEqual(etcd.etcdctl("get", first.key, "--print-value-only").strip(), "node-a")
        self.assertGreater(second.renew(), 0)
        first.revoke()
        self.assertEqual(etcd.etcdctl("get", first.key), "")
        second.resign()
        self.assertEqual(etcd.count("elections/x/"), 0)

    @on_each()
    def test_etcdctl_locks_and_elects(self, etcd):
        lock = etcd.lock("locks/x").wait_held()
        waiter = etcd.lock("locks/x")
        wait_until(lambda: etcd.count("locks/x/") == 2)
        self.assertFalse(waiter.held())
        lock.stop()
        waiter.wait_held().stop()
        etcd.elect("elections/x", "me").wait_held().stop()
        wait_until(lambda: etcd.count("elections/x/") == 0)

    @on_each()
    def test_a_lease_that_nobody_renews_runs_out(self, etcd):
        lost = etcd.candidate("elections/y", "gone", ttl=1, keep=False)
        wait_until(lambda: etcd.count(lost.key) == 0)

    @on_each()
    def test_a_lease_outlives_its_end_under_an_alarm(self, etcd):
        held = etcd.candidate("elections/attic", "gone", ttl=4, keep=False)
        etcd.alarm("CORRUPT")
        wait_until(lambda: etcd.ttl(held.lease)[0] < -1)
        self.assertEqual(etcd.count("elections/attic/"), 1)
        etcd.alarm("CORRUPT", active=False)
        etcd.revoke(held.lease)
        self.assertEqual(etcd.count("elections/attic/"), 0)

    @on_each(tls=Authority)
    def test_authentication_and_tls(self, etcd):
        etcd.enable_auth()
        joe = etcd.user("joe", prefix="elections/")
        etcd.put("elections/z/1", "v")
        etcd.put("other", "v")
        self.assertIn("elections/z/1", etcd.etcdctl("get", "--prefix", "elections/", user=joe))
        with self.assertRaisesRegex(AssertionError, "permission denied"):
            etcd.etcdctl("get", "other", user=joe)

    @on_each(tls=Authority, client_auth=True)
    def test_a_client_certificate_is_asked_for(self, etcd):
        etcd.put("key", "v")
        with self.assertRaises(AssertionError):
            etcd.etcdctl("--cert", "", "--key", "", "get", "key")

    @on_each(members=3)
    def test_three_members_elect_another_leader(self, etcd):
        leader = wait_until(etcd.leader)
        leader.kill9()
        wait_until(lambda: etcd.leader() not in (None, leader), timeout=30)


class Network(unittest.TestCase):
    def test_a_proxy_passes_stalls_truncates_and_cuts(self):
        page = html_server()
        proxy = Proxy(page.port)

        def ask(timeout=5.0):
            with socket.create_connection(("127.0.0.1", proxy.port), timeout=timeout) as sock:
                sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
                text = b""
                while data := sock.recv(4096):
                    text += data
                return text

        self.assertIn(b"</html>", ask())
        proxy.truncate(20)
        self.assertEqual(len(ask()), 20)
        proxy.pass_on()
        proxy.stall()
        with self.assertRaises(TimeoutError):
            ask(timeout=0.3)
        proxy.pass_on()
        self.assertIn(b"</html>", ask())
        proxy.refuse()
        with self.assertRaises(OSError):
            ask()
            raise ConnectionError("closed without a byte is as good")

    def test_an_endless_server_is_left_by_its_client(self):
        server = endless_server(b"start")
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(b"x")
            self.assertEqual(sock.recv(5), b"start")
            wait_until(lambda: server.sent > 1000000 or not sock.recv(65536))


class Ending(unittest.TestCase):
    """Whatever ends a test, its servers and folders are gone."""

    # Whoever runs the tests in the background may have SIGINT ignored, which is inherited.
    SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from servers import Etcd, Postgres
pg = Postgres()
etcd = Etcd()
session = pg.session()
print(pg.process.pid, etcd.members[0].process.pid, session.popen.pid, flush=True)
time.sleep(60)
"""

    def ends(self, number, folders_gone):
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        with tempfile.TemporaryDirectory(prefix="baton-ending-") as folder:
            os.chmod(folder, 0o755)
            child = subprocess.Popen([sys.executable, "-c", self.SCRIPT], stdout=subprocess.PIPE, text=True,
                                     stderr=subprocess.DEVNULL, env=dict(os.environ, PYTHONPATH=here, TMPDIR=folder))
            pids = [int(word) for word in child.stdout.readline().split()]
            self.assertEqual(len(pids), 3)
            child.send_signal(number)
            child.wait(20)
            child.stdout.close()
            wait_until(lambda: all(self.gone(pid) for pid in pids))
            left = os.listdir(folder)
            self.assertEqual(bool(left), not folders_gone, left)

    @staticmethod
    def gone(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True

    def test_interrupt(self):
        self.ends(signal.SIGINT, True)

    def test_terminate(self):
        self.ends(signal.SIGTERM, True)

    def test_hangup(self):
        self.ends(signal.SIGHUP, True)

    def test_kill(self):
        self.ends(signal.SIGKILL, False)


if __name__ == "__main__":
    unittest.main()
