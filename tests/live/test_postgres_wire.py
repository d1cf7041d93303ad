"""Servers that speak PostgreSQL's protocol (version 3) and then answer what no PostgreSQL would."""

import socket
import struct
import time
import unittest

from pg_truth import one_line, source
from servers import Home
from servers.net import Listener

# the columns of the first question, as source/postgres-sql.h lists them: pid, version, ...
FACTS = 13


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def row_description(n):
    one = b"c\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 1)
    return message(b"T", struct.pack("!h", n) + one * n)


def data_row(values):
    body = struct.pack("!h", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return message(b"D", body)


def rows(n_columns, *values):
    return (message(b"1") + message(b"2") + row_description(n_columns) + b"".join(map(data_row, values)) +
            message(b"C", b"SELECT 1\0") + message(b"Z", b"I"))


def error(state, text, severity=b"ERROR"):
    body = b"S" + severity + b"\0V" + severity + b"\0C" + state + b"\0M" + text + b"\0\0"
    return message(b"E", body)


class FakeServer(Listener):
    """answers: what is sent for each question (each Sync or simple query), bytes or a function of the socket."""

    def __init__(self, answers, version=b"15.0", pid=4711):
        self.answers, self.version, self.pid = answers, version, pid
        self.questions = []
        super().__init__()

    def handle(self, sock):
        stream = sock.makefile("rb")
        while True:
            length, code = struct.unpack("!ii", stream.read(8))
            stream.read(length - 8)
            if code == 196608:
                break
            sock.sendall(b"N")  # neither TLS nor GSS
        sock.sendall(message(b"R", struct.pack("!i", 0)) + message(b"S", b"server_version\0" + self.version + b"\0") +
                     message(b"K", struct.pack("!ii", self.pid, 1)) + message(b"Z", b"I"))
        for answer in self.answers:
            if not self._question(stream):
                return
            if callable(answer):
                answer(sock)
            else:
                sock.sendall(answer)
        while self._question(stream):
            pass

    def _question(self, stream):
        while True:
            head = stream.read(5)
            if len(head) < 5:
                return False
            body = stream.read(struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] == b"P":
                self.questions.append(body)
            if head[:1] in b"SQ":
                return True
            if head[:1] == b"X":
                return False


def facts(pid=4711, text=b"PostgreSQL 15.0 (of a test)"):
    return rows(FACTS, [struct.pack("!i", pid), text, b"\0", struct.pack("!q", 100), None, b"\0", b"\1", b"\1", b"\1",
                        b"postgres", b"me", b"UTF8", b"127.0.0.1"])


CONTROL = rows(2, [struct.pack("!q", 7), struct.pack("!i", 1)])
SETTLED = rows(5, [b""] * 5)


def fake_rows(*values):
    return (message(b"1") + message(b"2") + row_description(22) + b"".join(map(data_row, values)) + message(b"C", b"SELECT 1\0") +
            message(b"Z", b"I"))


def server_row(held=0):
    row = [None] * 22
    row[0], row[1], row[7], row[8] = struct.pack("!i", 0), struct.pack("!i", 4711), b"\0", struct.pack("!q", 0)
    row[21] = struct.pack("!q", held)
    return row


def lock_row(pid, objid, **other):
    row = [None] * 22
    row[0], row[1], row[2] = struct.pack("!i", 3), struct.pack("!i", pid), struct.pack("!I", 5)
    row[3], row[4], row[5] = struct.pack("!I", 0), struct.pack("!I", objid), struct.pack("!h", 1)
    row[6], row[7] = b"\0", b"\1"
    for column, value in other.items():
        row[int(column[1:])] = value
    return row


START = [facts(), CONTROL, SETTLED]


class Wire(unittest.TestCase):
    def ask(self, server, timeout=3):
        self.addCleanup(server.close)
        with Home() as home:
            home.write_config(f'sources:\n  pg: {{kind: postgres, conninfo: "host=127.0.0.1 port={server.port} '
                              'user=me dbname=postgres"}\n')
            started = time.monotonic()
            result = home.baton("list", "--json", "--timeout", timeout)
            self.assertLess(time.monotonic() - started, 2 * timeout + 4)
            return result

    def failing(self, server, *says, timeout=3):
        result = self.ask(server, timeout)
        self.assertEqual(result.code, 69, result)
        text = one_line(source(result.json, "pg")["error"])
        for word in says:
            self.assertIn(word, text)

    def test_the_fake_is_taken_for_a_server(self):
        result = self.ask(FakeServer(START + [fake_rows(server_row(1), lock_row(9, 42))]))
        self.assertEqual(result.code, 0, result)
        self.assertEqual([one["id"] for one in result.json["singletons"]], ["pg/#5:42"])
        self.assertEqual(result.json["singletons"][0]["holders"][0]["identity"], "pid 9")

    def endless(self, sock):
        sock.sendall(message(b"1") + message(b"2") + row_description(22))
        piece = data_row(lock_row(9, 42)) * 2000
        try:
            while True:
                sock.sendall(piece)
        except OSError:
            pass

    def test_rows_without_end_are_cut_off(self):
        # It is the cap that ends it, not the time, on a busy machine too.
        self.failing(FakeServer(START + [self.endless]), "sends without end", "64 MB", timeout=15)

    def test_one_row_without_end_is_cut_off(self):
        def huge(sock):
            sock.sendall(message(b"1") + message(b"2") + row_description(22) + b"D" + struct.pack("!i", 2**30) + b"\0\x16")
            try:
                while True:
                    sock.sendall(b"\0" * 65536)
            except OSError:
                pass
        self.failing(FakeServer(START + [huge]), "sends without end")

    def test_notices_without_end_end_at_the_limit_or_the_deadline(self):
        def notices(sock):
            piece = message(b"N", b"SNOTICE\0C00000\0Mhello\0\0") * 2000
            try:
                while True:
                    sock.sendall(piece)
            except OSError:
                pass
        self.failing(FakeServer(START + [notices]), "127.0.0.1")

    def test_other_columns(self):
        other = message(b"1") + message(b"2") + row_description(3) + message(b"C", b"SELECT 0\0") + message(b"Z", b"I")
        self.failing(FakeServer(START + [other]), "other columns than it was asked for")

    def test_fields_of_wrong_widths_are_passed_over(self):
        odd = [lock_row(9, 1, c4=b"xx"), lock_row(9, 2, c5=b"123"), lock_row(9, 3, c2=b""), lock_row(9, 4, c8=b"1")]
        result = self.ask(FakeServer(START + [fake_rows(server_row(4), *odd)]))
        self.assertEqual(result.code, 0, result)
        self.assertEqual({one["id"] for one in result.json["singletons"]}, {"pg/#0:3", "pg/#5:4"})

    def test_a_copy_that_nobody_asked_for(self):
        self.failing(FakeServer(START + [message(b"1") + message(b"2") + message(b"H", b"\0\0\0")]), "no answer to one")

    def test_cut_in_the_middle_of_a_row(self):
        def cut(sock):
            sock.sendall(message(b"1") + message(b"2") + row_description(22) + data_row(lock_row(9, 1))[:40])
            sock.shutdown(socket.SHUT_RDWR)
        self.failing(FakeServer(START + [cut]), "was cut off without a word")

    def test_nothing_after_the_greeting(self):
        self.failing(FakeServer([lambda sock: None]), "did not answer the query within")

    def test_an_old_server(self):
        self.failing(FakeServer([facts(text=b"PostgreSQL 9.6.24"), CONTROL], version=b"9.6.24"), "11 and newer")

    def test_the_statement_timeout(self):
        answer = error(b"57014", b"canceling statement due to statement timeout") + message(b"Z", b"I")
        self.failing(FakeServer(START + [answer]), "gave up the query at its statement_timeout")

    def test_a_server_that_only_resembles_postgresql(self):
        """No such functions, no such views: it is still said what it is."""
        refuse = error(b"42883", b"unknown function: pg_settings()") + message(b"Z", b"I")
        version = rows(1, [b"CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)"])
        result = self.ask(FakeServer([refuse, version, refuse, refuse], version=b"13.0.0"))
        one = source(result.json, "pg")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(one["state"], "degraded")
        self.assertIn("only resembles PostgreSQL", one["error"])
        self.assertEqual({finding["code"] for finding in one["findings"]}, {"unsupported-server", "hidden"})

    def test_a_password_that_the_server_echoes_is_masked(self):
        class Echo(FakeServer):
            def handle(self, sock):
                stream = sock.makefile("rb")
                while True:
                    length, code = struct.unpack("!ii", stream.read(8))
                    stream.read(length - 8)
                    if code == 196608:
                        break
                    sock.sendall(b"N")
                sock.sendall(message(b"R", struct.pack("!i", 3)))
                head = stream.read(5)
                word = stream.read(struct.unpack("!i", head[1:])[0] - 4)[:-1]
                sock.sendall(error(b"28P01", b"not " + word, b"FATAL"))
        server = Echo([])
        self.addCleanup(server.close)
        with Home(env={"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "me",
                       "PGPASSWORD": "open-sesame"}) as home:
            result = home.baton("list", "--json", "--timeout", 3)
            self.assertNotIn("sesame", result.out + result.err)
            self.assertIn("not ***********", result.out)


if __name__ == "__main__":
    unittest.main()
