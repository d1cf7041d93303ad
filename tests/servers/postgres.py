"""A PostgreSQL server, its standbys, a pgbouncer before it, and sessions that hold locks."""

import csv
import glob
import io
import os
import pwd
import select
import shutil
import signal
import subprocess
import time

from .net import free_port, port_open
from .process import Folder, Process, as_user, disown, find_program, own, wait_stopped

NULL, MARK = "\x1dnull", "\x1eend-"
OWNER = "postgres"


class SqlError(Exception):
    pass


def _version_key(path):
    part = path.split("/")[-2]
    return float(part) if part.replace(".", "").isdigit() else 0.0


def bin_folders():
    """Newest first; before all the one that BATON_POSTGRES names, so that the tests can be run on another version."""
    named = [os.environ["BATON_POSTGRES"]] if os.environ.get("BATON_POSTGRES") else []
    return named + sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=_version_key, reverse=True)


def program(name):
    return find_program(name, "postgresql", bin_folders())


def _owner():
    return OWNER if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


def give_to_owner(path):
    if os.geteuid() == 0:
        shutil.chown(path, OWNER, OWNER)


def _parse(text):
    rows = csv.reader(io.StringIO(text, newline=""))
    return [tuple(None if value == NULL else value for value in row or [""]) for row in rows]


def _psql_words():
    return ["-X", "-q", "-t", "--csv", "-P", f"null={NULL}"]


