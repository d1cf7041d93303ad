"""An ensemble of ZooKeeper servers, of Debian's version, and clients on it: kazoo's, whose recipe is not ours."""

import json
import os
import re
import signal
import socket
import subprocess
import threading

from .net import free_port
from .process import Folder, Process, as_user, disown, find_program, missing, own, wait_until

JAR = "/usr/share/java/zookeeper.jar"
# The distribution's: its packages of Python modules are for that one.
PYTHON = "/usr/bin/python3"
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "zookeeper_client.py")
TICK_MS = 2000


class ZooKeeper:
    """An ensemble of n servers, on loopback."""

    def __init__(self, members=3):
        if not os.path.exists(JAR):
            missing("ZooKeeper", "libzookeeper-java")
        self.java = find_program("java", "default-jre-headless")
        self.members = [Member(self, i + 1) for i in range(members)]
        for member in self.members:
            member.start(wait=False)
        for member in self.members:
            member.process.wait_ready(lambda member=member: member.mode() is not None, 60)

    @property
    def hosts(self):
        return ",".join(member.address for member in self.members)

    def leader(self):
        """The member that leads; None while none does."""
        return next((member for member in self.members if member.mode() == "leader"), None)

    def client(self, hosts=None, timeout=10):
        """timeout: of its session, in seconds, as it asks for it."""
        return ZkClient(hosts or self.hosts, timeout)

    def sessions(self):
        """Every session that a server has a connection of, with its timeout in milliseconds."""
        found = {}
        for member in self.members:
            for sid, timeout in re.findall(r"sid=0x([0-9a-f]+).*?to=(\d+)", member.four("cons")):
                found[int(sid, 16)] = int(timeout)
        return found

    def close(self):
        for member in self.members:
            member.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Member:
    """One server process of an ensemble."""

    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.client_port, self.peer_port, self.election_port = free_port(), free_port(), free_port()
        self.folder = Folder(f"zookeeper-{number}")
        self.process = None

    @property
    def address(self):
        return f"127.0.0.1:{self.client_port}"

    def config(self):
        lines = [f"tickTime={TICK_MS}", "initLimit=10", "syncLimit=5", f"dataDir={self.folder.path}",
                 f"clientPort={self.client_port}", "clientPortAddress=127.0.0.1", "admin.enableServer=false",
                 "4lw.commands.whitelist=srvr,cons", "forceSync=no", "maxClientCnxns=0"]
        lines += [f"server.{each.number}=127.0.0.1:{each.peer_port}:{each.election_port}" for each in self.cluster.members]
        return "\n".join(lines) + "\n"

    def start(self, wait=True):
        for name, text in (("zoo.cfg", self.config()), ("myid", f"{self.number}\n")):
            with open(self.folder / name, "w", encoding="ascii") as out:
                out.write(text)
        self.process = Process(
            f"ZooKeeper {self.number}",
            [self.cluster.java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.jmx.log4j.disable=true",
             "-cp", JAR, "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.folder / "zoo.cfg"],
            self.folder / "log", cwd=self.folder.path, env={"PATH": os.environ["PATH"], "HOME": self.folder.path})
        self.process.start()
        if wait:
            self.process.wait_ready(lambda: self.mode() is not None, 60)

    def four(self, word):
        """What it answers to a four-letter word; "" when it does not."""
        try:
            with socket.create_connection(("127.0.0.1", self.client_port), timeout=5) as sock:
                sock.sendall(word.encode())
                with sock.makefile(encoding="utf-8", errors="replace") as answer:
                    return answer.read()
        except OSError:
            return ""

    def mode(self):
        """ "leader" or "follower"; None: it serves nobody. """
        found = re.search(r"^Mode: (\w+)$", self.four("srvr"), re.MULTILINE)
        return found.group(1) if found else None

    def kill9(self):
        self.process.kill9()

    def close(self):
        if self.process:
            self.process.kill9()
        self.folder.close()


class ZkClient:
    """A client in a process of its own, with one session: questions and acts, or a part in an election."""

    def __init__(self, hosts, timeout):
        if subprocess.run([PYTHON, "-c", "import kazoo"], capture_output=True, check=False).returncode:
            missing("kazoo", "python3-kazoo")
        self.popen = subprocess.Popen(
            as_user(None) + [PYTHON, CLIENT, hosts, str(timeout)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        own(self)
        self.answers, self.told = [], []
        self.news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        started = self._answer(0)
        self.session, self.timeout_ms = started["session"], started["timeout_ms"]
        self.asked = 1

    def _read(self):
        for line in self.popen.stdout:
            said = json.loads(line)
            with self.news:
                (self.told if "told" in said else self.answers).append(said)
                self.news.notify_all()

    def _answer(self, i):
        with self.news:
            assert self.news.wait_for(lambda: len(self.answers) > i or self.popen.poll() is not None, 30), "no answer"
            assert len(self.answers) > i, "the client ended"
            return self.answers[i]

    def ask(self, what, **words):
        """Its answer; an answer with "error" names kazoo's exception."""
        self.asked += 1
        self.popen.stdin.write(json.dumps({"do": what, **words}) + "\n")
        self.popen.stdin.flush()
        return self._answer(self.asked - 1)

    def children(self, path):
        """Of an election's znode: what is below it, by the number at the end of the name."""
        return sorted(self.ask("children", path=path)["children"], key=lambda child: child["sequence"])

    def elect(self, path, data):
        """Takes part, until the end; tells "leads"."""
        self.ask("elect", path=path, data=data)
        return self

    def has_told(self, word):
        with self.news:
            return any(said["told"] == word for said in self.told)

    def wait_told(self, word, timeout=30):
        wait_until(lambda: self.has_told(word), timeout, what=f"being told {word}")

    def pause(self):
        os.killpg(self.popen.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.popen.pid, signal.SIGCONT)

    def kill9(self):
        """Its session is not closed: the ensemble must wait for its end."""
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        self.popen.stdin.close()
        self.popen.stdout.close()
        disown(self)

    def stop(self):
        """Closes its session, and ends."""
        if self.popen.poll() is None:
            self.ask("stop")
            self.popen.wait(20)
        self.kill9()

    close = kill9
