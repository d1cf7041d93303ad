"""How programs are built from Go modules and kept: with a `go` that is made up, so that it takes no time."""

import contextlib
import io
import os
import stat
import subprocess
import sys
import tempfile
import unittest

from servers import gobuild

# What the real one does, in short: it names what it fetches and compiles, and leaves a program.
FAKE_GO = """\
#!/bin/sh
if [ "$1" = env ]; then echo go{version}; exit 0; fi
echo "$@" >> "{folder}/calls"
echo "go: downloading example.org/module v1.0.0" >&2
echo "example.org/module/package" >&2
mkdir -p "$GOCACHE"
{more}
while [ "$1" != -o ]; do shift; done
cat go.mod > "$2/program"
"""


class GoBuild(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="baton-gobuild-")
        self.addCleanup(self.folder.cleanup)
        self.source = self.path("source", "sample")
        os.makedirs(self.source)
        self.write("go 1.26.0\n")
        self.fake_go()
        for name, value in (("PATH", self.folder.name + os.pathsep + os.environ["PATH"]),
                            ("XDG_CACHE_HOME", self.path("cache")), ("CI", "")):
            self.set_env(name, value)
        self.all, gobuild.GoModule.all = gobuild.GoModule.all, []
        self.addCleanup(setattr, gobuild.GoModule, "all", self.all)
        self.module = self.make()

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def set_env(self, name, value):
        old = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if old is None else os.environ.update({name: old}))

    def write(self, text, name="go.mod"):
        with open(os.path.join(self.source, name), "w", encoding="ascii") as out:
            out.write(text)

    def fake_go(self, more="", version="1.26.3"):
        with open(self.path("go"), "w", encoding="ascii") as out:
            out.write(FAKE_GO.format(folder=self.folder.name, more=more, version=version))
        os.chmod(self.path("go"), stat.S_IRWXU)

    def make(self, name="sample"):
        module = gobuild.GoModule(name, "a sample")
        module.source = self.source
        return module

    def calls(self):
        try:
            with open(self.path("calls"), encoding="ascii") as calls:
                return len(calls.readlines())
        except FileNotFoundError:
            return 0

    def kept(self):
        return sorted(os.listdir(self.path("cache", "baton-servers")))

    def test_it_is_built_once_and_anew_when_a_source_changes(self):
        folder = self.module.build()
        self.assertEqual((self.module.build(), self.calls()), (folder, 1))
        self.write("go 1.26.0\n// changed\n")
        self.assertNotEqual(self.module.build(), folder)
        self.assertEqual(self.calls(), 2)
        with open(os.path.join(self.module.folder, "program"), encoding="ascii") as program:
            self.assertIn("changed", program.read())

    def test_two_builds_are_kept_and_not_three(self):
        for text in ("a", "b", "c", "d"):
            self.write(f"go 1.26.0\n// {text}\n")
            self.module.build()
        self.assertEqual(len(self.kept()), gobuild.KEEP)
        self.assertIn(os.path.basename(self.module.folder), self.kept())

    def test_the_build_cache_goes_when_all_are_built(self):
        other = self.make("other")
        self.module.build()
        self.assertIn("go-build", self.kept())
        other.build()
        self.assertNotIn("go-build", self.kept())

    def test_a_failure_is_told_and_tried_again(self):
        self.fake_go("echo 'package/x.go:3: syntax error' >&2; exit 1")
        with self.assertRaisesRegex(unittest.SkipTest, "syntax error"):
            self.module.build()
        self.set_env("CI", "true")
        with self.assertRaisesRegex(AssertionError, "a sample could not be built: package/x.go:3"):
            self.module.build()
        self.fake_go()
        self.module.build()
        self.assertIsNone(self.module.why_not())

    def test_a_go_that_is_too_old_builds_nothing(self):
        self.fake_go(version="1.19.8")
        self.assertIn("Go 1.26 or newer", self.module.why_not())
        with self.assertRaises(unittest.SkipTest):
            self.module.build()
        self.assertEqual(self.calls(), 0)

    def test_what_is_built_needs_no_go(self):
        self.module.build()
        os.unlink(self.path("go"))
        self.set_env("PATH", self.path("nowhere"))
        self.assertIsNone(self.module.why_not())
        self.assertTrue(self.module.build())

    def test_progress_is_told(self):
        self.fake_go("sleep 1.5")
        old, gobuild.SAY_EVERY = gobuild.SAY_EVERY, 0.1
        self.addCleanup(setattr, gobuild, "SAY_EVERY", old)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.module.build()
        self.assertRegex(said.getvalue(), r"building a sample: 1 modules fetched, 1 packages compiled, \d s")

    def test_two_that_want_it_at_once_build_it_once(self):
        self.fake_go("sleep 0.3")
        code = ("import sys; sys.path.insert(0, sys.argv[1]); from servers import gobuild; "
                "m = gobuild.GoModule('sample', 'a sample'); m.source = sys.argv[2]; print(m.build())")
        tests = os.path.dirname(os.path.dirname(os.path.abspath(gobuild.__file__)))
        both = [subprocess.Popen([sys.executable, "-c", code, tests, self.source], stdout=subprocess.PIPE) for _ in range(2)]
        told = {each.communicate()[0] for each in both}
        self.assertEqual((len(told), self.calls()), (1, 1))


if __name__ == "__main__":
    unittest.main()
