"""The client of the API server: on a real one, through a proxy that breaks, and on what is no API server."""

import base64
import json
import os
import socket
import ssl
import subprocess
import time
import unittest

from kube_ask import Asking, Files
from servers import (Authority, BlackHole, ControlPlane, Garbage, Home, Listener, Proxy, TlsFront, endless_server, free_port,
                     handshake_failures, html_server, http_answer, redirect_server, silent_server, tls_server, wait_until)

REVIEW = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
WHO = "post /apis/authentication.k8s.io/v1/selfsubjectreviews " + json.dumps(REVIEW, separators=(",", ":"))


class Plane:
    """One API server for all tests of this file."""

    made = None

    @classmethod
    def get(cls):
        if cls.made is None:
            cls.made = ControlPlane(controllers=False)
        return cls.made


def tearDownModule():
    if Plane.made:
        Plane.made.close()


def who(answer):
    """The user that the server takes us for."""
    assert answer["code"] == 0, answer
    return json.loads(answer["body"])["status"]["userInfo"]


def kubeconfig(server, user, **cluster):
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "x",
                       "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
                       "users": [{"name": "u", "user": user}],
                       "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]})


class Live(unittest.TestCase):
    def setUp(self):
        self.plane = Plane.get()
        self.files = Files()
        self.addCleanup(self.files.close)

    def config(self, user=None, server=None, **cluster):
        fields = {"certificate-authority": self.plane.tls.ca} if not cluster else cluster
        self.files.write("c", kubeconfig(server or self.plane.url,
                                         {"token": self.plane.token("admin")} if user is None else user, **fields))

    def ask(self, *lines, **more):
        return self.files.ask(lines, "c", **more)

    def asking(self, **more):
        asking = Asking(self.files, "c", **more)
        self.addCleanup(asking.close)
        return asking


class Calls(Live):
    def test_one_connection_for_all(self):
        proxy = Proxy(self.plane.port)
        self.addCleanup(proxy.close)
        self.config(server=f"https://127.0.0.1:{proxy.port}")
        answers = self.ask("watch /api/v1/namespaces?watch=1", "watch /apis/batch/v1/cronjobs?watch=1",
                           "many 100 /api/v1/namespaces", "run 200", "cost")
        many, cost = [answer for answer in answers if answer.get("what") == "many"][0], answers[-1]
        self.assertEqual((many["good"], cost["requests"]), (100, 102))
        self.assertEqual(proxy.connections, 1)

    def test_a_large_list_is_packed_and_counted_as_it_was_on_the_wire(self):
        for i in range(60):
            body = {"metadata": {"name": f"big-{i}", "namespace": "default"}, "data": {"x": "ab" * 20000}}
            self.plane.admin.call("POST", "/api/v1/namespaces/default/configmaps", body)
        proxy = Proxy(self.plane.port)
        self.addCleanup(proxy.close)
        self.config(server=f"https://127.0.0.1:{proxy.port}")
        path = "/api/v1/namespaces/default/configmaps"
        head, cost, pieces, count, _ = self.ask(f"head {path}", "cost", f"pieces {path}", "cost", f"pieces {path}")[:5]
        self.assertGreater(head["bytes"], 2400000)
        self.assertEqual(count["bytes"], head["bytes"])
        self.assertEqual(pieces["code"], 0)
        self.assertLess(cost["bytes_in"], 200000)
        self.config(server=f"https://127.0.0.1:{proxy.port}",
                    **{"certificate-authority": self.plane.tls.ca, "disable-compression": True})
        plain, cost = self.ask(f"head {path}", "cost")
        self.assertEqual(plain["bytes"], head["bytes"])
        self.assertGreaterEqual(cost["bytes_in"], plain["bytes"])

    def test_what_the_server_says(self):
        self.config()
        fine, gone, no_api, wrong = self.ask("get /api/v1/namespaces/billing", "get /api/v1/namespaces/nope", "get /apis/batch/v9/x",
                                             "get /api/v1/namespaces?limit=many")
        self.assertEqual((fine["code"], fine["status"]), (0, 200))
        self.assertAlmostEqual(fine["date_us"] / 1e6, time.time(), delta=60)
        self.assertEqual((gone["code"], gone["reason"]), (-12, "NotFound"))
        self.assertIn('namespaces "nope" not found', gone["error"])
        self.assertEqual((no_api["code"], no_api["status"]), (-12, 404))
        self.assertIn("could not find the requested resource", no_api["error"])
        self.assertEqual((wrong["code"], wrong["status"]), (-7, 400))

    def test_verbs_with_a_body(self):
        self.config()
        made, patched, removed = self.ask(
            'post /api/v1/namespaces/default/configmaps {"metadata":{"name":"made"},"data":{"a":"1"}}',
            'patch /api/v1/namespaces/default/configmaps/made {"data":{"a":"2"}}',
            "delete /api/v1/namespaces/default/configmaps/made")
        self.assertEqual((made["status"], patched["status"], removed["status"]), (201, 200, 200))
        self.assertEqual(json.loads(patched["body"])["data"], {"a": "2"})

    def test_who_may_not_is_told_in_the_servers_words(self):
        self.config({"token": self.plane.token("nobody")})
        answer, = self.ask("get /apis/batch/v1/cronjobs")
        self.assertEqual((answer["code"], answer["reason"]), (-6, "Forbidden"))
        self.assertIn('User "nobody" cannot list resource "cronjobs"', answer["error"])

    def test_an_old_resource_version_is_gone(self):
        self.config()
        for _ in range(3):
            self.plane.admin.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "x-"}})
        self.plane.compact()
        self.plane.restart_apiserver()
        answer, = self.ask("get /api/v1/namespaces?resourceVersion=2&resourceVersionMatch=Exact")
        self.assertEqual((answer["status"], answer["gone"], answer["reason"], answer["code"]), (410, True, "Expired", -7))


