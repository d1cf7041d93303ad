#!/usr/bin/env python3
"""
Writes what the program's tables say into the manuals, the JSON Schema and the completions, between their marks:
`make update-doc`. With --check nothing is written, and a difference is a failure (the tests run it so).

usage: update.py [--check] TABLES      TABLES is the program that `make doc/tables` builds
"""

import difflib
import json
import os
import re
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))


def roff(text):
    """A text as mdoc: no escape, no control line, minuses that stay minuses."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def sentences(text):
    """Each sentence on a line of its own, as mdoc asks."""
    lines = re.sub(r"([.!?]) +(?=[A-Z0-9/'])", r"\1\n", text).split("\n")
    return roff("\n".join(textwrap.fill(line, 72, break_long_words=False, break_on_hyphens=False) for line in lines))


def man_commands(tables):
    out = []
    for command in tables["commands"]:
        head = f".It Cm {command['name']}"
        for word in (command["args"] or "").split():
            bare = word.strip("[]")
            head += f" Op Ar {bare}" if word.startswith("[") else f" Ar {bare}"
        out += [head, sentences(command["summary"])]
        if command["help"]:
            out.append(sentences(command["help"]))
        special = [o for o in command["options"] if o not in ("config", "color", "ascii", "help", "version")]
        if special:
            out.append("Options:")
            for i, name in enumerate(special):
                out.append(f".Fl \\-{roff(name)}" + (" ." if i + 1 == len(special) else " ,"))
    return out


def man_options(tables):
    out = []
    for option in tables["options"]:
        head = ".It"
        if option["letter"]:
            head += f" Fl {option['letter']} ,"
        head += f" Fl \\-{roff(option['name'])}"
        if option["value"]:
            head += f" Ar {option['value']}"
        out += [head, sentences(option["help"])]
    return out


def man_states(tables):
    return [line for s in tables["states"] for line in (f".It {s['letter']} {s['word']}", sentences(s["help"] + "."))]


def man_findings(tables):
    return [line for f in tables["findings"]
            for line in (f".It {roff(f['word'])} Pq {f['severity']}", sentences(f["help"] + "."))]


def man_keys(options):
    out = []
    for option in options:
        help_ = option["help"].rstrip(".") + "."
        out += [f".It Ic {roff(option['name'])}", sentences(help_[0].upper() + help_[1:])]
        about = option["type"]
        if option["words"]:
            about = "one of " + ", ".join(option["words"].split("|"))
        about = about[0].upper() + about[1:]
        if option["default"]:
            about += f", by default {option['default']}"
        if option["required"]:
            about += ", required"
        out.append(sentences(about + "."))
        if option.get("fields") and not option["name"] in ("sources", "roles", "names", "thresholds"):
            out.append(".Bl -tag -width Ds -compact")
            out += man_keys(option["fields"])
            out.append(".El")
    return out


def man_kinds(tables):
    out = []
    for kind in tables["kinds"]:
        out += [f".Ss Keys of {kind['kind']} sources", sentences(kind["summary"].rstrip(".") + "."),
                f"The interval is by default {kind['interval_ms'] // 1000} s." if kind["interval_ms"] % 1000 == 0 else
                f"The interval is by default {kind['interval_ms']} ms.",
                ".Bl -tag -width Ds"]
        out += man_keys(kind["options"])
        out.append(".El")
    return out


def man_console(_tables):
    """The keys and commands of the console: doc/keys.inc, which `make update-golden` writes and a unit test compares."""
    with open(os.path.join(HERE, "keys.inc"), encoding="utf-8") as keys:
        return keys.read().rstrip("\n").split("\n")


GENERATED = {
    "baton.1": {"commands": man_commands, "options": man_options, "states": man_states, "findings": man_findings,
                "console": man_console},
    "baton-config.5": {
        "top": lambda t: man_keys(t["top"]),
        "source": lambda t: man_keys(t["source"]),
        "kinds": man_kinds,
        "name": lambda t: man_keys(t["name"]),
        "role": lambda t: man_keys(t["role"]),
        "threshold": lambda t: man_keys(t["threshold"]),
    },
}


def manual(text, parts, tables):
    for name, make in parts.items():
        lines = "\n".join(make(tables))
        text, n = re.subn(rf'(\.\\" begin {name}\n).*?(\.\\" end {name}\n)',
                          lambda m: m.group(1) + lines + "\n" + m.group(2), text, flags=re.S)
        assert n == 1, f"{n} marks for {name}"
    return text


def cell(text):
    return (text or "").replace("|", "\\|")


def md_table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(map(cell, row)) + " |" for row in rows]


def md_machine(tables):
    """The gate's machine: its states, a diagram, and every move."""
    by_target = {}
    for move in tables["gate_moves"]:
        by_target.setdefault((move["from"], move["to"]), []).append(move["event"])
    out = md_table(("state", "what is done in it"), [(f"`{s['word']}`", s["help"]) for s in tables["gate_states"]])
    out += ["", "```mermaid", "stateDiagram-v2", f"    [*] --> {tables['gate_states'][0]['word']}"]
    out += [f"    {a} --> {b}: {', '.join(events)}" for (a, b), events in by_target.items()]
    out += [f"    {tables['gate_states'][-1]['word']} --> [*]", "```", ""]
    out += md_table(("in state", "when", "goes to", "outcome"),
                    [(f"`{m['from']}`", f"`{m['event']}`", f"`{m['to']}`", f"`{m['outcome']}`" if m["outcome"] else "")
                     for m in tables["gate_moves"]])
    return out + [""] + md_table(("event", "means"), [(f"`{e['word']}`", e["help"]) for e in tables["gate_events"]])


