"""
Real servers for tests, the lab and the benchmark. Each has a folder of its own, listens on free ports of loopback, and is
stopped by its pid when the test ends, is interrupted, or dies. What is not installed is skipped and counted as skipped;
with CI=true it is a failure.

    with Postgres() as pg, Etcd("current") as etcd, Home(env={**pg.env(), **etcd.env()}) as home:
        holder = pg.session(app="worker-1")
        holder.run("select pg_advisory_lock(42)")
        rows = home.baton("list", "--json").json["singletons"]

Run one file alone from the top of the tree: BATON=build/src/baton PYTHONPATH=tests python3 tests/live/test_x.py
BATON_POSTGRES names the folder of another PostgreSQL's programs (postgres, initdb, pg_ctl), to run them on that version.
"""

from .drive import Drive
from .etcd import Candidate, Etcd, GatewayError, VERSIONS, b64, build_current, lease_hex, on_each
from .kubelet import Kubelet, Kubelets, Node
from .kubernetes import ApiError, Contender, ControlPlane, kubernetes_missing, rfc3339
from .net import (BlackHole, Garbage, LateStreams, Listener, Proxy, endless_server, free_port, html_server, http1_server,
                  http_answer, port_open, redirect_server, silent_server)
from .postgres import PgBouncer, Postgres, Session, SqlError
from .process import Folder, Process, close_all, find_program, in_ci, missing, own, wait_until, within
from .program import Home, Result, baton, baton_path
from .tls import Authority, TlsFront, handshake_failures, tls_server
from .wire import Wire, WireClosed
from .zookeeper import ZkClient, ZooKeeper

__all__ = [name for name in dir() if not name.startswith("_")]