class Watches(Live):
    def test_changes_come_at_once(self):
        self.config()
        asking = self.asking()
        asking.tell("watch /api/v1/namespaces/default/configmaps?watch=1&labelSelector=a%3Db")
        self.assertEqual(asking.run(1000), ([], [], 1))
        self.plane.admin.call("POST", "/api/v1/namespaces/default/configmaps",
                              {"metadata": {"generateName": "w-", "labels": {"a": "b"}}, "data": {"x": "y\n" * 1000}})
        lines, ended, _ = asking.until(lambda lines, _: lines)
        self.assertEqual([(line["type"], line["object"]["data"]["x"][:2]) for line in lines], [("ADDED", "y\n")])

    def test_a_server_that_ends_it_in_good_order(self):
        self.config()
        asking = self.asking()
        asking.tell("watch /api/v1/namespaces?watch=1&timeoutSeconds=1")
        _, ended, left = asking.until(lambda _, ended: ended)
        self.assertEqual(([end["code"] for end in ended], left), ([0], 0))

    def test_a_connection_that_is_cut(self):
        proxy = Proxy(self.plane.port)
        self.addCleanup(proxy.close)
        self.config(server=f"https://127.0.0.1:{proxy.port}")
        asking = self.asking()
        asking.tell("watch /api/v1/namespaces?watch=1")
        asking.until(lambda lines, _: len(lines) > 3)
        proxy.reset()
        _, ended, left = asking.until(lambda _, ended: ended)
        self.assertEqual((ended[0]["code"], left), (-2, 0))
        self.assertEqual(asking("get /readyz")["code"], 0)

    def test_closing_on_purpose(self):
        self.config()
        asking = self.asking()
        asking.tell("watch /api/v1/namespaces?watch=1")
        asking.until(lambda lines, _: len(lines) > 3)
        asking.tell("drop")
        _, ended, left = asking.run(100)
        self.assertEqual(([end["code"] for end in ended], left), ([-2], 0))
        self.assertEqual(asking("get /readyz")["code"], 0)

    def test_an_object_that_is_cut(self):
        for headers, code in (([], -2), (["Content-Length: 9999"], -2)):
            body = b'{"type":"ADDED","object":{}}\n\n{"type":"ADD'
            lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", "Connection: close", *headers]
            server = Garbage("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            self.addCleanup(server.close)
            self.config(server=f"http://{server.address}")
            asking = self.asking()
            asking.tell("watch /x?watch=1")
            lines, ended, _ = asking.until(lambda _, ended: ended)
            self.assertEqual((len(lines), ended[0]["code"]), (1, code), ended)
            self.assertIn("in the middle", ended[0]["error"])


PLUGIN = """#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" >> "$HOME/asked"
ls /proc/self/fd | wc -l > "$HOME/descriptors"
{before}
cat <<END
{answer}
END
"""


def credential(version="v1", **status):
    return json.dumps({"kind": "ExecCredential", "apiVersion": f"client.authentication.k8s.io/{version}", "status": status})


def alive(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return "zombie" not in file.read()
    except FileNotFoundError:
        return False


def ago(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))


class Credentials(Live):
    def plugin(self, answer, before="", version="v1", **fields):
        path = self.files.write("plugin", PLUGIN.format(before=before, answer=answer))
        os.chmod(path, 0o755)
        exec_ = {"apiVersion": f"client.authentication.k8s.io/{version}", "command": "./plugin", "interactiveMode": "Never"}
        self.config({"exec": {**exec_, **fields}})

    def asked(self):
        path = os.path.join(self.files.path, "asked")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_a_token(self):
        self.config()
        self.assertEqual(who(self.ask(WHO)[0])["username"], "admin")

    def test_a_wrong_token(self):
        self.config({"token": "secret-that-is-wrong"})
        answer, = self.ask(WHO)
        self.assertEqual((answer["code"], answer["status"]), (-5, 401))
        self.assertIn("does not accept the token of the kubeconfig's user 'u'", answer["error"])
        self.assertNotIn("secret", answer["error"])

    def test_a_certificate_by_file_and_by_data(self):
        cert, key = self.plane.client_certificate("ada", "system:masters")

        def data(path):
            with open(path, "rb") as file:
                return base64.b64encode(file.read()).decode()

        for user in ({"client-certificate": cert, "client-key": key},
                     {"client-certificate-data": data(cert), "client-key-data": data(key)}):
            for cluster in ({"certificate-authority": self.plane.tls.ca},
                            {"certificate-authority-data": data(self.plane.tls.ca)}):
                with self.subTest(user=list(user), cluster=list(cluster)):
                    self.config(user, **cluster)
                    self.assertEqual(who(self.ask(WHO)[0])["username"], "ada")

    def test_a_certificate_of_another_authority(self):
        with Other() as other:
            cert, key = other.issue("client", "ada")
            self.config({"client-certificate": cert, "client-key": key})
            answer, = self.ask(WHO)
        self.assertEqual(answer["code"], -5, answer)
        self.assertIn("client certificate", answer["error"])

    def test_a_key_that_is_not_the_certificates(self):
        cert, _ = self.plane.client_certificate("ada")
        _, key = self.plane.client_certificate("eve")
        self.config({"client-certificate": cert, "client-key": key})
        answer, = self.ask(WHO)
        self.assertEqual(answer["code"], -10, answer)
        self.assertIn("client-key", answer["error"])

    def test_a_key_with_a_password_is_told_and_not_asked_for(self):
        cert, key = self.plane.client_certificate("ada")
        locked = os.path.join(self.files.path, "locked.pem")
        subprocess.run(["openssl", "ec", "-in", key, "-out", locked, "-aes256", "-passout", "pass:secret"], check=True,
                       capture_output=True)
        self.config({"client-certificate": cert, "client-key": locked})
        answer, = self.ask(WHO)
        self.assertEqual(answer["code"], -10, answer)
        self.assertIn("client-key", answer["error"])

    def test_nobody(self):
        self.config({})
        answer, = self.ask(WHO)
        self.assertIn(answer["code"], (-5, -6))
        self.assertTrue("no credentials" in answer["error"] or "anonymous" in answer["error"], answer)

    def test_to_be_another(self):
        self.config({"token": self.plane.token("admin"), "as": "ada", "as-uid": "u-1", "as-groups": ["g1", "g 2"],
                     "as-user-extra": {"example.org/scope%": ["a", "b"]}})
        self.assertEqual(who(self.ask(WHO)[0]), {
            "username": "ada", "uid": "u-1", "groups": ["g1", "g 2", "system:authenticated"],
            "extra": {"example.org/scope%": ["a", "b"]}})

    def test_a_token_file_that_is_replaced(self):
        path = self.files.write("token", self.plane.token("billing-reader") + "\n")
        self.config({"tokenFile": "token"})
        asking = self.asking()
        self.assertEqual(who(asking(WHO))["username"], "billing-reader")
        self.files.write("token", "no-longer-good")
        # It is kept for a while; a refusal has it read again.
        self.assertEqual(who(asking(WHO))["username"], "billing-reader")
        asking.close()
        asking = Asking(self.files, "c")
        self.addCleanup(asking.close)
        refused = asking(WHO)
        self.assertEqual(refused["code"], -5)
        self.assertIn("does not accept the token in " + path, refused["error"])
        self.files.write("token", self.plane.token("admin"))
        self.assertEqual(who(asking(WHO))["username"], "admin")

    def test_credentials_are_not_sent_without_tls(self):
        server = Garbage(http_answer("200 OK", b"{}", ["Content-Type: application/json"]))
        self.addCleanup(server.close)
        heard = []
        first = server.handle

        def handle(sock):
            heard.append(sock.recv(65536))
            server.wait_for_request = False
            first(sock)
        server.handle = handle
        self.config({"token": "secret-of-tests", "as": "ada"}, server=f"http://{server.address}")
        self.ask("get /")
        self.assertIn(b"Impersonate-User: ada", heard[0])
        self.assertNotIn(b"secret", heard[0])

    def test_a_plugins_token(self):
        self.plugin(credential(token=self.plane.token("baton")), args=["a"], env=[{"name": "X", "value": "y"}])
        answers = self.ask(WHO, WHO)
        self.assertEqual([who(answer)["username"] for answer in answers], ["baton", "baton"])
        self.assertEqual(self.asked(), [{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
                                         "spec": {"interactive": False}}])
        with open(os.path.join(self.files.path, "descriptors"), encoding="ascii") as file:
            self.assertLessEqual(int(file.read()), 4)  # 0, 1, 2 and the folder itself

    def test_a_plugin_is_told_of_the_cluster(self):
        self.plugin(credential("v1beta1", token=self.plane.token("baton")), version="v1beta1", provideClusterInfo=True,
                    interactiveMode=None)
        self.assertEqual(self.ask(WHO)[0]["code"], 0)
        with open(self.plane.tls.ca, "rb") as file:
            ca = base64.b64encode(file.read()).decode()
        self.assertEqual(self.asked()[0]["spec"]["cluster"],
                         {"server": self.plane.url, "certificate-authority-data": ca, "config": None})

    def test_a_plugins_certificate(self):
        cert, key = self.plane.client_certificate("ada", "system:masters")
        with open(cert, encoding="ascii") as one, open(key, encoding="ascii") as two:
            self.plugin(credential(clientCertificateData=one.read(), clientKeyData=two.read()).replace("\\", "\\\\"))
        self.assertEqual(who(self.ask(WHO)[0])["username"], "ada")

    def test_credentials_that_expired_are_fetched_again(self):
        for expires, times in ((ago(-3600), 1), (ago(60), 3)):
            self.plugin(credential(token=self.plane.token("baton"), expirationTimestamp=expires))
            before = len(self.asked())
            self.ask(WHO, WHO, WHO)
            self.assertEqual(len(self.asked()) - before, times, expires)

    def test_credentials_that_are_refused_are_fetched_again_once(self):
        good, bad = (credential(token=token) for token in (self.plane.token("baton"), "wrong"))
        self.plugin("$ANSWER", before=f"if [ -e $HOME/second ]; then ANSWER='{good}'; else ANSWER='{bad}'; fi; touch $HOME/second")
        self.assertEqual(who(self.ask(WHO)[0])["username"], "baton")
        self.assertEqual(len(self.asked()), 2)
        self.plugin(bad)
        answer, = self.ask(WHO)
        self.assertEqual((answer["code"], len(self.asked())), (-5, 4))
        self.assertIn("asked again", answer["error"])

    def test_a_plugin_that_is_not_there(self):
        self.config({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin",
                              "interactiveMode": "Never", "installHint": "get it\x1b[31m at example.org\nmore"}})
        answer, = self.ask(WHO)
        self.assertEqual(answer["code"], -5)
        self.assertIn(r"no-such-plugin is not there", answer["error"])
        self.assertIn(r"get it\x1b[31m at example.org", answer["error"])

    def test_a_plugin_that_fails_is_quoted(self):
        self.plugin("", before="echo 'session expired' >&2; printf 'run: \\033[1mlogin\\n\\n' >&2; exit 7")
        answer, = self.ask(WHO)
        self.assertEqual(answer["code"], -5)
        self.assertIn(r"failed (exit code 7): session expired; run: \x1b[1mlogin", answer["error"])

    def test_what_a_plugin_must_not_print(self):
        for answer, word in (("", "no ExecCredential"), ("token", "no ExecCredential"), ("{}", "no ExecCredential"),
                             (credential("v1beta1", token="t"), "v1beta1"), (credential(), "neither"),
                             (credential(token="a\\nb"), "line end"), (credential(clientKeyData="x"), "only one"),
                             (credential(token="t", expirationTimestamp="soon"), "no time"),
                             ('{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}', "no status")):
            with self.subTest(answer):
                self.plugin(answer.replace("\\\\n", "\\n"))
                said, = self.ask(WHO)
                self.assertEqual(said["code"], -5, said)
                self.assertIn(word, said["error"])

    def test_a_plugin_that_hangs_is_left_when_the_time_is_over(self):
        self.plugin(credential(token=self.plane.token("baton")), before="sleep 77 & echo $! > $HOME/child; wait")
        began = time.monotonic()
        answer, = self.ask("limit 2500", WHO)
        self.assertLess(time.monotonic() - began, 12)
        self.assertEqual(answer["code"], -3)
        self.assertIn("plugin", answer["error"])
        with open(os.path.join(self.files.path, "child"), encoding="ascii") as file:
            child = int(file.read())
        wait_until(lambda: not alive(child))

    def test_a_plugin_has_no_terminal_to_ask_at(self):
        self.plugin(credential(token=self.plane.token("baton")),
                    before="if (exec < /dev/tty) 2>/dev/null; then echo 'has a terminal' >&2; exit 3; fi; read x && exit 4")
        self.assertEqual(who(self.ask(WHO)[0])["username"], "baton")

    def test_streams_go_on_while_a_plugin_is_at_work(self):
        self.plugin(credential(token=self.plane.token("baton"), expirationTimestamp=ago(-2)), before="sleep 0.7")
        asking = self.asking()
        asking.tell("watch /api/v1/namespaces?watch=1")
        asking.until(lambda lines, _: len(lines) > 3)
        time.sleep(2)
        self.plane.admin.call("POST", "/api/v1/namespaces", {"metadata": {"generateName": "w-"}})
        self.assertEqual(who(asking(WHO))["username"], "baton")
        lines, ended, left = asking.until(lambda lines, _: lines)
        self.assertEqual((ended, left), ([], 1))


