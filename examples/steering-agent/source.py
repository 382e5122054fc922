"""Analyzes the source: finds the functions that change the variables of open conditions.

This matches Solidity with regular expressions instead of parsing it. A wrong result only wastes calls.
"""

import re

NAME = r"[A-Za-z_$][\w$]*"
FUNCTION = re.compile(rf"\bfunction\s+({NAME})\s*\(")
MODIFIER = re.compile(rf"\bmodifier\s+({NAME})\b")
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d[\d_]*(?:e\d+)?(?:\s+(?:ether|gwei|wei|seconds|minutes|hours|days|weeks))?)(?![\w.])")
# Assignments that may make progress. `x = 0`, `x = false` and `delete x` only reset a variable.
CHANGE = re.compile(rf"({NAME})(?:\[[^\]]*\]|\.{NAME})*\s*(?:\+\+|--|[-+*/|&^]=|=(?!=)\s*(?!0\s*;|false\s*;|address\(0\)\s*;))")
KEYWORDS = frozenset(
    "if else require assert return returns for while public external internal private view pure memory storage calldata"
    " uint256 uint int256 int bool address true false msg sender value block timestamp number this function modifier"
    " new emit revert".split()
)


class FunctionBody:
    """A function or modifier, with its source lines."""

    def __init__(self, name, lines):
        self.name = name
        self.lines = lines
        self.text = "\n".join(strip_comment(line["text"]) for line in lines)

    def is_open(self):
        """Returns true if some line or branch is not covered."""
        return any(line["mark"] in ("missed", "partial") for line in self.lines)

    def changed_variables(self):
        """Returns the names of the assigned variables."""
        return {name for name in CHANGE.findall(self.text) if name not in KEYWORDS}

    def names(self):
        return find_names(self.text)


class SourceAnalysis:
    """The functions of all source files, with the target of the campaign."""

    def __init__(self, files, target):
        self.bodies = [body for lines in files.values() for body in parse_bodies(lines)]
        self.variables = {name for body in self.bodies for name in body.changed_variables()}
        self.callable = {}
        for function in target["functions"]:
            if function["called"] and function["mutability"] != "view":
                self.callable.setdefault(function["signature"].split("(")[0], []).append(function["signature"])
        self.properties = {test["name"].split("(")[0] for test in target["properties"]}

    def find_relevant_functions(self):
        """Returns the signatures of the functions that change variables of properties and open conditions."""
        relevant = set()
        for body in self.bodies:
            if body.name in self.properties:
                relevant |= body.names() & self.variables
        for _ in range(3):
            # Conditions in functions that change a relevant variable make more variables relevant.
            changing = [body for body in self.bodies if body.changed_variables() & relevant]
            more = set()
            for body in changing:
                if body.is_open():
                    more |= find_open_names(body) & self.variables
            if more <= relevant:
                break
            relevant |= more
        signatures = {
            signature
            for body in self.bodies
            if body.changed_variables() & relevant
            for signature in self.callable.get(body.name, [])
        }
        all_signatures = {signature for overloads in self.callable.values() for signature in overloads}
        # Prioritizing half of all functions or more would have little effect.
        return sorted(signatures) if len(signatures) * 2 < len(all_signatures) else []

    def build_boundary_calls(self, functions):
        """Returns sequences of one call each, with the numbers of the function and their neighbors as arguments."""
        sequences = []
        for body in self.bodies:
            for signature in self.callable.get(body.name, []):
                if signature in functions and body.is_open():
                    sequences += build_calls(signature, find_numbers(body))
        return sequences[:20]


def parse_bodies(lines):
    """Yields the functions of a file. Their ends are found by counting braces."""
    index = 0
    while index < len(lines):
        found = FUNCTION.search(strip_comment(lines[index]["text"])) or MODIFIER.search(strip_comment(lines[index]["text"]))
        if not found:
            index += 1
            continue
        start, depth, has_brace = index, 0, False
        while index < len(lines):
            text = strip_comment(lines[index]["text"])
            depth += text.count("{") - text.count("}")
            has_brace = has_brace or "{" in text
            index += 1
            if has_brace and depth <= 0 or not has_brace and text.rstrip().endswith(";"):
                break
        yield FunctionBody(found.group(1), lines[start:index])


def strip_comment(text):
    """Returns a line without its comment."""
    return text.split("//")[0]


def find_names(text):
    return {name for name in re.findall(NAME, text) if name not in KEYWORDS}


def find_open_names(body):
    """Returns the names in conditions with only one covered branch, and in the lines before uncovered lines."""
    found = set()
    before = ""
    for line in body.lines:
        text = strip_comment(line["text"])
        if line["mark"] == "partial":
            found |= find_names(text)
        elif line["mark"] == "missed":
            found |= find_names(before)
        if line["mark"] != "none":
            before = text
    return found


def find_numbers(body):
    found = []
    for number in NUMBER.findall(body.text):
        if number not in found:
            found.append(number)
    return found


def build_calls(signature, numbers):
    """Returns calls with each number in each integer parameter; the fuzzer fills in the other arguments."""
    name, types = signature[:-1].split("(", 1)
    types = [part for part in types.split(",") if part]
    if any("(" in part or "[" in part for part in types):
        return []
    sequences = []
    for position, kind in enumerate(types):
        if not kind.startswith(("uint", "int")):
            continue
        for number in numbers:
            for value in find_neighbors(number):
                arguments = ["?"] * len(types)
                arguments[position] = value
                sequences.append((f"{name}({', '.join(arguments)})",))
    return sequences


def find_neighbors(number):
    plain = number.replace("_", "")
    if plain.isdigit():
        return [str(value) for value in (int(plain) - 1, int(plain), int(plain) + 1) if value >= 0]
    return [number]
