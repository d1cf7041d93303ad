"""The figures of a Kubernetes source, taken on a real API server."""

import concurrent.futures
import os
import subprocess
import time

from measure import Run, Spread, cpu_of, ratio, resident_of, say
from servers import ControlPlane, Home, Proxy, baton_path, find_program
from servers.kubernetes import pod_spec, rfc3339
from terminal import Terminal

RESOURCES = ("cronjobs", "jobs", "pods", "leases")
URLS = {"cronjobs": "apis/batch/v1", "jobs": "apis/batch/v1", "pods": "api/v1", "leases": "apis/coordination.k8s.io/v1"}
NAMESPACES = 20
CONFIG = """\
sources:
  kube: {{kind: kubernetes, environment: lab, kubeconfig: {kubeconfig}, context: lab}}
"""


class Fill:
    """So many CronJobs, each with a run of today and its pod, and so many Leases; spread over some namespaces."""

    def __init__(self, plane, n_cronjobs, n_leases):
        self.plane, self.api = plane, plane.admin
        self.minute = int(time.time() // 60) - 10
        for i in range(NAMESPACES):
            self.api.create("namespaces", {"metadata": {"name": self.namespace(i)}})
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(self.cronjob, range(n_cronjobs)))
            list(pool.map(self.lease, range(n_leases)))

    @staticmethod
    def namespace(i):
        return f"team-{i % NAMESPACES:02d}"

    def cronjob(self, i):
        """Its slot is ten minutes ago; the run goes on."""
        name, namespace = f"job-{i:05d}", self.namespace(i)
        clock = time.gmtime(self.minute * 60)
        owner = self.plane.make_cronjob(name, f"{clock.tm_min} {clock.tm_hour} * * *", "Forbid", namespace)
        run = f"{name}-{self.minute}"
        job = self.plane.make_job(run, namespace, owner, {
            "batch.kubernetes.io/cronjob-scheduled-timestamp": rfc3339(self.minute * 60)})
        active = [{"kind": "Job", "namespace": namespace, "name": run, "uid": job["metadata"]["uid"]}]
        self.api.patch("cronjobs", name, {"status": {"active": active, "lastScheduleTime": rfc3339(self.minute * 60)}},
                       namespace, "status")
        self.api.patch("jobs", run, {"status": {"active": 1, "ready": 1, "startTime": rfc3339()}}, namespace, "status")
        self.pod(f"{run}-abcde", run, job, namespace)

    def pod(self, name, run, job, namespace):
        self.api.create("pods", {"metadata": {
            "name": name, "namespace": namespace, "labels": {"batch.kubernetes.io/job-name": run, "job-name": run},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "controller": True, "name": run,
                                 "uid": job["metadata"]["uid"]}]}, "spec": {**pod_spec(), "nodeName": "node-1"}})
        now = rfc3339()
        state = {"running": {"startedAt": now}}
        self.api.patch("pods", name, {"status": {"phase": "Running", "startTime": now, "containerStatuses": [
            {"name": "work", "image": "example.invalid/work:1", "imageID": "", "restartCount": 0, "ready": True,
             "started": True, "state": state}]}}, namespace, "status")

    def lease(self, i):
        self.plane.make_lease(f"lease-{i:05d}", f"node-{i:05d}", self.namespace(i), duration=3600)


