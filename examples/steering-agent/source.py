"""What the source says: which functions change what the open conditions are about.

This reads Solidity by its words, not by its grammar: what it gets wrong costs calls, and no more.
"""

import re

NAME = r"[A-Za-z_$][\w$]*"
FUNCTION = re.compile(rf"\bfunction\s+({NAME})\s*\(")
MODIFIER = re.compile(rf"\bmodifier\s+({NAME})\b")
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d[\d_]*(?:e\d+)?(?:\s+(?:ether|gwei|wei|seconds|minutes|hours|days|weeks))?)(?![\w.])")
# Written with what may make it grow. `x = 0`, `x = false` and `delete x` only take back what was reached.
CHANGE = re.compile(rf"({NAME})(?:\[[^\]]*\]|\.{NAME})*\s*(?:\+\+|--|[-+*/|&^]=|=(?!=)\s*(?!0\s*;|false\s*;|address\(0\)\s*;))")
WORDS = frozenset(
    "if else require assert return returns for while public external internal private view pure memory storage calldata"
    " uint256 uint int256 int bool address true false msg sender value block timestamp number this function modifier"
    " new emit revert".split()
)


class Function:
    """A function or modifier, with the lines that it is written on."""

    def __init__(self, name, lines):
        self.name = name
        self.lines = lines
        self.text = "\n".join(code(line["text"]) for line in lines)

    def is_open(self):
        return any(line["mark"] in ("missed", "partial") for line in self.lines)

    def changes(self):
        return {name for name in CHANGE.findall(self.text) if name not in WORDS}

    def names(self):
        return names(self.text)


class Source:
    def __init__(self, files, target):
        self.bodies = [body for lines in files.values() for body in bodies(lines)]
        self.known = {name for body in self.bodies for name in body.changes()}
        self.callable = {}
        for function in target["functions"]:
            if function["called"] and function["mutability"] != "view":
                self.callable.setdefault(function["signature"].split("(")[0], []).append(function["signature"])
        self.properties = {test["name"].split("(")[0] for test in target["properties"]}

    def functions_that_matter(self):
        """Signatures of the functions that change what properties and open conditions are about."""
        asked = set()
        for body in self.bodies:
            if body.name in self.properties:
                asked |= body.names() & self.known
        for _ in range(3):
            # What is called by name counts as if it stood there.
            called = [body for body in self.bodies if body.changes() & asked]
            more = set()
            for body in called:
                if body.is_open():
                    more |= open_names(body) & self.known
            if more <= asked:
                break
            asked |= more
        wanted = {
            signature
            for body in self.bodies
            if body.changes() & asked
            for signature in self.callable.get(body.name, [])
        }
        everything = {signature for signatures in self.callable.values() for signature in signatures}
        # A priority that everything has is none.
        return sorted(wanted) if len(wanted) * 2 < len(everything) else []

    def boundaries(self, wanted):
        """Sequences of one call each, with the numbers of its open conditions and their neighbours as arguments."""
        sequences = []
        for body in self.bodies:
            for signature in self.callable.get(body.name, []):
                if signature in wanted and body.is_open():
                    sequences += calls(signature, numbers(body))
        return sequences[:20]


def bodies(lines):
    """The functions of a file, by counting braces from where each begins."""
    index = 0
    while index < len(lines):
        found = FUNCTION.search(code(lines[index]["text"])) or MODIFIER.search(code(lines[index]["text"]))
        if not found:
            index += 1
            continue
        begin, depth, has_begun = index, 0, False
        while index < len(lines):
            text = code(lines[index]["text"])
            depth += text.count("{") - text.count("}")
            has_begun = has_begun or "{" in text
            index += 1
            if has_begun and depth <= 0 or not has_begun and text.rstrip().endswith(";"):
                break
        yield Function(found.group(1), lines[begin:index])


def code(text):
    """A line without its comment."""
    return text.split("//")[0]


def names(text):
    return {name for name in re.findall(NAME, text) if name not in WORDS}


def open_names(body):
    """Names in conditions that only ever went one way, and in those in front of lines that never ran."""
    found = set()
    before = ""
    for line in body.lines:
        text = code(line["text"])
        if line["mark"] == "partial":
            found |= names(text)
        elif line["mark"] == "missed":
            found |= names(before)
        if line["mark"] != "none":
            before = text
    return found


def numbers(body):
    found = []
    for number in NUMBER.findall(body.text):
        if number not in found:
            found.append(number)
    return found


def calls(signature, found):
    """The call with each number in each place that takes one, the rest left to the fuzzer."""
    name, types = signature[:-1].split("(", 1)
    types = [part for part in types.split(",") if part]
    if any("(" in part or "[" in part for part in types):
        return []
    sequences = []
    for place, kind in enumerate(types):
        if not kind.startswith(("uint", "int")):
            continue
        for number in found:
            for value in neighbours(number):
                arguments = ["?"] * len(types)
                arguments[place] = value
                sequences.append((f"{name}({', '.join(arguments)})",))
    return sequences


def neighbours(number):
    plain = number.replace("_", "")
    if plain.isdigit():
        return [str(value) for value in (int(plain) - 1, int(plain), int(plain) + 1) if value >= 0]
    return [number]
