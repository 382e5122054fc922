"""Compares Rust imports with the compiler: the files that it read for a crate, and the module tree of these files.

`rustc` writes the sources of each crate into its dep-info (`target/debug/deps/*.d`); `cargo metadata` lists the root files.
The tree is built from the declarations in these files, by a scanner that shares no code with the resolver.
"""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scoring import TARGET, Score, resolve_imports  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
# Blocked names, which `read_file` never opens. An import of such a file is not resolved.
DENIED = re.compile(r"secret|credential|\.git/", re.I)
TOKEN = re.compile(r'r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'|//[^\n]*|/\*|\*/', re.S)
DECLARATION = re.compile(r'\bpath\s*=\s*"([^"]*)"\s*\)?\s*\]|\bmod\s+(?:r#)?(\w+)\s*([;{])|\buse\s+([^;]*);|macro_rules!|[{}]', re.S)


def strip_comments(text):
    """Returns the text without comments and strings, except the string of `#[path = …]`."""
    out, at, depth = [], 0, 0
    for match in TOKEN.finditer(text):
        found = match.group()
        if depth == 0:
            out.append(text[at:match.start()])
        at = match.end()
        if found == "/*":
            depth += 1
        elif found == "*/":
            depth = max(0, depth - 1)
        elif depth == 0 and found.startswith('"') and re.search(r"\bpath\s*=\s*$", "".join(out[-1:])):
            out.append(found)
    if depth == 0:
        out.append(text[at:])
    return "".join(out)


def scan_declarations(text):
    """Yields `(kind, enclosing inline modules, name or use tree, path or None)`; kind is `mod`, `use` or `inline`."""
    around, closing, depth, paths, macro = [], [], 0, [], None
    for match in DECLARATION.finditer(strip_comments(text)):
        named, name, kind, tree = match.groups()
        if named:
            paths.append(named)
        elif match.group() == "macro_rules!":
            macro = depth
        elif name and kind == ";":
            if macro is None:
                for path in paths or [None]:
                    yield "mod", tuple(around), name, path
            paths = []
        elif name:
            if macro is None:
                yield "inline", tuple(around), name, None
            around.append(name)
            closing.append(depth)
            depth += 1
            paths = []
        elif tree is not None:
            if macro is None and not is_inside_block(depth, closing):
                yield "use", tuple(around), tree, None
        elif match.group() == "{":
            depth += 1
        else:
            depth -= 1
            if closing and closing[-1] == depth:
                around.pop()
                closing.pop()
            if macro is not None and depth <= macro:
                macro = None


def is_inside_block(depth, closing):
    """Returns true inside a function or block, false directly in a module."""
    return depth > len(closing)


def expand_use_tree(tree, prefix=()):
    """Yields the paths of a `use` tree."""
    tree = tree.strip()
    depth, parts, start = 0, [], 0
    for at, char in enumerate(tree):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(tree[start:at])
            start = at + 1
    parts.append(tree[start:])
    if len(parts) > 1:
        for part in parts:
            if part.strip():
                yield from expand_use_tree(part, prefix)
        return
    head, brace, rest = tree.partition("{")
    if brace:
        names = tuple(name.strip() for name in head.split("::") if name.strip())
        yield from expand_use_tree(rest.rstrip()[:-1], prefix + names)
        return
    names = tuple(name.strip().replace("r#", "") for name in tree.split(" as ")[0].split("::"))
    yield prefix if names == ("self",) and prefix else prefix + names


class Crate:
    """The modules of a crate, from the files that the compiler read.

    Several declarations of one name (with `cfg` conditions) are all accepted, because a reader cannot choose between them.
    """

    def __init__(self, folder, root, files):
        self.folder, self.files, self.modules, self.paths = folder, files, {}, {}
        self.uses, self.declared = [], {}
        self.add_module((), root, root.parent)

    def add_module(self, path, file, below):
        if file not in self.files:
            return
        self.modules.setdefault(path, set()).add(file)
        if file in self.paths:
            return
        self.paths[file] = path
        text = (self.folder / file).read_text()
        for kind, around, content, named in scan_declarations(text):
            inside = path + around
            if kind == "use":
                self.uses.append((file, inside, content))
            elif kind == "inline":
                self.modules.setdefault(inside + (content,), set()).add(file)
            else:
                location = below.joinpath(*around)
                options = [((file.parent if not around else location) / named, None)] if named else [
                    (location / f"{content}.rs", location / content), (location / content / "mod.rs", location / content)]
                for option, own in options:
                    option = Path(os.path.normpath(option))
                    if option in self.files:
                        self.declared.setdefault((file, around, content), set()).add(str(option))
                        self.add_module(inside + (content,), option, own or option.parent)
                        break

    def find_module_files(self, inside, names):
        """Returns the files that the last module of a path may have, or None if the path begins in another crate."""
        names = list(names)
        if names[0] == "crate":
            at, names = (), names[1:]
        elif names[0] in ("self", "super"):
            at = inside
        else:
            return None
        while names and names[0] in ("self", "super"):
            if names.pop(0) == "super":
                at = at[:-1]
        candidates = set()
        for name in names:
            if at + (name,) not in self.modules:
                break
            at += (name,)
            if len(self.modules[at]) > 1:
                candidates |= self.modules[at]
        return candidates | self.modules.get(at, set())


def list_compiled_crates():
    """Yields name, folder, root file and source files of each registry library that this workspace has compiled."""
    version = subprocess.run(["rustc", "--version", "--verbose"], check=True, capture_output=True, text=True)
    [host] = [line.removeprefix("host: ") for line in version.stdout.splitlines() if line.startswith("host: ")]
    # Dependencies for other platforms are not downloaded.
    metadata = subprocess.run(["cargo", "metadata", "--format-version", "1", "--offline", "--filter-platform", host],
                              cwd=REPOSITORY, check=True, capture_output=True, text=True)
    sources = {}
    for info in (TARGET / "deps").glob("*.d"):
        for line in info.read_text().splitlines():
            if line.endswith(".rs:") and line.startswith("/"):
                path = os.path.normpath(line[:-1].replace("\\ ", " "))
                sources.setdefault(info, set()).add(Path(path))
    by_root = {}
    for files in sources.values():
        for file in files:
            by_root.setdefault(file, files)
    for package in json.loads(metadata.stdout)["packages"]:
        folder = Path(package["manifest_path"]).parent
        for target in package["targets"]:
            root = Path(target["src_path"])
            if package["source"] and "lib" in target["kind"] and root in by_root:
                own = {file.relative_to(folder) for file in by_root[root] if file.is_relative_to(folder)}
                denied = {file for file in own if DENIED.search(str(file))}
                yield package["name"], folder, root.relative_to(folder), own - denied


class Rust(unittest.TestCase):
    def test_modules_and_paths_match_the_compiler(self):
        reached, modules = Score("Rust, files of a crate"), Score("Rust, modules")
        uses, unknown, compared = Score("Rust, use crate/self/super"), 0, set()
        for name, folder, root, files in list_compiled_crates():
            # Skip small crates and the few that take longest.
            if not 10 <= len(files) <= 80:
                continue
            compared.add(name)
            crate = Crate(folder, root, files)
            results = {Path(one["file"]): one["imports"] for one in resolve_imports(folder)}
            ours = {root}
            for file in files & results.keys():
                for score in (reached, modules, uses):
                    score.files += 1
                for one in results[file]:
                    answer = {Path(found) for found in one.get("files", ())}
                    if one["kind"] in ("module", "include"):
                        ours |= answer
                    if one["kind"] == "module" and answer & files:
                        key = (file, tuple(one.get("within", ())), one["specifier"])
                        if key in crate.declared:
                            candidates = crate.declared[key]
                            given = {str(found) for found in answer}
                            modules.compare(f"{name} {key}", given if given <= candidates else candidates, given)
            for file in files:
                reached.compare(f"{name} {file}", {str(file)}, {str(file)} & {str(one) for one in ours})
            answers = {}
            for file, imports in results.items():
                for one in imports:
                    if one["kind"] == "use":
                        names = tuple(one["specifier"].split("::"))
                        answers[(file, names, tuple(one.get("within", ())))] = set(one.get("files", ()))
            for file, inside, tree in crate.uses:
                own = crate.paths[file]
                for names in expand_use_tree(tree):
                    expected = crate.find_module_files(inside, names)
                    answer = answers.get((file, names, inside[len(own):]))
                    if expected is None or answer is None:
                        continue
                    # Files that are not compiled on this platform cannot be checked.
                    if any(Path(found) not in files for found in answer):
                        unknown += 1
                        continue
                    candidates = {str(one) for one in expected}
                    given = answer if answer and answer <= candidates else candidates
                    uses.compare(f"{name} {file} {'::'.join(names)}", given, answer)
        print(f"{len(compared)} crates, {unknown} paths lead to files that are not compiled on this platform")
        for score in (reached, modules, uses):
            print(score)
        self.assertGreater(uses.right, 2000)
        for score in (reached, modules, uses):
            # Which crates are compiled depends on the features of the last builds.
            score.check(self, is_compared=lambda where: where.split()[0] in compared)


if __name__ == "__main__":
    unittest.main()
