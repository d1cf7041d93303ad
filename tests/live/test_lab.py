"""The lab shows every state that these two systems can have, and leaves nothing behind."""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from servers import baton_path, kubernetes_missing, wait_until
from servers.program import TOP

STATES = {"DUPLICATE", "STALE", "ORPHAN", "STUCK", "EXPIRING", "CONTENDED", "HELD", "FREE"}
FINDINGS = {"dup-holder", "stale-holder", "no-lease", "prepared-holder", "lock-cycle", "pooled-holder", "idle-holder"}
KUBERNETES = {}
if not kubernetes_missing():
    KUBERNETES = {"kube/cronjob/default/ship-orders": "DUPLICATE", "kube/cronjob/default/close-books": "STUCK",
                  "kube/cronjob/default/newsletter": "SUSPENDED", "kube/lease/default/exporter": "STALE",
                  "kube/lease/default/given-back": "FREE"}
    STATES |= {"SUSPENDED"}
    FINDINGS |= {"dup-run", "forbid-blocked", "stuck-run", "never-runs"}


class Lab:
    """The lab without its console, its folders below one of ours."""

    def __init__(self, *words):
        self.folder = tempfile.TemporaryDirectory(prefix="baton-lab-test-")
        os.chmod(self.folder.name, 0o755)
        argv = [sys.executable, os.path.join(TOP, "tests", "lab", "lab.py"), *(words or ["--no-console"])]
        self.popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      stderr=subprocess.PIPE, start_new_session=True,
                                      env=dict(os.environ, TMPDIR=self.folder.name, BATON=baton_path()))
        self.env = {}

    def wait_ready(self):
        for _ in range(2):
            line = self.popen.stdout.readline()
            if not line:
                raise AssertionError(f"the lab ended: {self.popen.stderr.read()}")
            name, value = line.strip().split("=", 1)
            self.env[name] = value

    def baton(self, *words):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "ETCDCTL"))}
        done = subprocess.run([baton_path(), *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**env, **self.env}, timeout=60)
        return done

    def processes(self):
        """Those that work below our folder."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    if self.folder.name.encode() in file.read():
                        found.append(int(path.split("/")[2]))
            except OSError:
                continue
        return found

    def left(self):
        return os.listdir(self.folder.name)

    def close(self):
        if self.popen.poll() is None:
            self.popen.terminate()
        self.popen.communicate(timeout=60)
        self.folder.cleanup()


class LabTest(unittest.TestCase):
    def start(self, *words):
        lab = Lab(*words)
        self.addCleanup(lab.close)
        return lab

    def assert_nothing_left(self, lab):
        wait_until(lambda: not lab.processes(), timeout=40, what="the end of every process")
        self.assertEqual(lab.left(), [])

    def test_every_state_is_seen(self):
        lab = self.start()
        lab.wait_ready()
        states, findings, rows = set(), set(), []
        deadline = time.monotonic() + 150
        while not (states >= STATES and findings >= FINDINGS and self.kubernetes_shows(rows)) and \
                time.monotonic() < deadline:
            board = json.loads(lab.baton("list", "--json").stdout)
            rows = board["singletons"]
            states |= {row["state"] for row in rows + board["roles"]}
            findings |= {each["code"] for row in rows + board["roles"] for each in row["findings"]}
            time.sleep(0.5)
        self.assertEqual(STATES - states, set())
        self.assertEqual(FINDINGS - findings, set())
        self.check_rows({row["id"]: row for row in rows})
        lab.popen.stdin.close()  # its input ends: so does the lab
        lab.popen.stdin = None
        self.assertEqual(lab.popen.wait(60), 0)
        self.assert_nothing_left(lab)

    def check_rows(self, rows):
        def holders(name):
            return [holder["identity"] for holder in rows[name]["holders"]]
        self.assertEqual(holders("orders/app:-42"), ["worker-1"])
        self.assertEqual(rows["orders/app:-42"]["name"], "billing-close")
        self.assertEqual([waiter["identity"] for waiter in rows["orders/app:-42"]["waiters"]],
                         ["worker-2", "worker-3"])
        self.assertEqual(holders("orders/app:(7,-9)"), ["prepared:tx-9"])
        self.assertEqual(sorted(holders("orders/app:2001")), ["reader-1", "reader-2"])
        self.assertEqual(holders("ctl/elections/legacy"), ["node-gone"])
        self.assertEqual(holders("attic/elections/attic"), ["node-z"])
        self.assertEqual(rows["attic/elections/attic"]["state"], "STALE")
        self.assertEqual(rows["ctl/elections/mailer"]["state"], "FREE")
        self.assertEqual(len(rows["ctl/elections/billing"]["waiters"]), 2)
        self.assertEqual(rows["ctl/locks/reindex"]["mechanism"], "etcd-lock")
        self.assertEqual(rows["ctl//service/batman/leader"]["mechanism"], "etcd-key")
        if KUBERNETES:
            self.check_kubernetes(rows)

    @staticmethod
    def kubernetes_shows(rows):
        states = {row["id"]: row["state"] for row in rows}
        return all(states.get(id) == state for id, state in KUBERNETES.items())

    def check_kubernetes(self, rows):
        for id, state in KUBERNETES.items():
            self.assertEqual(rows[id]["state"], state, id)
        self.assertIn(rows["kube/lease/default/billing"]["holders"][0]["identity"], ("billing-a", "billing-b", "billing-c"))
        self.assertEqual(rows["kube/lease/default/scheduler"]["holders"][0]["identity"], "node-3")

    def test_who_listens_steps_down_when_asked(self):
        lab = self.start()
        lab.wait_ready()
        for _ in range(2):
            done = lab.baton("act", "step-down", "orders/app:4711", "--expect", self.polite(lab), "--reason", "a test",
                             "--yes", "--json")
            self.assertEqual(done.returncode, 0, done)
            said = json.loads(done.stdout)
            self.assertEqual((said["outcome"], said["overlap"]), ("done", "closed"))

    def test_what_an_operator_does_there(self):
        """An election is taken from a key that nobody holds; a lock that is stranded on a pooler's session is ended."""
        lab = self.start()
        lab.wait_ready()
        rows = {row["id"]: row for row in json.loads(lab.baton("list", "--json").stdout)["singletons"]}
        for verb, row, successor in (("release", "ctl/elections/legacy", "node-x"),
                                     ("release", "orders/app:1000", "migrate-web-2")):
            key = rows[row]["holders"][0]["key"]
            words = ("act", verb, row, "--expect", key, "--reason", "a test", "--yes", "--json")
            done = lab.baton(*words)
            self.assertEqual((done.returncode, json.loads(done.stdout)["outcome"]), (0, "done"), done)
            self.assertEqual(json.loads(done.stdout)["after"]["holders"][0]["identity"], successor)
            self.assertEqual(lab.baton(*words).returncode, 11)  # another one holds it now: nothing is sent to it

    def polite(self, lab):
        """Who holds the lock of those that can be asked, as soon as one does."""
        def holder():
            rows = json.loads(lab.baton("list", "--json").stdout)["singletons"]
            return [each["key"] for row in rows if row["id"] == "orders/app:4711" for each in row["holders"]]
        wait_until(holder, what="a holder")
        return holder()[0]

    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                lab = self.start()
                lab.wait_ready()
                lab.popen.send_signal(number)
                self.assertNotEqual(lab.popen.wait(60), 0)
                self.assert_nothing_left(lab)

    def test_another_command_in_it(self):
        lab = self.start("--", "list", "--json")
        out, err = lab.popen.communicate(timeout=180)
        self.assertEqual(lab.popen.returncode, 0, err)
        self.assertGreater(len(json.loads(out)["singletons"]), 10)
        self.assert_nothing_left(lab)

    def test_a_killed_console_ends_it(self):
        """The console is the lab's child: when it is gone, however it went, so is the lab."""
        lab = self.start("--", "watch", "--json")
        lab.popen.stdout.readline()
        with open(f"/proc/{lab.popen.pid}/task/{lab.popen.pid}/children", encoding="ascii") as file:
            children = [int(pid) for pid in file.read().split()]
        ours = [pid for pid in children if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(baton_path())]
        self.assertEqual(len(ours), 1, children)
        os.kill(ours[0], signal.SIGKILL)
        lab.popen.communicate(timeout=60)
        self.assertNotEqual(lab.popen.returncode, 0)
        self.assert_nothing_left(lab)

    def test_an_interrupt_while_it_starts(self):
        lab = self.start()
        wait_until(lab.processes, timeout=60)
        lab.popen.send_signal(signal.SIGINT)
        lab.popen.wait(60)
        self.assert_nothing_left(lab)


if __name__ == "__main__":
    unittest.main()
