"""
A PostgreSQL client that speaks the wire protocol itself, as far as tests need it: a session costs a connection and no
process, thousands can be made in a minute, and notifications are read as they come.
"""

import select
import socket
import struct

from .postgres import SqlError


class WireClosed(Exception):
    """The server ended the session; sqlstate tells why, "" when it said nothing."""

    def __init__(self, sqlstate=""):
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


class Wire:
    """One session, without a password (auth trust). started: its backend_start in microseconds, once start() asked."""

    def __init__(self, server, dbname="postgres", app="", user=None, port=None):
        self.sock = socket.create_connection((server.host, port or server.port), timeout=20)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.notes, self.pid, self.started = b"", [], None, None
        self.waiting = 0  # statements whose answer has not come
        words = [b"user", (user or server.user).encode(), b"database", dbname.encode(),
                 b"application_name", app.encode(), b"DateStyle", b"ISO", b""]
        body = struct.pack("!i", 196608) + b"\0".join(words) + b"\0"
        self.sock.sendall(struct.pack("!i", len(body) + 4) + body)
        self._answer()

    def _message(self, timeout=40.0):
        while len(self.buffer) < 5 or len(self.buffer) < 1 + struct.unpack_from("!i", self.buffer, 1)[0]:
            if not select.select([self.sock], [], [], timeout)[0]:
                raise TimeoutError
            try:
                data = self.sock.recv(65536)
            except ConnectionError:
                data = b""
            if not data:
                raise WireClosed
            self.buffer += data
        end = 1 + struct.unpack_from("!i", self.buffer, 1)[0]
        message, self.buffer = self.buffer[:end], self.buffer[end:]
        return message[:1], message[5:]

    def _answer(self, timeout=40.0):
        rows, error = [], None
        while True:
            kind, body = self._message(timeout)
            if kind == b"D":
                rows.append(self._row(body))
            elif kind == b"A":
                self.notes.append(self._note(body))
            elif kind == b"K":
                self.pid = struct.unpack_from("!i", body)[0]
            elif kind == b"E":
                fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
                if fields[b"S"] in ("FATAL", "PANIC"):
                    raise WireClosed(fields[b"C"])
                error = SqlError(f"{fields[b'C']}: {fields[b'M']}")
            elif kind == b"Z":
                if error:
                    raise error
                return rows

    @staticmethod
    def _row(body):
        n, at, row = struct.unpack_from("!h", body)[0], 2, []
        for _ in range(n):
            size = struct.unpack_from("!i", body, at)[0]
            at += 4
            row.append(None if size < 0 else body[at:at + size].decode(errors="replace"))
            at += max(size, 0)
        return tuple(row)

    @staticmethod
    def _note(body):
        channel, payload = body[4:].split(b"\0")[:2]
        return channel.decode(), payload.decode()

    def send(self, sql):
        try:
            self.sock.sendall(b"Q" + struct.pack("!i", len(sql.encode()) + 5) + sql.encode() + b"\0")
        except OSError:
            raise WireClosed from None
        self.waiting += 1

    def result(self, timeout=40.0):
        rows = self._answer(timeout)
        self.waiting -= 1
        return rows

    def run(self, sql, timeout=40.0):
        self.send(sql)
        return self.result(timeout)

    def start(self):
        """The key by which baton knows the session."""
        if self.started is None:
            rows = self.run("select (extract(epoch from backend_start) * 1000000)::bigint from pg_stat_activity "
                            "where pid = pg_backend_pid()")
            self.started = int(rows[0][0])
        return f"{self.pid}@{self.started}"

    def listen(self, timeout):
        """Waits for notifications; [(channel, payload)]."""
        if not self.notes and select.select([self.sock], [], [], timeout)[0]:
            kind, body = self._message()
            if kind == b"A":
                self.notes.append(self._note(body))
            elif kind == b"E":
                raise WireClosed
        notes, self.notes = self.notes, []
        return notes

    def alive(self):
        """Whether a statement still works."""
        try:
            return self.run("select 1") == [("1",)]
        except WireClosed:
            return False

    def close(self):
        try:
            self.sock.sendall(b"X\0\0\0\4")
        except OSError:
            pass
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
