"""
Programs that are built once from pinned Go modules, and kept outside the tree under a name that is the digest of their
sources: a change builds anew.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

from .process import in_ci, missing

HERE = os.path.dirname(os.path.abspath(__file__))
SAY_EVERY = 20.0  # seconds between two lines about a build that goes on
KEEP = 2          # of each module's builds: this one, and the one before


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "baton-servers")


def build_cache():
    return os.path.join(cache_folder(), "go-build")


class GoModule:
    """
    A folder beside this file with go.mod, go.sum and perhaps sources. `what` names it in messages; `packages` is what is
    built ("tool": the module's tools). Go's build cache for all of them is one folder, 4 GB large: what they have in common is
    compiled once, and a build that was interrupted goes on where it was; when the last of them is built, it goes away.
    """

    all = []

    def __init__(self, name, what, packages=("tool",), ldflags="-s -w"):
        self.name, self.what, self.packages, self.ldflags = name, what, list(packages), ldflags
        self.source = os.path.join(HERE, name)
        GoModule.all.append(self)

    @property
    def folder(self):
        digest = hashlib.sha256(f"{self.ldflags}\n{self.packages}\n".encode())
        for name in sorted(os.listdir(self.source)):
            with open(os.path.join(self.source, name), "rb") as file:
                digest.update(name.encode() + b"\0" + file.read())
        return os.path.join(cache_folder(), f"{self.name}-{digest.hexdigest()[:16]}")

    def is_built(self):
        return os.path.exists(os.path.join(self.folder, "built"))

    def why_not(self):
        """None when it is built or can be; else why not."""
        if self.is_built() or self._go_is_new_enough():
            return None
        return f"{self.what} is built by Go {'.'.join(map(str, self._need()))} or newer, which is not installed"

    def build(self):
        """The folder with the programs. A second process that wants them meanwhile waits."""
        folder = self.folder
        if self.is_built():
            return folder
        if not self._go_is_new_enough():
            missing(f"a Go new enough for {self.what}", "golang-go, or a newer Go from its makers")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.is_built():
                self._build(folder)
                with open(os.path.join(folder, "built"), "w", encoding="ascii"):
                    pass
                self._forget_old(folder)
                if all(module.is_built() for module in GoModule.all):
                    shutil.rmtree(build_cache(), ignore_errors=True)
        return folder

    def _need(self):
        with open(os.path.join(self.source, "go.mod"), encoding="ascii") as file:
            return tuple(map(int, re.search(r"^go (\d+)\.(\d+)", file.read(), re.M).groups()))

    def _go_is_new_enough(self):
        go = shutil.which("go")
        if not go:
            return False
        text = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True).stdout
        found = re.match(r"go(\d+)\.(\d+)", text)
        return bool(found) and tuple(map(int, found.groups())) >= self._need()

    def _build(self, folder):
        source = os.path.join(folder, "src")
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(self.source, source)
        env = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=readonly", GOWORK="off", GOCACHE=build_cache())
        argv = ["go", "build", "-v", "-trimpath", f"-ldflags={self.ldflags}", "-o", folder + os.sep,
                *self.packages]
        code, errors = Watched(self.what, argv, source, env).run()
        shutil.rmtree(source, ignore_errors=True)
        if code != 0:
            text = f"{self.what} could not be built: {errors[-2000:]}"
            if in_ci():
                raise AssertionError(text)
            raise unittest.SkipTest(text)

    def _forget_old(self, folder):
        """Builds of other sources of the same module, but for the newest of them."""
        base = cache_folder()
        others = [os.path.join(base, name) for name in os.listdir(base)
                  if re.fullmatch(re.escape(self.name) + "-[0-9a-f]{16}", name)]
        others = sorted((path for path in others if path != folder), key=os.path.getmtime, reverse=True)
        for path in others[KEEP - 1:]:
            with open(os.path.join(path, "lock"), "w", encoding="ascii") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    continue  # somebody builds it
                shutil.rmtree(path, ignore_errors=True)


class Watched:
    """`go build -v`, which names each package and module as it comes: they are counted and told on standard error."""

    def __init__(self, what, argv, cwd, env):
        self.what, self.argv, self.cwd, self.env = what, argv, cwd, env
        self.packages, self.modules, self.errors = 0, 0, []
        self.started = time.monotonic()
        self.ended = threading.Event()

    def run(self):
        """(exit code, what it said besides)"""
        popen = subprocess.Popen(self.argv, cwd=self.cwd, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        teller = threading.Thread(target=self._tell, daemon=True)
        teller.start()
        try:
            for line in popen.stderr:
                self._take(line.rstrip("\n"))
            code = popen.wait()
        finally:
            if popen.poll() is None:
                popen.terminate()
                popen.wait()
            popen.stderr.close()
            self.ended.set()
            teller.join()
        return code, "\n".join(self.errors[-40:])

    def _take(self, line):
        if line.startswith("go: downloading "):
            self.modules += 1
        elif re.fullmatch(r"[\w.~/-]+", line):
            self.packages += 1
        else:
            self.errors.append(line)

    def _tell(self):
        while not self.ended.wait(SAY_EVERY):
            print(f"servers: building {self.what}: {self.modules} modules fetched, {self.packages} packages compiled, "
                  f"{time.monotonic() - self.started:.0f} s", file=sys.stderr, flush=True)
