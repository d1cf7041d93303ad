"""The rules of the house that a program can check: layers, the one curses file, banned calls, globals, sizes, names."""

import glob
import os
import re
import subprocess
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BATON_BUILD", os.path.join(TOP, "build"))

# What each layer may include besides itself; src/local.mk has the same law for the linker.
LAYERS = {
    "base": set(),
    "model": {"base"},
    "io": {"base"},
    "sim": {"base", "model"},
    "source": {"base", "model", "io", "sim"},
    "control": {"base", "model", "io", "sim", "source"},
    "show": {"base", "model"},
    "tui": {"base", "model", "io", "sim", "source", "control", "show"},
    "cli": {"base", "model", "io", "sim", "source", "control", "show", "tui"},
}

BANNED = {
    "sprintf": "snprintf or str_addf", "vsprintf": "vsnprintf", "strcpy": "str_add", 
    "strcat": "str_add", "strncat": "str_add", "stpcpy": "str_add", "strtok": "strtok_r or a loop", "gets": "fgets",
    "alloca": "xmalloc", "tmpnam": "mkostemp", "mktemp": "mkostemp", "system": "posix_spawn", "popen": "posix_spawn",
    "atoi": "strtol", "localtime": "localtime_r", "gmtime": "gmtime_r", "asctime": "clock_format_utc",
    "ctime": "clock_format_utc", "strerror_r": "strerror", "rand": "a seeded generator",
}

# Statics that change, each with why it must. Signal handlers can reach nothing else.
MUTABLE = {
    ("src/tui/screen.c", "*"): "curses keeps one terminal for the whole process, and so do the signal handlers",
    ("src/io/http.c", "http_once"): "libcurl is to be begun once in a process",
    ("src/cli/signals.c", "*"): "what a signal handler says to the main loop",
}

MAX_LINES, MAX_COMPLEXITY, MAX_MEDIAN = 100, 25, 18


def sources(pattern):
    found = glob.glob(os.path.join(TOP, pattern), recursive=True)
    return sorted(path for path in found if ".pb-c." not in path)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def short(path):
    return os.path.relpath(path, TOP)


def strip(text):
    """C without comments and the insides of strings; lines stay where they are."""
    def blank(found):
        piece = found.group(0)
        if piece.startswith("/"):
            return re.sub(r"[^\n]", " ", piece)
        return piece[0] + " " * (len(piece) - 2) + piece[-1]
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def functions(path):
    """(name, first line, number of lines, body) of each function; the house's format puts its braces in column 0."""
    lines = strip(read(path)).split("\n")
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = start - 1
            while head > 0 and not re.match(r"^[A-Za-z_]", lines[head]):
                head -= 1
            name = re.search(r"(\w+)\s*\(", lines[head])
            yield (name.group(1) if name else "?", head + 1, number - head + 1, "\n".join(lines[start:number]))
            start = None


def complexity(body):
    return 1 + len(re.findall(r"\b(?:if|for|while|case)\b|&&|\|\||\?", body))


