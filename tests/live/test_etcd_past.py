"""What etcd's history tells of the past, and how many requests are spent on leases."""

import os
import subprocess
import unittest

from servers import lease_hex, on_each
from servers.program import baton_path


def poll(etcd, seconds, wanted=(), more=""):
    """(events, requests of each poll): events are (path, token, what, text)."""
    program = os.path.join(os.path.dirname(baton_path()), "..", "tests", "bin", "etcd-poll")
    options = f"{{endpoints: [\"{etcd.url}\"], prefixes: [{{prefix: elections/, mechanism: election}}]{more}}}"
    done = subprocess.run([program, options, str(seconds), *wanted], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return ([(path, int(token), what, text) for _, path, token, what, text in
             (line for line in lines if line[0] == "event")],
            [int(line[2]) for line in lines if line[0] == "poll"])


class Past(unittest.TestCase):
    @on_each()
    def test_hand_overs_of_before_are_told_in_order(self, etcd):
        for n in range(3):
            etcd.put(f"elections/job/a{n}", f"node-{n}")
        etcd.delete("elections/job/a0")
        etcd.delete("elections/job/a1")
        etcd.delete("elections/job/a2")
        etcd.put("elections/job/a3", "node-3")
        events, _ = poll(etcd, 8)
        said = [(what, text.split(";")[0]) for path, _, what, text in events if path == "elections/job"]
        self.assertEqual(said, [("took", "node-0 took it"), ("hand-over", "node-1 took it from node-0"),
                                ("hand-over", "node-2 took it from node-1"), ("released", "node-2 let go"),
                                ("took", "node-3 took it")])
        tokens = [token for _, token, what, _ in events if what != "released"]
        self.assertEqual(tokens, sorted(tokens))

    @on_each()
    def test_a_past_that_was_compacted_begins_where_it_is_left(self, etcd):
        etcd.put("elections/job/a0", "node-0")
        etcd.put("elections/job/a1", "node-1")
        etcd.delete("elections/job/a0")
        etcd.compact(etcd.revision())
        etcd.put("elections/job/a2", "node-2")
        etcd.delete("elections/job/a1")
        events, _ = poll(etcd, 8)
        self.assertEqual([what for _, _, what, _ in events], ["gap", "hand-over"])
        self.assertIn("node-2 took it from node-1", events[1][3])

    @on_each()
    def test_no_past_is_read_where_none_is_wanted(self, etcd):
        etcd.put("elections/job/a0", "node-0")
        events, _ = poll(etcd, 3, more=", history: 0")
        self.assertEqual(events, [])


class Budget(unittest.TestCase):
    @on_each()
    def test_leases_are_read_within_the_budget(self, etcd):
        for n in range(40):
            lease = etcd.grant(600)
            etcd.put(f"elections/j{n}/{lease_hex(lease)}", "me", lease)
        _, requests = poll(etcd, 6, more=", history: 0, lease_budget: 10")
        # The first picture reads all of so few; after that nothing is near its end, and seconds cost next to nothing.
        self.assertGreaterEqual(requests[0], 40)
        self.assertLess(sum(requests[1:]) / len(requests[1:]), 4, requests)
        # What is on the screen is read every second.
        wanted = [f"ctl/elections/j{n}" for n in range(8)]
        _, requests = poll(etcd, 6, wanted, ", history: 0, lease_budget: 10")
        self.assertGreater(sum(requests[1:]) / len(requests[1:]), 7, requests)
        # It is a budget of each second, however many polls there are in it.
        self.assertLess(sum(requests[1:]), 6 * 13, requests)

    @on_each()
    def test_what_runs_out_is_looked_at_again(self, etcd):
        lease = etcd.grant(12)
        etcd.put(f"elections/job/{lease_hex(lease)}", "me", lease)
        _, requests = poll(etcd, 12, more=", history: 0")
        # In turn it is every other second, six times at most; the rest is for the last third of the lease.
        self.assertGreaterEqual(sum(requests[1:]), 7, requests)


if __name__ == "__main__":
    unittest.main()
