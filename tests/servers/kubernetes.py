"""A Kubernetes control plane without nodes: etcd, a real API server and a real controller manager."""

import datetime
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import threading
import time
import urllib.parse

from .etcd import MODULE as ETCD, Etcd
from .gobuild import GoModule
from .net import free_port
from .process import Folder, Process, disown, find_program, own, wait_until
from .tls import Authority

VERSION = "1.37.2"
_STAMP = "k8s.io/component-base/version"
_MAJOR, _MINOR = VERSION.split(".")[:2]
MODULE = GoModule("kubernetes", f"Kubernetes {VERSION}", ldflags=(
    f"-s -w -X {_STAMP}.gitVersion=v{VERSION} -X {_STAMP}.gitMajor={_MAJOR} -X {_STAMP}.gitMinor={_MINOR}"))
ELECT = GoModule("elect", "a contender of client-go", packages=["."])
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kubectl")

# name: (uid, group). Their rights are given by grant().
USERS = {
    "admin": (1, "system:masters"),
    "baton": (2, ""),           # may read what baton reads, everywhere
    "billing-reader": (3, ""),  # the same, in the namespace billing only
    "nobody": (4, ""),
    "operator": (5, ""),        # reads as baton, and may do what its verbs need
}
ACT = [
    {"apiGroups": ["batch"], "resources": ["cronjobs"], "verbs": ["patch"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "delete"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["patch"]},
]
READ = [
    {"apiGroups": ["batch"], "resources": ["cronjobs", "jobs"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list", "watch"]},
]
READ_NODES = [{"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get", "list", "watch"]}]

PREFIXES = {
    "cronjobs": "apis/batch/v1", "jobs": "apis/batch/v1", "leases": "apis/coordination.k8s.io/v1",
    "leasecandidates": "apis/coordination.k8s.io/v1beta1", "events": "api/v1", "pods": "api/v1", "nodes": "api/v1",
    "namespaces": "api/v1", "roles": "apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "apis/rbac.authorization.k8s.io/v1", "clusterroles": "apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "apis/rbac.authorization.k8s.io/v1",
}
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""


def given():
    """The folder that KUBEBUILDER_ASSETS names (envtest's convention), where it has all of PROGRAMS; else None."""
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    if assets and all(os.access(os.path.join(assets, name), os.X_OK) for name in PROGRAMS):
        return os.path.abspath(assets)
    return None


def prepare():
    """The folder with the servers; without one that is given they are built here, once."""
    return given() or MODULE.build()


def prepare_all():
    """All that a control plane with contenders needs."""
    prepare()
    for module in (ELECT, ETCD):
        module.build()


def ready_made():
    """Whether nothing needs to be built for a control plane."""
    return bool(given() or MODULE.is_built()) and all(module.is_built() for module in (ELECT, ETCD))


def programs():
    """The path of each program."""
    folder = prepare()
    return {name: os.path.join(folder, name) for name in PROGRAMS}


def kubernetes_missing():
    """None when a control plane can be had here (perhaps after a build); else why not."""
    return (None if given() else MODULE.why_not()) or ELECT.why_not()


def elect_path():
    return os.path.join(ELECT.build(), "elect")


def rfc3339(when=None, micro=False):
    """A time.time() as the API writes it; micro: with microseconds, as Leases have."""
    text = datetime.datetime.fromtimestamp(time.time() if when is None else when, datetime.timezone.utc)
    return text.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


class ApiError(Exception):
    """An answer that is a Status: code, reason ("NotFound", "Conflict") and message."""

    def __init__(self, code, status):
        self.code, self.reason = code, status.get("reason", "")
        super().__init__(f"{code} {self.reason}: {status.get('message', '')}")


def path_of(kind, namespace=None, name=None, sub=None):
    words = [PREFIXES[kind]]
    if namespace:
        words += ["namespaces", namespace]
    return "/" + "/".join(words + [kind] + [word for word in (name, sub) if word])


class Api:
    """The API as one of its users; one connection for each thread."""

    def __init__(self, plane, user="admin"):
        self.plane, self.user = plane, user
        self.local, self.opened = threading.local(), []

    def call(self, method, path, body=None, content_type="application/json", timeout=15):
        headers = {"Authorization": f"Bearer {self.plane.token(self.user)}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body)
        for last in (False, True):
            connection, fresh = self._connection(timeout)
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                connection.close()
                self.local.connection = None
                if fresh or last:
                    raise
        fields = json.loads(text) if text[:1] == b"{" else {"message": text.decode(errors="replace")}
        if answer.status >= 400:
            raise ApiError(answer.status, fields)
        return fields

    def _connection(self, timeout):
        """(the connection, whether it is a new one)"""
        plane, old = self.plane, getattr(self.local, "connection", None)
        if old is not None and self.local.tls is plane.tls:
            return old, False
        context = ssl.create_default_context(cafile=plane.tls.ca)
        self.local.tls = plane.tls
        self.local.connection = http.client.HTTPSConnection("127.0.0.1", plane.port, timeout=timeout, context=context)
        self.opened.append(self.local.connection)
        return self.local.connection, True

    def close(self):
        for connection in self.opened:
            connection.close()
        self.opened.clear()

    def create(self, kind, body, namespace=None, sub=None, name=None):
        return self.call("POST", path_of(kind, namespace or body["metadata"].get("namespace"), name, sub), body)

    def get(self, kind, name, namespace=None):
        return self.call("GET", path_of(kind, namespace, name))

    def find(self, kind, name, namespace=None):
        """None when it is not there."""
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def list(self, kind, namespace=None, **query):
        more = "?" + urllib.parse.urlencode(query) if query else ""
        return self.call("GET", path_of(kind, namespace) + more)["items"]

    def patch(self, kind, name, body, namespace=None, sub=None, strategic=False):
        word = "strategic-merge-patch" if strategic else "merge-patch"
        return self.call("PATCH", path_of(kind, namespace, name, sub), body, f"application/{word}+json")

    def replace(self, kind, body, namespace=None, sub=None):
        return self.call("PUT", path_of(kind, namespace or body["metadata"].get("namespace"),
                                        body["metadata"]["name"], sub), body)

    def delete(self, kind, name, namespace=None, **options):
        """options: of DeleteOptions, as gracePeriodSeconds=0 or propagationPolicy="Foreground"."""
        return self.call("DELETE", path_of(kind, namespace, name), options or None)


class ControlPlane:
    """
    etcd, kube-apiserver and kube-controller-manager on free ports, in a folder of their own. controllers=False leaves the
    last one out; gates and api: words for --feature-gates and --runtime-config ("CoordinatedLeaderElection=true",
    "coordination.k8s.io/v1beta1=true"); args, controller_args: more words for the two command lines. `admin` is the API as
    its administrator.
    """

    def __init__(self, controllers=True, gates="", api="", args=(), controller_args=(), etcd="current", start=True):
        self.programs = programs()
        self.gates, self.api_versions = gates, api
        self.args, self.controller_args = list(args), list(controller_args)
        self.with_controllers = controllers
        self.folder = Folder("kubernetes")
        self.tls = Authority()
        self.port, self.controller_port = free_port(), free_port()
        self.audit_log = self.folder / "audit.log"
        self.apis = {}
        self.admin = self.api("admin")
        self._write_files()
        self.etcd = Etcd(etcd)
        self.apiserver = self._process("kube-apiserver", self._apiserver_argv)
        self.controllers = self._process("kube-controller-manager", self._controllers_argv)
        own(self)
        if start:
            self.start()

    # its files and command lines

    def _write_files(self):
        openssl = find_program("openssl", "openssl")
        subprocess.run([openssl, "genrsa", "-out", self.folder / "sa.key", "2048"], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        lines = [f'{self.token(name)},{name},{uid},"{group}"' for name, (uid, group) in USERS.items()]
        for name, text in (("tokens.csv", "\n".join(lines) + "\n"), ("audit.yaml", AUDIT_POLICY)):
            with open(self.folder / name, "w", encoding="ascii") as out:
                out.write(text)
        self.write_kubeconfig(self.folder / "admin.kubeconfig", "admin")

    def _process(self, name, argv):
        env = {"PATH": os.environ["PATH"], "HOME": self.folder.path, "GOMAXPROCS": "2"}
        process = Process(name, [], self.folder / f"{name}.log", env=env, cwd=self.folder.path)
        process.make_argv = argv
        return process

    def _apiserver_argv(self):
        argv = [self.programs["kube-apiserver"], "--etcd-servers", self.etcd.url, "--bind-address=127.0.0.1",
                f"--secure-port={self.port}", f"--cert-dir={self.folder / 'certs'}",
                f"--tls-cert-file={self.tls.cert}", f"--tls-private-key-file={self.tls.key}",
                f"--client-ca-file={self.tls.ca}", f"--token-auth-file={self.folder / 'tokens.csv'}",
                "--authorization-mode=RBAC", f"--service-account-key-file={self.folder / 'sa.key'}",
                f"--service-account-signing-key-file={self.folder / 'sa.key'}",
                "--service-account-issuer=https://kubernetes.default.svc", "--disable-admission-plugins=ServiceAccount",
                "--service-cluster-ip-range=10.0.0.0/24", f"--audit-policy-file={self.folder / 'audit.yaml'}",
                f"--audit-log-path={self.audit_log}", "--profiling=false"]
        argv += [f"--feature-gates={self.gates}"] if self.gates else []
        argv += [f"--runtime-config={self.api_versions}"] if self.api_versions else []
        return argv + self.args

    def _controllers_argv(self):
        kubeconfig = self.folder / "admin.kubeconfig"
        argv = [self.programs["kube-controller-manager"], f"--secure-port={self.controller_port}",
                "--bind-address=127.0.0.1", f"--cert-dir={self.folder / 'certs-controllers'}",
                "--controllers=*,-node-ipam-controller", "--leader-elect=true",
                f"--service-account-private-key-file={self.folder / 'sa.key'}", "--profiling=false"]
        argv += [f"--{word}={kubeconfig}" for word in ("kubeconfig", "authentication-kubeconfig",
                                                       "authorization-kubeconfig")]
        argv += [f"--feature-gates={self.gates}"] if self.gates else []
        return argv + self.controller_args

    # running

    def start(self):
        self.start_apiserver()
        self.grant()
        if self.with_controllers:
            self.start_controllers()

    def start_apiserver(self, wait=True):
        self.apiserver.argv = self.apiserver.make_argv()
        self.apiserver.start()
        if wait:
            self.wait_apiserver()

    def wait_apiserver(self):
        self.apiserver.wait_ready(self.ready, timeout=120)

    def ready(self):
        try:
            return self.admin.call("GET", "/readyz", timeout=5).get("message") == "ok"
        except (OSError, http.client.HTTPException, ApiError, ValueError):
            return False

    def start_controllers(self, wait=True):
        self.controllers.argv = self.controllers.make_argv()
        self.controllers.start()
        if wait:
            self.controllers.wait_ready(self._controllers_lead, timeout=120)

    def _controllers_lead(self):
        """Its Lease names it, and it is alive."""
        lease = self.admin.find("leases", "kube-controller-manager", "kube-system")
        return bool(lease and lease["spec"].get("holderIdentity")) and "Caches are synced" in self.controllers.log_text()

    def restart_apiserver(self, new_authority=False):
        """Ended at once, and started again; new_authority: with a certificate that another authority has signed."""
        self.apiserver.kill9()
        if new_authority:
            self.tls = Authority()
            self.write_kubeconfig(self.folder / "admin.kubeconfig", "admin")
        self.start_apiserver()

    def compact(self):
        """What etcd keeps of the past is gone: a list or a watch that goes on from there gets 410."""
        self.etcd.compact(self.etcd.revision())

    def close(self):
        disown(self)
        for api in self.apis.values():
            api.close()
        for process in (self.controllers, self.apiserver):
            process.kill9()
        for member in self.etcd.members:
            member.close()
        self.tls.close()
        self.folder.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # users

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    @staticmethod
    def token(user):
        return f"only-for-tests-{user}"

    def api(self, user):
        return self.apis.setdefault(user, Api(self, user))

    def grant(self):
        """The rights of USERS; and the namespace billing, which one of them may read."""
        create = self._create_once
        create("namespaces", {"metadata": {"name": "billing"}})
        self.grant_more("baton", READ + READ_NODES, "baton")
        create("clusterroles", {"metadata": {"name": "operator"}, "rules": READ + READ_NODES + ACT})
        create("clusterrolebindings", self._binding("operator", "ClusterRole", "operator"))
        create("roles", {"metadata": {"name": "read", "namespace": "billing"}, "rules": READ})
        create("rolebindings", {**self._binding("read", "Role", "billing-reader"),
                                "metadata": {"name": "read", "namespace": "billing"}})

    def grant_more(self, name, rules, user):
        """A ClusterRole of that name with these rules, for a user."""
        self._create_once("clusterroles", {"metadata": {"name": name}, "rules": rules})
        self._create_once("clusterrolebindings", self._binding(name, "ClusterRole", user))

    @staticmethod
    def _binding(role, kind, user):
        return {"metadata": {"name": role}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}

    def _create_once(self, kind, body):
        try:
            self.admin.create(kind, body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    def kubeconfig(self, user="baton", namespace=None, port=None, context="lab", ca=None, certificate=None):
        """
        The text of a kubeconfig. port: of a proxy in between; certificate: (certificate, key), instead of the user's token.
        """
        text = ["apiVersion: v1", "kind: Config", "clusters:", f"- name: {context}", "  cluster:",
                f"    server: https://127.0.0.1:{port or self.port}", f"    certificate-authority: {ca or self.tls.ca}",
                "users:", f"- name: {user}", "  user:"]
        if certificate:
            text += [f"    client-certificate: {certificate[0]}", f"    client-key: {certificate[1]}"]
        else:
            text += [f"    token: {self.token(user)}"]
        text += ["contexts:", f"- name: {context}", "  context:", f"    cluster: {context}", f"    user: {user}"]
        if namespace:
            text += [f"    namespace: {namespace}"]
        return "\n".join(text + [f"current-context: {context}", ""])

    def write_kubeconfig(self, path, user="baton", **how):
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.kubeconfig(user, **how))
        return path

    def client_certificate(self, user, group=""):
        """(certificate, key) that make its bearer this user."""
        subject = f"{user}/O={group}" if group else user
        return self.tls.issue(f"client-{user}", subject)

    def kubectl(self, *words, user="admin", check=True, timeout=60):
        """Runs kubectl as one of the users, and returns what it printed."""
        kubeconfig = self.write_kubeconfig(self.folder / f"kubectl-{user}", user)
        env = {"PATH": os.environ["PATH"], "HOME": self.folder.path, "KUBECONFIG": kubeconfig}
        done = subprocess.run([self.programs["kubectl"], *map(str, words)], capture_output=True,
                              text=True, env=env, timeout=timeout, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done.stdout

    # what was asked of it

    def audit(self, user="baton"):
        """The audit log's entries of one user, oldest first."""
        try:
            with open(self.audit_log, encoding="utf-8") as log:
                entries = [json.loads(line) for line in log if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [entry for entry in entries if entry["user"].get("username") == user]

    def mutations(self, user="baton"):
        """
        Those of audit() that change something. (A review of the user's own rights is a POST, and stores nothing.)
        """
        return [f"{entry['verb']} {entry['requestURI']}" for entry in self.audit(user)
                if entry["verb"] not in ("get", "list", "watch")
                and not re.search(r"/selfsubject(access|rules)reviews$", entry["requestURI"].split("?")[0])]

    # what is on it

    def make_cronjob(self, name, schedule="* * * * *", policy="Allow", namespace="default", annotations=None, **spec):
        """spec: more of the CronJob's spec (suspend=True, timeZone=..., startingDeadlineSeconds=...)."""
        job = {"backoffLimit": 0, "template": {"spec": pod_spec()}, **spec.pop("job", {})}
        return self.admin.create("cronjobs", {
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
            "spec": {"schedule": schedule, "concurrencyPolicy": policy, "jobTemplate": {"spec": job}, **spec}})

    def make_job(self, name, namespace="default", owner=None, annotations=None, **spec):
        """owner: the CronJob it is a run of."""
        metadata = {"name": name, "namespace": namespace, "annotations": annotations or {}}
        if owner:
            metadata["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "CronJob", "controller": True,
                                            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]
        return self.admin.create("jobs", {"metadata": metadata, "spec": {
            "backoffLimit": 0, "template": {"spec": pod_spec()}, **spec}})

    def make_run(self, cronjob, minutes_ago, namespace="default", now=None):
        """
        A run as the controller would have made it for a slot that is past: the Job, its place in status.active, and the
        last schedule. Returns the Job. Whoever makes several gives the time that they are counted from: a minute may end in
        between.
        """
        owner = self.admin.get("cronjobs", cronjob, namespace)
        minute = int((now or time.time()) // 60) - minutes_ago
        job = self.make_job(f"{cronjob}-{minute}", namespace, owner,
                            {"batch.kubernetes.io/cronjob-scheduled-timestamp": rfc3339(minute * 60)},
                            **owner["spec"]["jobTemplate"]["spec"])
        active = owner["status"].get("active", []) + [{
            "apiVersion": "batch/v1", "kind": "Job", "namespace": namespace, **{
                word: job["metadata"][word] for word in ("name", "uid", "resourceVersion")}}]
        self.admin.patch("cronjobs", cronjob, {"status": {"active": active, "lastScheduleTime": rfc3339(minute * 60)}},
                         namespace, "status")
        return job

    def make_pod(self, name, namespace="default", **metadata):
        """A pod of nobody; a Job's pods are made by the controllers."""
        return self.admin.create("pods", {"metadata": {"name": name, "namespace": namespace, **metadata}, "spec": pod_spec()})

    def make_lease(self, name, holder, namespace="default", duration=15, transitions=0, renewed=None, **spec):
        """renewed: a time.time(), by the holder's clock."""
        now = rfc3339(renewed, micro=True)
        return self.admin.create("leases", {"metadata": {"name": name, "namespace": namespace}, "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": duration, "acquireTime": now, "renewTime": now,
            "leaseTransitions": transitions, **spec}})

    def renew_lease(self, name, namespace="default", renewed=None, **spec):
        """A holder's renewal; spec: what it changes besides (holderIdentity, leaseTransitions)."""
        return self.admin.patch("leases", name, {"spec": {"renewTime": rfc3339(renewed, micro=True), **spec}}, namespace)

    def runs_of(self, cronjob, namespace="default"):
        """The Jobs that this CronJob owns, by their names."""
        uid = self.admin.get("cronjobs", cronjob, namespace)["metadata"]["uid"]
        jobs = [job for job in self.admin.list("jobs", namespace)
                if any(owner["uid"] == uid for owner in job["metadata"].get("ownerReferences", ()))]
        return sorted(jobs, key=lambda job: job["metadata"]["name"])

    def pods_of(self, job, namespace="default"):
        return self.admin.list("pods", namespace, labelSelector=f"batch.kubernetes.io/job-name={job}")

    def elect(self, name, identity, namespace="default", duration=4.0, release=False):
        """A real contender of client-go's leader election, running until it is stopped."""
        return Contender(self, name, identity, namespace, duration, release)


def pod_spec():
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False,
            "containers": [{"name": "work", "image": "example.invalid/work:1"}]}


class Contender:
    """One process of tests/servers/elect; deadline and retry are in the proportions of client-go's own defaults."""

    def __init__(self, plane, name, identity, namespace, duration, release):
        self.folder = Folder("elect")
        kubeconfig = plane.write_kubeconfig(self.folder / "kubeconfig", "admin")
        argv = [elect_path(), "-kubeconfig", kubeconfig, "-namespace", namespace, "-name", name, "-identity", identity,
                f"-duration={duration}s", f"-deadline={duration * 2 / 3:.3f}s", f"-retry={duration * 2 / 15:.3f}s"]
        argv += ["-release"] if release else []
        self.process = Process(f"contender {identity}", argv, self.folder / "log", cwd=self.folder.path,
                               env={"PATH": os.environ["PATH"], "HOME": self.folder.path})
        self.process.start()
        self.identity = identity
        own(self)

    def leads(self):
        """By its own word."""
        lines = [line for line in self.process.log_text().splitlines() if line.split(" ")[0] in ("leading", "stopped")]
        return bool(lines) and lines[-1].startswith("leading")

    def wait_leads(self, timeout=20):
        wait_until(self.leads, timeout, what=f"{self.identity} leading")
        return self

    def pause(self):
        self.process.pause()

    def resume(self):
        self.process.resume()

    def stop(self):
        """It ends in order; with `release` it gives the Lease back."""
        self.process.stop(signal.SIGTERM, timeout=10)
        self.close()

    def kill9(self):
        self.process.kill9()
        self.close()

    def close(self):
        disown(self)
        self.process.kill9()
        self.folder.close()
