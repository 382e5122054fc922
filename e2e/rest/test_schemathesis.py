"""Schemathesis generates requests from `/openapi.json` and checks every answer against it."""

import subprocess
import sys
import unittest
from pathlib import Path

from support.vouch import Project

TOOLS = ("hello", "read_repo_file", "write_memory_entry")
# Far above what one run sends: here the contracts are under test, not the limits.
UNLIMITED = "".join(f"[tools.{tool}]\nrate_per_minute = 1000000\n\n" for tool in TOOLS)


class Schemathesis(unittest.TestCase):
    def test_all_checks_in_all_phases(self):
        project = Project(self)
        (project.root / "vouch.toml").write_text(UNLIMITED)
        base = project.serve(self).removesuffix("/mcp")
        run = subprocess.run(
            [
                Path(sys.executable).with_name("schemathesis"),
                "run",
                f"{base}/openapi.json",
                "--checks=all",
                "--phases=examples,coverage,fuzzing,stateful",
                "--max-examples=50",
                "--seed=20260728",
                "--generation-deterministic",
                "--generation-database=none",
                "--no-color",
            ],
            cwd=project.root,
            capture_output=True,
            text=True,
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
