"""Locks of prepared transactions are named by their global ids, before and after a restart of the server."""

import unittest

from servers import Home, Postgres


class Prepared(unittest.TestCase):
    def test_it_is_named_before_and_after_a_restart(self):
        with Postgres() as pg, Home(env=pg.env()) as home:
            with pg.session(app="transfer") as session:
                # Savepoints that write make further transaction ids, which name nobody.
                session.run("begin; select pg_advisory_xact_lock(7, -9); savepoint a; create table x ();"
                            " savepoint b; create table y ()")
                session.run("prepare transaction 'tx-9'")
                session.run("begin; select pg_advisory_xact_lock_shared(8)")
                session.run("prepare transaction 'tx \"10\"'")
            self.check(home)
            pg.restart()
            self.check(home)
            pg.psql("rollback prepared 'tx-9'")
            self.assertEqual(list(self.holders(home)), ["postgres/postgres:8"])

    def check(self, home):
        self.assertEqual(self.holders(home), {"postgres/postgres:(7,-9)": ["prepared:tx-9"],
                                              "postgres/postgres:8": ['prepared:tx "10"']})

    @staticmethod
    def holders(home):
        rows = home.baton("list", "--json").json["singletons"]
        return {row["id"]: [holder["identity"] for holder in row["holders"]] for row in rows}


if __name__ == "__main__":
    unittest.main()