class Session:
    """
    One database session, by a psql whose input stays open. run() waits for the answer; send() does not (for a lock that
    has to wait), and result() fetches it later. The session ends with close(), or hard with kill9().
    """

    def __init__(self, conninfo, env=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        environment.update(env or {})
        self.popen = subprocess.Popen(
            as_user(None) + ["psql", *_psql_words(), "-d", conninfo],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
            start_new_session=True)
        own(self)
        os.set_blocking(self.popen.stderr.fileno(), False)
        self.buffer = b""
        self.sent = self.received = 0
        self.pid = None
        self.pid = int(self.run("select pg_backend_pid()")[0][0])

    def send(self, sql):
        self.sent += 1
        text = f"{sql.rstrip().rstrip(';')};\n\\echo {MARK}{self.sent}\n"
        self.popen.stdin.write(text.encode())
        self.popen.stdin.flush()

    def result(self, timeout=40.0):
        """The rows of the oldest statement that was sent and not yet fetched."""
        self.received += 1
        mark = f"{MARK}{self.received}\n".encode()
        deadline = time.monotonic() + timeout
        while mark not in self.buffer:
            ready, _, _ = select.select([self.popen.stdout], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self.popen.stdout.fileno(), 65536) if ready else None
            if data == b"":
                raise SqlError(f"the session ended: {self._errors()}")
            if data is None:
                self.received -= 1
                raise TimeoutError(f"no answer within {timeout} s")
            self.buffer += data
        answer, self.buffer = self.buffer.split(mark, 1)
        errors = self._errors()
        if "ERROR:" in errors or "FATAL:" in errors:
            raise SqlError(errors)
        return _parse(answer.decode(errors="replace"))

    def _errors(self):
        # psql says what went wrong before it echoes the mark.
        return (self.popen.stderr.read() or b"").decode(errors="replace").strip()

    def run(self, sql, timeout=40.0):
        self.send(sql)
        while self.received < self.sent - 1:
            self.result(timeout)
        return self.result(timeout)

    def done(self):
        """Whether the statement that was sent has been answered."""
        try:
            self.result(timeout=0.0)
        except TimeoutError:
            return False
        except SqlError:
            pass
        return True

    def pause(self):
        self.popen.send_signal(signal.SIGSTOP)
        wait_stopped(self.popen.pid)

    def resume(self):
        self.popen.send_signal(signal.SIGCONT)

    def kill9(self):
        """Ends the client without a goodbye."""
        disown(self)
        self.popen.kill()
        self.popen.wait()
        self._close_pipes()

    def close(self):
        if self.sent > self.received:
            self.kill9()  # it waits for a lock, and would not read the end of its input
            return
        try:
            self.popen.send_signal(signal.SIGCONT)
            self.popen.stdin.close()
            self.popen.wait(2)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            pass
        self.kill9()

    def _close_pipes(self):
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Postgres:
    """
    A server of its own. conf: settings over the defaults below; auth: "trust", "md5", "scram-sha-256" for TCP (the socket
    is always trusted); tls: an Authority; hba: lines of pg_hba.conf that come first.
    """

    user = "postgres"
    password = "only-for-tests"

    def __init__(self, conf=None, auth="trust", tls=None, hba=(), start=True, _from=None):
        self.folder = Folder("pg")
        give_to_owner(self.folder.path)
        self.port = free_port()
        self.host = "127.0.0.1"
        self.data = self.folder / "data"
        self.tls = tls
        self.conf = {
            "fsync": "off", "max_prepared_transactions": "8", "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder.path, "port": str(self.port),
            "shared_buffers": "16MB", "log_min_messages": "warning", "wal_level": "replica",
            "max_wal_senders": "4", "timezone": "UTC"}
        self.conf.update(conf or {})
        if tls:
            self._install_tls()
        if _from is None:
            self._initdb(auth, hba)
        else:
            self._copy(_from)
        self.process = self._version = None
        if start:
            self.start()

    def _owned(self, *argv, **kwargs):
        done = subprocess.run(as_user(_owner()) + list(argv), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, cwd=self.folder.path, **kwargs)
        assert done.returncode == 0, f"{argv[0]}: {done.stdout}{done.stderr}"

    def _initdb(self, auth, hba):
        secret = self.folder / "password"
        with open(secret, "w", encoding="ascii") as out:
            out.write(self.password)
        give_to_owner(secret)
        self._owned(program("initdb"), "-D", self.data, "-U", self.user, "-A", auth, "--auth-local=trust",
                    "--pwfile", secret, "--no-sync", "--no-locale", "-E", "UTF8")
        if hba:
            path = os.path.join(self.data, "pg_hba.conf")
            with open(path, encoding="utf-8") as old:
                rest = old.read()
            with open(path, "w", encoding="utf-8") as out:
                out.write("\n".join(hba) + "\n" + rest)
        with open(os.path.join(self.data, "pg_hba.conf"), "a", encoding="utf-8") as out:
            out.write(f"host replication all 127.0.0.1/32 {auth}\n")

    def _copy(self, primary):
        environment = dict(os.environ, PGPASSWORD=self.password)
        self._owned(program("pg_basebackup"), "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync",
                    "-d", primary.conninfo(dbname=None, application_name="standby"), env=environment)

    def _install_tls(self):
        for name, path in (("server.crt", self.tls.cert), ("server.key", self.tls.key)):
            shutil.copy(path, self.folder / name)
            os.chmod(self.folder / name, 0o600)
            give_to_owner(self.folder / name)
        self.conf.update({"ssl": "on", "ssl_cert_file": self.folder / "server.crt",
                          "ssl_key_file": self.folder / "server.key"})

    def start(self):
        argv = [program("postgres"), "-D", self.data]
        for name, value in self.conf.items():
            argv += ["-c", f"{name}={value}"]
        self.process = Process("postgres", argv, self.folder / "log", user=_owner(), cwd=self.folder.path)
        self.process.start()
        self.process.wait_ready(self.ready)

    def ready(self):
        done = subprocess.run([program("pg_isready"), "-q", "-h", self.folder.path, "-p", str(self.port)],
                              stdin=subprocess.DEVNULL)
        return done.returncode == 0

    def stop(self):
        """A fast shutdown: sessions are ended."""
        if self.process:
            self.process.stop(signal.SIGINT)

    def kill9(self):
        """The postmaster and all its processes at once."""
        self.process.kill9()
        self._kill_backends()

    def _kill_backends(self):
        # Each backend leads a session of its own, so the group's signal does not reach it; it ends by itself when it
        # sees its postmaster gone, and until then keeps shared memory: wait for that.
        deadline = time.monotonic() + 10
        while _children_of(self.data) and time.monotonic() < deadline:
            for pid in _children_of(self.data):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)

    def pids(self):
        return [self.process.pid, *_descendants(self.process.pid)]

    def pause(self):
        """The whole server stands still: connections are accepted by the kernel and nothing answers."""
        pids = self.pids()
        for pid in pids:
            _signal(pid, signal.SIGSTOP)
        wait_stopped(*pids)

    def resume(self):
        for pid in reversed(self.pids()):
            _signal(pid, signal.SIGCONT)

    def restart(self):
        self.stop()
        self.start()

    def standby(self, conf=None):
        """A streaming standby of this server, as a Postgres of its own."""
        return Postgres(conf=conf, tls=self.tls, _from=self)

    def promote(self):
        # pg_promote is there from 12 on.
        self._owned(program("pg_ctl"), "promote", "-w", "-D", self.data)

    def close(self):
        if self.process:
            if self.process.running():
                self.resume()
            self.process.stop(signal.SIGQUIT, timeout=5)
            self.process = None
        self.folder.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def version(self):
        """The server's major version: 15."""
        if self._version is None:
            self._version = int(self.psql("show server_version_num")[0][0]) // 10000
        return self._version

    def conninfo(self, dbname="postgres", user=None, socket=False, **more):
        words = {"host": self.folder.path if socket else self.host, "port": self.port, "user": user or self.user,
                 "dbname": dbname, **more}
        return " ".join(f"{key}='{value}'" for key, value in words.items() if value is not None)

    def env(self, dbname="postgres", user=None):
        """The variables that libpq reads, for discovery."""
        return {"PGHOST": self.host, "PGPORT": str(self.port), "PGDATABASE": dbname, "PGUSER": user or self.user,
                "PGPASSWORD": self.password}

    def psql(self, sql, dbname="postgres", user=None, password=None, socket=True, timeout=30):
        """Runs statements in a session of its own and returns the rows, all values as text, NULL as None."""
        env = dict(os.environ, PGPASSWORD=password or self.password)
        done = subprocess.run(
            ["psql", *_psql_words(), "-v", "ON_ERROR_STOP=1", "-d", self.conninfo(dbname, user, socket), "-f", "-"],
            input=sql, capture_output=True, text=True, env=env, timeout=timeout)
        if done.returncode != 0:
            raise SqlError(done.stderr.strip())
        return _parse(done.stdout)

    def session(self, dbname="postgres", user=None, app=None, password=None, port=None, host=None):
        """A session that stays open; app is its application_name. port: of a pgbouncer or a proxy before the server."""
        more = {"application_name": app} if app is not None else {}
        if port or host:
            more.update(port=port or self.port, host=host or self.host)
        return Session(self.conninfo(dbname, user, **more), {"PGPASSWORD": password or self.password})

    def database(self, name):
        self.psql(f'create database "{name}"')
        return name

    def role(self, name, options="login", grants=()):
        self.psql(f"""create role "{name}" {options} password '{self.password}'""")
        for grant in grants:
            self.psql(f'grant {grant} to "{name}"')
        return name


