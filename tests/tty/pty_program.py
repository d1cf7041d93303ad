"""A program in a pseudo-terminal of its own, with the screen that it draws."""

import codecs
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from vt import Screen  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BATON_BUILD") or os.path.join(TOP, "build")
STAGE = os.path.join(BUILD, "tests", "bin", "stage")
WRITES = {"x86_64": ("1", "20")}.get(os.uname().machine, ("64", "66"))  # write and writev, by their numbers
IN_TRANSIT = 0.005  # from the write of one side to the read of the other, through the kernel's queue
PATIENCE = 40.0


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "TMPDIR") or k.endswith("SAN_OPTIONS")}
    env.update(TERM="xterm-256color", LC_ALL="C.UTF-8", BATON_THEMES=os.path.join(TOP, "themes"), COLORFGBG="15;0",
               HOME="/nonexistent")
    env.update(more)
    return {k: v for k, v in env.items() if v is not None}


def shell(told):
    """What a shell does for a job: returns in the job's process; the shell's own waits for it and ends as it did."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        os.write(told, str(os.getpid()).encode())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        return
    os.close(told)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 255)


class Program:
    """
    Starts argv on a new terminal of rows x columns. The other end stays open in this process as `tty`, so that the terminal's
    settings can be read after the program ended. job: as the job of a shell, which may be stopped (the kernel stops no program
    without a parent in its session).
    """

    def __init__(self, *argv, rows=24, columns=80, env=None, job=False):
        self.screen = Screen(rows, columns)
        self.fd, self.tty = pty.openpty()
        self.size(rows, columns)
        self.before = termios.tcgetattr(self.tty)
        self.raw = b""
        # A read may end within a character.
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.ended = None
        tell, told = os.pipe()
        self.leader = self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                fcntl.ioctl(self.tty, termios.TIOCSCTTY, 0)
                for number in (0, 1, 2):
                    os.dup2(self.tty, number)
                if job:
                    shell(told)
                os.closerange(3, 256)
                os.execvpe(argv[0], argv, env or environment())
            finally:
                os._exit(127)
        os.close(told)
        if job:
            self.pid = int(os.read(tell, 32))
        os.close(tell)

    def size(self, rows, columns):
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.read(0)
        self.screen.resize(rows, columns)
        self.size(rows, columns)
        os.kill(self.pid, signal.SIGWINCH)

    def read(self, timeout):
        """Takes what was written; False when nothing came in time, or ever will."""
        ready, _, _ = select.select([self.fd], [], [], timeout)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.raw += data
        self.screen.feed(self.decoder.decode(data))
        return bool(data)

    def wait(self, what, seconds=PATIENCE):
        """Reads until the text is on the screen, or the function of the screen is true; then what stands beside it is drawn too."""
        test = what if callable(what) else lambda screen: what in screen.text
        deadline = time.monotonic() + seconds
        while True:
            if test(self.screen) and (self.drawn() or time.monotonic() >= deadline):
                return self
            left = deadline - time.monotonic()
            if left <= 0 or self.poll() is not None and not self.read(0):
                if test(self.screen):
                    return self
                raise AssertionError(f"{what!r} did not come; the screen is\n{self.screen.text}\nlast: {self.raw[-300:]!r}")
            self.read(min(left, 0.2))

    def keys_until(self, text, test, every=0.5):
        """Types the text again and again, until the function of the screen is true."""
        deadline = time.monotonic() + PATIENCE
        while True:
            again = min(time.monotonic() + every, deadline)
            self.keys(text)
            while not test(self.screen) and (left := again - time.monotonic()) > 0 and self.poll() is None:
                self.read(left)
            if again >= deadline or self.poll() is not None or test(self.screen):
                return self.wait(test, 0)

    def waits(self):
        """Whether the program waits for something else than for its terminal to take more; unknown counts as that."""
        try:
            with open(f"/proc/{self.pid}/syscall", encoding="ascii") as told:
                call = told.read().split()[0]
        except (OSError, IndexError):
            return True
        return self.poll() is not None or (call != "running" and call not in WRITES)

    def drawn(self):
        """Whether the frame is whole: a screen comes in pieces, and under load there is time between them."""
        return self.waits() and not self.read(IN_TRANSIT)

    def settle(self, quiet=0.15):
        while self.read(quiet) or not self.waits():
            pass
        return self

    def keys(self, text):
        os.write(self.fd, text.encode() if isinstance(text, str) else text)
        return self

    def kill(self, number):
        os.kill(self.pid, number)
        return self

    def poll(self):
        if self.ended is None:
            pid, status = os.waitpid(self.leader, os.WNOHANG)
            if pid:
                self.ended = status
        return self.ended

    def wait_state(self, letter, seconds=PATIENCE):
        """Waits until the process is in a state of /proc/PID/stat, such as T for stopped."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == letter:
                    return self
            self.read(0.02)
        raise AssertionError(f"not in state {letter}")

    def end(self, seconds=PATIENCE):
        """Waits for the end; returns the exit code, or minus the signal."""
        deadline = time.monotonic() + seconds
        while self.poll() is None:
            assert time.monotonic() < deadline, f"it goes on:\n{self.screen.text}"
            self.read(0.02)
        while self.read(0.05):
            pass
        return os.waitstatus_to_exitcode(self.ended)

    def settings(self):
        return termios.tcgetattr(self.tty)

    def close(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGCONT)
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.leader, 0)
        for fd in (self.fd, self.tty):
            if fd is not None:
                os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
