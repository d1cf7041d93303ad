"""Who we are to etcd, by password and by certificate; and what is no etcd at all."""

import socket
import time
import unittest

from etcd_rows import PREFIXES, Watching, config, picture, source_error
from servers import (Authority, BlackHole, Etcd, Garbage, Home, Proxy, endless_server, free_port,
                     handshake_failures, html_server, http1_server, lease_hex, on_each, redirect_server, silent_server)


class Password(unittest.TestCase):
    def signed_in(self, etcd, user):
        name, password = user.split(":")
        return config(etcd, more=f", user: {name}, password: {password}")

    @on_each()
    def test_a_user_sees_what_its_role_shows(self, etcd):
        user = etcd.user("viewer", prefix="elections/")
        etcd.enable_auth()
        etcd.put("elections/job/aa", "node-a", etcd.grant(60))
        etcd.put("locks/job/bb", "", etcd.grant(60))
        roles = "roles: {far: {witnesses: [ctl/locks/job]}, near: {witnesses: [ctl/elections/none]}}\n"
        with Home(self.signed_in(etcd, user) + roles) as home:
            answer = home.baton("list", "--json").json
            doctor = home.baton("doctor")
        self.assertEqual([row["id"] for row in answer["singletons"]], ["ctl/elections/job"])
        source = answer["sources"][0]
        self.assertEqual((source["state"], source["server"][:7]), ("ok", "etcd 3."))
        hidden = str(source["hidden"])
        self.assertIn("locks/", hidden)
        # Whoever took what can't be seen for free would be the second one.
        self.assertEqual([(role["name"], role["state"]) for role in answer["roles"]], [("far", "UNKNOWN"), ("near", "FREE")])
        self.assertEqual([role["witnesses"][0]["sight"] for role in answer["roles"]], ["hidden", "absent"])
        self.assertIn("role grant-permission", doctor.out)
        self.assertIn("may not be read", doctor.out)

    @on_each()
    def test_what_may_be_read_within_what_may_not(self, etcd):
        """A wider prefix that is refused hides what is not granted below it, and nothing else."""
        user = etcd.user("viewer", prefix="locks/near/")
        etcd.etcdctl("role", "grant-permission", "viewer", "read", "locks/one")
        etcd.enable_auth()
        for name in ("locks/near/job", "locks/far/job"):
            lease = etcd.grant(60)
            etcd.put(f"{name}/{lease_hex(lease)}", "", lease)
        etcd.put("locks/one", "node-a", etcd.grant(60))
        roles = "roles: {near: {witnesses: [ctl/locks/near/none]}, far: {witnesses: [ctl/locks/far/none]}}\n"
        for outer in ("locks/", '""'):
            layout = f"[{{prefix: {outer}}}, {{prefix: locks/near/, mechanism: lock}}], keys: [locks/one]"
            text = self.signed_in(etcd, user).replace(PREFIXES, layout) + roles
            with Home(text) as home:
                answer = home.baton("list", "--json").json
                doctor = home.baton("doctor").out
            self.assertEqual({row["id"]: row["state"] for row in answer["singletons"]},
                             {"ctl/locks/near/job": "HELD", "ctl/locks/one": "HELD"}, outer)
            hidden, = answer["sources"][0]["hidden"]
            self.assertIn("all keys" if outer == '""' else "keys under locks/", hidden)
            self.assertIn("except", hidden)
            self.assertIn(f"grant-permission ROLE read --prefix=true {outer}", str(answer["sources"][0]["remedies"]))
            self.assertEqual([(role["name"], role["state"]) for role in answer["roles"]], [("near", "FREE"), ("far", "UNKNOWN")])
            self.assertRegex(doctor, r"warn +keys .*may not be read")
            self.assertRegex(doctor, r"ok +keys +locks/near/\*: may be read")
            with Watching(text) as seen:
                seen.state("ok")
                etcd.put("locks/near/new/1a", "", etcd.grant(60, lease=0x1a))
                seen.find(lambda line: line["event"] == "appeared" and "new" in line["id"])
            etcd.revoke(0x1a)

    @on_each()
    def test_leases_with_keys_that_may_not_be_read(self, etcd):
        """Without prefixes names are found by leases: those of which that can't be asked are told of."""
        user = etcd.user("viewer", prefix="elections/")
        etcd.enable_auth()
        for name in ("elections/job", "locks/job"):
            lease = etcd.grant(60)
            etcd.put(f"{name}/{lease_hex(lease)}", "node-a", lease)
        names = "names: [{source: ctl, key: elections/job, name: job}]\n"
        roles = "roles: {far: {witnesses: [ctl/locks/job]}}\n"
        with Home(self.signed_in(etcd, user).replace(f", prefixes: {PREFIXES}", "") + names + roles) as home:
            answer = home.baton("list", "--json").json
            doctor = home.baton("doctor").out
        source = answer["sources"][0]
        self.assertEqual((source["state"], [row["id"] for row in answer["singletons"]]), ("ok", ["ctl/elections/job"]), source)
        self.assertEqual(len(source["hidden"]), 1, source["hidden"])
        self.assertRegex(source["hidden"][0], "leases?|keys under locks/job/")
        self.assertIn("etcdctl role grant-permission ROLE read --prefix=true", source["remedies"][0])
        self.assertEqual([f["code"] for f in source["findings"]], ["hidden"])
        self.assertEqual(answer["roles"][0]["state"], "UNKNOWN")
        self.assertRegex(doctor, r"warn +keys +.*(leases?|locks/job)")
        self.assertIn("etcdctl role grant-permission ROLE read --prefix=true", doctor)

    @on_each()
    def test_what_is_not_looked_at_is_not_free(self, etcd):
        """The config was made narrower, or a role's witness lies outside of it."""
        etcd.put("elections/job/aa", "node-a", etcd.grant(60))
        etcd.put("locks/job/bb", "", etcd.grant(60))
        roles = "roles: {far: {witnesses: [ctl/locks/job]}, near: {witnesses: [ctl/elections/none]}}\n"
        with Home(config(etcd)) as home:
            home.baton("list", "--json")
            home.write_config(config(etcd, "[{prefix: elections/, mechanism: election}]") + roles)
            answer = home.baton("list", "--json").json
            told = home.baton("show", "role/far").out
            home.write_config(config(etcd))
            again = home.baton("show", "ctl/locks/job", "--json").json
        self.assertEqual([row["id"] for row in answer["singletons"]], ["ctl/elections/job"])
        self.assertEqual((answer["sources"][0]["hidden"], answer["sources"][0]["findings"]), ([], []))
        self.assertEqual([(role["state"], role["witnesses"][0]["sight"]) for role in answer["roles"]],
                         [("UNKNOWN", "outside"), ("FREE", "absent")])
        finding, = answer["roles"][0]["findings"]
        self.assertEqual((finding["code"], finding["severity"]), ("hidden", "warn"))
        self.assertIn("prefixes", finding["advice"])
        self.assertIn("not looked at", told)
        self.assertNotIn("released", [event["what"] for event in again["history"]])

    @on_each()
    def test_what_discovery_does_not_find_is_not_free(self, etcd):
        """Without prefixes it finds elections by their leases, and can't tell who holds a plain key or a name that was never found."""
        lease = etcd.grant(60)
        etcd.put(f"elections/job/{lease_hex(lease)}", "node-a", lease)
        etcd.put("locks/plain", "node-b", etcd.grant(60))
        roles = ("roles: {plain: {witnesses: [ctl/locks/plain]}, never: {witnesses: [ctl/elections/none]}, "
                 "found: {witnesses: [ctl/elections/job]}, named: {witnesses: [ctl/elections/named]}}\n")
        found = config(etcd, prefixes=None) + "names:\n  - {source: ctl, key: elections/named, name: nightly}\n" + roles
        with Home(config(etcd)) as home:
            # The memory knows both, from a wider config.
            wide = home.baton("list", "--json").json
            home.write_config(found)
            answer = home.baton("list", "--json").json
            etcd.etcdctl("del", f"elections/job/{lease_hex(lease)}")
            free = home.baton("list", "--json").json
            home.write_config(config(etcd))
            again = home.baton("show", "ctl/locks/plain", "--json").json
        self.assertNotIn("released", [event["what"] for event in again["history"]])
        self.assertEqual({row["id"] for row in wide["singletons"]}, {"ctl/elections/job", "ctl/locks/plain"})
        seen = lambda told: {role["name"]: (role["state"], role["witnesses"][0]["sight"]) for role in told["roles"]}
        self.assertEqual(seen(answer), {"plain": ("UNKNOWN", "outside"), "never": ("UNKNOWN", "outside"),
                                        "found": ("HELD", "there"), "named": ("FREE", "there")})
        self.assertEqual((answer["sources"][0]["hidden"], answer["sources"][0]["findings"]), ([], []))
        finding, = next(role for role in answer["roles"] if role["name"] == "plain")["findings"]
        self.assertIn("prefixes or keys", finding["advice"])
        # An election that was found once stays a row; a plain key does not.
        self.assertEqual({row["id"]: row["state"] for row in free["singletons"]},
                         {"ctl/elections/job": "FREE", "ctl/elections/named": "FREE"})
        self.assertEqual(seen(free)["found"], ("FREE", "there"))

    @on_each()
    def test_what_another_user_saw_was_not_let_go(self, etcd):
        """The memory of what is held is not overruled by one who may not look there."""
        etcd.put("elections/job/aa", "node-a", etcd.grant(60))
        etcd.put("locks/job/bb", "", etcd.grant(60))
        user, whole = etcd.user("viewer", prefix="elections/"), etcd.user("all", prefix="")
        etcd.enable_auth()
        with Home(self.signed_in(etcd, whole)) as home:
            home.baton("list", "--json")
            home.write_config(self.signed_in(etcd, user))
            seen = home.baton("list", "--json").json["singletons"]
            home.write_config(self.signed_in(etcd, whole))
            told = home.baton("show", "ctl/locks/job", "--json").json
        self.assertEqual([row["id"] for row in seen], ["ctl/elections/job"])
        self.assertEqual(told["singleton"]["state"], "HELD")
        self.assertNotIn("released", [event["what"] for event in told["history"]], told["history"])

    @on_each()
    def test_a_key_that_may_not_be_read_is_not_free(self, etcd):
        """The config names both; of one it is known that nobody holds it."""
        user = etcd.user("viewer", prefix="elections/")
        etcd.enable_auth()
        _, rows = picture(self.signed_in(etcd, user).replace("prefixes:", "keys: [elections/one, locks/one], prefixes:"))
        self.assertEqual({name: row["state"] for name, row in rows.items()}, {"ctl/elections/one": "FREE"})

    @on_each()
    def test_a_wrong_password_is_said_once_and_not_tried_again(self, etcd):
        user = etcd.user("viewer", prefix="elections/")
        etcd.enable_auth()
        with Watching(self.signed_in(etcd, user + "-wrong")) as seen:
            source = seen.state("failing")
            self.assertIn("viewer", source["error"])
            self.assertNotIn("only-for-tests", source["error"])
            time.sleep(2)
        log = etcd.members[0].process.log_text()
        self.assertLess(log.count("invalid password"), 3, log)

    @on_each()
    def test_without_a_user_it_says_what_to_set(self, etcd):
        etcd.enable_auth()
        error, code, _ = source_error(config(etcd))
        self.assertEqual(code, 69)
        self.assertIn("user and password", error)

    @on_each()
    def test_a_user_is_not_needed_where_authentication_is_off(self, etcd):
        etcd.put("elections/job/aa", "node-a", etcd.grant(60))
        _, rows = picture(self.signed_in(etcd, "viewer:whatever"))
        self.assertIn("ctl/elections/job", rows)

    @on_each(args=["--auth-token-ttl", "2"])
    def test_a_token_that_expires_is_renewed(self, etcd):
        user = etcd.user("viewer", prefix="")
        etcd.enable_auth()
        with Watching(self.signed_in(etcd, user)) as seen:
            seen.state("ok")
            time.sleep(5)
            etcd.put("elections/job/aa", "node-a", etcd.grant(60))
            seen.leader("node-a")
            told = [line["source"] for _, line in seen.lines if line["event"] == "source"]
            self.assertNotIn("failing", [source["state"] for source in told], told)

    @on_each()
    def test_a_restarted_server_forgets_tokens_and_gets_a_new_one(self, etcd):
        user = etcd.user("viewer", prefix="")
        etcd.enable_auth()
        with Watching(self.signed_in(etcd, user)) as seen:
            seen.state("ok")
            etcd.members[0].kill9()
            seen.state("failing")
            before = time.monotonic()
            etcd.members[0].start()
            seen.state("ok", after=before)
            etcd.put("elections/job/aa", "node-a", etcd.grant(60))
            seen.leader("node-a")

    @on_each()
    def test_the_environment_of_etcdctl_is_enough(self, etcd):
        etcd.candidate("elections/job", "node-a", ttl=60, keep=False)
        etcd.enable_auth()
        with Home(env=etcd.env()) as home:
            answer = home.baton("list", "--json").json
        self.assertEqual([row["id"] for row in answer["singletons"]], ["etcd/elections/job"])