class PgBouncer:
    """pgbouncer before a server; pool_mode "transaction" or "session"."""

    def __init__(self, server, pool_mode="transaction", pool_size=1, conf=None):
        self.server, self.port = server, free_port()
        self.folder = Folder("pgbouncer")
        give_to_owner(self.folder.path)
        settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "auth_type": "any", "pool_mode": pool_mode,
            "default_pool_size": pool_size, "unix_socket_dir": "", "server_tls_sslmode": "disable",
            "ignore_startup_parameters": "extra_float_digits,options", "server_login_retry": 1}
        settings.update(conf or {})
        path = self.folder / "pgbouncer.ini"
        with open(path, "w", encoding="ascii") as out:
            out.write("[databases]\n")
            out.write(f"* = host={server.host} port={server.port} user={server.user} "
                      f"password={server.password}\n[pgbouncer]\n")
            for name, value in settings.items():
                out.write(f"{name} = {value}\n")
        give_to_owner(path)
        self.process = Process("pgbouncer", [find_program("pgbouncer", "pgbouncer"), path], self.folder / "log",
                               user=_owner(), cwd=self.folder.path)
        self.process.start()
        self.process.wait_ready(self._ready)

    def _ready(self):
        return port_open(self.port)

    def session(self, dbname="postgres", app=None):
        return self.server.session(dbname, app=app, port=self.port)

    def close(self):
        self.process.stop(signal.SIGINT)
        self.folder.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _signal(pid, number):
    """A backend may end between being listed and being signalled."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _parents():
    """pid -> parent, of all processes."""
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        parents[int(path.split("/")[2])] = int(fields[1])
    return parents


def _descendants(root):
    parents, found = _parents(), []
    queue = [root]
    while queue:
        pid = queue.pop()
        children = [child for child, parent in parents.items() if parent == pid]
        found += children
        queue += children
    return found


def _children_of(data):
    """Backends whose working folder is that data folder: what is left of a postmaster that was killed."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cwd"):
        try:
            if os.readlink(path).startswith(data):
                found.append(int(path.split("/")[2]))
        except OSError:
            continue
    return found