def md_acts(tables):
    return md_table(("mechanism", "verb", "request", "guard", "needs"),
                    [(f"`{a['mechanism']}`", f"`{a['verb']}`", a["request"], a["guard"] or "*nothing*", a["needs"])
                     for a in tables["acts"]])


def md_warnings(tables):
    return md_table(("finding", "verbs", "what it says"),
                    [(f"`{w['finding']}`", w["verbs"].replace(" | ", ", "), w["text"]) for w in tables["warnings"]])


def md_measures(tables):
    return md_table(("measure", "of", "counts"),
                    [(f"`{m['word']}`", m["of"], m["help"] + (" (a time)" if m["time"] else "")) for m in tables["measures"]])


def md_counts(tables):
    return md_table(("counter", "kept by", "counts"), [(f"`{c['word']}`", c["whose"], c["help"]) for c in tables["counts"]])


def md_keys(options):
    rows = []
    for o in options:
        about = "one of " + ", ".join(f"`{w}`" for w in o["words"].split("|")) if o["words"] else o["type"]
        if o["default"]:
            about += f"; by default `{o['default']}`"
        rows.append((f"`{o['name']}`" + (" *" if o["required"] else ""), about, o["help"]))
    return md_table(("key", "takes", "what it is"), rows)


def md_parts(options, title):
    """Each map under its own key."""
    out = []
    for o in options:
        out += ["", title.format(o["name"]), "", o["help"], ""]
        out += md_keys(o["fields"]) if o["fields"] else ["It takes nothing."]
    return out


def md_top(tables):
    return md_keys(tables["scenario"]["top"])


def md_world(tables):
    return md_parts(tables["scenario"]["world"], "`{}:`, a list")[1:]


def md_programs(tables):
    return md_parts(tables["scenario"]["programs"], "`{}`")[1:]


def md_sources(tables):
    return md_keys(tables["scenario"]["source"])


def md_faults(tables):
    faults = tables["scenario"]["fault"]
    return md_keys([f for f in faults if f["type"] != "a map"]) + md_parts([f for f in faults if f["type"] == "a map"], "`{}`")


def md_lesson(tables):
    """The keys under `lesson:`, map by map; a star marks those that must be there."""
    out = ["A star marks the keys that must be there."]
    for name, options in tables["lesson"].items():
        out += ["", f"`{name}:`", ""] + md_keys(options)
    return out


def md_example(_tables):
    with open(os.path.join(HERE, "example-lesson.yaml"), encoding="utf-8") as example:
        return ["```yaml", *example.read().rstrip("\n").split("\n"), "```"]


