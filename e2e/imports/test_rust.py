"""Rust against the compiler: which files it read for a crate, and the module tree that these make.

`rustc` writes the sources of each crate into its dep-info (`target/debug/deps/*.d`); `cargo metadata` says where crates
begin. The tree is built here from the declarations in exactly those files, by a scanner that shares nothing with ours.
"""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from truth import TARGET, Score, resolved  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
# Names that `read_file` opens for nobody; an import of such a file is not resolved, on purpose.
DENIED = re.compile(r"secret|credential|\.git/", re.I)
TOKEN = re.compile(r'r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'|//[^\n]*|/\*|\*/', re.S)
PIECE = re.compile(r'\bpath\s*=\s*"([^"]*)"\s*\)?\s*\]|\bmod\s+(?:r#)?(\w+)\s*([;{])|\buse\s+([^;]*);|macro_rules!|[{}]', re.S)


def without_comments(text):
    """Comments and strings blanked out, except the string of `#[path = …]`."""
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


def declarations(text):
    """`("mod", inline modules around, name, path or None)` and `("use", inline modules around, tree)`, and the inline
    modules themselves as `("inline", modules around, name)`."""
    around, closing, depth, paths, macro = [], [], 0, [], None
    for match in PIECE.finditer(without_comments(text)):
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
            if macro is None and not closing_inside(depth, closing):
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


def closing_inside(depth, closing):
    """Whether a place is inside a function or block, and not directly in a module."""
    return depth > len(closing)


def leaves(tree, prefix=()):
    """The paths of a `use` tree."""
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
                yield from leaves(part, prefix)
        return
    head, brace, rest = tree.partition("{")
    if brace:
        names = tuple(name.strip() for name in head.split("::") if name.strip())
        yield from leaves(rest.rstrip()[:-1], prefix + names)
        return
    names = tuple(name.strip().replace("r#", "") for name in tree.split(" as ")[0].split("::"))
    yield prefix if names == ("self",) and prefix else prefix + names


class Crate:
    """The modules of a crate, from the files that the compiler read. Where conditions choose between declarations of
    one name, each is as good as the other: which one holds is for the compiler to say, not for a reader."""

    def __init__(self, folder, root, files):
        self.folder, self.files, self.modules, self.paths = folder, files, {}, {}
        self.uses, self.declared = [], {}
        self.add((), root, root.parent)

    def add(self, path, file, below):
        if file not in self.files:
            return
        self.modules.setdefault(path, set()).add(file)
        if file in self.paths:
            return
        self.paths[file] = path
        text = (self.folder / file).read_text()
        for kind, around, said, named in declarations(text):
            inside = path + around
            if kind == "use":
                self.uses.append((file, inside, said))
            elif kind == "inline":
                self.modules.setdefault(inside + (said,), set()).add(file)
            else:
                place = below.joinpath(*around)
                options = [((file.parent if not around else place) / named, None)] if named else [
                    (place / f"{said}.rs", place / said), (place / said / "mod.rs", place / said)]
                for option, own in options:
                    option = Path(os.path.normpath(option))
                    if option in self.files:
                        self.declared.setdefault((file, around, said), set()).add(str(option))
                        self.add(inside + (said,), option, own or option.parent)
                        break

    def files_of(self, inside, names):
        """The file of the last module on a path, or those that it may be; None if the path begins elsewhere."""
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
        either = set()
        for name in names:
            if at + (name,) not in self.modules:
                break
            at += (name,)
            if len(self.modules[at]) > 1:
                either |= self.modules[at]
        return either | self.modules.get(at, set())


def crates():
    """The libraries of the registry that this workspace has compiled, with the files that were read for each."""
    version = subprocess.run(["rustc", "--version", "--verbose"], check=True, capture_output=True, text=True)
    [host] = [line.removeprefix("host: ") for line in version.stdout.splitlines() if line.startswith("host: ")]
    # What other systems need was never downloaded.
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
    def test_modules_and_paths_are_those_of_the_compiler(self):
        reached, modules = Score("Rust, files of a crate"), Score("Rust, modules")
        uses, unknown, many = Score("Rust, use crate/self/super"), 0, 0
        for name, folder, root, files in crates():
            # Neither those that show little nor the few that would take longest.
            if not 10 <= len(files) <= 80:
                continue
            many += 1
            crate = Crate(folder, root, files)
            said = {Path(one["file"]): one["imports"] for one in resolved(folder)}
            ours = {root}
            for file in files & said.keys():
                for score in (reached, modules, uses):
                    score.files += 1
                for one in said[file]:
                    answer = {Path(found) for found in one.get("files", ())}
                    if one["kind"] in ("module", "include"):
                        ours |= answer
                    if one["kind"] == "module" and answer & files:
                        key = (file, tuple(one.get("within", ())), one["specifier"])
                        if key in crate.declared:
                            either = crate.declared[key]
                            given = {str(found) for found in answer}
                            modules.compare(f"{name} {key}", given if given <= either else either, given)
            for file in files:
                reached.compare(f"{name} {file}", {str(file)}, {str(file)} & {str(one) for one in ours})
            answers = {}
            for file, imports in said.items():
                for one in imports:
                    if one["kind"] == "use":
                        names = tuple(one["specifier"].split("::"))
                        answers[(file, names, tuple(one.get("within", ())))] = set(one.get("files", ()))
            for file, inside, tree in crate.uses:
                own = crate.paths[file]
                for names in leaves(tree):
                    expected = crate.files_of(inside, names)
                    answer = answers.get((file, names, inside[len(own):]))
                    if expected is None or answer is None:
                        continue
                    # What is not compiled on this machine is not the compiler's to judge.
                    if any(Path(found) not in files for found in answer):
                        unknown += 1
                        continue
                    either = {str(one) for one in expected}
                    given = answer if answer and answer <= either else either
                    uses.compare(f"{name} {file} {'::'.join(names)}", given, answer)
        print(f"{many} crates, {unknown} paths lead to files that are not compiled here")
        for score in (reached, modules, uses):
            print(score)
        self.assertGreater(uses.right, 2000)
        for score in (reached, modules, uses):
            self.assertGreaterEqual(score.share, 0.99, str(score))
            self.assertEqual(score.invented, [])


if __name__ == "__main__":
    unittest.main()
