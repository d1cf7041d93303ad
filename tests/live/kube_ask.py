"""tests/bin/kube-ask, which reads a kubeconfig and asks an API server as baton does; and kubectl, on the same files."""

import json
import os
import queue
import subprocess
import threading
import time

from servers import Folder, baton_path
from servers.kubernetes import programs


def ask_path():
    build = os.path.dirname(os.path.dirname(baton_path()))
    return os.path.join(os.environ.get("BATON_BUILD", build), "tests", "bin", "kube-ask")


class Files:
    """A folder with kubeconfigs, and an environment that knows of nothing else."""

    def __init__(self, **files):
        self.folder = Folder("kubeconfig")
        self.path = self.folder.path
        self.more = {}
        for name, text in files.items():
            self.write(name, text)

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(text, bytes) else "w") as out:
            out.write(text)
        return path

    def env(self, *names, **more):
        """KUBECONFIG names those files, as they are written (relative to the folder)."""
        keep = {k: v for k, v in os.environ.items() if k == "PATH" or k.endswith("SAN_OPTIONS")}
        env = {**keep, "HOME": self.path, "LC_ALL": "C.UTF-8", **self.more, **more}
        if names:
            env["KUBECONFIG"] = ":".join(names)
        return env

    def kubectl(self, words, *names, **more):
        """(exit code, standard output, standard error)"""
        done = subprocess.run([programs()["kubectl"], *words], capture_output=True, text=True, cwd=self.path,
                              env=self.env(*names, **more), stdin=subprocess.DEVNULL, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def view(self, *names, words=()):
        code, out, err = self.kubectl(["config", "view", "--raw", "-o", "json", *words], *names)
        assert code == 0, err
        return json.loads(out)

    def kubectl_takes(self, *names, context=None, **more):
        """None when kubectl goes as far as the network with it; else what it says. The server must be port 1 of loopback."""
        words = ["get", "--raw", "/version", "--request-timeout=2s"] + (["--context", context] if context else [])
        _, _, err = self.kubectl(words, *names, **more)
        network = ("refused", "getting credentials", "connect:", "proxyconnect")
        return None if any(word in err for word in network) else err.strip()

    def ask(self, lines, *names, context=None, **more):
        """The answers to all lines."""
        done = subprocess.run([ask_path()] + ([context] if context else []), input="".join(f"{line}\n" for line in lines),
                              capture_output=True, text=True, cwd=self.path, env=self.env(*names, **more), timeout=120)
        assert done.returncode in (0, 1), f"kube-ask ended with {done.returncode}: {done.stderr}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    def access(self, *names, context=None, **more):
        return self.ask(["access"], *names, context=context, **more)[0]

    def close(self):
        self.folder.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Asking:
    """kube-ask that is kept, a line and its answer at a time."""

    def __init__(self, files, *names, context=None, **more):
        self.process = subprocess.Popen([ask_path()] + ([context] if context else []), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, cwd=files.path, env=files.env(*names, **more))
        self.answers, self.lines = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def __call__(self, line, timeout=30):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.answers.get(timeout=timeout)
        while answer.get("what") == "line":
            self.lines.append(answer)
            answer = self.answers.get(timeout=timeout)
        return answer

    def run(self, ms):
        """(the lines of the watches, how they ended, how many are open)"""
        answer, ended = self(f"run {ms}"), []
        lines, self.lines = self.lines, []
        while answer["what"] != "ran":
            (lines if answer["what"] == "line" else ended).append(answer)
            answer = self.answers.get(timeout=30)
        return [line["event"] for line in lines], ended, answer["open"]

    def until(self, good, seconds=20):
        """run() again and again until good(lines, ended): all lines, and how watches ended."""
        lines, ended, deadline = [], [], time.monotonic() + seconds
        while True:
            more, over, left = self.run(100)
            lines, ended = lines + more, ended + over
            if good(lines, ended):
                return lines, ended, left
            assert time.monotonic() < deadline, (lines, ended, left)

    def tell(self, line):
        """For lines without an answer."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        assert code == 0, f"kube-ask ended with {code}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
