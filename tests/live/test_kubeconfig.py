"""kubeconfigs as baton reads them, beside kubectl on the same files."""

import base64
import json
import os
import random
import threading
import unittest

from kube_ask import Files
from servers import Home

SERVER = "https://127.0.0.1:1"  # where nobody listens: kubectl says so when it has nothing against the file


def config(cluster=None, user=None, context=None, **more):
    """A kubeconfig with one of each, as an object."""
    return {"apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": SERVER} if cluster is None else cluster}],
            "users": [{"name": "u", "user": {"token": "secret-of-tests"} if user is None else user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"} if context is None else context}], **more}


def yaml(value, indent=0):
    """As YAML in blocks, with all texts in quotes."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        lines = [f"{pad}{json.dumps(key)}:{_below(item, indent)}" for key, item in value.items()]
    elif isinstance(value, list) and value:
        lines = [f"{pad}-{_below(item, indent)}" for item in value]
    else:
        return pad + json.dumps(value)
    return "\n".join(lines)


def _below(value, indent):
    if isinstance(value, (dict, list)) and value:
        return "\n" + yaml(value, indent + 1)
    return " " + json.dumps(value)


# field of `access`, section of `kubectl config view`, field there
PLAIN = [
    ("server", "cluster", "server"), ("server_name", "cluster", "tls-server-name"),
    ("ca_file", "cluster", "certificate-authority"), ("ca", "cluster", "certificate-authority-data"),
    ("proxy_url", "cluster", "proxy-url"), ("token", "user", "token"), ("token_file", "user", "tokenFile"),
    ("cert_file", "user", "client-certificate"), ("cert", "user", "client-certificate-data"),
    ("key_file", "user", "client-key"), ("key", "user", "client-key-data"), ("as", "user", "as"),
    ("as_uid", "user", "as-uid"),
]


PATHS = ("ca_file", "token_file", "cert_file", "key_file")


def absolute(folder, path):
    """As kubectl does before it uses a path; `config view` shows them as they are written."""
    return path if path is None or path.startswith("/") else os.path.normpath(os.path.join(folder, path))


def seen(view, name, folder_of):
    """
    What `kubectl config view` has of a context, in the words of kube-ask. folder_of(word, name): of the file that an entry
    comes from.
    """
    entries = {word: {item["name"]: item[word] for item in view.get(word + "s") or []}
               for word in ("cluster", "user", "context")}
    context = entries["context"][name]
    cluster, user = entries["cluster"][context["cluster"]], entries["user"].get(context.get("user"), {})
    of = {"cluster": cluster, "user": user}
    found = {ours: of[section].get(theirs) for ours, section, theirs in PLAIN}
    found.update({
        "context": name, "cluster": context["cluster"], "user": context.get("user") or None,
        "namespace": context.get("namespace") or "default",
        "insecure": cluster.get("insecure-skip-tls-verify", False),
        "no_compression": cluster.get("disable-compression", False),
        "as_groups": user.get("as-groups") or [],
        "as_extra": sorted([key, item] for key, items in (user.get("as-user-extra") or {}).items() for item in items),
        "exec": _exec(user.get("exec"), cluster, folder_of("user", context.get("user"))),
    })
    for field in PATHS:
        word, key = ("cluster", "cluster") if field == "ca_file" else ("user", "user")
        found[field] = absolute(folder_of(word, context.get(key)), found[field])
    return found


def _exec(exec_, cluster, folder):
    if not exec_:
        return None
    command = exec_["command"]
    told = [item["extension"] for item in cluster.get("extensions") or []
            if item["name"] == "client.authentication.k8s.io/exec"]
    return {"command": absolute(folder, command) if "/" in command else command, "args": exec_["args"] or [],
            "env": [[item["name"], item["value"]] for item in exec_["env"] or []],
            "version": 1 if exec_["apiVersion"].endswith("/v1") else 0, "cluster_info": exec_["provideClusterInfo"],
            "hint": exec_.get("installHint"), "cluster_config": told[0] if told else None}


def ours(access):
    """The same of kube-ask's answer."""
    assert "error" not in access, access
    access = {key: value for key, value in access.items() if key not in ("file", "method")}
    access["as_extra"] = sorted(access["as_extra"])
    if access["exec"] and access["exec"]["cluster_config"]:
        access["exec"]["cluster_config"] = json.loads(access["exec"]["cluster_config"])
    return access


class Same(unittest.TestCase):
    maxDiff = None

    def compare(self, files, *names):
        view = files.view(*names)
        for context in view["contexts"] or []:
            with self.subTest(context=context["name"]):
                self.assertEqual(ours(files.access(*names, context=context["name"])),
                                 seen(view, context["name"], lambda *_: files.path))

    def generate(self, rng, files):
        """One file's object: entries with names that other files have too, and paths to files that are there."""
        def path(folder):
            name = f"{rng.choice(['ca', 'a b', 'ü'])}-{rng.randrange(100)}.pem"
            files.write(os.path.join(folder, name), "-----BEGIN CERTIFICATE-----\n")
            files.write(os.path.join("top", name), "x")
            return rng.choice([name, "./" + name, "../top/" + name, f"x/..//{name}", os.path.join(files.path, folder, name)])

        def some(chance, value):
            return value() if rng.random() < chance else None

        def cluster(folder):
            fields = {"server": f"https://10.0.0.{rng.randrange(9)}:6443{rng.choice(['', '/', '/k8s/c-1'])}",
                      "tls-server-name": some(.3, lambda: "api.example"), "proxy-url": some(.2, lambda: "http://127.0.0.1:3128"),
                      "disable-compression": some(.2, lambda: rng.random() < .5), "unknown-field": some(.3, lambda: [1, {"a": 2}])}
            kind = rng.randrange(4)
            if kind == 0:
                fields["certificate-authority"] = path(folder)
            elif kind == 1:
                fields["certificate-authority-data"] = base64.b64encode(rng.randbytes(rng.randrange(1, 40))).decode()
            elif kind == 2:
                fields["insecure-skip-tls-verify"] = True
            if rng.random() < .4:
                fields["extensions"] = [{"name": "client.authentication.k8s.io/exec",
                                         "extension": rng.choice([{"audience": "x", "n": 3}, "text", [1.5, None, True]])}]
            return fields

        def user(folder):
            fields = {"as": some(.3, lambda: "ada"), "unknown": some(.2, lambda: {"x": "y"})}
            if fields["as"]:
                fields["as-uid"] = some(.5, lambda: "u-1")
                fields["as-groups"] = some(.5, lambda: ["a", "b c"])
                fields["as-user-extra"] = some(.5, lambda: {"scopes": ["x", "y"], "e/f%": ["z"]})
            kind = rng.randrange(6)
            if kind == 0:
                fields["token"] = rng.choice(["t", "a.b.c", "ümlaut", "0x12", "yes"])
            elif kind == 1:
                fields["tokenFile"] = path(folder)
            elif kind == 2:
                fields["client-certificate"], fields["client-key"] = path(folder), path(folder)
            elif kind == 3:
                fields["client-certificate-data"] = base64.b64encode(b"cert").decode()
                fields["client-key-data"] = base64.b64encode(b"key!").decode()
            elif kind == 4:
                v1 = rng.random() < .5
                fields["exec"] = {"apiVersion": f"client.authentication.k8s.io/v1{'' if v1 else 'beta1'}",
                                  "command": rng.choice(["plugin", "./plugin", "bin/../plugin", "/opt/plugin"]),
                                  "args": some(.5, lambda: ["get", "token", ""]),
                                  "env": some(.5, lambda: [{"name": "A", "value": "b"}, {"name": "C", "value": ""}]),
                                  "installHint": some(.3, lambda: "install it"),
                                  "provideClusterInfo": some(.5, lambda: True),
                                  "interactiveMode": rng.choice(["Never", "IfAvailable"]) if v1 else None}
            return fields

        names = ["a", "b", "prod/eu", "ü", "", "x y"]
        folder = rng.choice(["one", "two", "three"])
        clusters = {rng.choice(names): cluster(folder) for _ in range(rng.randrange(2, 6))}
        users = {rng.choice(names): user(folder) for _ in range(rng.randrange(2, 6))}
        contexts = {rng.choice(names): {"cluster": rng.choice(names[:3]), "user": rng.choice(names[:3]),
                                        "namespace": some(.4, lambda: "billing")} for _ in range(rng.randrange(5))}
        return folder, {"apiVersion": "v1", "kind": "Config", "current-context": rng.choice(["", "a", "b"]),
                        "clusters": [{"name": name, "cluster": item} for name, item in clusters.items()],
                        "users": [{"name": name, "user": item} for name, item in users.items()],
                        "contexts": [{"name": name, "context": item} for name, item in contexts.items()]}

    def test_what_is_generated_is_read_alike(self):
        compared = 0
        for seed in range(30):
            rng = random.Random(seed)
            with self.subTest(seed=seed), Files() as files:
                os.makedirs(os.path.join(files.path, "x"), exist_ok=True)
                names, folders = [], {}
                for i in range(rng.randrange(1, 4)):
                    folder, made = self.generate(rng, files)
                    os.makedirs(os.path.join(files.path, folder, "x"), exist_ok=True)
                    text = json.dumps(made, ensure_ascii=False) if rng.random() < .4 else yaml(made)
                    names.append(os.path.join(folder, f"config-{i}"))
                    files.write(names[-1], text)
                    for word in ("cluster", "user"):
                        for item in made[word + "s"]:
                            folders.setdefault((word, item["name"]), os.path.join(files.path, folder))
                names.insert(rng.randrange(len(names) + 1), rng.choice(["missing", names[0]]))
                view = files.view(*names)
                clusters = {item["name"] for item in view["clusters"] or []}
                users = {item["name"] for item in view["users"] or []}
                for context in view["contexts"] or []:
                    name, fields = context["name"], context["context"]
                    answer = files.access(*names, context=name) if name else None
                    if not name:
                        continue
                    if fields["cluster"] in clusters and fields["user"] in users:
                        self.assertEqual(ours(answer), seen(view, name, lambda *entry: folders[entry]))
                        compared += 1
                    else:
                        self.assertEqual(answer["code"], -10, answer)
        self.assertGreater(compared, 25)

    def test_hand_written_forms(self):
        data = base64.b64encode(b"x" * 100).decode()
        split = "\n".join(data[i:i + 40] for i in range(0, len(data), 40))
        for text in (
            yaml(config()), json.dumps(config()), "---\n" + yaml(config()) + "\n...\n", yaml(config()).replace("\n", "\r\n"),
            "# a comment\n" + yaml(config()) + "\n", "\ufeff" + yaml(config()), json.dumps(config(), indent=1),
            yaml(config(user={"token": "é\u2028x"})),
            yaml(config(user={})), yaml(config(user=None)).replace('"token": "secret-of-tests"', "token: >-\n          folded"),
            yaml(config(cluster={"server": SERVER, "certificate-authority-data": split})),
            yaml(config(cluster={"server": SERVER, "tls-server-name": None, "extensions": None})),
            yaml(config(cluster={"server": "127.0.0.1:1"})), yaml(config(context={"cluster": "c"})),
            yaml(config(user={"token": "a", "exec": None, "auth-provider": None})),
            yaml({key: value for key, value in config().items() if key not in ("kind", "apiVersion")}),
            yaml(config(preferences={"colors": True, "extensions": [{"name": "a", "extension": {}}]}, more=[1])),
            yaml(config()) + "\n---\na: [\n", yaml(config()) + '\n"users": [{"name": "u", "user": {"token": "last"}}]\n',
            yaml(config()) + '\n"users": [{"name": "u", "user": {"token": "a", "token": "b"}}]\n',
            yaml(config()).replace('"secret-of-tests"', "&t secret").replace('"Config"', "&k Config") +
            '\nx: *t\n"users": [&u {"name": "u", "user": &v {"token": *t}}, {"name": v, "user": *v}]\n',
            yaml(config()).replace('"x"', "x").replace('"c"', "2001-01-01").replace('"u"', "1:30"),
            yaml(config(cluster={"server": SERVER})).replace(f'"server": "{SERVER}"', f"server: {SERVER}\n      insecure-skip-tls-verify: on"),
        ):
            with self.subTest(text=text[:200]), Files(c=text) as files:
                self.compare(files, "c")

    def test_the_current_context_alone(self):
        with Files(a=yaml(config()), b=yaml(config(**{"current-context": "y", "contexts": [
                {"name": "y", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}]}))) as files:
            for names in (("a", "b"), ("b", "a"), ("missing", "", "b"), ("b", "b")):
                view = files.view(*names, words=["--minify"])
                self.assertEqual(ours(files.access(*names)), seen(view, view["current-context"], lambda *_: files.path))

    def test_the_files_are_those_that_flatten_takes_in(self):
        with Files(**{"sub/c": yaml(config(cluster={"server": SERVER, "certificate-authority": "../ca.pem"},
                                           user={"client-certificate": "cert.pem", "client-key": "./key.pem"})),
                      "ca.pem": "the ca", "sub/cert.pem": "the cert", "sub/key.pem": "the key"}) as files:
            view, access = files.view("sub/c", words=["--flatten"]), files.access("sub/c")
            for ours_, section, theirs in (("ca_file", "clusters", "certificate-authority-data"),
                                           ("cert_file", "users", "client-certificate-data"),
                                           ("key_file", "users", "client-key-data")):
                with open(access[ours_], "rb") as file:
                    self.assertEqual(base64.b64encode(file.read()).decode(), view[section][0][section[:-1]][theirs])

    def test_home_is_looked_at_where_nothing_is_named(self):
        with Files(**{".kube/config": yaml(config(user={"token": "of-home"}))}) as files:
            self.assertEqual(files.access()["token"], "of-home")
            self.assertEqual(files.access(KUBECONFIG="")["token"], "of-home")
            self.assertEqual(files.access("missing")["code"], -12)


def exec_(**fields):
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "true", "interactiveMode": "Never", **fields}}


