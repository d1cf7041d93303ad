"""Locks behind pgbouncer, and baton itself behind it."""

import unittest

from pg_truth import codes, one_line, row, seen, source, truth
from servers import Home, PgBouncer, Postgres, wait_until


class Poolers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pg = Postgres()

    @classmethod
    def tearDownClass(cls):
        cls.pg.close()

    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def ask(self, port=None, more="", home=None):
        conninfo = self.pg.conninfo(port=port or self.pg.port)
        (home or self.home).write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{conninfo}"{more}}}\n')
        result = (home or self.home).baton("list", "--json", "--timeout", 15)
        self.assertEqual(result.code, 0, result)
        return result.json

    def pooler(self, mode, size=1, **conf):
        pooler = PgBouncer(self.pg, mode, size, conf=conf)
        self.addCleanup(pooler.close)
        return pooler

    def no_locks(self):
        wait_until(lambda: self.pg.psql("select count(*) from pg_locks where locktype = 'advisory'") == [("0",)])

    def test_its_server_hangs(self):
        """It lets in whoever comes, and has nobody to ask."""
        def says():
            return one_line(source(self.home.baton("list", "--json", "--timeout", 2).json, "pg")["error"])
        pooler = self.pooler("transaction")
        self.pg.pause()
        try:
            self.home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{self.pg.conninfo(port=pooler.port)}"}}\n')
            first = says()
        finally:
            self.pg.resume()
        self.assertRegex(first, r"within [2-9]\.")
        self.assertIn("a pooler whose server does not answer", first)
        self.ask(pooler.port)
        self.pg.pause()
        try:
            self.assertIn("did not answer the query within", says())
        finally:
            self.pg.resume()

    def test_a_lock_is_stranded_by_a_client_that_went(self):
        """Its session serves others under their names; the lock is nobody's."""
        pooler = self.pooler("transaction")
        client = pooler.session(app="migrator")
        client.run("select pg_advisory_lock(1000)")
        client.close()
        self.assertEqual(seen(self.ask(), "pg"), truth(self.pg))
        with pooler.session(app="web") as other:
            other.run("select 1")
            answer = self.ask()
        one = row(answer, "postgres:1000", "pg")
        self.assertEqual(one["holders"][0]["identity"], "web")
        self.assertIn("pooled-holder", codes(one), one)
        pooler.close()
        self.no_locks()

    def test_a_pooler_that_writes_the_clients_address_or_is_configured(self):
        pooler = self.pooler("transaction", application_name_add_host=1)
        with pooler.session(app="web") as client:
            client.run("select pg_advisory_lock(1)")
            one = row(self.ask(), "postgres:1", "pg")
            self.assertIn("as PgBouncer writes it", one["holders"][0]["detail"]["pooled"])
            self.assertIn("pooled-holder", codes(one))
        with self.pg.session(app="direct") as client:
            client.run("select pg_advisory_lock(2)")
            self.assertNotIn("pooled", row(self.ask(), "postgres:2", "pg")["holders"][0]["detail"])
            one = row(self.ask(more=', poolers: ["127.0.0.1"]'), "postgres:2", "pg")
            self.assertIn("as the configuration says", one["holders"][0]["detail"]["pooled"])
        pooler.close()
        self.no_locks()

    def test_baton_through_a_pooler_sees_the_same_and_says_so(self):
        holder, waiter = self.pg.session(app="holder"), self.pg.session(app="waiter")
        self.addCleanup(holder.close)
        self.addCleanup(waiter.close)
        holder.run("select pg_advisory_lock(5)")
        waiter.send("select pg_advisory_lock(5)")
        wait_until(lambda: len(truth(self.pg).get("postgres:5", {"waiters": ()})["waiters"]) == 1)
        for mode in ("transaction", "session", "statement"):
            pooler = self.pooler(mode, 1, ignore_startup_parameters="extra_float_digits")
            answer = self.ask(pooler.port)
            self.assertEqual(seen(answer, "pg"), truth(self.pg), mode)
            self.assertIn("goes through a pooler", source(answer, "pg")["hidden"][0])
            self.assertIn("a connection pooler stands between", one_line(self.home.baton("doctor").out))
            # nothing of ours is left in the session that the next client gets
            with pooler.session(app="next") as client:
                for name, value in (("default_transaction_read_only", "off"), ("statement_timeout", "0"),
                                    ("lock_timeout", "0"), ("search_path", '"$user", public')):
                    self.assertEqual(client.run(f"show {name}"), [(value,)], (mode, name))
                client.run("create temporary table t (n int)")
            pooler.close()

    def test_a_full_pooler_is_named(self):
        pooler = self.pooler("session", 1, max_client_conn=1)
        with pooler.session(app="only"):
            conninfo = self.pg.conninfo(port=pooler.port)
            self.home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{conninfo}"}}\n')
            result = self.home.baton("list", "--json", "--timeout", 3)
            self.assertEqual(result.code, 69)
            self.assertIn("the pooler at", one_line(source(result.json, "pg")["error"]))
            self.assertIn("takes no more", one_line(source(result.json, "pg")["error"]))

    def test_a_pooler_whose_server_is_gone(self):
        with Postgres() as other:
            pooler = PgBouncer(other, conf={"query_wait_timeout": "2"})
            self.addCleanup(pooler.close)
            other.stop()
            conninfo = other.conninfo(port=pooler.port)
            self.home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "{conninfo}"}}\n')
            result = self.home.baton("list", "--json", "--timeout", 5)
            self.assertEqual(result.code, 69)
            self.assertIn("pooler", one_line(source(result.json, "pg")["error"]))


if __name__ == "__main__":
    unittest.main()
