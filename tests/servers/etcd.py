"""etcd servers, of Debian's version and the current one, and contenders on them."""

import base64
import functools
import json
import os
import signal
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

from .gobuild import GoModule
from .net import free_port
from .process import Folder, Process, as_user, disown, find_program, own, wait_stopped, wait_until

MODULE = GoModule("etcd", "the current etcd")
CAMPAIGN = GoModule("campaign", "a contender of etcd's own client", packages=["."])
VERSIONS = ("3.4", "current")


def build_current():
    """The folder with the current etcd's `server` and `etcdctl`."""
    return MODULE.build()


def programs(version):
    """(etcd, etcdctl) of a version: "3.4" is the distribution's, whichever it is."""
    if version == "current":
        folder = build_current()
        return os.path.join(folder, "server"), os.path.join(folder, "etcdctl")
    return find_program("etcd", "etcd-server"), find_program("etcdctl", "etcd-client")


def b64(text):
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def lease_hex(lease):
    return format(lease, "x")


def on_each(**options):
    """
    For a test method that takes an Etcd: runs it on every version, as subtests. An option that can be called is called for
    each (tls=Authority).
    """
    def decorate(method):
        @functools.wraps(method)
        def test(self):
            for version in VERSIONS:
                made = {name: value() if callable(value) else value for name, value in options.items()}
                with self.subTest(etcd=version), Etcd(version, **made) as etcd:
                    method(self, etcd)
        del test.__wrapped__  # unittest must see a method without arguments
        return test
    return decorate