DATA = base64.b64encode(b"data").decode()
TWO = [{"name": "c", "cluster": {"server": SERVER}}] * 2

# What the file is; a word that our message must have. Each is one that kubectl refuses too.
WRONG = {
    "not YAML": ("a: [", "not YAML"),
    "a tab": ("a:\n\tb: c", "not YAML"),
    "a list": ("- a", "a map"),
    "text": ("hello", "a map"),
    "another kind": ("kind: Pod\napiVersion: v1", "kind"),
    "another version": ("kind: Config\napiVersion: v2", "apiVersion"),
    "kind is a number": ("kind: 1", "kind"),
    "bytes that are no UTF-8": (b"a: \xff\xfe", "UTF-8"),
    "clusters are a map": (yaml(config(clusters={"c": {"server": SERVER}})), "list"),
    "a cluster is text": (yaml(config(clusters=["c"])), "map"),
    "a cluster's fields are a list": (yaml(config(clusters=[{"name": "c", "cluster": ["a"]}])), "map"),
    "two clusters of a name": (yaml(config(clusters=TWO)), "again"),
    "two users of a name": (yaml(config(users=[{"name": "u", "user": {}}] * 2)), "again"),
    "two contexts of a name": (yaml(config(contexts=[{"name": "x", "context": {}}] * 2)), "again"),
    "two extensions of a name": (yaml(config(extensions=[{"name": "e", "extension": {}}] * 2)), "extension"),
    "a name that is a number": (yaml(config()).replace('"name": "c"', '"name": 12'), "quotes"),
    "a name that is yes": (yaml(config()).replace('"name": "c"', '"name": yes'), "quotes"),
    "a token that is a number": (yaml(config(user={"token": 12345})), "quotes"),
    "a token that is hexadecimal": (yaml(config()).replace('"secret-of-tests"', "0x1f"), "quotes"),
    "a token with underscores": (yaml(config()).replace('"secret-of-tests"', "1_000"), "quotes"),
    "a token that is a float": (yaml(config()).replace('"secret-of-tests"', "1e3"), "quotes"),
    "a token that is off": (yaml(config()).replace('"secret-of-tests"', "off"), "quotes"),
    "a token that is a list": (yaml(config(user={"token": ["a"]})), "token must be text"),
    "a token with a line end": (yaml(config(user={"token": "a\nb"})), "line end"),
    "insecure in quotes": (yaml(config(cluster={"server": SERVER, "insecure-skip-tls-verify": "true"})), "true or false"),
    "insecure is a number": (yaml(config(cluster={"server": SERVER, "insecure-skip-tls-verify": 1})), "true or false"),
    "data that is no base64": (yaml(config(user={"client-key-data": "%%%"})), "base64"),
    "data that is cut": (yaml(config(user={"client-key-data": "YQ"})), "base64"),
    "data with a rest": (yaml(config(user={"client-key-data": "YQ==YQ=="})), "base64"),
    "data with a blank": (yaml(config(user={"client-key-data": "YW Fh"})), "base64"),
    "groups are text": (yaml(config(user={"token": "t", "as": "a", "as-groups": "g"})), "as-groups"),
    "a group is a number": (yaml(config(user={"token": "t", "as": "a", "as-groups": [1]})), "as-groups"),
    "extra is a list": (yaml(config(user={"token": "t", "as": "a", "as-user-extra": ["g"]})), "as-user-extra"),
    "an extra's values are text": (yaml(config(user={"token": "t", "as": "a", "as-user-extra": {"g": "h"}})), "as-user-extra"),
    "groups without a user to be": (yaml(config(user={"token": "t", "as-groups": ["g"]})), "need as"),
    "a uid without a user to be": (yaml(config(user={"token": "t", "as-uid": "g"})), "need as"),
    "extra without a user to be": (yaml(config(user={"token": "t", "as-user-extra": {"g": ["h"]}})), "need as"),
    "current-context is a number": (yaml(config(**{"current-context": 3})), "current-context"),
    "current-context names none": (yaml(config(**{"current-context": "gone"})), "gone"),
    "a CA twice": (yaml(config(cluster={"server": SERVER, "certificate-authority": "c", "certificate-authority-data": DATA})), "both"),
    "a CA that is not there": (yaml(config(cluster={"server": SERVER, "certificate-authority": "gone.pem"})), "gone.pem"),
    "a CA and no check": (yaml(config(cluster={"server": SERVER, "certificate-authority-data": DATA,
                                               "insecure-skip-tls-verify": True})), "leave one"),
    "a user that is not there": (yaml(config(context={"cluster": "c", "user": "gone"})), "gone"),
    "a proxy of another kind": (yaml(config(cluster={"server": SERVER, "proxy-url": "ftp://p"})), "proxy-url"),
    "a proxy without a scheme": (yaml(config(cluster={"server": SERVER, "proxy-url": "p:3128"})), "proxy-url"),
    "a certificate without a key": (yaml(config(user={"client-certificate-data": DATA})), "without client-key"),
    "a certificate twice": (yaml(config(user={"client-certificate": "c", "client-certificate-data": DATA,
                                              "client-key-data": DATA})), "both"),
    "a key twice": (yaml(config(user={"client-certificate-data": DATA, "client-key-data": DATA, "client-key": "c"})), "both"),
    "a certificate that is not there": (yaml(config(user={"client-certificate": "gone.pem", "client-key-data": DATA})), "gone.pem"),
    "a key that is not there": (yaml(config(user={"client-certificate-data": DATA, "client-key": "gone.pem"})), "gone.pem"),
    "a token file that is not there": (yaml(config(user={"tokenFile": "gone"})), "gone"),
    "a plugin without a command": (yaml(config(user=exec_(command=None))), "command"),
    "a plugin without a version": (yaml(config(user=exec_(apiVersion=None))), "apiVersion"),
    "a plugin of an old version": (yaml(config(user=exec_(apiVersion="client.authentication.k8s.io/v1alpha1"))), "apiVersion"),
    "a plugin of an unknown version": (yaml(config(user=exec_(apiVersion="v1"))), "apiVersion"),
    "a plugin without a mode": (yaml(config(user=exec_(interactiveMode=None))), "interactiveMode"),
    "a plugin with another mode": (yaml(config(user=exec_(interactiveMode="Sometimes"))), "interactiveMode"),
    "a plugin's variable without a name": (yaml(config(user=exec_(env=[{"value": "a"}]))), "env"),
    "a plugin's variables are a map": (yaml(config(user=exec_(env={"A": "b"}))), "env"),
    "a plugin's arguments are text": (yaml(config(user=exec_(args="a"))), "args"),
    "a plugin's argument is a number": (yaml(config(user=exec_(args=[1]))), "args"),
    "a plugin and an auth-provider": (yaml(config(user={**exec_(), "auth-provider": {"name": "a"}})), "auth-provider"),
    "an auth-provider's value is a number": (yaml(config(user={"auth-provider": {"name": "a", "config": {"b": 1}}})), "must be text"),
    "a token and a password": (yaml(config(user={"token": "t", "username": "a", "password": "b"})), "basic auth"),
    "preferences are a list": (yaml(config(preferences=["a"])), "map"),
    "colors are text": (yaml(config(preferences={"colors": "red"})), "colors"),
    "a server that is a number": (yaml(config(cluster={"server": 6443})), "server must be text"),
}

