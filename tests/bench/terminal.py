"""A program in a pseudo-terminal that the benchmark reads itself: when did what appear?"""

import errno
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    """Starts argv in a terminal of its own; `started` is the moment before."""

    def __init__(self, argv, env, rows=24, columns=80):
        self.started = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(127)
        self.output = b""
        self.total = 0

    def read(self, timeout):
        """Reads what is there, waiting at most so long; returns the bytes, b"" for none."""
        ready, _, _ = select.select([self.fd], [], [], max(0.0, timeout))
        if not ready:
            return b""
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise EOFError("the program ended") from None
        if not data:
            raise EOFError("the program ended")
        self.total += len(data)
        return data

    def wait_for(self, words, timeout=30.0):
        """The moment at which one of the words (bytes) had appeared in what was written since the last call."""
        deadline = time.monotonic() + timeout
        words = [words] if isinstance(words, bytes) else list(words)
        while time.monotonic() < deadline:
            data = self.read(deadline - time.monotonic())
            now = time.monotonic()
            self.output += data
            if any(word in self.output for word in words):
                self.output = b""
                return now
        raise TimeoutError(f"{words} did not appear; the last was {self.output[-500:]!r}")

    def drain(self, quiet=0.3, most=30.0):
        """Reads until nothing came for a while."""
        end = time.monotonic() + most
        while time.monotonic() < end and self.read(quiet):
            pass
        self.output = b""

    def watch(self, seconds):
        """Reads for so long; returns how many bytes were written."""
        before, end = self.total, time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)
        self.output = b""
        return self.total - before

    def send(self, keys):
        os.write(self.fd, keys)

    def close(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                break
            end = time.monotonic() + 3
            while time.monotonic() < end:
                try:
                    self.read(0.01)
                except EOFError:
                    pass
                done, _ = os.waitpid(self.pid, os.WNOHANG)
                if done:
                    os.close(self.fd)
                    return
                time.sleep(0.01)
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