class GatewayError(Exception):
    """code is the gRPC status."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class Member:
    """One etcd process of a cluster."""

    def __init__(self, cluster, name, client_port, peer_port):
        self.cluster, self.name = cluster, name
        self.client_port, self.peer_port = client_port, peer_port
        self.folder = Folder(f"etcd-{name}")
        self.process = None

    @property
    def url(self):
        return f"{self.cluster.scheme}://127.0.0.1:{self.client_port}"

    @property
    def peer_url(self):
        return f"{'https' if self.cluster.peer_tls else 'http'}://127.0.0.1:{self.peer_port}"

    def start(self, wait=True):
        self.process = Process(
            f"etcd {self.name}", self.cluster.member_argv(self), self.folder / "log", cwd=self.folder.path,
            env={"PATH": os.environ["PATH"], "HOME": self.folder.path, "ETCD_UNSUPPORTED_ARCH": ""})
        self.process.start()
        if wait:
            self.process.wait_ready(self.healthy)

    def healthy(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2, context=self.cluster.ssl_context()) as answer:
                return json.load(answer).get("health") == "true"
        except (OSError, ValueError):
            return False

    def stop(self):
        self.process.stop(signal.SIGTERM, timeout=5)

    def kill9(self):
        self.process.kill9()

    def pause(self):
        self.process.pause()

    def resume(self):
        self.process.resume()

    def close(self):
        if self.process:
            self.process.kill9()
        self.folder.close()


class Etcd:
    """
    A cluster of n members (1 by default). tls: an Authority (then client certificates are taken too when
    client_auth is set); peer_tls: an Authority, by whose certificates alone members speak to each other; args: more
    words for every member's command line.
    """

    def __init__(self, version="3.4", members=1, tls=None, client_auth=False, peer_tls=None, args=(), start=True):
        self.etcd, self.ctl = programs(version)
        self.peer_tls = peer_tls
        self.version, self.tls, self.client_auth, self.args = version, tls, client_auth, list(args)
        self.scheme = "https" if tls else "http"
        self.root_password = None
        self.token = f"baton-{os.getpid()}-{free_port()}"
        self.members = [Member(self, f"m{i + 1}", free_port(), free_port()) for i in range(members)]
        if start:
            self.start()

    def start(self):
        for member in self.members:
            member.start(wait=False)
        for member in self.members:
            member.process.wait_ready(member.healthy)

    def member_argv(self, member):
        cluster = ",".join(f"{each.name}={each.peer_url}" for each in self.members)
        argv = [self.etcd, "--name", member.name, "--data-dir", member.folder / "data",
                "--listen-client-urls", member.url, "--advertise-client-urls", member.url,
                "--listen-peer-urls", member.peer_url, "--initial-advertise-peer-urls", member.peer_url,
                "--initial-cluster", cluster, "--initial-cluster-token", self.token,
                "--initial-cluster-state", "new", "--log-level", "warn",
                "--unsafe-no-fsync"]
        if self.tls:
            argv += ["--cert-file", self.tls.cert, "--key-file", self.tls.key]
            if self.client_auth:
                argv += ["--trusted-ca-file", self.tls.ca, "--client-cert-auth"]
        if self.peer_tls:
            argv += ["--peer-cert-file", self.peer_tls.cert, "--peer-key-file", self.peer_tls.key,
                     "--peer-trusted-ca-file", self.peer_tls.ca, "--peer-client-cert-auth"]
        return argv + self.args

    def ssl_context(self):
        if not self.tls:
            return None
        context = ssl.create_default_context(cafile=self.tls.ca)
        if self.client_auth:
            context.load_cert_chain(*self.client_cert())
        return context

    def client_cert(self, name="root"):
        """(certificate, key) of a client certificate whose CN is a user's name."""
        cert, key = self.tls.folder / f"client-{name}.pem", self.tls.folder / f"client-{name}.key"
        if not os.path.exists(cert):
            self.tls.issue(f"client-{name}", name)
        return cert, key

    @property
    def endpoints(self):
        return [member.url for member in self.members]

    @property
    def url(self):
        return self.members[0].url

    @property
    def port(self):
        return self.members[0].client_port

    def env(self):
        """The variables that etcdctl reads, for discovery."""
        env = {"ETCDCTL_ENDPOINTS": ",".join(self.endpoints)}
        if self.tls:
            env["ETCDCTL_CACERT"] = self.tls.ca
            if self.client_auth:
                env["ETCDCTL_CERT"], env["ETCDCTL_KEY"] = self.client_cert()
        if self.root_password:
            env["ETCDCTL_USER"] = f"root:{self.root_password}"
        return env

    def ctl_env(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("ETCDCTL_")}
        env.update(self.env(), **more)
        return env

    def etcdctl(self, *args, user=None, check=True, timeout=30, stdin=None, parse=False):
        """Runs etcdctl; returns its output, parsed from JSON with parse=True. user: "name:password"."""
        words = [self.ctl, *map(str, args)] + (["-w", "json"] if parse else [])
        env = self.ctl_env(**({"ETCDCTL_USER": user} if user else {}))
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, env=env, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"etcdctl {' '.join(words[1:])}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout) if parse else done.stdout

    def gateway(self, path, body, member=0, token=None, timeout=10):
        """One call of the JSON gateway (for the tests' own use: any lease id, any transaction)."""
        request = urllib.request.Request(f"{self.members[member].url}/v3/{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        if token:
            request.add_header("Authorization", token)
        try:
            with urllib.request.urlopen(request, timeout=timeout, context=self.ssl_context()) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            try:
                fields = json.loads(text)
            except ValueError:
                fields = {}
            raise GatewayError(fields.get("code"), fields.get("message") or text) from None

    def sign_in(self, name, password):
        return self.gateway("auth/authenticate", {"name": name, "password": password})["token"]

    def enable_auth(self, password="only-for-tests"):
        """Makes the user root and switches authentication on."""
        self.etcdctl("user", "add", f"root:{password}")
        self.etcdctl("user", "grant-role", "root", "root")
        self.etcdctl("auth", "enable")
        self.root_password = password

    def user(self, name, password="only-for-tests", prefix=None, rights="read"):
        """A user that may read (or readwrite) one prefix; None: nothing."""
        self.etcdctl("user", "add", f"{name}:{password}")
        if prefix is not None:
            self.etcdctl("role", "add", name)
            self.etcdctl("role", "grant-permission", name, "--prefix=true", rights, prefix)
            self.etcdctl("user", "grant-role", name, name)
        return f"{name}:{password}"

    def _root_token(self):
        return self.sign_in("root", self.root_password) if self.root_password else None

    def grant(self, ttl, lease=0):
        """A lease of ttl seconds; returns its id. lease: a chosen id."""
        answer = self.gateway("lease/grant", {"TTL": str(ttl), "ID": str(lease)}, token=self._root_token())
        return int(answer["ID"])

    def revoke(self, lease):
        self.gateway("lease/revoke", {"ID": str(lease)}, token=self._root_token())

    def keep_alive(self, lease):
        """Renews once; returns the TTL, 0 when the lease is gone."""
        answer = self.gateway("lease/keepalive", {"ID": str(lease)}, token=self._root_token())
        return int(answer["result"].get("TTL", 0))

    def put(self, key, value, lease=0):
        """key and value: text or bytes. Returns the revision."""
        answer = self.gateway("kv/put", {"key": b64(key), "value": b64(value), "lease": str(lease)},
                              token=self._root_token())
        return int(answer["header"]["revision"])

    def delete(self, key):
        answer = self.gateway("kv/deleterange", {"key": b64(key)}, token=self._root_token())
        return int(answer.get("deleted", 0))

    def put_many(self, pairs, lease=0, batch=100):
        """Many keys, a transaction for each batch (etcd's default limit is 128 operations)."""
        pairs, token = list(pairs), self._root_token()
        for start in range(0, len(pairs), batch):
            puts = [{"requestPut": {"key": b64(key), "value": b64(value), "lease": str(lease)}}
                    for key, value in pairs[start:start + batch]]
            self.gateway("kv/txn", {"success": puts}, token=token)

    def candidate(self, name, value="", ttl=10, lease=0, keep=True):
        """A contender of the election or lock `name`, as the recipes of etcd's client make it."""
        return Candidate(self, name, value, ttl, lease, keep)

    def elect(self, name, proposal):
        """A real `etcdctl elect`, running until it is stopped."""
        return CtlProcess(self, ["elect", name, proposal])

    def campaign(self, name, value, ttl=10, lock=False):
        """A real contender by etcd's Go client, which prints what it believes; running until it is stopped."""
        words = ["-endpoints", ",".join(self.endpoints), "-name", name, "-value", value, "-ttl", str(ttl)]
        return CtlProcess(self, words + (["-lock"] if lock else []), os.path.join(CAMPAIGN.build(), "campaign"))

    def lock(self, name, ttl=10):
        """A real `etcdctl lock`, holding or waiting until it is stopped."""
        return CtlProcess(self, ["lock", f"--ttl={ttl}", name])

    def count(self, prefix):
        """How many keys start with it."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        answer = self.gateway("kv/range", {"key": b64(prefix), "range_end": b64(end), "count_only": True},
                              token=self._root_token())
        return int(answer.get("count", 0))

    def compact(self, revision):
        self.gateway("kv/compaction", {"revision": str(revision), "physical": True}, token=self._root_token())

    def revision(self):
        return int(self.gateway("kv/range", {"key": b64("\0")}, token=self._root_token())["header"]["revision"])

    def alarm(self, kind, active=True):
        """
        Raises or lifts an alarm, "NOSPACE" or "CORRUPT". Under CORRUPT etcd refuses to revoke leases, and still answers
        reads: a lease that runs out then stays, with a negative TTL, and its key blocks the election.
        """
        member = self.gateway("maintenance/status", {})["header"]["member_id"]
        self.gateway("maintenance/alarm", {"action": "ACTIVATE" if active else "DEACTIVATE", "memberID": member,
                                           "alarm": kind}, token=self._root_token())

    def ttl(self, lease):
        """(remaining, granted) in seconds; remaining is negative for a lease that ran out and was not revoked."""
        answer = self.gateway("lease/timetolive", {"ID": str(lease)}, token=self._root_token())
        return int(answer.get("TTL", 0)), int(answer.get("grantedTTL", 0))

    def leader(self):
        """The member that leads the cluster now, or None."""
        for member in self.members:
            if not (member.process and member.process.running()):
                continue
            try:
                status = self.gateway("maintenance/status", {}, member=self.members.index(member), timeout=2)
            except (OSError, GatewayError):
                continue
            if status.get("leader") == status["header"]["member_id"]:
                return member
        return None

    def close(self):
        for member in self.members:
            member.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class CtlProcess:
    """An etcdctl that runs on. held() tells whether it printed its key: it is the leader or has the lock."""

    def __init__(self, etcd, args, program=None):
        self.folder = Folder("ctl")
        self.output = self.folder / "out"
        with open(self.output, "wb") as out, open(self.folder / "err", "wb") as err:
            # stdin stays open: `etcdctl lock` ends when it is closed.
            self.popen = subprocess.Popen(as_user(None) + [program or etcd.ctl, *args], stdin=subprocess.PIPE, stdout=out,
                                          stderr=err, env=etcd.ctl_env(), start_new_session=True)
        own(self)

    def text(self):
        with open(self.output, encoding="utf-8", errors="replace") as out:
            return out.read()

    def held(self):
        return bool(self.text().strip())

    def wait_held(self, timeout=20):
        wait_until(self.held, timeout, what="holding")
        return self

    def pause(self):
        self.popen.send_signal(signal.SIGSTOP)
        wait_stopped(self.popen.pid)

    def resume(self):
        self.popen.send_signal(signal.SIGCONT)

    def kill9(self):
        self.popen.kill()
        self._end()

    def stop(self):
        """It resigns or unlocks."""
        self.popen.send_signal(signal.SIGCONT)
        self.popen.send_signal(signal.SIGINT)
        self._end()

    def _end(self):
        disown(self)
        try:
            self.popen.wait(5)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self.popen.stdin.close()
        self.folder.close()

    close = kill9


class Candidate:
    """
    One key `name/<lease in hex>` on a lease of its own; a thread renews it at a third of its TTL while keep is set.
    """

    def __init__(self, etcd, name, value, ttl, lease, keep):
        self.etcd, self.ttl = etcd, ttl
        self.lease = etcd.grant(ttl, lease)
        self.key = f"{name}/{lease_hex(self.lease)}"
        self.create_revision = etcd.put(self.key, value, self.lease)
        self.keep = threading.Event()
        self.ended = threading.Event()
        if keep:
            self.keep.set()
        own(self)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while not self.ended.wait(max(0.2, self.ttl / 3)):
            if self.keep.is_set():
                try:
                    self.etcd.keep_alive(self.lease)
                except (OSError, GatewayError, ValueError):
                    pass

    def stop_renewing(self):
        self.keep.clear()

    def go_on_renewing(self):
        self.keep.set()

    def renew(self):
        return self.etcd.keep_alive(self.lease)

    def resign(self):
        """Deletes the key, keeps the lease."""
        self.etcd.delete(self.key)

    def close(self):
        disown(self)
        self.keep.clear()
        self.ended.set()

    def revoke(self):
        self.close()
        self.etcd.revoke(self.lease)
