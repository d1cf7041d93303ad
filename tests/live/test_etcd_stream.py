"""The first picture of a large key space: read in one stream from 3.7 on, in pages before."""

import re
import threading
import time
import unittest
import urllib.request

from etcd_rows import config, picture, source_error

from servers import Etcd, Proxy, find_program, free_port, lease_hex, on_each, wait_until
from servers.process import Folder, Process


def started(etcd, method):
    """How many calls of a method the server has started, by its own count."""
    with urllib.request.urlopen(f"{etcd.url}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    found = re.findall(rf'^grpc_server_started_total\{{[^}}]*grpc_method="{method}"[^}}]*\}} (\S+)', text, re.M)
    return sum(float(n) for n in found)


def fill(etcd, n, value="node-%05d"):
    """Elections of one candidate each, two hundred on a lease; returns the rows' ids and their holders."""
    rows = {}
    for first in range(0, n, 200):
        lease = etcd.grant(3600)
        numbers = range(first, min(first + 200, n))
        etcd.put_many([(f"elections/job-{i:05d}/{lease_hex(lease)}", value % i) for i in numbers], lease)
        rows.update({f"ctl/elections/job-{i:05d}": value % i for i in numbers})
    return rows


def holders(rows):
    return {name: row["holders"][0]["identity"] for name, row in rows.items()}


class OldProxy:
    """etcd's own gRPC proxy, of the distribution's version, which knows nothing of what came later."""

    def __init__(self, etcd):
        self.port = free_port()
        self.folder = Folder("etcd-proxy")
        argv = [find_program("etcd", "etcd-server"), "grpc-proxy", "start", "--endpoints", f"127.0.0.1:{etcd.port}",
                "--listen-addr", f"127.0.0.1:{self.port}"]
        self.process = Process("grpc-proxy", argv, self.folder / "log", cwd=self.folder.path)
        self.process.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def close(self):
        self.process.stop()
        self.folder.close()


class Streams(unittest.TestCase):
    @on_each()
    def test_one_stream_or_pages_show_the_same(self, etcd):
        truth = fill(etcd, 30000)
        before = started(etcd, "RangeStream"), started(etcd, "Range")
        _, rows = picture(config(etcd), args=("--timeout", "30"))
        self.assertEqual(holders(rows), truth)
        self.assertEqual({row["lease_granted_ms"] for row in rows.values()}, {3600000})
        streams, pages = started(etcd, "RangeStream") - before[0], started(etcd, "Range") - before[1]
        if started(etcd, "RangeStream"):
            self.assertEqual(streams, 3, "one for each prefix")
            self.assertEqual(pages, 0)
        else:
            self.assertGreater(pages, 4, "30,000 keys are more than one page")

    def test_the_current_etcd_is_asked_for_a_stream(self):
        with Etcd("current") as etcd:
            fill(etcd, 10)
            picture(config(etcd))
            self.assertEqual(started(etcd, "RangeStream"), 3)

    def test_a_prefix_without_keys(self):
        with Etcd("current") as etcd:
            source, rows = picture(config(etcd))
            self.assertEqual((source["state"], rows), ("ok", {}))

    def test_a_proxy_that_knows_no_streams(self):
        """The members say 3.7, and what stands before them is older: pages, and no word of trouble."""
        with Etcd("current") as etcd:
            truth = fill(etcd, 12000)
            proxy = OldProxy(etcd)
            try:
                wait_until(lambda: answers(proxy.url))
                source, rows = picture(config(etcd, endpoints=[proxy.url]), args=("--timeout", "30"))
                self.assertEqual((source["state"], source["error"]), ("ok", None))
                self.assertEqual(holders(rows), truth)
                self.assertEqual(started(etcd, "RangeStream"), 0, "the proxy passed none on")
            finally:
                proxy.close()

    @on_each()
    def test_an_answer_that_is_cut_is_no_picture(self, etcd):
        """Half of the keys must not look like all of them."""
        fill(etcd, 20000)
        proxy = Proxy(etcd.port)
        proxy.truncate(700000)
        error, code, _ = source_error(config(etcd, endpoints=[f"http://127.0.0.1:{proxy.port}"]), "--timeout", "4")
        proxy.close()
        self.assertEqual(code, 69)
        self.assertIn(f"127.0.0.1:{proxy.port}", error)

    @on_each()
    def test_a_compaction_while_keys_are_read(self, etcd):
        """What was begun at a revision that is gone is read once more, at a newer one; what went between is free."""
        value = "node-%05d" + "x" * 900
        truth = fill(etcd, 20000, value)
        proxy = Proxy(etcd.port)
        seen = {}

        def look():
            text = config(etcd, endpoints=[f"http://127.0.0.1:{proxy.port}"])
            seen["rows"] = picture(text, args=("--timeout", "60"))[1]

        proxy.stall(15000000)
        reader = threading.Thread(target=look)
        reader.start()
        wait_until(proxy.stalls, timeout=60, what="three quarters of the keys")
        try:
            first = etcd.etcdctl("get", "--prefix", "elections/job-00000/", "--keys-only").strip()
            etcd.delete(first)
            lease = etcd.grant(3600)
            etcd.put(f"elections/late/{lease_hex(lease)}", "node-late", lease)
            etcd.compact(etcd.revision())
            time.sleep(0.3)  # what is under way in the connection has come to rest
        finally:
            proxy.pass_on()
        reader.join(90)
        proxy.close()
        truth["ctl/elections/late"] = "node-late"
        del truth["ctl/elections/job-00000"]
        gone = seen["rows"].pop("ctl/elections/job-00000", {})
        self.assertEqual(holders(seen["rows"]), truth)
        self.assertEqual((gone.get("state"), gone.get("holders")), ("FREE", []))


def answers(url):
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