class Waking(Live):
    """Every wait watches the wake descriptor."""

    def check(self, path="/readyz", takes=8000):
        cancelled, = self.ask(f"cancel 300 {path}")
        self.assertEqual(cancelled["code"], -11)
        self.assertTrue(250 <= cancelled["ms"] < takes, cancelled)
        woken, = self.ask("limit 1000", f"wake 300 {path}")
        self.assertEqual(woken["code"], -3)
        self.assertGreaterEqual(woken["ms"], 950)

    def test_while_a_server_is_silent(self):
        server = silent_server()
        self.addCleanup(server.close)
        for scheme in ("http", "https"):
            self.config(server=f"{scheme}://{server.address}")
            self.check()

    def test_while_a_plugin_is_at_work(self):
        path = self.files.write("plugin", "#!/bin/sh\nsleep 60\n")
        os.chmod(path, 0o755)
        self.config({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": path, "interactiveMode": "Never"}})
        self.check()


class Other(Authority):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Reaching(Live):
    def error(self, *lines, **more):
        answer = self.ask(*(lines or ["get /readyz"]), **more)[-1]
        self.assertLess(answer["code"], 0, answer)
        return answer["code"], answer["error"]

    def test_another_authority(self):
        with Other() as other:
            self.config(**{"certificate-authority": other.ca})
            code, text = self.error()
        self.assertEqual(code, -14)
        self.assertIn("certificate-authority names an authority that has not issued it", text)

    def test_no_authority(self):
        self.config(**{"tls-server-name": "localhost"})
        code, text = self.error()
        self.assertEqual(code, -14)
        self.assertIn("set certificate-authority", text)

    def test_no_check(self):
        self.config(**{"insecure-skip-tls-verify": True})
        self.assertEqual(self.ask("get /readyz")[0]["code"], 0)

    def test_the_name_in_the_certificate(self):
        ca = self.plane.tls.ca
        self.config(**{"certificate-authority": ca, "tls-server-name": "other.example"})
        code, text = self.error()
        self.assertEqual(code, -14)
        self.assertIn("tls-server-name must be a name", text)
        self.config(**{"certificate-authority": ca, "tls-server-name": "localhost"})
        self.assertEqual(self.ask("get /readyz")[0]["code"], 0)

    def test_an_expired_certificate(self):
        with Other() as other:
            cert, key = other.issue("old", "localhost", ["IP:127.0.0.1"], days=-1)
            server = tls_server(cert, key)
            self.addCleanup(server.close)
            self.config(server=f"https://{server.address}", **{"certificate-authority": other.ca})
            code, text = self.error()
        self.assertEqual(code, -14)
        self.assertIn("needs a new certificate", text)

    def test_tls_where_none_is_and_none_where_it_is(self):
        server = html_server()
        self.addCleanup(server.close)
        self.config(server=f"https://{server.address}")
        self.assertEqual(self.error()[0], -14)
        self.assertIn("with http://", self.error()[1])
        self.config(server=f"http://127.0.0.1:{self.plane.port}")
        self.assertEqual(self.error()[0], -14)
        self.assertIn("with https://", self.error()[1])

    def test_nobody_listens(self):
        self.config(server=f"https://127.0.0.1:{free_port()}")
        code, text = self.error()
        self.assertEqual(code, -4)
        self.assertIn("refused", text)

    def test_a_name_that_is_not_there(self):
        self.config(server="https://nowhere.invalid:6443")
        self.assertIn(self.error()[0], (-4, -3))

    def test_a_page_a_redirect_and_garbage(self):
        page = http_answer("200 OK", b"<html>log in</html>", ["Content-Type: text/html"])
        for server, word in ((html_server(), "web page"), (Garbage(page), "web page"),
                             (redirect_server("https://login.example/\x1b[2J"), "redirects to"),
                             (Garbage(b"\x00\x01garbage\r\n\r\n"), "127.0.0.1"), (Garbage(b""), "127.0.0.1"),
                             (Garbage(http_answer("401 Unauthorized", b"no", [])), "something before"),
                             (Garbage(http_answer("503 Service Unavailable", b"no", [])), "can't serve now")):
            with self.subTest(word):
                self.addCleanup(server.close)
                self.config(server=f"http://{server.address}")
                code, text = self.error()
                self.assertIn(word, text)
                self.assertNotIn("\x1b", text)

    def test_too_many_requests(self):
        status = json.dumps({"kind": "Status", "apiVersion": "v1", "message": "too many requests", "reason": "TooManyRequests",
                             "details": {"retryAfterSeconds": 3}, "code": 429}).encode()
        for headers, wait in ((["Retry-After: 7"], 7000), ([], 3000)):
            server = Garbage(http_answer("429 Too Many Requests", status, ["Content-Type: application/json", *headers]))
            self.addCleanup(server.close)
            self.config(server=f"http://{server.address}")
            answer, = self.ask("get /")
            self.assertEqual((answer["code"], answer["retry_after_ms"], answer["reason"]), (-15, wait, "TooManyRequests"))
            self.assertIn("takes no more requests", answer["error"])

    def test_an_answer_without_an_end(self):
        server = endless_server(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        self.addCleanup(server.close)
        self.config(server=f"http://{server.address}")
        code, text = self.error("limit 20000", "get /")
        self.assertEqual(code, -8)
        self.assertIn("more than 67108864 bytes", text)

    def test_a_line_without_an_end(self):
        server = endless_server(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        self.addCleanup(server.close)
        self.config(server=f"http://{server.address}")
        asking = self.asking()
        asking.tell("watch /")
        _, ended, _ = asking.until(lambda _, ended: ended)
        self.assertEqual(ended[0]["code"], -8, ended)

    def test_a_silent_server(self):
        server = silent_server()
        self.addCleanup(server.close)
        for scheme in ("http", "https"):
            self.config(server=f"{scheme}://{server.address}")
            began = time.monotonic()
            self.assertEqual(self.error("limit 700", "get /")[0], -3)
            self.assertLess(time.monotonic() - began, 8)

    def test_a_server_that_hangs_on_a_connection_that_is_there(self):
        self.config()
        asking = self.asking()
        self.assertEqual(asking("get /readyz")["code"], 0)
        self.plane.apiserver.pause()
        # All its threads have stopped.
        wait_until(lambda: not self.plane.ready())
        try:
            asking.tell("limit 800")
            answer = asking("get /readyz")
        finally:
            self.plane.apiserver.resume()
        self.assertEqual(answer["code"], -3)
        self.assertIn("the connection is there, and it is silent", answer["error"])
        asking.tell("limit 20000")
        self.assertEqual(asking("get /readyz")["code"], 0)

    def test_a_prefix_before_the_api(self):
        heard = []
        server = Garbage(b"")
        server.handle = lambda sock: (heard.append(sock.recv(65536)),
                                      sock.sendall(http_answer("200 OK", b"{}", ["Content-Type: application/json"])))
        self.addCleanup(server.close)
        self.config(server=f"http://{server.address}/k8s/clusters/c-1/?a=b#c")
        self.assertEqual(self.ask("get /api/v1/pods")[0]["code"], 0)
        self.assertTrue(heard[0].startswith(b"GET /k8s/clusters/c-1/api/v1/pods HTTP/1.1\r\n"), heard)

    def test_servers_that_are_no_urls(self):
        for server, word in (("https://u:p@127.0.0.1", "user name"), ("ftp://127.0.0.1", "http:// nor https://"),
                             ("127.0.0.1:1/x", "HOST:PORT"), ("https://", "no URL"), ("https://a b", "no URL")):
            with self.subTest(server):
                self.config(server=server)
                answer = self.ask("get /")[0]
                self.assertEqual(answer["code"], -10)
                self.assertIn(word, answer["error"])
                self.assertNotIn("u:p", answer["error"])


class Late(unittest.TestCase):
    """What does not come in time: how far it came, after how long, and what to look at. No API server is needed for that."""

    ASKED = "it took the request, and no answer came: it may hang, or be overloaded. Check the process there"
    HANDSHAKE = "it took the connection, and the TLS handshake does not end: it may hang, or not speak TLS there"
    NOBODY = "no connection came about: check the host, the port and firewalls between"
    SILENT = "the connection is there, and it is silent: it may hang, or be overloaded, or the network between is cut"

    def setUp(self):
        self.files = Files()
        self.addCleanup(self.files.close)

    def server(self, server, scheme="http"):
        self.addCleanup(server.close)
        return f"{scheme}://{server.address}"

    def asking(self, url, limit=700, user=(), **cluster):
        self.files.write("c", kubeconfig(url, dict(user), **cluster))
        asking = Asking(self.files, "c")
        self.addCleanup(asking.close)
        asking.tell(f"limit {limit}")
        return asking

    def error(self, url, **how):
        answer = self.asking(url, **how)("get /readyz")
        self.assertEqual(answer["code"], -3, answer)
        return answer["error"]

    def board(self, url, timeout=1, user=(), **cluster):
        """What a board says of it, and the doctor."""
        path = self.files.write("board", kubeconfig(url, dict(user), **cluster))
        with Home(env={"KUBECONFIG": path}) as home:
            done = home.baton("list", "--json", "--timeout", timeout)
            doctor = home.baton("doctor", "--timeout", timeout)
        self.assertEqual(done.code, 69, done)
        error = done.json["sources"][0]["error"]
        # The doctor asks in another order, and its times may differ.
        self.assertIn(error.split(":")[-1].strip(), doctor.out)
        return error

    def check(self, url, what, **how):
        server = url.split("/")[2]
        self.assertRegex(self.error(url, **how), rf"^{url} did not answer within \d\.\d s: {what}")
        self.assertRegex(self.board(url, **how), rf"^\w+://{server} did not answer within \d\.\d s: {what}")

    def test_silence(self):
        self.check(self.server(silent_server()), self.ASKED)

    def test_a_handshake_that_does_not_end(self):
        self.check(self.server(silent_server(), "https"), self.HANDSHAKE)

    def test_a_handshake_that_calls_wait_for_together(self):
        """Those that wait for the connection of the first are told what became of it, not what became of none of their own."""
        answer = self.asking(self.server(silent_server(), "https"))("many 5 /x")
        self.assertEqual(answer["good"], 0)
        self.assertIn(self.HANDSHAKE, answer["error"])

    def test_silence_after_the_handshake(self):
        with Other() as other:
            cert, key = other.issue("mute", "localhost", ["IP:127.0.0.1"])
            url = self.server(tls_server(cert, key), "https")
            self.check(url, self.ASKED, **{"certificate-authority": other.ca})

    def test_nothing_comes_back(self):
        for scheme in ("http", "https"):
            self.check(self.server(BlackHole(), scheme), self.NOBODY)

    def test_calls_that_wait_for_a_connection_that_never_comes(self):
        answer = self.asking(self.server(BlackHole()))("many 5 /x")
        self.assertEqual(answer["good"], 0)
        self.assertIn(self.NOBODY, answer["error"])

    def test_an_answer_that_stops(self):
        url = self.server(Garbage(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", hold=True))
        words = r"began to answer, and then nothing came for \d\.\d s: it may hang, or the network between loses what is large"
        self.assertRegex(self.error(url), words)
        self.assertRegex(self.board(url), words)

    def test_an_answer_that_goes_on_and_on(self):
        url = self.server(Dripping())
        words = r"is still sending its answer after \d\.\d s: a longer timeout waits for all of it"
        self.assertRegex(self.error(url), words)
        self.assertRegex(self.board(url), words)

    def test_silence_on_a_connection_that_was_good(self):
        asking = self.asking(self.server(Answering(1)), limit=10000)
        self.assertEqual(asking("get /x")["code"], 0)
        asking.tell("limit 700")
        answer = asking("get /x")
        self.assertEqual(answer["code"], -3)
        self.assertIn(self.SILENT, answer["error"])

    def test_a_connection_that_is_gone_and_nothing_comes_back(self):
        """What it said before does not count any more."""
        server = Answering(1)
        asking = self.asking(self.server(server), limit=10000)
        self.assertEqual(asking("get /x")["code"], 0)
        server.to_black_hole()
        self.addCleanup(server.hole.close)
        asking.tell("limit 700")
        answer = asking("get /x")
        self.assertEqual(answer["code"], -3)
        self.assertIn(self.NOBODY, answer["error"])

    def test_one_request_of_several_is_not_answered(self):
        """As by an API server whose etcd hangs."""
        server = Answering(99, but=b"GET /slow")
        asking = self.asking(self.server(server), limit=10000)
        self.assertEqual(asking("get /x")["code"], 0)
        asking.tell("limit 700")
        asking.tell("watch /slow")
        asking.run(100)
        answer = asking("get /slow")
        self.assertIn(self.SILENT, answer["error"])
        asking.tell("limit 4000")
        server.later = 0.5
        asking.tell("watch /later")
        answer = asking("get /slow")
        self.assertRegex(answer["error"], r"answers other requests, and one not within \d\.\d s: what it needs for that one, mostly "
                         "its etcd, may hang. Check /readyz")

    def test_what_is_no_http(self):
        for greeting, words in ((b"SSH-2.0-OpenSSH_9.2p1\r\n", r"^what answers at http://127.0.0.1:\d+ does not speak HTTP \("),
                                (b"", "took the request and closed the connection without a word: a server that stops")):
            server = Garbage(greeting, hold=bool(greeting), wait_for_request=not greeting)
            answer = self.asking(self.server(server))("get /readyz")
            self.assertLess(answer["code"], 0)
            self.assertRegex(answer["error"], words + ".*Check the cluster's server$" if not greeting else words)

    def test_who_hangs_up_on_the_handshake(self):
        server = Garbage(b"")
        url = self.server(server, "https")
        answer = self.asking(url)("get /readyz")
        self.assertEqual(answer["code"], -14)
        self.assertIn("took the connection and hung up on the TLS handshake: it speaks no TLS", answer["error"])
        self.assertIn("hung up on the TLS handshake", self.board(url))

    def test_a_handshake_that_fails_for_one_of_two_reasons(self):
        """By TLS 1.2 a client certificate that is missing and ciphers that don't meet are one alert."""
        with Other() as other:
            for server in handshake_failures(other):
                url = self.server(server, "https")
                for error in (self.asking(url, **{"certificate-authority": other.ca})("get /readyz")["error"],
                              self.board(url, **{"certificate-authority": other.ca})):
                    self.assertRegex(error, r"handshake failure\): it asks for a client certificate, and none is configured, or no "
                                     r"cipher is among both its own and ours\. Set client-certificate and client-key .*, or see "
                                     "which ciphers")

    def test_all_connections_are_taken(self):
        """A server of HTTP/1.1, where each watch takes one."""
        asking = self.asking(self.server(Garbage(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", hold=True)))
        for _ in range(8):
            asking.tell("watch /x")
        asking.run(300)
        answer = asking("get /x")
        self.assertEqual(answer["code"], -3)
        self.assertRegex(answer["error"], r"was not asked within \d\.\d s: our connections to it, .* are all in use")

    def test_a_proxy_that_is_silent_or_not_there(self):
        words = "the proxy before https://api.invalid:6443 did not let us through within"
        for server in (silent_server(), BlackHole()):
            proxy = {"proxy-url": self.server(server)}
            self.assertIn(words, self.error("https://api.invalid:6443", **proxy))
            self.assertIn(words, self.board("https://api.invalid:6443", **proxy))
        proxy = {"proxy-url": self.server(silent_server())}
        self.assertIn("no answer of http://api.invalid:80 came through the proxy before it within",
                      self.error("http://api.invalid:80", **proxy))

    def test_a_plugin_that_is_slow(self):
        path = self.files.write("plugin", "#!/bin/sh\necho 'log in, please' >&2\nsleep 60\n")
        os.chmod(path, 0o755)
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": path, "interactiveMode": "Never"}}
        words = rf"^the credential plugin {path} gave no credentials within \d\.\d s; it said: log in, please\. It can't ask"
        url = self.server(silent_server(), "https")
        self.assertRegex(self.error(url, user=user, limit=3000), words)
        self.assertRegex(self.board(url, user=user, timeout=3), words)


class Answering(Listener):
    """Answers so many requests, then says nothing more; and never those that begin with `but`."""

    def __init__(self, n, but=None):
        self.left, self.but, self.later, self.hole = n, but, 0, None
        super().__init__()

    def handle(self, sock):
        while asked := sock.recv(65536):
            if self.left and not (self.but and asked.startswith(self.but)):
                time.sleep(self.later)
                self.left -= 1
                sock.sendall(http_answer("200 OK", b"{}", ["Content-Type: application/json"]).replace(b"close", b"keep-alive"))

    def to_black_hole(self):
        """Everything ends, and whoever comes again is not heard."""
        self.close()
        self.hole = BlackHole(self.port)


class Dripping(Listener):
    """An answer of which a byte comes now and then."""

    def handle(self, sock):
        sock.recv(65536)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            sock.sendall(b" ")
            time.sleep(0.05)


class OldHttp(Live):
    def test_a_server_without_http2_gets_a_connection_for_each_watch(self):
        """A proxy that ends TLS and speaks HTTP/1.1, as ingresses do."""
        front = TlsFront(self.plane)
        self.addCleanup(front.close)
        self.config(server=f"https://{front.address}")
        asking = self.asking()
        for kind in ("namespaces", "configmaps", "pods"):
            asking.tell(f"watch /api/v1/{kind}?watch=1")
        lines, ended, left = asking.until(lambda lines, _: {"Namespace", "ConfigMap"} <= {line["object"]["kind"] for line in lines})
        self.assertEqual((ended, left), ([], 3))
        self.assertEqual(asking("many 20 /api/v1/namespaces/billing")["good"], 20)
        self.assertLessEqual(front.connections, 8)


class Proxies(Live):
    def test_a_proxy_is_used_and_its_refusal_told(self):
        proxy = ConnectProxy(self.plane.port)
        self.addCleanup(proxy.close)
        ca = self.plane.tls.ca
        self.config(**{"certificate-authority": ca, "proxy-url": f"http://user:secret@{proxy.address}"})
        self.assertEqual(self.ask("get /readyz")[0]["code"], 0)
        self.assertEqual(proxy.asked, [f"CONNECT 127.0.0.1:{self.plane.port} HTTP/1.1"])
        proxy.answer = "403 Forbidden"
        answer, = self.ask("get /readyz")
        self.assertEqual(answer["code"], -4)
        self.assertIn("the proxy before", answer["error"])
        self.assertNotIn("secret", answer["error"])
        self.config(**{"certificate-authority": ca, "proxy-url": f"http://127.0.0.1:{free_port()}"})
        self.assertIn("the proxy before", self.ask("get /readyz")[0]["error"])

    def test_the_environment_is_asked_as_kubectl_does(self):
        proxy = ConnectProxy(self.plane.port)
        self.addCleanup(proxy.close)
        url = f"http://{proxy.address}"
        self.config(**{"certificate-authority": self.plane.tls.ca})
        # Never for this machine.
        self.assertEqual(self.ask("get /readyz", HTTPS_PROXY=url)[0]["code"], 0)
        self.assertEqual(proxy.asked, [])
        name = {"certificate-authority": self.plane.tls.ca, "tls-server-name": "localhost"}
        self.config(server="https://api.invalid:6443", **name)
        for env in ({"HTTPS_PROXY": url}, {"https_proxy": url}):
            self.assertEqual(self.ask("get /readyz", **env)[0]["code"], 0)
        self.assertEqual(len(proxy.asked), 2)
        for env in ({"HTTPS_PROXY": url, "NO_PROXY": "api.invalid"}, {"HTTP_PROXY": url}, {"ALL_PROXY": url}):
            self.assertNotEqual(self.ask("get /readyz", **env)[0]["code"], 0)
        self.assertEqual(len(proxy.asked), 2)


class ConnectProxy(Listener):
    """An HTTP proxy that takes CONNECT, whatever the name, to one port of loopback."""

    def __init__(self, target):
        self.target, self.asked, self.answer = Proxy(target), [], "200 Connection established"
        super().__init__()

    def handle(self, sock):
        head = b""
        while b"\r\n\r\n" not in head:
            head += sock.recv(65536)
        self.asked.append(head.split(b"\r\n")[0].decode())
        sock.sendall(f"HTTP/1.1 {self.answer}\r\n\r\n".encode())
        if self.answer.startswith("200"):
            self.target.handle(sock)


if __name__ == "__main__":
    unittest.main()
