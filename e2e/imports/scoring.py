"""Runs the import resolver of `read_file` on a folder, and scores its answers against the expected ones."""

import json
import os
import subprocess
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "target" / "debug"
RESOLVER = os.environ.get("IMPORTS_BIN", str(TARGET / "examples" / "imports"))
KNOWN_MISSES = json.loads(Path(__file__).with_name("known-misses.json").read_text())


def resolve_imports(root):
    """Returns one object for each file: `{file, imports: [{specifier, kind, line, files?, external?}]}`."""
    run = subprocess.run([RESOLVER, str(root)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


class Score:
    """Counts correct answers and collects wrong ones, by the place of the import."""

    def __init__(self, title):
        self.title, self.files, self.right, self.missed, self.invented = title, 0, 0, {}, {}

    def compare(self, where, expected, answer):
        """Compares sets of files. Missing files count as missed, unexpected files as invented."""
        if expected == answer:
            self.right += 1
        else:
            wrong = self.invented if answer - expected else self.missed
            wrong[where] = f"{where}: {sorted(answer)} instead of {sorted(expected)}"

    def check(self, test, is_compared=lambda where: True):
        """Asserts that exactly the imports in known-misses.json are wrong, among those for which `is_compared` is true."""
        test.maxDiff = None
        known = {miss["import"] for miss in KNOWN_MISSES.get(self.title, ()) if is_compared(miss["import"])}
        wrong = self.missed | self.invented
        unknown = [line for where, line in wrong.items() if where not in known]
        test.assertEqual(unknown, [], f"{self.title}: wrong, and not in known-misses.json")
        stale = sorted(known - wrong.keys())
        test.assertEqual(stale, [], f"{self.title}: no longer wrong; remove them from known-misses.json")

    def __str__(self):
        return (
            f"{self.title}: {self.files} files, {self.right} right, {len(self.missed)} missed, "
            f"{len(self.invented)} invented"
        )