class House(unittest.TestCase):
    def none(self, faults):
        self.assertEqual(faults, [], "\n" + "\n".join(map(str, faults)))

    def test_a_lower_layer_never_names_a_higher_one(self):
        faults = []
        for path in sources("src/*/*.[ch]") + sources("src/*/*.def"):
            layer = short(path).split("/")[1]
            if layer not in LAYERS:
                faults.append(f"{short(path)}: no such layer")
                continue
            for name in re.findall(r'^#include "([^"/]+)/', read(path), re.M):
                if name in LAYERS and name != layer and name not in LAYERS[layer]:
                    faults.append(f"{short(path)} includes {name}/")
        self.none(faults)

    def test_curses_is_called_in_one_file(self):
        wanted = re.compile(r"#include <(n?curses|ncursesw/\w+|term|panel|menu|form)\.h>")
        users = [short(path) for path in sources("src/**/*.[ch]") if wanted.search(read(path))]
        self.assertIn(users, (["src/tui/screen.c"], []))

    def test_no_banned_call(self):
        faults = []
        calls = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
        for path in sources("src/**/*.[ch]"):
            for number, line in enumerate(strip(read(path)).split("\n"), 1):
                faults += [f"{short(path)}:{number}: {name}: use {BANNED[name]}" for name in calls.findall(line)]
        self.none(faults)

    def test_what_may_follow_is_not_looked_for_among_what_is_kept(self):
        """claim_detail and its like know only what is kept of a claim: these are found by details_of_claim."""
        call = re.compile(r"\bclaim_(detail|int|text)\([^;]*?\bDETAIL_(KEY|CREATE_REVISION|MOD_REVISION)\b")
        found = [f"{short(path)}: {match.group(0)}" for path in sources("src/**/*.c") for match in call.finditer(strip(read(path)))
                 if short(path) != "src/model/singleton.c"]
        self.none(found)

    def test_only_main_exits(self):
        faults = []
        for path in sources("src/*/*.c"):
            for number, line in enumerate(strip(read(path)).split("\n"), 1):
                if re.search(r"(?<![\w.>])(exit|_exit|_Exit|quick_exit)\s*\(", line) and not self.may_exit(path):
                    faults.append(f"{short(path)}:{number}: {line.strip()}")
        self.none(faults)

    @staticmethod
    def may_exit(path):
        # A fatal signal's handler has nothing else to call.
        return (short(path), "*") in MUTABLE

    def test_config_h_comes_first(self):
        faults = []
        for path in sources("src/**/*.c") + sources("tests/**/*.c"):
            found = re.search(r'^#include [<"]([^>"]+)', read(path), re.M)
            if found and found.group(1) != "config.h":
                faults.append(f"{short(path)}: {found.group(1)}")
        self.none(faults)

    def test_what_a_world_counts_is_in_its_table(self):
        """Else a lesson could name a counter that nobody keeps, and always read 0."""
        known = set(re.findall(r'^COUNT\("([\w-]+)"', read(os.path.join(TOP, "src", "sim", "counts.def")), re.M))
        kept = set()
        for path in sources("src/**/*.c"):
            kept |= set(re.findall(r'\bworld_count\([^;"]*"([\w-]+)"', read(path)))
        self.assertEqual(kept, known)

    def test_functions_are_small(self):
        faults, lengths = [], []
        for path in sources("src/**/*.c"):
            for name, line, length, body in functions(path):
                lengths.append(length)
                if length > MAX_LINES:
                    faults.append(f"{short(path)}:{line}: {name} has {length} lines")
                if complexity(body) > MAX_COMPLEXITY:
                    faults.append(f"{short(path)}:{line}: {name} has a complexity of {complexity(body)}")
        self.none(faults)
        self.assertLessEqual(sorted(lengths)[len(lengths) // 2], MAX_MEDIAN)

    def test_nothing_global_changes(self):
        archives = sorted(glob.glob(os.path.join(BUILD, "src", "*.a")))
        if not archives:
            self.skipTest(f"{short(BUILD)} is not built")
        faults = []
        for archive in archives:
            faults += self.mutable_symbols(archive)
        self.none(faults)

    def mutable_symbols(self, archive):
        table = subprocess.run(["objdump", "-t", archive], capture_output=True, text=True, check=True).stdout
        member, faults = "?", []
        for line in table.split("\n"):
            if found := re.match(r"(\S+\.o):", line):
                member = found.group(1)
            found = re.match(r"[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+(?:\.hidden )?(\S+)$", line)
            if not found or found.group(1)[6] != "O":
                continue
            section, symbol = found.group(2), found.group(3)
            writable = section == "*COM*" or re.match(r"\.(bss|data)(?!\.rel\.ro)", section)
            if writable and "pb-c" not in member and not self.may_change(archive, member, symbol):
                faults.append(f"{os.path.basename(archive)} {member}: {symbol} is a variable in {section}")
        return faults

    def test_no_function_has_a_librarys_name(self):
        """The linker would give ours to the library's own callers as well, and says nothing."""
        program = os.path.join(BUILD, "src", "baton")
        if not os.path.exists(program):
            self.skipTest(f"{short(BUILD)} is not built")
        libraries = re.findall(r"=> (/\S+)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout)
        theirs = {}
        for library in libraries:
            for name in self.functions_of(["-D", library]):
                theirs.setdefault(name.split("@")[0], os.path.basename(library))
        self.assertIn("json_object_set_new", theirs)
        ours = [name for archive in glob.glob(os.path.join(BUILD, "src", "*.a")) for name in self.functions_of([archive])]
        self.none([f"{name} is in {theirs[name]} too" for name in sorted(ours) if name in theirs])

    @staticmethod
    def functions_of(words):
        table = subprocess.run(["nm", "--defined-only", *words], capture_output=True, text=True, check=True).stdout
        return re.findall(r"^[0-9a-f]+ [TW] (\S+)$", table, re.M)

    @staticmethod
    def may_change(archive, member, symbol):
        layer = os.path.basename(archive)[3:-2]
        # Objects are named after the library, or after the file alone, by automake's version.
        base = re.sub(r"^lib\w+_a-", "", member)[:-2]
        return any(f"src/{layer}/{base}.c" == path and name in ("*", symbol) for path, name in MUTABLE)

    def test_no_mutable_extern_is_declared(self):
        faults = []
        for path in sources("src/**/*.h"):
            for found in re.finditer(r"^\s*extern\s+([^;{]*);", strip(read(path)), re.M):
                words = found.group(1)
                if "(" not in words and not re.search(r"\bconst\b[^*]*$", words):
                    faults.append(f"{short(path)}: extern {words}")
        self.none(faults)

    def test_files_are_named_in_kebab_case(self):
        self.none([short(path) for path in sources("src/**/*.[ch]")
                   if not re.fullmatch(r"[a-z0-9-]+\.[ch]", os.path.basename(path))])

    def test_every_header_is_guarded_by_its_own_name(self):
        faults = []
        for path in sources("src/*/*.h"):
            want = re.sub(r"[/.-]", "_", short(path)[len("src/"):]).upper()
            if f"#ifndef {want}\n#define {want}\n" not in read(path):
                faults.append(f"{short(path)}: {want}")
        self.none(faults)

    def test_the_project_speaks_of_itself_alone(self):
        words = re.compile(r"/(?:work|root|home)/\w|/tmp/h/|proxy\.golang|deb\.debian|registry\.npm|pypi\.org")
        faults = []
        for path in self.own_files():
            if short(path) == "tests/house/test_house.py":
                continue
            try:
                text = read(path)
            except UnicodeDecodeError:
                continue
            for number, line in enumerate(text.split("\n"), 1):
                if words.search(line):
                    faults.append(f"{short(path)}:{number}: {line.strip()[:100]}")
        self.none(faults)

    @staticmethod
    def own_files():
        kinds = ("src/**/*", "tests/**/*", "doc/**/*", "themes/*", "scenarios/*", "*.md", "bootstrap", ".ci/run", "configure.ac", "Makefile.am")
        found = []
        for kind in kinds:
            found += [path for path in glob.glob(os.path.join(TOP, kind), recursive=True)
                      if os.path.isfile(path) and "__pycache__" not in path and "/seeds/" not in path]
        return found

    def test_nothing_that_a_build_makes_is_kept(self):
        if not os.path.exists(os.path.join(TOP, ".git")):
            return  # A released tree: distcheck looks after that one.
        # A folder's name does not count: any may be given to an out-of-tree build.
        made = re.compile(r"(^|/)(config\.(h|log|status)|stamp-h1|Makefile(\.in)?|configure|aclocal\.m4)$|\.(o|a|trs|pyc)$")
        kept = subprocess.run(["git", "-C", TOP, "ls-files"], capture_output=True, text=True, check=True).stdout
        self.none([path for path in kept.splitlines() if made.search(path) or self.is_program(os.path.join(TOP, path))])

    @staticmethod
    def is_program(path):
        try:
            with open(path, "rb") as file:
                return file.read(4) == b"\x7fELF"
        except OSError:
            return False

    def test_every_unit_test_and_fuzzer_is_registered(self):
        lists = "".join(read(path) for path in sources("tests/**/local.mk"))
        self.none([short(path) for path in sources("tests/**/*.c") if short(path) not in lists])


if __name__ == "__main__":
    unittest.main()
