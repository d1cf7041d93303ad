"""./bootstrap with a package manager that is made up: what it installs, what it says, and what it never does."""

import os
import shutil
import stat
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = ("run", "check", "lab", "build", "bench", "deps")


class Bootstrap(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="baton-bootstrap-")
        self.addCleanup(self.folder.cleanup)
        self.log = os.path.join(self.folder.name, "log")
        self.fake("dpkg-query", "exit 0")  # nothing is installed
        self.fake("id", "echo 0")
        self.fake("sudo", "exit 1")
        self.fake("apt-get", "exit 0")

    def fake(self, name, script):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="ascii") as out:
            out.write(f"#!/bin/sh\necho {name} \"$@\" >> {self.log}\n{script}\n")
        os.chmod(path, stat.S_IRWXU)

    def run_it(self, *words):
        env = dict(os.environ, PATH=self.folder.name + os.pathsep + os.environ["PATH"], LC_ALL="C.UTF-8")
        return subprocess.run([os.path.join(TOP, "bootstrap"), *words], capture_output=True, text=True, env=env,
                              stdin=subprocess.DEVNULL, timeout=60)

    def calls(self, name):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="ascii") as log:
            return [line.strip() for line in log if line.startswith(name + " ")]

    def test_help_names_every_command(self):
        done = self.run_it("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in COMMANDS:
            self.assertRegex(done.stdout, rf"(?m)^  {command}\b")

    def test_an_unknown_command_is_a_usage_error(self):
        self.assertEqual(self.run_it("cheque").returncode, 64)
        self.assertEqual(self.run_it().returncode, 64)

    def test_print_only_names_what_is_missing(self):
        done = self.run_it("deps", "--print")
        self.assertEqual(done.returncode, 0)
        self.assertIn("libpq-dev", done.stdout.split())
        self.assertEqual(self.calls("apt-get"), [])

    def test_what_is_there_is_not_installed(self):
        self.fake("dpkg-query", 'shift 2; for name; do echo "installed $name"; done')
        done = self.run_it("deps")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls("apt-get"), [])

    def test_a_removed_package_counts_as_missing(self):
        self.fake("dpkg-query", 'shift 2; for name; do echo "config-files $name"; done')
        self.assertIn("libpq-dev", self.run_it("deps", "--print").stdout.split())

    def test_without_rights_the_one_command_is_printed(self):
        self.fake("id", "echo 1000")
        done = self.run_it("build")
        self.assertEqual(done.returncode, 1)
        lines = [line for line in done.stderr.splitlines() if "apt-get install" in line]
        self.assertEqual(len(lines), 1)
        self.assertIn("libpq-dev", lines[0])
        self.assertEqual(self.calls("apt-get"), [])

    def test_sudo_is_used_where_it_asks_nothing(self):
        self.fake("id", "echo 1000")
        self.fake("sudo", "exit 0")
        self.assertEqual(self.run_it("deps").returncode, 0)
        self.assertTrue(self.calls("sudo"))
        self.assertTrue(all(call.startswith("sudo -n ") for call in self.calls("sudo")))

    def fails(self, output, sentence):
        self.fake("apt-get", f"echo '{output}'; exit 100")
        done = self.run_it("deps")
        self.assertEqual(done.returncode, 1)
        self.assertIn(sentence, done.stderr)

    def test_a_lock_no_network_and_a_full_disk_are_named(self):
        self.fails("E: Could not get lock /var/lib/dpkg/lock-frontend", "another apt or dpkg is at work")
        self.fails("W: Temporary failure resolving deb.example", "is there a network")
        self.fails("E: You do not have enough free space in /var/cache", "the disk is full")
        self.fails("E: Unable to locate package etcd-server", "etcd-server")
        self.fails("E: dpkg was interrupted, you must run dpkg --configure -a", "dpkg --configure -a")

    def test_old_lists_are_fetched_once(self):
        self.fake("apt-get", f'case "$*" in *update*) touch {self.folder.name}/new;; esac; [ -e {self.folder.name}/new ]')
        self.assertEqual(self.run_it("deps").returncode, 0)
        self.assertEqual(len([call for call in self.calls("apt-get") if call.endswith("update")]), 1)


class Interrupted(unittest.TestCase):
    """A step that did not end is done again from its start."""

    def test_a_half_made_configure_and_a_half_made_build(self):
        with tempfile.TemporaryDirectory(prefix="baton-half-") as folder:
            tree = os.path.join(folder, "tree")
            names = ("bootstrap", "configure.ac", "Makefile.am", "src", "tests", "themes", "scenarios", "doc", "m4", ".clang-format")
            os.mkdir(tree)
            for name in names:
                source = os.path.join(TOP, name)
                if os.path.isdir(source):
                    shutil.copytree(source, os.path.join(tree, name), ignore=shutil.ignore_patterns("*.o", "*.a"))
                elif os.path.exists(source):
                    shutil.copy(source, tree)
            # What a killed autoreconf and a killed configure leave.
            with open(os.path.join(tree, "configure"), "w", encoding="ascii") as out:
                out.write("#!/bin/sh\nexit 1\n")
            os.chmod(os.path.join(tree, "configure"), stat.S_IRWXU)
            os.makedirs(os.path.join(tree, "build"))
            for name in ("Makefile", "config.status"):
                with open(os.path.join(tree, "build", name), "w", encoding="ascii") as out:
                    out.write("all:\n\tfalse\n")
            done = subprocess.run(["bash", "-c", f'source <(sed "\\$d" {tree}/bootstrap); top={tree}; lock_tree;'
                                   f' make_configure; configure_in {tree}/build; make -C {tree}/build -n all >/dev/null'],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=110)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_was_missing_and_has_come_is_configured_anew(self):
        """Packages of the tests that were installed after the first build: the build knows them then, and asks nothing twice."""
        with tempfile.TemporaryDirectory(prefix="baton-late-") as folder:
            log = os.path.join(folder, "build", "log")

            def script(name, line):
                with open(os.path.join(folder, name), "w", encoding="ascii") as out:
                    out.write(f"#!/bin/sh\n{line}\n")
                os.chmod(os.path.join(folder, name), stat.S_IRWXU)

            def configured(found):
                script("configure", "echo configured >> log; touch Makefile")
                script("pkg-config", found)
                done = subprocess.run(["bash", "-c", f'source <(sed "\\$d" {TOP}/bootstrap); top={folder}; lock_tree;'
                                       f" PATH={folder}:$PATH; configure_in {folder}/build"],
                                      capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(log, encoding="ascii") as lines:
                    return len(lines.readlines())

            self.assertEqual([configured("exit 1"), configured("exit 1"), configured("echo 1.1.7"), configured("echo 1.1.7")], [1, 1, 2, 2])


if __name__ == "__main__":
    unittest.main()
