"""A schemathesis check: a request that matches the schema is refused only where one of the rules below says so.

A schema cannot express some rules: a file that does not exist, text that must be JSON, a regular expression. Each rule
decides from the request and the files of the project, which is the current folder, whether the refusal is right.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import schemathesis

RESOURCES = re.compile(r"context://(project/overview|session/current|sessions/recent(\?limit=\d+)?)")
RIPGREP = Path(sys.executable).with_name("rg")


def is_unknown_resource(case):
    return not RESOURCES.fullmatch(str(case.query["uri"]))


def is_short_query(case):
    return len(case.body["query"].strip()) < 3


def is_invalid_pattern(case):
    """Asks ripgrep, which uses the same syntax."""
    if "\0" in case.body["pattern"]:
        return True
    search = subprocess.run([RIPGREP, "-e", case.body["pattern"], os.devnull], capture_output=True)
    return search.returncode == 2


def has_control_character(text):
    return any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text)


def is_unusable_path(case):
    path = case.body["path"]
    return not path.strip() or has_control_character(path) or Path(path).is_dir()


def is_missing_file(case):
    return not os.path.exists(case.body["path"])


def is_invalid_entry(case):
    entry, file = case.body["entry"], case.body["file"]
    if not entry.strip() or has_control_character(entry.replace("\n", "").replace("\t", "")):
        return True
    try:
        # Python accepts NaN and Infinity, which are not JSON.
        json.loads(entry, parse_constant=float.__new__)
    except (ValueError, TypeError, RecursionError):
        return file.endswith(".jsonl")
    return False


def needs_approval(case):
    return os.environ.get("REST_APPROVES") != "always"


RULES = {
    ("GET /v1/resources/read", 404, "NOT_FOUND"): is_unknown_resource,
    ("POST /v1/tools/context_search", 400, "INVALID_INPUT"): is_short_query,
    ("POST /v1/tools/grep_codebase", 400, "INVALID_INPUT"): is_invalid_pattern,
    ("POST /v1/tools/read_file", 400, "INVALID_INPUT"): is_unusable_path,
    ("POST /v1/tools/read_file", 404, "NOT_FOUND"): is_missing_file,
    ("POST /v1/tools/read_repo_file", 404, "NOT_FOUND"): is_missing_file,
    ("POST /v1/tools/write_memory_entry", 400, "INVALID_INPUT"): is_invalid_entry,
    ("POST /v1/tools/write_memory_entry", 403, "APPROVAL_REQUIRED"): needs_approval,
}


@schemathesis.check
def refusals_follow_rules(ctx, response, case):
    generation = case.meta and case.meta.generation
    if response.status_code < 400 or not generation or not generation.mode.is_positive:
        return
    refusal = (case.operation.label, response.status_code, response.json()["error"]["code"])
    assert refusal in RULES, f"no rule refuses this request: {refusal}"
    assert RULES[refusal](case), f"the rule {RULES[refusal].__name__} does not refuse this request: {refusal}"
