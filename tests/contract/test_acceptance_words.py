"""What a strict user finds with files and a silent port alone: passwords, standard error, times, the config's odd shapes."""

import os
import sys
import time
import unittest

from servers import Home, silent_server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tty"))


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

    def silent(self):
        server = silent_server()
        self.addCleanup(server.close)
        return server.port

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


if __name__ == "__main__":
    unittest.main()
