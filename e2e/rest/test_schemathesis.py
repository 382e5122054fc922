"""Schemathesis generates requests from `/openapi.json` and checks every answer against it."""

import subprocess
import sys
import unittest
from pathlib import Path

from support.vouch import Project

CONFIG = Path(__file__).with_name("schemathesis.toml")
TOKEN = "a-token-for-tests-only"
# Far above what one run sends: here the contracts are under test, not the limits.
LIMITED = (
    "context_search",
    "grep_codebase",
    "hello",
    "read_file",
    "read_repo_file",
    "resources/read",
    "write_memory_entry",
)
UNLIMITED = "".join(f"[tools.\"{name}\"]\nrate_per_minute = 1000000\n\n" for name in LIMITED)


class Schemathesis(unittest.TestCase):
    def check(self, settings="", token=None):
        project = Project(self)
        (project.root / "vouch.toml").write_text(UNLIMITED + settings)
        # What the examples of the contracts read, so that they are answered and not only refused.
        for path in ("paths/Advanced/tracker.md", "assets/dot.gif", ".claude/memory/progress_log.jsonl"):
            file = project.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("Small steps.\n")
        base = project.serve(self, token=token).removesuffix("/mcp")
        command = [
            Path(sys.executable).with_name("schemathesis"),
            "--config-file",
            CONFIG,
            "run",
            f"{base}/openapi.json",
            "--checks=all",
            "--phases=examples,coverage,fuzzing,stateful",
            "--max-examples=50",
            "--generation-deterministic",
            "--continue-on-failure",
        ]
        if token:
            command.append(f"--header=Authorization: Bearer {token}")
        run = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_where_writes_wait_for_approval(self):
        self.check()

    def test_where_writes_are_approved(self):
        self.check('[policy]\napprove = "always"\n')

    def test_where_a_token_is_required(self):
        self.check(token=TOKEN)
