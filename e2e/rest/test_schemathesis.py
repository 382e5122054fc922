"""Schemathesis generates requests from `/openapi.json` and validates every response against it."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support.vouch import Project

CONFIG = Path(__file__).with_name("schemathesis.toml")
RULES = Path(__file__).with_name("refusal_rules.py")
TOKEN = "a-token-for-tests-only"
# Rate limits far above the requests of one run, because this tests contracts and not limits.
RATE_LIMITED_TOOLS = (
    "context_search",
    "grep_codebase",
    "hello",
    "read_file",
    "read_repo_file",
    "resources/read",
    "write_memory_entry",
)
HIGH_RATE_LIMITS = "".join(f"[tools.\"{name}\"]\nrate_per_minute = 1000000\n\n" for name in RATE_LIMITED_TOOLS)


class Schemathesis(unittest.TestCase):
    def run_schemathesis(self, approves="", token=None):
        project = Project(self)
        policy = f'[policy]\napprove = "{approves}"\n' if approves else ""
        (project.root / "vouch.toml").write_text(HIGH_RATE_LIMITS + policy)
        # Files that the examples of the contracts read, so that these calls succeed.
        for path in ("paths/Advanced/tracker.md", "assets/dot.gif", ".claude/memory/progress_log.jsonl"):
            file = project.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("Small steps.\n")
        base = project.start_server(self, token=token).removesuffix("/mcp")
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
        # `refusal_rules.py` compares the refusals with the project and its policy.
        environment = os.environ | {"REST_APPROVES": approves, "SCHEMATHESIS_HOOKS": str(RULES)}
        run = subprocess.run(command, cwd=project.root, env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_contracts_hold_when_writes_need_approval(self):
        self.run_schemathesis()

    def test_contracts_hold_when_writes_are_approved(self):
        self.run_schemathesis(approves="always")

    def test_contracts_hold_when_a_token_is_required(self):
        self.run_schemathesis(token=TOKEN)