MARKDOWN = {"safety.md": {"machine": md_machine, "acts": md_acts, "warnings": md_warnings},
            "scenario-format.md": {"top": md_top, "world": md_world, "programs": md_programs, "sources": md_sources,
                                   "faults": md_faults, "measures": md_measures, "counts": md_counts, "lesson": md_lesson, "example": md_example}}


def markdown(text, parts, tables):
    for name, make in parts.items():
        lines = "\n".join(make(tables))
        text, n = re.subn(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)",
                          lambda m: m.group(1) + lines + "\n" + m.group(2), text, flags=re.S)
        assert n == 1, f"{n} marks for {name}"
    return text


DETAIL_TYPES = {
    "int": {"type": ["integer", "null"]},
    "big": {"$ref": "#/$defs/big_or_null"},
    "hex": {"anyOf": [{"$ref": "#/$defs/hex"}, {"type": "null"}]},
    "time": {"$ref": "#/$defs/time_or_null"},
    "ms": {"type": ["integer", "null"]},
    "text": {"type": ["string", "null"]},
    "bool": {"type": ["boolean", "null"]},
}
ALWAYS_LISTS = ("blocked_by", "other_keys", "alarm", "finalizers", "active_dangling", "orphan_runs", "run")


def detail_schema(detail):
    one = DETAIL_TYPES[detail["type"]]
    many = {"type": "array", "items": one}
    schema = {"description": detail["help"]}
    if detail["word"] in ALWAYS_LISTS:
        return {**schema, **many}
    return {**schema, "anyOf": [one, many]}


def schema(text, tables):
    data = json.loads(text)
    defs = data["$defs"]
    defs["state"]["enum"] = [s["word"] for s in tables["states"]]
    defs["mechanism"]["enum"] = [m["word"] for m in tables["mechanisms"]]
    defs["finding_code"]["enum"] = [f["word"] for f in tables["findings"]]
    defs["verb"]["enum"] = [v["word"] for v in tables["verbs"]]
    defs["detail"]["properties"] = {d["word"]: detail_schema(d) for d in tables["details"]}
    return json.dumps(data, indent=1) + "\n"


OPTION_SCHEMAS = {
    "a text": {"type": ["string", "number"]},
    "a whole number": {"type": "integer"},
    "true or false": {"type": "boolean"},
    "a duration such as 500ms, 10s or 5m": {"type": ["string", "number"]},
    "a text or a list of texts": {"anyOf": [{"type": ["string", "number"]}, {"type": "array", "items": {"type": ["string", "number"]}}]},
}


def option_schema(option, maps):
    """What a value of an option looks like; maps: the tables of maps by the key that they stand under."""
    if option["words"]:
        schema_ = {"enum": option["words"].split("|")}
    elif option["name"] in maps and option["type"] == "a list of maps":
        schema_ = {"type": "array", "items": {"$ref": f"#/$defs/{option['name']}"}}
    elif option["name"] in maps and option["type"] == "a map":
        schema_ = {"$ref": f"#/$defs/{option['name']}"}
    else:
        schema_ = OPTION_SCHEMAS.get(option["type"], {})
    return {"description": option["help"], **schema_}


def map_schema(options, maps):
    return {"type": "object", "additionalProperties": False,
            "required": [o["name"] for o in options if o["required"]],
            "properties": {o["name"]: option_schema(o, maps) for o in options}}


def scenario_schema(tables):
    """The JSON Schema of scenarios, for editors: what the program itself checks, without what one key asks of another."""
    maps, scenario = tables["lesson"], tables["scenario"]
    one = {o["name"]: map_schema(o["fields"], {}) for o in scenario["programs"]}
    world = {o["name"]: {"description": o["help"], "type": "array", "items": map_schema(o["fields"], {})} for o in scenario["world"]}
    world["processes"]["items"]["properties"]["runs"] = {"type": "array", "items": {"$ref": "#/$defs/program"}}
    fault = map_schema(scenario["fault"], {})
    for o in scenario["fault"]:
        if o["type"] == "a map":
            fault["properties"][o["name"]] = {"description": o["help"], **map_schema(o["fields"], {})}
    top = map_schema(scenario["top"], {})
    top["properties"].update({
        "world": {"$ref": "#/$defs/world"}, "lesson": {"$ref": "#/$defs/lesson"},
        "sources": {"type": "array", "items": map_schema(scenario["source"], {})},
        "faults": {"type": "array", "items": {"$ref": "#/$defs/fault"}}})
    return json.dumps({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of baton's built-in fleet",
        **top,
        "$defs": {"world": {"type": "object", "additionalProperties": False, "properties": world},
                  "program": {"type": "object", "additionalProperties": False, "minProperties": 1, "maxProperties": 1, "properties": one},
                  "fault": fault,
                  **{name: map_schema(options, maps) for name, options in maps.items()}},
    }, indent=1) + "\n"


