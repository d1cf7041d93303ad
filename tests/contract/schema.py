"""
As much of JSON Schema (draft 2020-12) as doc/baton-1.schema.json uses. A keyword that is not known here is an error, so
that nothing is taken for checked that is not.
"""

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


class Schema:
    def __init__(self, root):
        self.root = root

    def resolve(self, reference):
        schema = self.root
        assert reference.startswith("#/"), reference
        for step in reference[2:].split("/"):
            schema = schema[step]
        return schema

    def faults(self, value, schema=None, path="$"):
        """A list of sentences; empty when the value fits."""
        schema = self.root if schema is None else schema
        found = []
        for keyword, rule in schema.items():
            if keyword not in ANNOTATIONS:
                found += getattr(self, "check_" + keyword.lstrip("$"))(value, rule, path, schema)
        return found

    def check_ref(self, value, rule, path, _):
        return self.faults(value, self.resolve(rule), path)

    def check_type(self, value, rule, path, _):
        names = [rule] if isinstance(rule, str) else rule
        return [] if any(is_type(value, n) for n in names) else [f"{path}: {value!r:.60} is not {' or '.join(names)}"]

    def check_const(self, value, rule, path, _):
        return [] if value == rule else [f"{path}: {value!r:.60} is not {rule!r}"]

    def check_enum(self, value, rule, path, _):
        return [] if any(value == r and type(value) is type(r) for r in rule) else [f"{path}: {value!r:.60} is none of {rule}"]

    def check_pattern(self, value, rule, path, _):
        if not isinstance(value, str) or re.search(rule, value):
            return []
        return [f"{path}: {value!r:.60} is not {rule}"]

    def check_anyOf(self, value, rule, path, _):
        tried = [self.faults(value, one, path) for one in rule]
        return [] if not all(tried) else min(tried, key=len)

    def check_oneOf(self, value, rule, path, _):
        tried = [self.faults(value, one, path) for one in rule]
        fits = sum(not t for t in tried)
        if fits == 1:
            return []
        return [f"{path}: fits {fits} of {len(rule)}"] + (min(tried, key=len) if fits == 0 else [])

    def check_required(self, value, rule, path, _):
        return [f"{path}: no {name}" for name in rule if isinstance(value, dict) and name not in value]

    def check_properties(self, value, rule, path, _):
        if not isinstance(value, dict):
            return []
        return [fault for name, one in rule.items() if name in value
                for fault in self.faults(value[name], one, f"{path}.{name}")]

    def check_additionalProperties(self, value, rule, path, schema):
        if not isinstance(value, dict):
            return []
        more = [name for name in value if name not in schema.get("properties", {})]
        if rule is False:
            return [f"{path}: {name} is not described" for name in more]
        return [fault for name in more for fault in self.faults(value[name], rule, f"{path}.{name}")]

    def check_items(self, value, rule, path, _):
        if not isinstance(value, list):
            return []
        return [fault for i, one in enumerate(value) for fault in self.faults(one, rule, f"{path}[{i}]")]
