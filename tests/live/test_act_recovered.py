"""A holder that was given up comes back while the dialog stands open: the act on it is not sent. Real sessions, stopped and continued."""

import os
import pty
import select
import signal
import subprocess
import unittest

from servers import Home, Postgres, Wire, baton_path, wait_until

DATABASE, LOCK = "app", 9
ROW = f"orders/{DATABASE}:{LOCK}"


class Contender:
    """A process that takes the lock in a transaction, and then does what it is told."""

    def __init__(self, server, app):
        words = server.conninfo(DATABASE) + f" application_name={app}"
        self.process = subprocess.Popen(["psql", "-X", "-q", "-d", words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, text=True)
        self.say(f"begin; select pg_advisory_lock({LOCK});")

    def say(self, sql):
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.stdin.close()
        self.process.wait()


class Recovered(unittest.TestCase):
    def setUp(self):
        self.pg = Postgres()
        self.addCleanup(self.pg.close)
        self.pg.database(DATABASE)
        self.home = Home(f"""
sources:
  orders: {{kind: postgres, environment: lab, conninfo: "{self.pg.conninfo(DATABASE)}"}}
thresholds: {{stuck: 1s}}
""")
        self.addCleanup(self.home.close)
        self.holder = Contender(self.pg, "worker-1")
        self.addCleanup(self.holder.close)
        wait_until(lambda: self.activity() == "idle in transaction", what="worker-1's lock")
        self.waiter = Wire(self.pg, DATABASE, "worker-2")
        self.addCleanup(self.waiter.close)
        self.waiter.send(f"select pg_advisory_lock({LOCK})")
        self.holder.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: self.state() == "STUCK", what="STUCK")

    def activity(self):
        rows = self.pg.psql("select state from pg_stat_activity where application_name = 'worker-1'")
        return rows[0][0] if rows else None

    def state(self):
        return self.home.baton("show", ROW, "--json").json["singleton"]["state"]

    def release(self, meanwhile):
        """By a terminal: `meanwhile` happens when the forecast is there and the name is asked for. Exit code and output."""
        pid, master = pty.fork()
        if pid == 0:
            os.execve(baton_path(), [baton_path(), "act", "release", ROW, "--expect", "worker-1", "--reason", "it hangs"], self.home.env())
        self.addCleanup(os.close, master)
        out, asked = b"", False
        while True:
            self.assertTrue(select.select([master], [], [], 30)[0], out)
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            if not got:
                break
            out += got
            if out.endswith(b"> ") and not asked:
                asked = True
                meanwhile()
                os.write(master, b"worker-1\r")
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode()

    def comes_back(self):
        self.holder.say("select pg_sleep(60);")
        self.holder.process.send_signal(signal.SIGCONT)
        wait_until(lambda: self.activity() == "active", what="worker-1 at work")

    def test_one_that_works_again_is_left_alone(self):
        code, out = self.release(self.comes_back)
        self.assertEqual(code, 11, out)
        self.assertIn("it was STUCK when the forecast was made, and is CONTENDED now: look again", " ".join(out.split()))
        self.assertEqual(self.activity(), "active")

    def test_one_that_stays_away_is_ended(self):
        code, out = self.release(lambda: None)
        self.assertEqual(code, 0, out)
        wait_until(lambda: self.activity() is None, what="worker-1's end")


if __name__ == "__main__":
    unittest.main()
