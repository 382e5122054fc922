"""Compares Python imports with `ast`, which lists imports, and `importlib`, which finds modules."""

import ast
import shutil
import sys
import tempfile
import unittest
import warnings
from importlib.machinery import PathFinder
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scoring import Score, resolve_imports  # noqa: E402

SITE_PACKAGES = Path(next(path for path in sys.path if path.endswith("site-packages")))
SOURCES = (".py", ".pyi")


class Modules:
    """Finds the modules below a folder as the import system does, without running them."""

    def __init__(self, root):
        self.root = str(root)
        self.known = {}

    def find_module(self, name):
        if name not in self.known:
            self.known[name] = self.find_uncached(name)
        return self.known[name]

    def find_uncached(self, name):
        above, _, _ = name.rpartition(".")
        if not above:
            return PathFinder.find_spec(name, [self.root])
        package = self.find_module(above)
        if package is None or package.submodule_search_locations is None:
            return None
        return PathFinder.find_spec(name, list(package.submodule_search_locations))

    def find_files(self, name, names):
        """Returns the files of `import name`, or of `from name import names`."""
        module = self.find_module(name)
        if module is None:
            return self.find_stubs(name, [])
        if module.submodule_search_locations is None:
            return self.get_source_file(module) or self.find_stubs(name, names)
        below = [self.find_module(f"{name}.{one}") for one in names if one != "*"]
        own = not names or "*" in names or None in below
        found = [module] if own else []
        return set().union(*(self.get_source_file(spec) for spec in found + [spec for spec in below if spec]))

    def find_stubs(self, name, names):
        """Returns the stubs of a compiled module, which has no source text."""
        base = Path(self.root, *name.split("."))
        package = base / "__init__.pyi"
        if not package.is_file():
            return {str(path.relative_to(self.root)) for path in [base.with_suffix(".pyi")] if path.is_file()}
        below = [base / f"{one}.pyi" for one in names]
        found = [path for path in below if path.is_file()] + [package] * (not names or not all(map(Path.is_file, below)))
        return {str(path.relative_to(self.root)) for path in found}

    def get_source_file(self, spec):
        """Returns the source file; empty for compiled modules and namespace packages."""
        path = spec.origin
        if path is None or not path.endswith(SOURCES):
            return set()
        return {str(Path(path).relative_to(self.root))}


def list_imports(path, module, is_package):
    """Yields `(line, level, name as written, absolute name, names)` for each import of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, 0, alias.name, alias.name, []
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            written = "." * node.level + (node.module or "")
            package = module.split(".")[: len(module.split(".")) + is_package - node.level]
            absolute = ".".join(package + ([node.module] if node.module else [])) if node.level else node.module
            yield node.lineno, node.level, written, absolute, [alias.name for alias in node.names]


class Python(unittest.TestCase):
    def test_imports_resolve_as_in_importlib(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for name in ("anyio", "attr", "hypothesis", "jsonschema", "mcp", "pip", "pydantic", "pygments", "rich",
                         "schemathesis", "starlette", "urllib3", "uvicorn", "werkzeug", "yaml", "pydantic_core"):
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(SITE_PACKAGES / name, root / name, ignore=ignored)
            relative, absolute = Score("Python, relative imports"), Score("Python, absolute imports")
            listed = Score("Python, imports that are listed")
            modules = Modules(root)
            for result in resolve_imports(root):
                path = root / result["file"]
                if path.suffix != ".py":
                    continue
                try:
                    with warnings.catch_warnings(action="ignore"):
                        ast.parse(path.read_text())
                except (SyntaxError, UnicodeDecodeError):
                    continue
                self.compare_file(path, result, modules, relative, absolute, listed)
        for score in (relative, absolute, listed):
            print(score)
        self.assertGreater(relative.right, 2000)
        for score in (relative, absolute, listed):
            score.check(self)

    def compare_file(self, path, result, modules, relative, absolute, listed):
        for score in (relative, absolute, listed):
            score.files += 1
        parts = list(path.relative_to(modules.root).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        answers = {}
        for one in result["imports"]:
            # A repeated import is listed once.
            answers[(one["specifier"], tuple(one.get("names", ())))] = set(one.get("files", ()))
        with warnings.catch_warnings(action="ignore"):
            expected_imports = list(list_imports(path, module, is_package))
        written = {(name, () if names == ["*"] else tuple(names)) for _, _, name, _, names in expected_imports}
        listed.compare(str(path), {str(key) for key in written}, {str(key) for key in answers})
        for line, level, name, full, names in expected_imports:
            key = (name, () if names == ["*"] else tuple(names))
            expected = modules.find_files(full, names) if full else set()
            where = f"{result['file']}:{line} {name} {names}"
            (relative if level else absolute).compare(where, expected, answers.get(key, set()))


if __name__ == "__main__":
    unittest.main()
