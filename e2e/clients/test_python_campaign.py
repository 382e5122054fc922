"""Watches and steers a live fuzz campaign through the Python SDK: both protocol eras, over HTTP and over stdio."""

import asyncio
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from mcp import Client, StdioServerParameters

from support.vouch import STDIO_ENVIRONMENT, VOUCH, Project

FLAGS = ("--packs", "campaign", "--demo", "--corpus-dir", "corpus")
LIMIT_SECONDS = 60
E2E = Path(__file__).resolve().parents[1]
AGENT = E2E.parent / "examples" / "steering-agent" / "agent.py"
STREAK = E2E.parent / "crates" / "bench" / "src" / "campaign" / "contracts" / "Streak.sol"


class ToolRefusedError(Exception):
    pass


class CampaignTests:
    """Tests for every protocol revision and transport. The SDK validates every answer against its schema."""

    mode: str

    async def asyncSetUp(self):
        # unittest enables asyncio's debug mode, which reports every start of a server as a slow step.
        asyncio.get_running_loop().set_debug(False)

    def target(self, project):
        raise NotImplementedError

    async def call_tool(self, client, tool, **arguments):
        result = await client.call_tool(tool, arguments)
        if result.is_error:
            raise ToolRefusedError(result.structured_content["error"]["code"])
        return result.structured_content

    async def poll_until(self, client, tool, is_expected, **arguments):
        """Calls a tool until its answer is as expected. Waits for a campaign that is still being prepared."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                try:
                    answer = await self.call_tool(client, tool, **arguments)
                    if is_expected(answer):
                        return answer
                except ToolRefusedError as error:
                    self.assertEqual(str(error), "UPSTREAM_UNAVAILABLE")
                await asyncio.sleep(0.15)

    async def test_reads_steers_and_exports_a_campaign(self):
        project = Project(self)
        async with Client(self.target(project), mode=self.mode) as client:
            await client.list_tools()
            await self.poll_until(client, "get_corpus_size", lambda answer: answer["size"] > 0)
            failed = await self.poll_until(
                client, "read_logs", lambda answer: answer["events"], eventType="PropertyFalsified", count=1
            )
            self.assertEqual(failed["events"][0]["eventType"], "PropertyFalsified")
            injected = await self.call_tool(client, "inject_transaction", sequence=["deposit(1 ether)", "withdraw(?)"])
            self.assertEqual(injected["injectedCount"], 2)
            await self.poll_until(
                client,
                "read_logs",
                lambda answer: any(event["data"]["injected"] for event in answer["events"]),
                eventType="TransactionExecuted",
                count=2500,
            )
            signature = "deposit(uint256)"
            prioritized = await self.call_tool(client, "prioritize_function", functionSignature=signature)
            self.assertEqual(prioritized["prioritizedFunctions"], [signature])
            self.assertEqual((await self.call_tool(client, "clear_priorities"))["clearedCount"], 1)
            page = await self.call_tool(client, "inspect_corpus_transactions", limit=3)
            self.assertLessEqual(len(page["transactions"]), 3)
            found = await self.call_tool(client, "find_transaction_in_corpus", functionSignature=signature)
            self.assertGreaterEqual(found["count"], len(found["matches"]))
            await self.poll_until(client, "show_coverage", lambda answer: answer["overallCoverage"] > 0)
            dumped = await client.call_tool("dump_lcov", {})
            self.assertTrue(dumped.content[0].text.startswith("TN:"), dumped)
        log = (project.root / "corpus" / "mcp-commands.jsonl").read_text().splitlines()
        tools = [json.loads(line)["tool"] for line in log]
        self.assertEqual(tools, ["inject_transaction", "prioritize_function", "clear_priorities"])


class ExampleAgent(unittest.TestCase):
    def test_agent_steers_until_the_property_breaks(self):
        project = Project(self)
        # The agent reads source lines, so the source must be beside the compiled file.
        (project.root / STREAK.name).write_text(STREAK.read_text())
        compiled = project.root / "Streak.json"
        compiled.write_text(compile_solidity(STREAK))
        flags = ("--paused", "--mcp-port", "0", "--corpus-dir", "corpus", "--stop-on-fail")
        # Without the agent, the campaign does not break the property within this many calls.
        limits = ("--seed", "1", "--workers", "1", "--test-limit", "500000")
        token = "a-token-for-tests-only"
        url = project.start_command(self, "fuzz", str(compiled), *flags, *limits, token=token)
        agent = subprocess.run(
            [sys.executable, AGENT, url, "--every", "0.1"],
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            env={**os.environ, "VOUCH_TOKEN": token},
        )
        self.assertEqual(agent.returncode, 0, agent.stderr)
        output = agent.stdout
        self.assertTrue(output.startswith("0 calls: prioritized confirm()\n"), output)
        self.assertRegex(output, "failed: echidna_holds|the server ended together with its campaign")
        self.assertTrue(list((project.root / "corpus" / "reproducers-unshrunk").glob("*.txt")), output)


def compile_solidity(path):
    """Compiles a source with the npm compiler and returns the standard JSON output."""
    selection = {"*": {"": ["ast"], "*": ["abi", "evm.bytecode", "evm.deployedBytecode"]}}
    task = {
        "language": "Solidity",
        "sources": {path.name: {"content": path.read_text()}},
        "settings": {"outputSelection": selection},
    }
    compiler = E2E / "fuzz" / "solc.mjs"
    return subprocess.run(
        ["node", compiler], input=json.dumps(task), check=True, capture_output=True, text=True
    ).stdout


class OverHttp:
    def target(self, project):
        return project.start_server(self, *FLAGS)


class OverStdio:
    def target(self, project):
        return StdioServerParameters(
            command=VOUCH, args=project.stdio_arguments(*FLAGS), cwd=str(project.root), env=STDIO_ENVIRONMENT
        )


class Http2026(OverHttp, CampaignTests, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


class HttpLegacy(OverHttp, CampaignTests, unittest.IsolatedAsyncioTestCase):
    mode = "legacy"


class Stdio2026(OverStdio, CampaignTests, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


if __name__ == "__main__":
    unittest.main()
