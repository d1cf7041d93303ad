"""Ports, a proxy that a test can cut, and servers that are not what baton hopes for."""

import fcntl
import os
import queue
import random
import socket
import struct
import threading
import time

from .process import disown, own

_ports = {}


def free_port():
    """
    A free TCP port on loopback, below the range that the kernel gives to outgoing connections, and locked against other
    test processes for the life of this one.
    """
    # Not in TMPDIR: where that is another one the ports are the same.
    folder = os.path.join("/tmp", f"baton-ports-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for _ in range(2000):
        port = random.randrange(20000, 32000)
        if port in _ports:
            continue
        claim = open(os.path.join(folder, str(port)), "w", encoding="ascii")
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _ports[port] = claim
        return port
    raise AssertionError("no free port")


def port_open(port):
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _reset(sock):
    """Closes with a RST instead of a FIN."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    _close(sock)


def _close(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    sock.close()


class Listener:
    """A TCP server on a free port of loopback; handle() runs in a thread for each connection."""

    def __init__(self, port=None):
        self.port = port or free_port()
        self.connections = 0
        self.sockets = set()
        self.lock = threading.Lock()
        self.closed = False
        self.server = socket.create_server(("127.0.0.1", self.port), backlog=128)
        own(self)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def _accept(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
            self._track(sock)
            threading.Thread(target=self._run, args=(sock,), daemon=True).start()

    def _track(self, sock):
        with self.lock:
            self.sockets.add(sock)
        if self.closed:
            _close(sock)

    def _run(self, sock):
        try:
            self.handle(sock)
        except OSError:
            pass
        finally:
            with self.lock:
                self.sockets.discard(sock)
            _close(sock)

    def handle(self, sock):
        raise NotImplementedError

    def drop_all(self, reset=False):
        """Ends every connection that is open now."""
        with self.lock:
            sockets, self.sockets = self.sockets, set()
        for sock in sockets:
            (_reset if reset else _close)(sock)

    def close(self):
        disown(self)
        self.closed = True
        _close(self.server)
        self.drop_all()


class Proxy(Listener):
    """
    Passes bytes to a port of loopback, as long as the test wants. Modes, which hold for open and new connections:
    pass_on(); stall(): takes bytes and passes none (held counts them; stall(n): as soon as n bytes came from the server); swallow(): passes what is asked and no answer (swallow(b"..."):
    from the question with these bytes on); refuse(): closes new ones at once. cut() and reset() end the open
    ones; truncate(n) ends each new connection after n bytes from the server.
    """

    def __init__(self, target_port, port=None):
        self.target_port = target_port
        self.flowing = threading.Event()
        self.flowing.set()
        self.refusing = self.swallowing = False
        self.last_words = None
        self.limit = self.stall_at = None
        self.held = 0       # taken since it stalls
        self.bytes_in = 0   # from the server
        self.bytes_out = 0  # to the server
        super().__init__(port)

    def pass_on(self):
        self.refusing, self.swallowing, self.last_words, self.limit, self.stall_at = False, False, None, None, None
        self.flowing.set()

    def stall(self, n_bytes=None):
        self.held, self.stall_at = 0, n_bytes
        if n_bytes is None:
            self.flowing.clear()

    def stalls(self):
        return not self.flowing.is_set()

    def swallow(self, last_words=None):
        self.swallowing, self.last_words = last_words is None, last_words

    def refuse(self):
        self.refusing = True

    def cut(self):
        self.drop_all()

    def reset(self):
        self.drop_all(reset=True)

    def truncate(self, n_bytes):
        self.limit = n_bytes

    def handle(self, sock):
        if self.refusing:
            _reset(sock)
            return
        server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
        server.settimeout(None)
        self._track(server)
        forth = threading.Thread(target=self._pump, args=(sock, server, None), daemon=True)
        forth.start()
        try:
            self._pump(server, sock, self.limit)
        finally:
            with self.lock:
                self.sockets.discard(server)
            _close(server)

    def _pump(self, source, target, limit):
        sent = 0
        try:
            while True:
                data = source.recv(65536)
                if self.stall_at is not None and self.bytes_in >= self.stall_at:
                    self.stall_at = None
                    self.flowing.clear()
                if self.stalls():
                    self.held += len(data)
                    self.flowing.wait()
                if limit is not None:
                    data = data[:limit - sent]
                if not data:
                    break
                forth = target.getpeername()[1] == self.target_port
                if forth and self.last_words and self.last_words in data:
                    self.swallowing = True
                if self.swallowing and not forth:
                    continue
                target.sendall(data)
                sent += len(data)
                if source is not None and limit is None and target.getpeername()[1] == self.target_port:
                    self.bytes_out += len(data)
                else:
                    self.bytes_in += len(data)
        except OSError:
            pass
        _close(target)


class LateStreams(Proxy):
    """
    Speaks HTTP/2 in plain: what the server says on streams whose request stays open (a watch) is passed on late_s seconds
    later than all else. Headers are not held back: their compression has a state.
    """

    PREFACE = 24  # bytes that a client begins with
    HEADER = 9

    def __init__(self, target_port, late_s):
        self.late_s = late_s
        super().__init__(target_port)

    def handle(self, sock):
        server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
        server.settimeout(None)
        self._track(server)
        watches, late, writing = set(), queue.Queue(), threading.Lock()
        threading.Thread(target=self._forth, args=(sock, server, watches), daemon=True).start()
        threading.Thread(target=self._later, args=(sock, late, writing), daemon=True).start()
        for kind, _, stream, frame in self._frames(server):
            if kind == 0 and stream in watches:
                late.put((time.monotonic() + self.late_s, frame))
                continue
            with writing:
                sock.sendall(frame)

    def _forth(self, sock, server, watches):
        try:
            server.sendall(self._read(sock, self.PREFACE))
            for kind, flags, stream, frame in self._frames(sock):
                if kind == 0 and flags & 1:
                    watches.discard(stream)
                elif kind == 0:
                    watches.add(stream)
                server.sendall(frame)
        except OSError:
            pass
        _close(server)

    def _later(self, sock, late, writing):
        while not self.closed:
            try:
                due, frame = late.get(timeout=1)
                time.sleep(max(0, due - time.monotonic()))
                with writing:
                    sock.sendall(frame)
            except queue.Empty:
                pass
            except OSError:
                return

    @staticmethod
    def _read(sock, size):
        data = b""
        while len(data) < size:
            more = sock.recv(size - len(data))
            if not more:
                raise OSError("closed")
            data += more
        return data

    def _frames(self, sock):
        """Each frame of RFC 9113: (type, flags, stream, all of its bytes)."""
        while True:
            head = self._read(sock, self.HEADER)
            stream = int.from_bytes(head[5:9], "big") & 0x7fffffff
            yield head[3], head[4], stream, head + self._read(sock, int.from_bytes(head[:3], "big"))


class Garbage(Listener):
    """
    A server that answers anything with the same bytes, and then closes; `endless` repeats them until the other side has
    had enough (sent counts them); `hold` keeps the connection open without another byte.
    """

    def __init__(self, answer=b"", endless=False, hold=False, wait_for_request=True):
        self.answer, self.endless, self.hold = answer, endless, hold
        self.wait_for_request = wait_for_request
        self.sent = 0
        super().__init__()

    def handle(self, sock):
        if self.wait_for_request:
            sock.recv(65536)
        sock.sendall(self.answer)
        self.sent += len(self.answer)
        while self.endless:
            sock.sendall(self.answer)
            self.sent += len(self.answer)
        while self.hold and sock.recv(65536):
            pass


def http_answer(status, body, headers=()):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def http1_server():
    """An HTTP/1.1 server that knows no HTTP/2."""
    return Garbage(http_answer("400 Bad Request", b"Bad Request\n", ["Content-Type: text/plain"]))


def html_server():
    """A proxy's or a load balancer's page instead of the service."""
    page = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502</h1></body></html>"
    return Garbage(http_answer("500 Internal Server Error", page, ["Content-Type: text/html"]))


def redirect_server(location):
    return Garbage(http_answer("302 Found", b"", [f"Location: {location}"]))


def endless_server(prefix=b""):
    """Sends a start and then zeros without an end."""
    server = Garbage(b"\0" * 65536, endless=True)
    if prefix:
        first = server.handle

        def handle(sock):
            sock.recv(65536)
            server.wait_for_request = False
            sock.sendall(prefix)
            first(sock)
        server.handle = handle
    return server


def silent_server():
    """Accepts and never says a word."""
    return Garbage(b"", hold=True)


class BlackHole:
    """A port where nothing is refused and no connection comes about: its queue is full, and the kernel drops what comes."""

    def __init__(self, port=0):
        self.server = socket.socket()
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.server.bind(("127.0.0.1", port))
        self.server.listen(0)
        self.port = self.server.getsockname()[1]
        self.queued = [self._knock() for _ in range(3)]
        own(self)

    def _knock(self):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", self.port))
        return sock

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def close(self):
        disown(self)
        for sock in (*self.queued, self.server):
            sock.close()
