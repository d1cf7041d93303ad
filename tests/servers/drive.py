"""A source's acting functions, called one by one as the gate calls them (tests/live/act-drive.c)."""

import json
import os
import subprocess
import unittest

from .process import as_user, disown, own
from .program import TOP


def act_drive():
    path = os.path.join(os.environ.get("BATON_BUILD", os.path.join(TOP, "build")), "tests", "bin", "act-drive")
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest(f"{path} is not built: make check-programs")
    return path


class Drive:
    """kind: of the source; options: as in the configuration, a dict."""

    def __init__(self, kind, name, options, timeout_ms=5000):
        self.popen = subprocess.Popen(
            as_user(None) + [act_drive(), kind, name, json.dumps(options), str(timeout_ms)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        own(self)

    def ask(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()
        answer = self.popen.stdout.readline()
        if not answer:
            raise AssertionError(f"act-drive ended with {self.popen.wait()} at: {line}")
        return json.loads(answer)

    def poll(self):
        answer = self.ask("poll")
        assert answer["rc"] == 0, answer
        return self

    def rows(self):
        """path -> row, as polled last."""
        return {row["path"]: row for row in self.ask("rows")}

    def claim(self, path, identity=None, kind="holder"):
        """The key of the claim of that identity, or of the first of the kind."""
        for claim in self.rows()[path]["claims"]:
            if claim["kind"] == kind and identity in (None, claim["identity"]):
                return claim["key"]
        raise AssertionError(f"no {kind} {identity} of {path}: {self.rows().get(path)}")

    def order(self, verb, path, key, reason=""):
        answer = self.ask(f"order {verb}\t{path}\t{key}\t{reason}")
        assert answer["rc"] == 0, answer
        return self

    def plan(self):
        return self.ask("plan")

    def send(self):
        return self.ask("send")

    def look(self):
        return self.ask("look")

    def close(self):
        """It ends with its input; a sanitizer that found something then makes it fail."""
        disown(self)
        self.popen.stdin.close()
        try:
            code = self.popen.wait(10)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            code = self.popen.wait()
        self.popen.stdout.close()
        assert code <= 0, f"act-drive ended with {code}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