class Tls(unittest.TestCase):
    @on_each(tls=Authority)
    def test_names_and_authorities_are_checked(self, etcd):
        etcd.put("elections/job/aa", "node-a")
        ca = f", ca: {etcd.tls.ca}"
        _, rows = picture(config(etcd, more=ca))
        self.assertIn("ctl/elections/job", rows)
        _, rows = picture(config(etcd, more=ca + ", server_name: localhost"))
        self.assertIn("ctl/elections/job", rows)
        error, code, _ = source_error(config(etcd, more=ca + ", server_name: other.example"))
        self.assertEqual(code, 69)
        self.assertRegex(error, "certificate.*server_name")
        error, _, _ = source_error(config(etcd))
        self.assertRegex(error, "certificate.*set ca")
        plain = [f"http://127.0.0.1:{etcd.port}"]
        error, _, _ = source_error(config(etcd, endpoints=plain))
        self.assertIn("https://", error)

    @on_each(tls=Authority)
    def test_many_calls_on_one_connection(self, etcd):
        made = [etcd.grant(600 + n) for n in range(200)]
        for n, lease in enumerate(made):
            etcd.put(f"elections/j{n}/{lease_hex(lease)}", "me", lease)
        _, rows = picture(config(etcd, more=f", ca: {etcd.tls.ca}"))
        self.assertEqual([rows[f"ctl/elections/j{n}"]["lease_granted_ms"] for n in range(200)],
                         [(600 + n) * 1000 for n in range(200)])

    @on_each(tls=Authority, client_auth=True)
    def test_a_client_certificate_is_asked_for_and_names_the_user(self, etcd):
        ca = f", ca: {etcd.tls.ca}"
        cert, key = etcd.client_cert("root")
        error, code, _ = source_error(config(etcd, more=ca))
        self.assertEqual(code, 69)
        self.assertRegex(error, "client certificate.*cert and key")
        other = Authority()
        self.addCleanup(other.close)
        error, code, _ = source_error(config(etcd, more=ca + f", cert: {other.cert}, key: {other.key}"))
        self.assertEqual(code, 69)
        self.assertRegex(error, "client certificate and (does )?not accept ours")
        etcd.put("elections/job/aa", "node-a")
        etcd.enable_auth()
        _, rows = picture(config(etcd, more=ca + f", cert: {cert}, key: {key}"))
        self.assertIn("ctl/elections/job", rows)

    @on_each(peer_tls=Authority)
    def test_the_port_of_its_peers_with_certificates(self, etcd):
        """It tells nothing to whoever shows none of its certificates: so it can only be suspected. With one it is known."""
        peers, other = etcd.peer_tls, Authority()
        self.addCleanup(other.close)
        at = {"endpoints": [etcd.members[0].peer_url]}
        strange = f", cert: {other.cert}, key: {other.key}"
        for given, words in (("", "none is configured"), (strange, "(does )?not accept ours")):
            error, code, _ = source_error(config(etcd, more=f", ca: {peers.ca}{given}", **at))
            self.assertEqual(code, 69)
            self.assertRegex(error, f"ask(s)? for a client certificate and {words}.*peers.*2380.*listen-client-urls.*2379")
        ours = f", ca: {peers.ca}, cert: {peers.cert}, key: {peers.key}"
        error, _, _ = source_error(config(etcd, more=ours, **at))
        self.assertRegex(error, "is a port of etcd, and not the one for its clients.*2379")

    def test_tls_to_a_plain_port(self):
        with Etcd() as etcd:
            error, _, _ = source_error(config(etcd, endpoints=[f"https://127.0.0.1:{etcd.port}"]))
            self.assertIn("http://", error)


