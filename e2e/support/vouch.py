"""Starts and stops the built binary for a test, each time in a separate project folder."""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from queue import Empty, Queue

_TARGET = Path(__file__).resolve().parents[2] / "target" / "debug"
VOUCH = os.environ.get("VOUCH_BIN", str(_TARGET / "vouch"))

# State of the tests' projects, so that no test writes into the home folder. Children inherit it.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="vouch-e2e-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
# The tests write the configuration of their projects themselves.
os.environ["VOUCH_TRUST"] = "1"
# The SDK passes only a few variables on to a child.
STDIO_ENVIRONMENT = {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"], "VOUCH_TRUST": "1"}

# Maximum start time. A debug build on a busy machine starts slowly; a hang should fail the test, not the whole run.
START_LIMIT_SECONDS = 30


# The files of a project: a source file with an import, a rule about it, a guide, and a blocked file.
FILES = {
    "docs/guide.md": "# Guide\n\nSmall steps.\n",
    "AGENTS.md": "# Rules\n\n- Tokens must be stored hashed, never in plain text.\n",
    "src/auth/tokens.py": (
        "from .store import TokenStore\n\n\ndef issue_token(user):\n"
        '    """A new token for a user who has logged in."""\n    return TokenStore().add(user)\n'
    ),
    "src/auth/store.py": 'class TokenStore:\n    def add(self, user):\n        return f"{user}-1"\n',
    "src/auth/__init__.py": "",
    ".env": "TOKEN=not-for-you\n",
    # Clients over HTTP are asked for approvals only if the operator trusts them.
    "vouch.toml": '[clients.local]\napprove = "ask"\n',
}


class Project:
    """A project folder, which is removed after the test."""

    command = "serve"

    def __init__(self, test):
        self.root = Path(tempfile.mkdtemp(prefix="vouch-e2e-"))
        test.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        for path, text in FILES.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def read_memory(self, file):
        """Returns the text of a memory file, or None if it does not exist."""
        path = self.root / ".claude/memory" / file
        return path.read_text() if path.exists() else None

    def run_vouch(self, *args):
        """Runs a `vouch` command on this project and returns its stdout."""
        return subprocess.run(
            [VOUCH, *args, "--root", self.root], check=True, capture_output=True, text=True
        ).stdout

    def stdio_arguments(self, *flags):
        return [self.command, "--stdio", "--root", str(self.root), *flags]

    def start_server(self, test, *flags, token=None):
        """Starts a server for this project on a free port and returns its URL. The server stops after the test.

        Without a token, any caller may call.
        """
        flags = flags if token else ("--no-token", *flags)
        return self.start_command(test, self.command, "--port", "0", "--root", self.root, *flags, token=token)

    def start_command(self, test, *arguments, token=None):
        """Starts a `vouch` command that serves MCP and returns the URL that it prints. It stops after the test."""
        environment = {**os.environ, "VOUCH_TOKEN": token} if token else None
        server = subprocess.Popen(
            [VOUCH, *arguments],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        lines = Queue()

        def read_lines():
            for line in server.stderr:
                lines.put(line)
            lines.put(None)

        reader = threading.Thread(target=read_lines, daemon=True)
        reader.start()

        def stop():
            server.terminate()
            server.wait()
            reader.join()
            server.stderr.close()

        test.addCleanup(stop)
        output = []
        while True:
            try:
                line = lines.get(timeout=START_LIMIT_SECONDS)
            except Empty:
                line = None
            if line is None:
                raise AssertionError("vouch printed no URL:\n" + "".join(output))
            output.append(line)
            if match := re.search(r"http://\S+?/mcp", line):
                return match[0]
