"""Runs the import resolver of `read_file` on a folder, and scores its answers against the expected ones."""

import json
import os
import subprocess
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "target" / "debug"
RESOLVER = os.environ.get("IMPORTS_BIN", str(TARGET / "examples" / "imports"))


def resolve_imports(root):
    """Returns one object for each file: `{file, imports: [{specifier, kind, line, files?, external?}]}`."""
    run = subprocess.run([RESOLVER, str(root)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


class Score:
    """Counts correct answers and collects wrong ones."""

    def __init__(self, title):
        self.title, self.files, self.right, self.missed, self.invented = title, 0, 0, [], []

    def compare(self, where, expected, answer):
        """Compares sets of files. Missing files count as missed, unexpected files as invented."""
        if expected == answer:
            self.right += 1
        else:
            wrong = self.invented if answer - expected else self.missed
            wrong.append(f"{where}: {sorted(answer)} instead of {sorted(expected)}")

    @property
    def share(self):
        return self.right / max(1, self.right + len(self.missed) + len(self.invented))

    def __str__(self):
        wrong = "".join(f"\n    {line}" for line in (self.invented + self.missed)[:10])
        return (
            f"{self.title}: {self.files} files, {self.right} right, {len(self.missed)} missed, "
            f"{len(self.invented)} invented, {self.share:.2%}{wrong}"
        )
