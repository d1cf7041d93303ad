"""
One ZooKeeper client, by kazoo. usage: zookeeper_client.py HOSTS TIMEOUT

Reads one JSON object a line, answers each with one; first it tells its session. What comes to it unasked has a "told".
"""

import json
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState

lock = threading.Lock()


def say(**words):
    with lock:
        print(json.dumps(words), flush=True)


def child(client, path, name):
    data, stat = client.get(f"{path}/{name}")
    return {"name": name, "sequence": int(name[-10:]), "data": data.decode(), "czxid": stat.czxid, "version": stat.version,
            "session": stat.ephemeralOwner}


def children(client, path):
    return {"children": [child(client, path, name) for name in client.get_children(path)]}


def create(client, path, data="", ephemeral=False, sequence=False):
    return {"path": client.create(path, data.encode(), ephemeral=ephemeral, sequence=sequence, makepath=True)}


def delete(client, path, version=-1):
    client.delete(path, version=version)
    return {}


def exists(client, path):
    return {"exists": client.exists(path) is not None}


def elect(client, path, data):
    def lead():
        say(told="leads")
        threading.Event().wait()

    threading.Thread(target=client.Election(path, data).run, args=(lead,), daemon=True).start()
    return {}


VERBS = {"children": children, "create": create, "delete": delete, "elect": elect, "exists": exists}


def main():
    client = KazooClient(hosts=sys.argv[1], timeout=float(sys.argv[2]), randomize_hosts=False)
    client.add_listener(lambda state: say(told="lost") if state == KazooState.LOST else None)
    client.start(timeout=30)
    session, _ = client.client_id
    say(session=session, timeout_ms=client._session_timeout)
    for line in sys.stdin:
        words = json.loads(line)
        verb = words.pop("do")
        if verb == "stop":
            client.stop()
            say(stopped=True)
            return
        try:
            say(**VERBS[verb](client, **words))
        except KazooException as error:
            say(error=type(error).__name__)


main()