class KubeBench:
    def __init__(self, table, options):
        self.table, self.options, self.runs = table, options, options.runs

    def large(self, n=5000):
        with ControlPlane(controllers=False) as plane:
            say(f"writing {n} CronJobs, Jobs, Pods and Leases")
            Fill(plane, n, n)
            with self.home(plane) as home:
                self.picture(plane, home, f"{n} CronJobs, Jobs, Pods, Leases: ")
            self.rest(plane, f"{n} CronJobs, Jobs, Pods, Leases", ("", "", ""))

    def small(self):
        with ControlPlane(controllers=False) as plane:
            Fill(plane, 1000, 2000)
            with self.home(plane) as home:
                self.first_frame(plane, home)
            self.rest(plane, "1000 CronJobs", ("0.2 s", "20 MB", "50 kB"))
            self.change(plane)

    def home(self, plane, port=None):
        kubeconfig = plane.write_kubeconfig(plane.folder / f"bench-{port or plane.port}", port=port)
        return Home(CONFIG.format(kubeconfig=kubeconfig))

    def kubectl(self, plane):
        """The command's first words; its caches are warm after the first run."""
        kubeconfig = plane.write_kubeconfig(plane.folder / "bench-kubectl")
        return [plane.programs["kubectl"], "--kubeconfig", kubeconfig, "get"]

    def curl(self, plane):
        curl = [find_program("curl", "curl"), "--silent", "--fail", "--compressed", "--cacert", plane.tls.ca,
                "-H", f"Authorization: Bearer {plane.token('baton')}"]
        return curl + [f"{plane.url}/{prefix}/{kind}" for kind, prefix in URLS.items()]

    def picture(self, plane, home, name):
        listing = [baton_path(), "list", "--no-memory"]
        commands = {"list": (listing, home.env()), "json": (listing + ["--json"], home.env()),
                    "kubectl": (self.kubectl(plane) + [",".join(RESOURCES), "-A", "-o", "json"], self.env(plane)),
                    "curl": (self.curl(plane), self.env(plane))}
        done = {word: [] for word in commands}
        for _ in range(min(self.runs, 3)):  # kubectl takes half a minute
            for word, (argv, env) in commands.items():
                before = cpu_of(plane.apiserver.pid)
                run = Run(argv, env)
                done[word].append((run, cpu_of(plane.apiserver.pid) - before))
        self.tell(name, done)

    def tell(self, name, done):
        wall = {word: Spread([run.seconds for run, _ in runs]) for word, runs in done.items()}
        memory = {word: Spread([run.resident for run, _ in runs], "MB", 1e-6) for word, runs in done.items()}
        server = {word: Spread([cpu for _, cpu in runs]) for word, runs in done.items()}
        add = self.table.add
        add(name + "`baton list`", wall["list"], wall["kubectl"], "kubectl get -o json", ratio(wall["list"], wall["kubectl"]))
        add(name + "`baton list --json`", wall["json"], wall["curl"], "curl, gzip", ratio(wall["json"], wall["curl"]))
        add(name + "resident at most", memory["list"], memory["kubectl"], "kubectl", ratio(memory["list"], memory["kubectl"]))
        add(name + "the API server's CPU", server["list"], server["kubectl"], "kubectl",
            ratio(server["list"], server["kubectl"]))

    @staticmethod
    def env(plane):
        return {"PATH": os.environ["PATH"], "HOME": plane.folder.path}

    def first_frame(self, plane, home):
        ours, theirs = [], []
        for _ in range(self.runs):
            with Terminal([baton_path(), "--no-memory"], home.env(), rows=40, columns=120) as terminal:
                ours.append(terminal.wait_for(b"job-0") - terminal.started)
            theirs.append(self.first_line(self.kubectl(plane) + ["cronjobs", "-A"], self.env(plane)))
        ours, theirs = Spread(ours), Spread(theirs)
        self.table.add("first useful frame, 1000 CronJobs with runs, 2000 Leases", ours, theirs,
                       "kubectl get cronjobs, first line", ratio(ours, theirs), "300 ms, 1.0 x")

    @staticmethod
    def first_line(argv, env):
        started = time.monotonic()
        popen = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert popen.stdout.readline()
        took = time.monotonic() - started
        popen.communicate()
        return took

    def rest(self, plane, what, budgets):
        """The console, watching, while nothing changes."""
        seconds = self.options.rest
        road = Proxy(plane.port)
        with self.home(plane, road.port) as home, \
                Terminal([baton_path(), "--no-memory"], home.env(), rows=40, columns=120) as terminal:
            first = terminal.wait_for(b"job-0", 60) - terminal.started
            terminal.watch(10)
            pid, server = terminal.pid, plane.apiserver.pid
            before = (cpu_of(pid), cpu_of(server), road.bytes_in, road.bytes_out)
            terminal.watch(seconds)
            after = (cpu_of(pid), cpu_of(server), road.bytes_in, road.bytes_out)
            resident = resident_of(pid)
        road.close()
        idle = cpu_of(server)
        time.sleep(seconds / 2)
        idle = (cpu_of(server) - idle) * 2
        own, theirs, received, sent = (b - a for a, b in zip(before, after))
        per, name = 60.0 / seconds, f"console at rest, {what}, per minute: "
        self.table.add(f"console, {what}: first rows on the screen", f"{first:.2f} s")
        self.table.add(name + "own CPU", f"{own * per:.2f} s", budget=budgets[0])
        self.table.add(name + "resident", f"{resident / 1e6:.0f} MB", budget=budgets[1])
        self.table.add(name + "received, sent", f"{received * per / 1e3:.0f} kB, {sent * per / 1e3:.0f} kB", budget=budgets[2])
        self.table.add(name + "the API server's CPU", f"{theirs * per:.2f} s", f"{idle * per:.2f} s", "by itself")

    def change(self, plane):
        """A Lease that changes hands, until the new holder's name stands on the screen."""
        names = [chr(ord("a") + i) * 6 for i in range(16)]
        plane.make_lease("changing", "zzzzzz", duration=3600)
        times = []
        with self.home(plane) as home, Terminal([baton_path(), "--no-memory"], home.env(), rows=40, columns=120) as terminal:
            terminal.wait_for(b"job-0", 60)
            terminal.send(b"/changing\r")
            terminal.wait_for(b"zzzzzz")
            for name in names:
                terminal.drain(quiet=0.3, most=2.0)
                started = time.monotonic()
                plane.renew_lease("changing", holderIdentity=name)
                times.append(terminal.wait_for(name.encode()) - started)
        self.table.add("a change of a Lease, from the write to the screen", Spread(times), budget="100 ms")