def choices(option, tables):
    """The fixed words that an option takes, or None."""
    if option["choices"]:
        return option["choices"].split("|")
    themes = os.path.join(os.path.dirname(HERE), "themes")
    return {"state": [s["word"] for s in tables["states"]],
            "finding": [f["word"] for f in tables["findings"]],
            "theme": sorted(name[:-6] for name in os.listdir(themes) if name.endswith(".theme")),
            }.get(option["completes"])


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


BASH = """# bash completion for baton; made by doc/update.py

_baton_ask() {
	# What the sources say now; silent, and at most a second. The config that is being asked for counts.
	local config=() i
	for ((i = 1; i < COMP_CWORD - 1; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --config) config=(--config "${COMP_WORDS[i + 1]}") ;;
		esac
	done
	"${COMP_WORDS[0]}" "${config[@]}" __complete "$1" 2>/dev/null
}

_baton() {
	local cur prev words cword command="" i
	if declare -F _init_completion >/dev/null; then
		# Ids hold colons: they are no separators here.
		_init_completion -n := || return
	else
		cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	fi
	COMPREPLY=()
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		@VALUED@) ((i++)) ;;
		-*) ;;
		*)
			command=${words[i]}
			break
			;;
		esac
	done
	case $prev in
@PREV@
	esac
	if [[ $cur == -* ]]; then
		local options=@ALL_OPTIONS@
		case $command in
@COMMAND_OPTIONS@
		esac
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
		return
	fi
	local IFS=$'\\n'
	case $command in
	"") mapfile -t COMPREPLY < <(compgen -W @COMMANDS@ -- "$cur") ;;
@COMMAND_ARGS@
	esac
	if declare -F __ltrim_colon_completions >/dev/null; then
		__ltrim_colon_completions "$cur"
	fi
}

complete -F _baton baton
"""


def bash_words(words):
    return "$'" + "\\n".join(words) + "'"


def option_words(tables, command):
    by_name = {o["name"]: o for o in tables["options"]}
    words = []
    for name in command["options"]:
        words.append("--" + name)
        if by_name[name]["letter"]:
            words.append("-" + by_name[name]["letter"])
    return words


