"""A reader that stands still holds a program that is told to end for a moment only: a pipe, a socket, or a terminal after ^S."""

import fcntl
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import unittest

from servers import Home, wait_until

ENDLESS = ("record", "watch")
WORLD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worlds", "all.yaml")
STOP, GO = b"\x13", b"\x11"  # ^S, ^Q
WORDS = {"record": ("record", "-", "--sim", "demo", "--for", "365d"), "watch": ("watch", "--json", "--sim", "demo", "--at", "30d"),
         "act": ("act", "ask", "fleet/process/a-1", "--sim", WORLD, "--at", "5s", "--reason", "a test", "--yes", "--json")}


class Standing(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def start(self, name, reader, write, stderr):
        process = self.home.popen(*WORDS[name], stdout=write, stderr=stderr, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(write)
        self.addCleanup(os.close, reader)
        return process

    def ends(self, process, name, said=True):
        """Once it has written what fits, and waits."""
        def cpu():
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
                return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
        seen = []

        def rests():
            seen.append(cpu())
            time.sleep(0.2)
            return len(seen) > 3 and seen[-1] <= seen[-3] + 1
        wait_until(rests, 30, what="it waits for its reader")
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=20)
        self.assertLess(time.monotonic() - started, 10)
        self.assertEqual(code, 1)
        if said:
            self.assertIn(b"its reader takes nothing more", process.stderr.read())
            process.stderr.close()

    def test_a_pipe(self):
        for name in ENDLESS:
            with self.subTest(name):
                self.ends(self.start(name, *os.pipe(), subprocess.PIPE), name)

    def test_a_socket(self):
        """As rsh daemons, inetd and some container runtimes give it."""
        for name in ENDLESS:
            with self.subTest(name):
                self.ends(self.start(name, *(end.detach() for end in socket.socketpair()), subprocess.PIPE), name)

    def test_an_act_that_is_over(self):
        """Its outcome is recorded; only to say it is waited for."""
        for reader, write in (os.pipe(), [end.detach() for end in socket.socketpair()]):
            os.set_blocking(write, False)
            with self.assertRaises(BlockingIOError):
                while True:
                    os.write(write, bytes(4096))
            with self.assertRaises(BlockingIOError):
                while True:
                    os.write(write, b"x")
            os.set_blocking(write, True)
            self.ends(self.start("act", reader, write, subprocess.PIPE), "act")

    def test_a_stopped_terminal(self):
        for name in ENDLESS:
            with self.subTest(name):
                master, slave = pty.openpty()
                os.write(master, STOP)
                self.ends(self.start(name, master, slave, subprocess.PIPE), name)

    def test_a_stopped_terminal_that_complaints_go_to_as_well(self):
        for name in ENDLESS:
            with self.subTest(name):
                master, slave = pty.openpty()
                os.write(master, STOP)
                self.ends(self.start(name, master, slave, slave), name, said=False)

    def test_what_was_not_written_meanwhile_is_said(self):
        """The newest state is written when it reads on, and that there was a gap."""
        reader, write = os.pipe()
        process = self.home.popen("record", "-", "--sim", "demo", "--for", "20m", stdout=write, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL)
        os.close(write)
        wait_until(lambda: self.holds(reader), 30, what="a full pipe")
        time.sleep(2.5)
        with open(reader, encoding="utf-8") as lines:
            told = [json.loads(line) for line in lines]
        self.assertEqual((process.wait(timeout=60), process.stderr.read()), (0, b""))
        process.stderr.close()
        self.assertEqual(told[-1]["line"], "end")
        gaps = [line for line in told if line["line"] == "event" and line["what"] == "gap" and "reader" in line["text"]]
        self.assertEqual(len(gaps), 1, gaps)
        self.assertRegex(gaps[0]["text"], r"stood still for ([2-9]|\d\d)")

    @staticmethod
    def holds(reader):
        """Whether a pipe is full: nothing has come for a while."""
        def waits():
            return struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4))[0]
        before = waits()
        time.sleep(0.2)
        return before > 32768 and waits() == before

    def test_a_terminal_that_goes_on(self):
        """Nothing is lost of what a stopped one gets later."""
        master, slave = pty.openpty()
        process = self.home.popen("watch", "--json", "--sim", "demo", "--at", "2m", stdout=slave, stderr=slave,
                                  stdin=subprocess.DEVNULL)
        os.write(master, STOP)
        time.sleep(1)
        os.close(slave)
        os.write(master, GO)
        got = []

        def read():
            try:
                while True:
                    got.append(os.read(master, 65536))
            except OSError:
                return
        thread = threading.Thread(target=read)
        thread.start()
        self.assertIn(process.wait(timeout=60), (0, 13))
        thread.join(10)
        os.close(master)
        want = self.home.baton("watch", "--json", "--sim", "demo", "--at", "2m").out
        self.assertEqual(b"".join(got).replace(b"\r\n", b"\n").decode(), want)


if __name__ == "__main__":
    unittest.main()
