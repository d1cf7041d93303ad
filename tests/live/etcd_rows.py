"""What the live tests of the etcd source share: configs, and rows compared with what etcdctl says."""

import base64
import json
import subprocess
import threading
import time

from servers import Home, wait_until

PREFIXES = "[{prefix: elections/, mechanism: election}, {prefix: locks/, mechanism: lock}, {prefix: auto/}]"


def config(etcd, prefixes=PREFIXES, endpoints=None, more=""):
    """A config with one source, ctl."""
    urls = json.dumps(endpoints or etcd.endpoints)
    layout = f", prefixes: {prefixes}" if prefixes else ""
    return f"sources:\n  ctl: {{kind: etcd, environment: lab, endpoints: {urls}{layout}{more}}}\n"


def picture(text, code=0, args=(), **env):
    """One `baton list --json` on a config: (source, rows by id)."""
    with Home(text, env=env) as home:
        result = home.baton("list", "--json", *args)
        assert code is None or result.code == code, result
        return result.json["sources"][0], {row["id"]: row for row in result.json["singletons"]}


def source_error(text, *args, **env):
    """The sentence of a source that can't be read, and the exit code."""
    with Home(text, env=env) as home:
        started = time.monotonic()
        result = home.baton("list", "--json", *args)
        took = time.monotonic() - started
        return result.json["sources"][0]["error"] or "", result.code, took


def keys_of(etcd, prefix):
    """etcdctl's own view of a prefix: [(key, value, create_revision, mod_revision, lease)] by create_revision."""
    answer = etcd.etcdctl("get", "--prefix", prefix, parse=True)
    found = []
    for kv in answer.get("kvs", []):
        found.append((base64.b64decode(kv["key"]), base64.b64decode(kv.get("value", "")), kv["create_revision"],
                      kv["mod_revision"], kv.get("lease", 0)))
    return sorted(found, key=lambda each: each[2])


class Watching:
    """`baton watch --json` in the background: its lines as they come, each with the time."""

    def __init__(self, text):
        self.home = Home(text)
        self.popen = self.home.popen("watch", "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.popen.stdout:
            self.lines.append((time.monotonic(), json.loads(line)))

    def find(self, predicate, timeout=40, what="a change"):
        """The first (time, line) that fits."""
        found = []

        def look():
            found[:] = [each for each in list(self.lines) if predicate(each[1])]
            return found
        wait_until(look, timeout, what=what)
        return found[0]

    def leader(self, identity, id="ctl/elections/job", timeout=40, after=0):
        """When a row first named this holder."""
        def fits(line):
            row = line.get("singleton") or {}
            return line.get("id") == id and any(h["identity"] == identity for h in row.get("holders", []))
        wait_until(lambda: any(at >= after and fits(line) for at, line in list(self.lines)), timeout,
                   what=f"{identity} holds {id}")
        return [at for at, line in list(self.lines) if at >= after and fits(line)][0]

    def state(self, state, timeout=40, after=0):
        def fits(line):
            return line.get("event") == "source" and line["source"]["state"] == state
        wait_until(lambda: any(at >= after and fits(line) for at, line in list(self.lines)), timeout,
                   what=f"the source is {state}")
        return [line["source"] for at, line in list(self.lines) if at >= after and fits(line)][0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.terminate()
        self.popen.wait(10)
        self.reader.join(5)
        self.popen.stdout.close()
        self.home.close()
