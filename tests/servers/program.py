"""baton itself, with private folders for its state and its configuration."""

import json
import os
import subprocess

from .process import Folder

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def baton_path():
    """The program under test: BATON, else the one that `./bootstrap build` made."""
    path = os.environ.get("BATON") or os.path.join(TOP, "build", "src", "baton")
    assert os.access(path, os.X_OK), f"{path} is not built"
    return os.path.abspath(path)


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def json_lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self):
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Home:
    """
    A user's home for baton: configuration, state and nothing else of this machine's environment. Keep one to test what
    baton remembers from one command to the next.
    """

    def __init__(self, config=None, env=None):
        self.folder = Folder("home")
        self.state = self.folder / "state"
        self.config_folder = self.folder / "config"
        self.more = dict(env or {})
        os.makedirs(os.path.join(self.config_folder, "baton"))
        if config is not None:
            self.write_config(config)

    @property
    def config(self):
        return os.path.join(self.config_folder, "baton", "config.yaml")

    def write_config(self, text):
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(text)

    def env(self, **more):
        keep = {k: v for k, v in os.environ.items()
                if k in ("PATH", "LANG", "LC_ALL", "TMPDIR") or k.endswith("SAN_OPTIONS")}
        env = {"LC_ALL": "C.UTF-8", **keep, "HOME": self.folder.path, "XDG_STATE_HOME": self.state,
               "XDG_CONFIG_HOME": self.config_folder, "TERM": "xterm-256color",
               "BATON_THEMES": os.path.join(TOP, "themes")}
        env.update(self.more)
        env.update({k: v for k, v in more.items() if v is not None})
        return env

    def baton(self, *args, env=None, stdin=None, timeout=60):
        """Runs the program to its end; text in and out."""
        done = subprocess.run([baton_path(), *map(str, args)], capture_output=True, text=True,
                              errors="backslashreplace", env=self.env(**(env or {})), timeout=timeout,
                              **({"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}))
        return Result(done)

    def popen(self, *args, env=None, **kwargs):
        """Starts it and returns the Popen; the caller ends it."""
        return subprocess.Popen([baton_path(), *map(str, args)], env=self.env(**(env or {})), **kwargs)

    def close(self):
        self.folder.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def baton(*args, env=None, **kwargs):
    """One run in a home that is forgotten afterwards."""
    with Home(env=env) as home:
        return home.baton(*args, **kwargs)