class Ending(Garbage):
    """Answers, says that this was all, and reads on: the answer arrives whole, and then the connection ends."""

    def handle(self, sock):
        sock.recv(65536)
        sock.sendall(self.answer)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass


class NoEtcd(unittest.TestCase):
    def test_a_handshake_that_does_not_end(self):
        server = silent_server()
        try:
            error, code, took = source_error(config(None, endpoints=[f"https://127.0.0.1:{server.port}"]), "--timeout", "2")
        finally:
            server.close()
        self.assertEqual(code, 69)
        self.assertRegex(error, "did not answer within.*took the connection, and the TLS handshake does not end")
        self.assertLess(took, 10)

    def test_a_handshake_that_fails_for_one_of_two_reasons(self):
        """By TLS 1.2 a client certificate that is missing and ciphers that don't meet are one alert."""
        authority = Authority()
        self.addCleanup(authority.close)
        for server in handshake_failures(authority):
            self.addCleanup(server.close)
            text = config(None, endpoints=[f"https://127.0.0.1:{server.port}"], more=f", ca: {authority.ca}")
            error, code, _ = source_error(text)
            self.assertEqual(code, 69)
            self.assertRegex(error, r"handshake failure\): it asks for a client certificate, and none is configured, or no cipher is "
                             r"among both its own and ours\. Set cert and key .*, or see which ciphers .*peers, mostly 2380")

    def says(self, server, words, *args):
        try:
            error, code, took = source_error(config(None, endpoints=[f"http://127.0.0.1:{server.port}"]), *args)
        finally:
            server.close()
        self.assertEqual(code, 69, error)
        self.assertRegex(error, words)
        self.assertLess(took, 15)
        return error

    def test_nothing_comes_back(self):
        hole = BlackHole()
        self.addCleanup(hole.close)
        self.says(hole, r"did not answer within \d\.\d s: no connection came about", "--timeout", "2")

    def test_the_port_of_its_peers(self):
        with Etcd("current") as etcd:
            error, code, _ = source_error(config(etcd, endpoints=[etcd.members[0].peer_url]))
        self.assertEqual(code, 69)
        self.assertRegex(error, "is a port of etcd, and not the one for its clients.*2379")

    def test_each_of_several_is_told(self):
        hole, free = BlackHole(), free_port()
        self.addCleanup(hole.close)
        urls = [f"http://{hole.address}", f"http://127.0.0.1:{free}"]
        error, _, _ = source_error(config(None, endpoints=urls), "--timeout", "2")
        self.assertRegex(error, rf"none of the 2 endpoints answers: http://{hole.address} did not answer within \d\.\d s: no connection")
        self.assertIn(f"can't connect to http://127.0.0.1:{free}: Connection refused", error)
        error, _, _ = source_error(config(None, endpoints=[f"http://127.0.0.1:{free_port()}" for _ in range(9)]))
        self.assertRegex(error, "none of the 9 endpoints answers: .*; and [3-6] more$")

    def test_the_doctor_looks_past_one_that_is_not_there(self):
        hole = BlackHole()
        self.addCleanup(hole.close)
        with Etcd() as etcd, Home(config(etcd, endpoints=[f"http://{hole.address}", etcd.url])) as home:
            done = home.baton("doctor", "--timeout", "2")
        self.assertRegex(done.out, rf"fail +endpoint +http://{hole.address} did not answer within \d\.\d s: no connection came about")
        self.assertRegex(done.out, f"ok +endpoint +{etcd.url}: etcd 3")
        self.assertRegex(done.out, "ok +alarm")

    def test_a_connection_that_is_cut_off_at_once(self):
        road = Proxy(free_port())
        self.addCleanup(road.close)
        road.refuse()
        error, _, _ = source_error(config(None, endpoints=[f"http://{road.address}"]))
        self.assertRegex(error, f"{road.address} takes connections and (cuts them off at once|closes them without a word)")

    def test_nobody_listens(self):
        error, code, took = source_error(config(None, endpoints=[f"http://127.0.0.1:{free_port()}"]))
        self.assertEqual(code, 69)
        self.assertIn("refused", error)
        self.assertLess(took, 8)

    def test_what_was_never_read_is_unknown_and_not_0(self):
        source, _ = picture(config(None, endpoints=[f"http://127.0.0.1:{free_port()}"]), code=69)
        self.assertNotIn("keys_ignored", source["detail"])
        self.assertNotIn("leases_unread", source["detail"])

    def test_a_name_that_is_none(self):
        error, _, _ = source_error(config(None, endpoints=["http://no-such-host.invalid:2379"]))
        self.assertIn("no-such-host.invalid", error)

    def test_a_server_of_http_1(self):
        self.says(http1_server(), r"HTTP/1\.1")

    def test_a_page_of_html(self):
        self.says(html_server(), r"HTTP/1\.1.*500")

    def test_a_redirect_is_not_followed(self):
        self.says(redirect_server("http://127.0.0.1:1/"), "302|HTTP/1.1")

    def test_silence(self):
        self.says(silent_server(), "did not answer|took the connection", "--timeout", "2")

    def test_zeros_without_an_end(self):
        self.says(endless_server(), "HTTP/2", "--timeout", "3")

    def test_a_connection_that_is_closed_at_once(self):
        self.says(Ending(b""), "closes them without a word|HTTP/2")

    def test_settings_and_then_the_end(self):
        self.says(Garbage(b"\0\0\0\4\0\0\0\0\0"), "HTTP/2|broke")

    def test_settings_and_goaway(self):
        goaway = b"\0\0\x08\7\0\0\0\0\0" + b"\0\0\0\0" + b"\0\0\0\2"
        self.says(Garbage(b"\0\0\0\4\0\0\0\0\0" + goaway), "HTTP/2|broke|connect")

    def test_a_reset_stream(self):
        reset = b"\0\0\4\3\0\0\0\0\1" + b"\0\0\0\2"
        self.says(Garbage(b"\0\0\0\4\0\0\0\0\0" + reset, hold=True), "HTTP/2|broke", "--timeout", "3")

    def framed(self, *fields, trailers=b""):
        """A response to stream 1 in HTTP/2: status 200 and the content type as literals, then data."""
        def literal(name, value):
            return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
        head = b"\x88" + literal(b"content-type", b"application/grpc")
        out = b"\0\0\0\4\0\0\0\0\0" + len(head).to_bytes(3, "big") + b"\1\4\0\0\0\1" + head
        for field in fields:
            out += len(field).to_bytes(3, "big") + b"\0\0\0\0\0\1" + field
        if trailers:
            block = b"".join(literal(*pair) for pair in trailers)
            out += len(block).to_bytes(3, "big") + b"\1\5\0\0\0\1" + block
        return out

    def test_an_answer_cut_in_the_middle(self):
        self.says(Ending(self.framed(b"\0\0\0\0\x64abc")), "middle of an answer|broke")

    def test_a_message_that_claims_gigabytes(self):
        self.says(Garbage(self.framed(b"\0\xff\xff\xff\xffabc"), hold=True), "limit")

    def test_a_compressed_message(self):
        self.says(Garbage(self.framed(b"\1\0\0\0\0"), hold=True), "compressed")

    def test_no_protobuf(self):
        trailers = [(b"grpc-status", b"0")]
        self.says(Garbage(self.framed(b"\0\0\0\0\3\xff\xff\xff", trailers=trailers), hold=True), ".", "--timeout", "2")

    def test_an_error_in_the_trailers_is_decoded_and_sanitised(self):
        trailers = [(b"grpc-status", b"13"), (b"grpc-message", b"no%20way%1b[31m%25")]
        error = self.says(Garbage(self.framed(trailers=trailers), hold=True), ".", "--timeout", "2")
        self.assertNotIn("\x1b", error)


if __name__ == "__main__":
    unittest.main()
