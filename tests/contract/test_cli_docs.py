"""The manuals, the schema and the completions say what the program's tables say."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from servers import Home, missing
from contract.schema import Schema

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOC = os.path.join(TOP, "doc")
BUILD = os.environ.get("BATON_BUILD", os.path.join(TOP, "build"))


def read(name):
    with open(os.path.join(DOC, name), encoding="utf-8") as file:
        return file.read()


def source(name):
    with open(os.path.join(TOP, "src", name), encoding="utf-8") as file:
        return file.read()


class Documentation(unittest.TestCase):
    def test_nothing_drifted_from_the_tables(self):
        tables = os.path.join(BUILD, "doc", "tables")
        self.assertTrue(os.path.exists(tables), "make doc/tables")
        done = subprocess.run([sys.executable, os.path.join(DOC, "update.py"), "--check", tables],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_manuals_are_clean(self):
        if not shutil.which("mandoc"):
            missing("mandoc", "mandoc")
        pages = [os.path.join(DOC, page) for page in ("baton.1", "baton-config.5")]
        done = subprocess.run(["mandoc", "-Tlint", *pages], capture_output=True, text=True)
        # Pages that are not installed on the machine are no fault.
        faults = [line for line in done.stdout.splitlines() if "referenced manual not found" not in line]
        self.assertEqual(faults, [])

    def test_the_manual_names_every_key_of_the_config_that_init_writes(self):
        with Home() as home:
            sample = home.baton("init", "--print").out
        page = read("baton-config.5")
        names = {line.strip("# ").split(":")[0] for line in sample.splitlines() if line.lstrip("# ").split(":")[0].isidentifier()
                 and ":" in line and not line.lstrip("# ")[:1].isupper()}
        self.assertGreater(len(names), 20)
        known = {"postgres", "etcd", "kubernetes"}
        self.assertEqual([n for n in sorted(names - known) if f".It Ic {n}" not in page], [])

    def test_the_manuals_name_every_kind_of_source(self):
        """As the program lists them where a config names another one."""
        with Home(config="sources: {x: {kind: zk}}") as home:
            kinds = home.baton("list").err.split("known kinds: ")[1].split()
        self.assertGreaterEqual(len(kinds), 3)
        kind = read("baton-config.5").split(".It Ic kind\n")[1].split(".It Ic")[0]
        about = read("baton.1").split(".Sh DESCRIPTION\n")[1].split(".Pp")[0].lower()
        for word in (each.strip(",") for each in kinds):
            self.assertIn(word, kind)
            self.assertIn(word, about)

    def test_the_help_names_every_command_and_option(self):
        with Home() as home:
            text = home.baton("help").out
            for command in ("console", "list", "show", "watch", "check", "doctor", "init", "help", "version"):
                self.assertIn(f"\n  {command}", text)
                own = home.baton("help", command)
                self.assertEqual(own.code, 0)
                self.assertEqual(own.out, home.baton(command, "--help").out if command != "console" else own.out)
                self.assertIn(f".It Cm {command}", read("baton.1"))
            self.assertNotIn("__complete", text)
            # What may be done, and what may be looked at, is told whole wherever it is told.
            flowing = " ".join(home.baton("help", "forecast").out.split())
            for verb in re.findall(r'^VERB\(\w+, "([a-z-]+)"', source("model/verbs.def"), re.M):
                self.assertRegex(flowing, rf"\b{verb}[,.; ]")
            for kind in re.findall(r"^SOURCE\(source_(\w+)\)", source("source/sources.def"), re.M):
                self.assertRegex(read("baton-config.5"), rf"What kind of system it is:[^.]*\b{kind}\b")
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])


class SchemaItself(unittest.TestCase):
    """A schema that takes anything would prove nothing."""

    schema = Schema(json.loads(read("baton-1.schema.json")))

    def faults(self, value):
        return self.schema.faults(value)

    def test_it_refuses_what_is_wrong(self):
        good = {"schema": "baton/1", "at": "2026-01-02T03:04:05.678Z", "sources": [], "singletons": [], "roles": []}
        self.assertEqual(self.faults(good), [])
        for change in ({"schema": "baton/2"}, {"at": "yesterday"}, {"sources": None}, {"more": 1},
                       {"singletons": [{"id": "a/b"}]}):
            self.assertNotEqual(self.faults({**good, **change}), [], change)

    def test_every_reference_leads_somewhere(self):
        def walk(node):
            if isinstance(node, dict):
                if isinstance(node.get("$ref"), str):
                    self.schema.resolve(node["$ref"])
                for child in node.values():
                    walk(child)
            elif isinstance(node, list):
                for child in node:
                    walk(child)
        walk(self.schema.root)


class Completions(unittest.TestCase):
    def test_each_shell_can_read_its_own(self):
        for shell, name in (("bash", "baton.bash"), ("zsh", "_baton"), ("fish", "baton.fish")):
            with self.subTest(shell=shell):
                path = os.path.join(DOC, "completions", name)
                self.assertTrue(os.path.exists(path))
                if not shutil.which(shell):
                    missing(shell, shell)
                done = subprocess.run([shell, "-n", path], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def bash(self, home, *words):
        """What bash offers for the last of the words."""
        script = (f"source {os.path.join(DOC, 'completions', 'baton.bash')}\n"
                  "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _baton; printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], capture_output=True, text=True,
                              env=home.env(), timeout=30)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_offers_what_fits(self):
        program = os.environ.get("BATON", os.path.join(BUILD, "src", "baton"))
        config = "sources: {west: {kind: etcd, endpoints: 'http://127.0.0.1:1'}}\nroles: {close: {witnesses: west/x}}\n"
        with Home(config=config) as home:
            self.assertEqual(self.bash(home, program, "ch"), ["check"])
            self.assertIn("watch", self.bash(home, program, ""))
            self.assertEqual(self.bash(home, program, "list", "--st"), ["--state"])
            self.assertEqual(self.bash(home, program, "check", "--st"), [])
            self.assertEqual(self.bash(home, program, "list", "--state", "DU"), ["DUPLICATE"])
            self.assertEqual(self.bash(home, program, "--color", "al"), ["always"])
            self.assertEqual(self.bash(home, program, "-s", ""), ["west"])
            self.assertEqual(self.bash(home, program, "show", "ro"), ["role/close"])
            self.assertEqual(self.bash(home, program, "help", "do"), ["doctor"])
            self.assertIn("token-regress", self.bash(home, program, "check", "--ignore", "to"))


if __name__ == "__main__":
    unittest.main()