# Files that kubectl takes, and that are refused here with a reason. Without a server it guesses http://localhost:8080.
JWT = ".".join(base64.urlsafe_b64encode(text).decode().rstrip("=") for text in (b'{"alg":"none"}', b'{"exp":9999999999}', b"x"))
REFUSED = {
    "the context's cluster is not there": (yaml(config(context={"cluster": "gone", "user": "u"})), "gone"),
    "the context is empty": (yaml(config(context={})), "no cluster"),
    "no server": (yaml(config(cluster={"insecure-skip-tls-verify": True})), "no server"),
    "the cluster is empty": (yaml(config(cluster={})), "no server"),
    "basic auth": (yaml(config(user={"username": "a", "password": "secret-of-tests"})), "basic auth"),
    "a plugin that must ask": (yaml(config(user=exec_(interactiveMode="Always"))), "terminal"),
    "merge keys": (yaml(config()) + "\nx: &x {a: b}\ny:\n  <<: *x\n", "merge keys"),
    "an auth-provider": (yaml(config(user={"auth-provider": {"name": "oidc", "config": {
        "idp-issuer-url": "https://127.0.0.1:1", "client-id": "a", "id-token": JWT}}})), "auth-provider"),
}


class Wrong(unittest.TestCase):
    def check(self, text, word, taken):
        with Files(c=text) as files:
            theirs, answer = files.kubectl_takes("c"), files.access("c")
            self.assertIn("error", answer, f"taken here; kubectl: {theirs}")
            self.assertIn(word, answer["error"])
            self.assertEqual(answer["code"], -10, answer)
            self.assertTrue(answer["error"].startswith("c:") or "called" in answer["error"], answer)
            self.assertNotIn("secret-of-tests", answer["error"])
            self.assertEqual(theirs is None, taken, theirs)

    def test_what_kubectl_refuses_is_refused_with_its_place(self):
        for name, (text, word) in WRONG.items():
            with self.subTest(name):
                self.check(text, word, taken=False)

    def test_what_kubectl_takes_and_we_refuse(self):
        for name, (text, word) in REFUSED.items():
            with self.subTest(name):
                self.check(text, word, taken=True)

    def test_one_wrong_file_of_several_is_named(self):
        with Files(a=yaml(config()), b="users: {}") as files:
            self.assertIsNotNone(files.kubectl_takes("a", "b"))
            self.assertIn("b:1:8: users must be a list", files.access("a", "b")["error"])

    def test_a_folder_and_a_file_that_may_not_be_read(self):
        with Files(a=yaml(config())) as files:
            os.makedirs(os.path.join(files.path, "folder"))
            self.assertIsNotNone(files.kubectl_takes("folder"))
            self.assertIn("directory", files.access("folder")["error"])

    def test_values_changed_at_random_are_judged_alike(self):
        """One value of a good file becomes another kind of thing."""
        base = config(cluster={"server": SERVER, "tls-server-name": "n", "insecure-skip-tls-verify": True, "proxy-url": None,
                               "disable-compression": False, "extensions": [{"name": "e", "extension": {"a": 1}}]},
                      user={"token": "t", "as": "a", "as-uid": "b", "as-groups": ["g"], "as-user-extra": {"k": ["v"]},
                            "tokenFile": None, "client-key-data": DATA,
                            "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "true", "args": ["a"],
                                     "env": [{"name": "A", "value": "b"}], "interactiveMode": "Never",
                                     "provideClusterInfo": True}},
                      context={"cluster": "c", "user": "u", "namespace": "n"})

        def places(value, at=()):
            yield at
            items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, item in items:
                yield from places(item, at + (key,))

        rng = random.Random(4)
        every = [place for place in places(base) if place]
        taken = 0
        for place in rng.sample(every, 40):
            value = rng.choice([None, 1, True, "", "text", [], ["a"], {}, {"a": "b"}, 1.5])
            made = json.loads(json.dumps(base))
            at = made
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = value
            with self.subTest(place=place, value=value), Files(c=json.dumps(made)) as files:
                theirs, answer = files.kubectl_takes("c"), files.access("c")
                # What is known to differ: without a user, a cluster or a context kubectl goes on with a guess.
                if "error" in answer and any(word in answer["error"] for word in ("no user", "no current", "no cluster")):
                    continue
                self.assertEqual("error" in answer, theirs is not None, (answer, theirs))
                taken += theirs is None
        self.assertGreater(taken, 5)


