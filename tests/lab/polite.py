"""An application that can be asked to step down (doc/step-down.md), as small as it can be."""

import json
import threading
import time

from servers import SqlError, Wire, WireClosed

CHANNEL = "baton_step_down"
START = """select to_char(backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from pg_stat_activity
           where pid = pg_backend_pid()"""


class Polite(threading.Thread):
    """Queues for a lock, works while it has it, lets go when a request means its own session, and queues again."""

    def __init__(self, server, dbname, app, lock, ended):
        super().__init__(daemon=True)
        self.server, self.dbname, self.app, self.lock, self.ended = server, dbname, app, lock, ended
        self.start()

    def run(self):
        while not self.ended.is_set():
            try:
                self.work()
            except (OSError, SqlError, WireClosed):
                self.ended.wait(1)  # ended by somebody, or the server stops: begin anew

    def work(self):
        with Wire(self.server, self.dbname, self.app) as session:
            started = session.run(START)[0][0]
            session.run(f"listen {CHANNEL}")
            while not self.ended.is_set():
                session.send(f"select pg_advisory_lock({self.lock})")
                self.wait_for_lock(session)
                while not self.ended.is_set() and not self.asked(session, started):
                    pass
                session.run(f"select pg_advisory_unlock({self.lock})")
                time.sleep(0.5)  # another one gets it

    def wait_for_lock(self, session):
        while not self.ended.is_set():
            try:
                session.result(1)
                return
            except TimeoutError:
                pass

    @staticmethod
    def asked(session, started):
        """Whether a request came that means this session: a pid alone is not enough, it is used again."""
        for _, payload in session.listen(1):
            wanted = json.loads(payload)
            if (wanted["pid"], wanted["backend_start"]) == (session.pid, started):
                return True
        return False
