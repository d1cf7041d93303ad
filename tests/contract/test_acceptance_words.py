"""What a strict user finds with files alone: passwords, pipes, the config's odd shapes."""

import os
import subprocess
import unittest

from servers import Home, baton_path


class Files(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def file(self, name, data=b"", mode=0o600):
        path = os.path.join(self.home.folder.path, name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        return path

    def test_a_password_file_without_a_password(self):
        fifo = os.path.join(self.home.folder.path, "fifo")
        os.mkfifo(fifo)
        paths = [self.file("empty"), self.file("newline", b"\nsecond line\n"), self.file("nul", b"\0x"), "/dev/null", fifo]
        for kind in ("postgres", "etcd"):
            more = "user: u, endpoints: 'http://127.0.0.1:1'" if kind == "etcd" else "conninfo: 'host=127.0.0.1 port=1'"
            for path in paths:
                with self.subTest(kind=kind, path=path):
                    self.home.write_config(f"sources: {{a: {{kind: {kind}, {more}, password_file: '{path}'}}}}\n")
                    done = self.home.baton("list")
                    self.assertEqual(done.code, 69, done)
                    self.assertIn(f"a: password_file: the first line of {path} is empty", done.err)

    def test_a_config_that_comes_slowly_through_a_pipe(self):
        out = self.shell("(sleep 0.3; echo 'sources: {a: {kind: etcd, endpoints: x}}') | baton list -c /dev/stdin")
        self.assertRegex(out.stderr, r"^baton: a: .*http://x")
        out = self.shell("(sleep 0.2; echo 'bad: 1') | (sleep 0.1; baton list -c /dev/stdin)")
        self.assertRegex(out.stderr, r"/dev/stdin:1:1: unknown key 'bad'")

    def test_a_config_that_is_there_is_not_said_to_be_absent(self):
        self.assertRegex(self.home.baton("list").err, r"config.yaml: not there\n")
        self.home.write_config("# nothing yet\n")
        self.assertRegex(self.home.baton("list").err, r"config.yaml: names no source\n")

    def shell(self, command):
        return subprocess.run(["bash", "-c", command.replace("baton", baton_path())], env=self.home.env(), timeout=60,
                              capture_output=True, text=True)


if __name__ == "__main__":
    unittest.main()