class Discovery(unittest.TestCase):
    """Without a config of baton's own."""

    def source(self, home, **env):
        done = home.baton("list", "--json", "--timeout", "2", env=env)
        self.assertEqual(done.code, 69, done)
        source, = done.json["sources"]
        return source

    def test_the_current_context_is_a_source_of_its_name(self):
        made = config(contexts=[{"name": "admin@prod/eu", "context": {"cluster": "c", "user": "u"}},
                                {"name": "other", "context": {"cluster": "c", "user": "u"}}])
        with Files(c=yaml({**made, "current-context": "admin@prod/eu"})) as files, Home() as home:
            source = self.source(home, KUBECONFIG=os.path.join(files.path, "c"))
            self.assertEqual((source["name"], source["kind"], source["environment"]), ("admin-prod-eu", "kubernetes", None))
            self.assertIn("refused", source["error"])
            os.makedirs(os.path.join(home.folder.path, ".kube"))
            os.rename(os.path.join(files.path, "c"), os.path.join(home.folder.path, ".kube", "config"))
            self.assertEqual(self.source(home)["name"], "admin-prod-eu")
            doctor = home.baton("doctor", "--timeout", "2")
            self.assertIn("admin-prod-eu (kubernetes)", doctor.out)

    def test_one_that_is_wrong_says_where(self):
        with Files(c=yaml(config(user={"token": 12345}))) as files, Home() as home:
            source = self.source(home, KUBECONFIG=os.path.join(files.path, "c"))
            self.assertEqual(source["name"], "kubernetes")
            self.assertIn("token must be text", source["error"])
            self.assertNotIn("12345", source["error"])

    def test_nothing_is_there(self):
        with Home() as home:
            done = home.baton("list", env={"KUBECONFIG": "/nowhere/config"})
            self.assertEqual(done.code, 78)
            self.assertIn("KUBECONFIG, HOME/.kube/config, a pod's service account: none is there", done.err)

    def test_init_writes_a_config_for_it(self):
        with Files(c=yaml(config())) as files, Home() as home:
            path = os.path.join(files.path, "c")
            self.assertEqual(home.baton("init", env={"KUBECONFIG": path}).code, 0)
            self.assertEqual(self.source(home)["name"], "x")

    def test_a_pipe_is_read_once(self):
        with Files() as files, Home() as home:
            pipe = os.path.join(files.path, "pipe")
            os.mkfifo(pipe)
            writer = threading.Thread(target=self.feed, args=(pipe, yaml(config(user={"token": "from-a-pipe"}))))
            writer.start()
            source = self.source(home, KUBECONFIG=pipe)
            writer.join()
            self.assertEqual(source["name"], "kubernetes")
            self.assertIn("refused", source["error"])

    @staticmethod
    def feed(pipe, text):
        with open(pipe, "w", encoding="utf-8") as out:
            out.write(text)


