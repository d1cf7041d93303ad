"""The command line without any server: words, configs, exit codes, messages."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
import unittest

from contract.schema import Schema
from servers import Home, baton_path, free_port, silent_server, within

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Words(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def refused(self, *args, code=64):
        done = self.home.baton(*args)
        self.assertEqual((done.code, done.out), (code, ""), done)
        return done.err

    def test_an_unknown_command_names_the_nearest(self):
        self.assertEqual(self.refused("lst"), "baton: unknown command 'lst'; did you mean 'list'?\nTry 'baton help'.\n")
        self.assertEqual(self.refused("xyzzy"), "baton: unknown command 'xyzzy'\nTry 'baton help'.\n")
        self.assertIn("unknown command 'a\\x1b[31m'", self.refused("a\x1b[31m"))

    def test_commands_that_are_not_there_yet_are_no_stubs(self):
        for command in ("drill",):
            self.assertIn(f"unknown command '{command}'", self.refused(command))

    def test_unknown_options_and_missing_values(self):
        self.assertIn("unknown option '--jsno'; did you mean '--json'?", self.refused("list", "--jsno"))
        self.assertIn("unknown option '-x'", self.refused("-x", "list"))
        self.assertIn("--state needs a value: STATE", self.refused("list", "--state"))
        self.assertIn("--json takes no value", self.refused("list", "--json=yes"))
        self.assertIn("--timeout must be 0.1 to 3600 seconds, not '0'", self.refused("list", "--timeout", "0"))
        self.assertIn("--timeout must be 0.1 to 3600 seconds, not 'soon'", self.refused("--timeout=soon", "list"))
        self.assertIn("--color must be auto, always or never, not 'red'", self.refused("list", "--color", "red"))
        self.assertIn("unknown state 'hedl'; did you mean 'HELD'?", self.refused("list", "--state", "hedl"))
        self.assertIn("there are DUPLICATE, STALE", self.refused("list", "--state", "xyzzy"))

    def test_options_that_the_command_has_no_use_for(self):
        self.assertIn("show takes no --state", self.refused("--state", "held", "show", "a/b"))
        self.assertIn("list takes no --force", self.refused("list", "--force"))
        self.assertIn("the console takes no --json", self.refused("--json"))

    def test_too_few_and_too_many_words(self):
        self.assertIn("show needs ID", self.refused("show"))
        self.assertIn("list takes no argument: 'x' is too much", self.refused("list", "x"))
        self.assertIn("show takes ID: 'b/c' is too much", self.refused("show", "a/b", "b/c"))
        self.assertIn("unknown command '--json'", self.refused("--", "--json"))

    def test_check_is_unknown_where_others_say_usage_or_config(self):
        for args in (("check", "--jsno"), ("check", "x"), ("check", "--ignore", "nothing"), ("check",),
                     ("check", "--config", "/nowhere/c.yaml")):
            done = self.home.baton(*args)
            self.assertEqual((done.code, done.err), (3, ""), done)
            self.assertRegex(done.out, r"\ABATON UNKNOWN - [^\n]+\n\Z")
            self.assertNotIn("\\x", done.out)

    def test_names_from_outside_are_told_as_plain_text(self):
        """A terminal obeys what it is sent: no message holds an escape, whoever chose the words."""
        bad = "x\x1b[31m\ty\u202e"
        shown = r"x\x1b[31m\x09y\xe2\x80\xae"
        path = self.home.folder / "world.yaml"
        with open(path, "w", encoding="utf-8") as out:
            out.write('sources: [{name: f, shows: {fleet: all}}]\ntitle: T\nabout: A\nstart: "2026-03-03T22:40:00Z"\nseed: 1\nworld:\n'
                      f"  processes: [{{name: p, machine: {json.dumps(bad)}, about: p}}]\n")
        for args, wanted in (((bad,), 2), (("list", "--source", bad), 2), (("train", path), 1),
                             (("train", bad), 1), (("list", "--replay", bad), 1), (("list", "--config", bad), 1),
                             (("show", "a/" + bad), 0)):
            done = self.home.baton(*args)
            self.assertNotEqual(done.code, 0, done)
            self.assertEqual(re.findall(r"[^\n -~]", done.out + done.err), [], done)
            if wanted:
                self.assertIn(shown, done.err)
        done = self.home.baton("list", env={"HOME": self.home.folder / bad, "XDG_CONFIG_HOME": ""})
        self.assertIn(shown, done.err)

    def plain(self, *args, **more):
        done = self.home.baton(*args, **more)
        # Of characters beyond ASCII only those that a terminal shows: no C1 control (an escape of one byte), no separator.
        self.assertEqual(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", done.out + done.err), [], done)
        return done

    def test_words_of_the_config_are_told_as_plain_text(self):
        bad = "x\x1b]0;p\x07\t\u202e\u009b31m\u2028z"
        text = ("sources: {a: {kind: etcd, environment: %s, endpoints: ['http://127.0.0.1:1']}}\n"
                "roles: {r: {witnesses: [%s]}}\nnames:\n  - {source: a, key: %s, name: %s}\n")
        words = tuple(json.dumps(each) for each in (bad, "a/" + bad, bad, bad))
        self.home.write_config(text % words)
        shown = r"x\x1b]0;p\x07\x09\xe2\x80\xae\xc2\x9b31m\xe2\x80\xa8z"
        for args in (("list",), ("doctor",), ("show", "role/r"), ("check",), ("forecast", "release", "a/" + bad),
                     ("act", "release", "a/" + bad, "--yes", "--reason", bad), ("act", "end", bad, "--reason", bad, "--yes")):
            done = self.plain(*args, "--timeout", "1")
            for json_too in [()] if args[0] in ("check",) else [("--json",)]:
                self.plain(*args, *json_too, "--timeout", "1")
            if args[0] == "doctor":
                self.assertIn(f"a (etcd, {shown})", done.out)
            if args[0] == "show":
                self.assertIn(f"witness a/{shown}", done.out)

    def test_a_path_is_told_as_plain_text(self):
        bad = "x\x1b]0;p\x07\t\u202e\u009b31m\u2028z"
        place = os.path.join(self.home.folder.path, bad)
        for args in (("init",), ("init",), ("doctor", "--timeout", "1"), ("init", "--print"), ("audit",), ("audit", "--json")):
            done = self.plain(*args, env={"XDG_CONFIG_HOME": place, "XDG_STATE_HOME": place, "ETCDCTL_ENDPOINTS": "http://127.0.0.1:1"})
            if args[0] == "doctor":
                self.assertRegex(done.out, r"memory  \S*\\x1b\]0;p")
        values = {"PGHOST": bad, "PGDATABASE": bad, "ETCDCTL_ENDPOINTS": bad}
        printed = self.plain("init", "--print", env=values).out
        # And it is the same value to who reads it.
        self.home.write_config(printed)
        self.assertIn(r"x\x1b]0;p\x07", self.plain("list", "--timeout", "1").err)

    def test_version_and_help(self):
        for args in (("version",), ("--version",), ("-V",), ("list", "--version")):
            done = self.home.baton(*args)
            self.assertEqual(done.code, 0)
            self.assertRegex(done.out, r"\Abaton \d+\.\d+\.\d+\n\Z")
        self.assertEqual(self.home.baton("version", "--json").json["schema"], "baton/1")
        self.assertEqual(self.home.baton("--help").out, self.home.baton("help").out)
        self.assertIn("usage: baton show [OPTION...] ID", self.home.baton("-h", "show").out)
        done = self.home.baton("help", "shw")
        self.assertEqual((done.code, done.err), (64, "baton: unknown command 'shw'; did you mean 'show'?\n"))

    def test_without_a_source_it_says_what_it_looked_for(self):
        for args in (("list",), ("show", "a/b"), ("watch",), ("doctor",), ()):
            done = self.home.baton(*args)
            self.assertEqual((done.code, done.out), (78, ""), done)
            for word in ("PGHOST", "PGSERVICE", "ETCDCTL_ENDPOINTS", "baton init", "./bootstrap lab", self.home.config):
                self.assertIn(word, done.err)

    def test_what_is_left_out_of_the_environment_is_said(self):
        said = "ETCDCTL_INSECURE_SKIP_TLS_VERIFY is not followed"
        for value, told in (("true", True), ("1", True), ("false", False), ("", False)):
            with self.subTest(value=value):
                done = self.home.baton("list", "--timeout", "1", env={
                    "ETCDCTL_ENDPOINTS": "https://127.0.0.1:1", "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": value})
                self.assertEqual((done.code, said in done.err), (69, told), done)

    def test_no_source_of_that_name(self):
        self.home.write_config("sources: {a: {kind: etcd}, b: {kind: etcd}}\n")
        self.assertEqual(self.refused("list", "--source", "c", code=64),
                         "baton: no source is called 'c'; there is: a, b\n")


class Configs(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def wrong(self, *args, code=78, **kwargs):
        done = self.home.baton("list", *args, **kwargs)
        self.assertEqual((done.code, done.out), (code, ""), done)
        return done.err

    def test_an_empty_list_is_not_the_default(self):
        self.home.write_config("sources:\n  a:\n    kind: etcd\n    endpoints: []\n")
        self.assertEqual(self.wrong(), f"baton: {self.home.config}:4:16: 'endpoints' is an empty list: name at least one, or "
                                       "leave 'endpoints' out for http://127.0.0.1:2379\n")

    def test_place_and_nearest_key(self):
        self.home.write_config("sources:\n  a:\n    kind: etcd\n    endpoint: http://a\n")
        self.assertEqual(self.wrong(), f"baton: {self.home.config}:4:5: unknown key 'endpoint' in source 'a'; "
                                       "did you mean 'endpoints'?\n")

    def test_what_is_no_config(self):
        folder = self.home.folder.path
        self.assertEqual(self.wrong("-c", folder), f"baton: {folder} is a directory, not a file\n")
        self.assertIn("No such file", self.wrong("-c", folder + "/absent"))
        big = os.path.join(folder, "big.yaml")
        with open(big, "wb") as file:
            file.write(b"#" * (10 << 20))
        self.assertEqual(self.wrong("-c", big), f"baton: {big} is larger than 1 MB: no config of ours\n")
        for name, data in (("latin1", b"a: \xe4\n"), ("nul", b"a: \0\n"), ("utf16", "a: b\n".encode("utf-16"))):
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(data)
            self.assertRegex(self.wrong("-c", path), rf"^baton: {path}:1:\d: not text in UTF-8: ")
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        self.assertIn("No source to look at", self.wrong("-c", fifo))
        os.chmod(folder + "/latin1", 0)
        if os.geteuid() != 0:
            self.assertIn("Permission denied", self.wrong("-c", folder + "/latin1"))

    def test_a_config_from_a_pipe(self):
        done = subprocess.run(["bash", "-c", f"{baton_path()} list -c <(sleep 0.3; echo 'them: x')"],
                              env=self.home.env(), capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 78)
        self.assertRegex(done.stderr, r":1:1: unknown key 'them' in the config; did you mean 'theme'\?\n\Z")

    def test_an_empty_config_leaves_it_to_the_environment(self):
        self.home.write_config("# nothing yet\n")
        self.assertIn("No source to look at", self.wrong())
        done = self.home.baton("list", "--json", env={"ETCDCTL_ENDPOINTS": f"http://127.0.0.1:{free_port()}"})
        self.assertEqual(done.code, 69)
        self.assertEqual([s["name"] for s in done.json["sources"]], ["etcd"])

    def test_the_variable_and_the_option(self):
        path = os.path.join(self.home.folder.path, "other.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("bad: 1\n")
        self.assertIn(f"{path}:1:1", self.wrong(env={"BATON_CONFIG": path}))
        self.assertIn("/nowhere/c", self.wrong("--config", "/nowhere/c", env={"BATON_CONFIG": path}))

    def test_hostile_text_in_a_message(self):
        self.home.write_config('"\\e[2J\\u202e": 1\n')
        error = self.wrong()
        self.assertIn("\\x1b[2J\\xe2\\x80\\xae", error)
        self.assertNotIn("\x1b", error)


class Init(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def test_it_writes_once_and_what_it_writes_loads(self):
        done = self.home.baton("init")
        self.assertEqual((done.code, done.out), (0, f"wrote {self.home.config}\n"), done)
        self.assertEqual(stat.S_IMODE(os.stat(self.home.config).st_mode), 0o600)
        again = self.home.baton("init")
        self.assertEqual((again.code, again.out), (1, ""))
        self.assertIn("is there already", again.err)
        self.home.write_config("mine: 1\n")
        self.assertEqual(self.home.baton("init").code, 1)
        with open(self.home.config, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine: 1\n")
        self.assertEqual(self.home.baton("init", "--force").code, 0)
        self.assertIn("No source to look at", self.home.baton("list").err)

    def test_it_fills_in_what_the_environment_speaks_of_and_no_secret(self):
        env = {"PGHOST": "db.example", "PGPASSWORD": "hush", "ETCDCTL_ENDPOINTS": "http://127.0.0.1:1",
               "ETCDCTL_USER": "root:hush2", "ETCDCTL_PASSWORD": "hush3"}
        printed = self.home.baton("init", "--print", env=env)
        self.assertFalse(os.path.exists(self.home.config))
        self.assertNotIn("hush", printed.out)
        self.assertEqual(self.home.baton("init", env=env).code, 0)
        with open(self.home.config, encoding="utf-8") as file:
            self.assertEqual(file.read(), printed.out)
        done = self.home.baton("list", "--json", "--source", "etcd", env={"ETCDCTL_PASSWORD": "x"})
        self.assertEqual([s["name"] for s in done.json["sources"]], ["etcd"])

    def test_a_place_that_can_not_be_written(self):
        done = self.home.baton("init", "--config", "/proc/nowhere/c.yaml")
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertIn("/proc/nowhere", done.err)
        done = self.home.baton("init", env={"XDG_CONFIG_HOME": "", "HOME": ""})
        self.assertEqual(done.code, 78)


class NobodyAnswers(unittest.TestCase):
    """Ports where nobody listens, and ports that take a connection and never say a word."""

    with open(os.path.join(TOP, "doc", "baton-1.schema.json"), encoding="utf-8") as file:
        schema = Schema(json.load(file))

    def home(self, config):
        home = Home(config=config)
        self.addCleanup(home.close)
        return home

    def silent(self):
        server = silent_server()
        self.addCleanup(server.close)
        return server.port

    def test_a_refused_connection(self):
        home = self.home(f"sources:\n  a: {{kind: postgres, conninfo: 'host=127.0.0.1 port={free_port()}'}}\n"
                         f"  b: {{kind: etcd, endpoints: 'http://127.0.0.1:{free_port()}'}}\n")
        done = home.baton("list")
        self.assertEqual(done.code, 69)
        self.assertRegex(done.err, r"\Abaton: a: .+\nbaton: b: .+\n\Z")
        done = home.baton("list", "--json")
        self.assertEqual(done.code, 69)
        self.assertEqual(self.schema.faults(done.json), [])
        self.assertEqual([s["state"] for s in done.json["sources"]], ["failing"] * 2)
        self.assertTrue(all(s["error"] and s["age_ms"] is None for s in done.json["sources"]))
        done = home.baton("show", "a/x:1")
        self.assertEqual((done.code, done.out), (69, ""))
        self.assertIn("whether there is 'a/x:1' is not known", done.err)
        done = home.baton("check")
        self.assertEqual((done.code, done.err), (3, ""))
        self.assertRegex(done.out, r"\ABATON UNKNOWN - a: unreadable: ")
        done = home.baton("doctor")
        self.assertEqual(done.code, 69)
        self.assertEqual(done.out.count("  fail "), 2)
        for command in (("check", "--json"), ("doctor", "--json"), ("show", "role/r", "--json")):
            out = home.baton(*command).out
            self.assertEqual(self.schema.faults(json.loads(out)) if out else [], [], command)

    def test_a_record_of_nobody_is_no_success(self):
        home = self.home(f"sources: {{b: {{kind: etcd, endpoints: 'http://127.0.0.1:{free_port()}'}}}}\n")
        done = home.baton("record", home.folder / "r.jsonl", "--for", "1s")
        self.assertEqual((done.code, done.out), (69, ""))
        self.assertRegex(done.err, r"\Abaton: recorded \d+ bytes; .+\nbaton: b: .+\nbaton: no source answered: the record holds no picture\n\Z")

    def test_who_reads_a_record_of_nobody_may_leave(self):
        home = self.home(f"sources: {{b: {{kind: etcd, endpoints: 'http://127.0.0.1:{free_port()}'}}}}\n")
        process = home.popen("record", "-", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        # From then on there is nothing to write.
        while "Connection refused" not in process.stdout.readline():
            pass
        process.stdout.close()
        self.assertEqual((process.wait(timeout=30), process.stderr.read()), (0, ""))
        process.stderr.close()

    def test_every_one_shot_command_ends_within_twice_the_timeout(self):
        port = self.silent()
        home = self.home(f"sources:\n  a: {{kind: postgres, conninfo: 'host=127.0.0.1 port={port}'}}\n"
                         f"  b: {{kind: etcd, endpoints: 'http://127.0.0.1:{port}'}}\n")
        for command, code in ((("list",), 69), (("list", "--json"), 69), (("show", "a/x"), 69), (("check",), 3),
                              (("doctor",), 69)):
            with self.subTest(command=command):
                done, spent = within(4.0, lambda command=command: home.baton(*command, "--timeout", "2"))
                self.assertEqual(done.code, code, done)
                self.assertGreater(spent, 1.9)

    def test_a_name_server_that_never_answers(self):
        """Looking up a name can't be interrupted: such a thread is left behind, and the command ends all the same."""
        home = self.home("sources:\n  a: {kind: postgres, conninfo: 'host=db.example'}\n"
                         "  b: {kind: etcd, endpoints: 'http://etcd.example:2379'}\n")
        source, library = home.folder / "hang.c", home.folder / "hang.so"
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <unistd.h>\nint getaddrinfo(void);\nint getaddrinfo(void) { for (;;) sleep(60); }\n")
        cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        subprocess.run([cc, "-shared", "-fPIC", "-o", library, source], check=True)
        address = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:detect_leaks=0"
        thread = os.environ.get("TSAN_OPTIONS", "") + ":atexit_sleep_ms=0"
        for command, code in (("list", 69), ("check", 3), ("doctor", 69)):
            with self.subTest(command=command):
                done, _ = within(4.0, lambda command=command: home.baton(command, "--timeout", "2", env={
                    "LD_PRELOAD": library, "ASAN_OPTIONS": address, "TSAN_OPTIONS": thread}))
                self.assertEqual(done.code, code, done)
                self.assertIn("no answer", done.out + done.err)

    def test_threads_that_are_left_behind_harm_nothing_at_the_end(self):
        """The program stands still for so long that what it waits for comes just when it is given up, or in a library's call."""
        port = self.silent()
        home = self.home(f"sources:\n  a: {{kind: postgres, conninfo: 'host=127.0.0.1 port={port}'}}\n"
                         f"  b: {{kind: etcd, endpoints: 'http://127.0.0.1:{port}'}}\n")
        for command in ("doctor", "list"):
            for n in range(5):
                program = home.popen(command, "--timeout", "300ms", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                time.sleep(0.05 * n)
                program.send_signal(signal.SIGSTOP)
                time.sleep(0.4)
                program.send_signal(signal.SIGCONT)
                said = program.communicate(timeout=60)[1].decode()
                self.assertEqual(program.returncode, 69, said)
                self.assertNotIn("Sanitizer", said)

    def test_completion_is_silent_and_short(self):
        home = self.home(f"sources: {{a: {{kind: etcd, endpoints: 'http://127.0.0.1:{self.silent()}'}}}}\n")
        done, _ = within(2.0, lambda: home.baton("__complete", "ids"))
        self.assertEqual((done.out, done.err), ("", ""))
        self.assertEqual(home.baton("__complete", "sources").out, "a\n")

    def test_watch_says_so_and_goes_on(self):
        home = self.home(f"sources: {{a: {{kind: etcd, endpoints: 'http://127.0.0.1:{free_port()}'}}}}\n")
        with home.popen("watch", "--json", stdout=-1, stderr=-1, text=True) as watch:
            try:
                line = json.loads(watch.stdout.readline())
                self.assertEqual(self.schema.faults(line), [])
                self.assertEqual((line["event"], line["source"]["state"]), ("source", "failing"))
                self.assertIsNone(watch.poll())
            finally:
                watch.terminate()
            self.assertEqual(watch.wait(10), 69)


if __name__ == "__main__":
    unittest.main()