def bash(tables):
    valued = [o for o in tables["options"] if o["value"]]

    def names(o):
        return " | ".join(([f"-{o['letter']}"] if o["letter"] else []) + [f"--{o['name']}"])

    prev = []
    for o in valued:
        words = choices(o, tables)
        if words:
            do = f"mapfile -t COMPREPLY < <(compgen -W '{' '.join(words)}' -- \"$cur\")"
        elif o["completes"] == "file":
            do = "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
        elif o["completes"] == "source":
            do = "mapfile -t COMPREPLY < <(compgen -W \"$(_baton_ask sources)\" -- \"$cur\")"
        elif o["completes"] == "scenario":
            do = "mapfile -t COMPREPLY < <(compgen -f -W \"$(_baton_ask scenarios)\" -- \"$cur\")"
        else:
            do = ":"
        prev.append(f"\t{names(o)})\n\t\t{do}\n\t\treturn\n\t\t;;")
    commands = [c["name"] for c in tables["commands"]]
    args = []
    for c in tables["commands"]:
        if c["completes"] == "id":
            args.append(f"\t{c['name']}) mapfile -t COMPREPLY < <(compgen -W \"$(_baton_ask ids)\" -- \"$cur\") ;;")
        elif c["completes"] == "lesson":
            args.append(f"\t{c['name']}) mapfile -t COMPREPLY < <(compgen -W \"$(_baton_ask lessons)\" -- \"$cur\") ;;")
        elif c["completes"] == "scenario":
            args.append(f"\t{c['name']}) mapfile -t COMPREPLY < <(compgen -f -W \"$(_baton_ask scenarios)\" -- \"$cur\") ;;")
        elif c["completes"] == "command":
            args.append(f"\t{c['name']}) mapfile -t COMPREPLY < <(compgen -W {bash_words(commands)} -- \"$cur\") ;;")
        elif c["completes"] == "verb":
            words = " ".join(v["word"] for v in tables["verbs"])
            args.append(f"\t{c['name']})\n\t\tif [[ {' || '.join('$prev == ' + v['word'] for v in tables['verbs'])} ]]; then\n"
                        "\t\t\tmapfile -t COMPREPLY < <(compgen -W \"$(_baton_ask ids)\" -- \"$cur\")\n\t\telse\n"
                        f"\t\t\tmapfile -t COMPREPLY < <(IFS=' ' compgen -W '{words}' -- \"$cur\")\n\t\tfi\n\t\t;;")
    everything = ["--" + o["name"] for o in tables["options"]] + ["-" + o["letter"] for o in tables["options"] if o["letter"]]
    return (BASH.replace("@VALUED@", " | ".join(names(o) for o in valued))
            .replace("@PREV@", "\n".join(prev))
            .replace("@ALL_OPTIONS@", shell_quote(" ".join(everything)))
            .replace("@COMMAND_OPTIONS@", "\n".join(
                f"\t\t{c['name']}) options={shell_quote(' '.join(option_words(tables, c)))} ;;" for c in tables["commands"]))
            .replace("@COMMANDS@", bash_words(commands))
            .replace("@COMMAND_ARGS@", "\n".join(args)))


ZSH = """#compdef baton
# zsh completion for baton; made by doc/update.py

_baton_ask() {
	local -a words_found config
	[[ -n ${opt_args[--config]} ]] && config=(--config ${(Q)opt_args[--config]})
	words_found=(${(f)"$(_call_program words ${words[1]} ${(q)config} __complete $1 2>/dev/null)"})
	compadd -a words_found
}

_baton_ids() { _baton_ask ids }
_baton_sources() { _baton_ask sources }
_baton_scenarios() { _baton_ask scenarios; _files }

_baton_commands() {
	local -a commands
	commands=(
@COMMANDS@
	)
	_describe -t commands command commands
}

_baton() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C \\
@OPTIONS@
		'1: :_baton_commands' \\
		'*:: :->rest'
	[[ $state == rest ]] || return
	case ${line[1]} in
@ARGS@
	esac
}

_baton "$@"
"""


def zsh(tables):
    def text(help_):
        return re.split(r"(?<=[.:,;])\s", help_)[0].rstrip(".,:;").replace("[", "(").replace("]", ")").replace(":", "\\:").replace("'", "'\\''")

    options = []
    for o in tables["options"]:
        many = "*" if o["name"] in ("source", "state", "ignore") else ""
        words = choices(o, tables)
        if words:
            action = f":{o['value']}:({' '.join(words)})"
        elif o["completes"] == "file":
            action = f":{o['value']}:_files"
        elif o["completes"] == "source":
            action = f":{o['value']}:_baton_sources"
        elif o["completes"] == "scenario":
            action = f":{o['value']}:_baton_scenarios"
        elif o["value"]:
            action = f":{o['value']}: "
        else:
            action = ""
        for name in ([f"-{o['letter']}"] if o["letter"] else []) + [f"--{o['name']}"]:
            options.append(f"\t\t'{many}{name}[{text(o['help'])}]{action}' \\")
    args = []
    for c in tables["commands"]:
        if c["completes"] == "id":
            args.append(f"\t{c['name']}) _baton_ids ;;")
        elif c["completes"] == "lesson":
            args.append(f"\t{c['name']}) _baton_ask lessons ;;")
        elif c["completes"] == "scenario":
            args.append(f"\t{c['name']}) _baton_scenarios ;;")
        elif c["completes"] == "command":
            args.append(f"\t{c['name']}) _baton_commands ;;")
        elif c["completes"] == "verb":
            args.append(f"\t{c['name']}) (( CURRENT == 2 )) && compadd {' '.join(v['word'] for v in tables['verbs'])} || _baton_ids ;;")
    return (ZSH.replace("@COMMANDS@", "\n".join(f"\t\t'{c['name']}:{text(c['summary'])}'" for c in tables["commands"]))
            .replace("@OPTIONS@", "\n".join(options)).replace("@ARGS@", "\n".join(args)))