class InCluster(unittest.TestCase):
    def pod(self, files, **more):
        return {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443",
                "KUBE_ASK_SERVICE_ACCOUNT": files.path, **more}

    def test_a_pods_service_account(self):
        with Files(**{"token": "the-token\n", "namespace": "billing\n", "ca.crt": "x"}) as files:
            access = files.access(**self.pod(files))
            self.assertEqual((access["server"], access["namespace"], access["method"], access["context"]),
                             ("https://10.0.0.1:443", "billing", "service account", None))
            self.assertEqual(access["ca_file"], os.path.join(files.path, "ca.crt"))
            self.assertEqual(access["token_file"], os.path.join(files.path, "token"))
            six = files.access(**self.pod(files, KUBERNETES_SERVICE_HOST="fd00::1", POD_NAMESPACE="said"))
            self.assertEqual((six["server"], six["namespace"]), ("https://[fd00::1]:443", "said"))

    def test_a_kubeconfig_goes_before_it_and_a_silent_one_does_not(self):
        with Files(token="t", c=yaml(config()), silent="apiVersion: v1\nkind: Config\n") as files:
            self.assertEqual(files.access("c", **self.pod(files))["context"], "x")
            self.assertEqual(files.access("silent", **self.pod(files))["method"], "service account")
            self.assertEqual(files.access("missing", **self.pod(files))["method"], "service account")

    def test_no_pod(self):
        with Files() as files:
            self.assertEqual(files.access(**self.pod(files))["code"], -12)


if __name__ == "__main__":
    unittest.main()