def fish(tables):
    def text(help_):
        return shell_quote(re.split(r"(?<=[.:,;])\s", help_)[0].rstrip(".,:;")).replace("'\\''", "\\'")

    commands = [c["name"] for c in tables["commands"]]
    out = ["# fish completion for baton; made by doc/update.py", "", "complete -c baton -f",
           f"set -l commands {' '.join(commands)}",
           "set -l none \"not __fish_seen_subcommand_from $commands\"", ""]
    for c in tables["commands"]:
        out.append(f"complete -c baton -n \"$none\" -a {c['name']} -d {text(c['summary'])}")
    out.append("")
    for o in tables["options"]:
        users = [c["name"] for c in tables["commands"] if o["name"] in c["options"]]
        line = "complete -c baton"
        if len(users) < len(commands):
            # Options may stand before the command as well.
            line += f" -n \"$none; or __fish_seen_subcommand_from {' '.join(users)}\""
        if o["letter"]:
            line += f" -s {o['letter']}"
        line += f" -l {o['name']}"
        words = choices(o, tables)
        if words:
            line += f" -x -a '{' '.join(words)}'"
        elif o["completes"] == "file":
            line += " -r -F"
        elif o["completes"] == "source":
            line += " -x -a '(baton __complete sources 2>/dev/null)'"
        elif o["completes"] == "scenario":
            line += " -r -F -a '(baton __complete scenarios 2>/dev/null)'"
        elif o["value"]:
            line += " -x"
        out.append(line + f" -d {text(o['help'])}")
    out.append("")
    for c in tables["commands"]:
        if c["completes"] == "id":
            out.append(f"complete -c baton -n '__fish_seen_subcommand_from {c['name']}' -a '(baton __complete ids 2>/dev/null)'")
        elif c["completes"] == "lesson":
            out.append(f"complete -c baton -n '__fish_seen_subcommand_from {c['name']}' -a '(baton __complete lessons 2>/dev/null)'")
        elif c["completes"] == "scenario":
            out.append(f"complete -c baton -n '__fish_seen_subcommand_from {c['name']}' -a '(baton __complete scenarios 2>/dev/null)'")
        elif c["completes"] == "command":
            out.append(f"complete -c baton -n '__fish_seen_subcommand_from {c['name']}' -a '{' '.join(commands)}'")
        elif c["completes"] == "verb":
            out.append(f"complete -c baton -n '__fish_seen_subcommand_from {c['name']}' -a '"
                       f"{' '.join(v['word'] for v in tables['verbs'])} (baton __complete ids 2>/dev/null)'")
    return "\n".join(out) + "\n"


def read(name):
    try:
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def made(tables):
    for name, parts in GENERATED.items():
        yield name, manual(read(name), parts, tables)
    for name, parts in MARKDOWN.items():
        yield name, markdown(read(name), parts, tables)
    yield "baton-1.schema.json", schema(read("baton-1.schema.json"), tables)
    yield "scenario.schema.json", scenario_schema(tables)
    yield "completions/baton.bash", bash(tables)
    yield "completions/_baton", zsh(tables)
    yield "completions/baton.fish", fish(tables)


def main(args):
    check = "--check" in args
    args = [a for a in args if a != "--check"]
    if len(args) != 1:
        sys.exit(__doc__)
    tables = json.loads(subprocess.run([os.path.abspath(args[0])], stdout=subprocess.PIPE, check=True).stdout)
    faults = 0
    for name, text in made(tables):
        if text == read(name):
            continue
        if check:
            faults += 1
            sys.stdout.writelines(difflib.unified_diff(read(name).splitlines(True), text.splitlines(True),
                                                       f"doc/{name}", "as the tables say", n=1))
        else:
            with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
                file.write(text)
            print(f"wrote doc/{name}")
    if faults:
        sys.exit("the tables say otherwise: run `make update-doc` and commit what it changes")


if __name__ == "__main__":
    main(sys.argv[1:])
