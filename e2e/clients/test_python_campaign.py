"""A live fuzz campaign, watched and steered through the Python SDK: both protocol eras, over HTTP and over stdio."""

import asyncio
import json
import unittest

from mcp import Client, StdioServerParameters

from support.vouch import VOUCH, Project

FLAGS = ("--packs", "campaign", "--demo", "--corpus-dir", "corpus")
LIMIT_SECONDS = 60


class Refused(Exception):
    pass


class Behaviour:
    """What must hold for each protocol revision and transport. The SDK checks every answer by its schema."""

    mode: str

    async def asyncSetUp(self):
        # unittest switches asyncio's debug mode on, which reports every start of a server as a slow step.
        asyncio.get_running_loop().set_debug(False)

    def target(self, project):
        raise NotImplementedError

    async def call(self, client, tool, **arguments):
        result = await client.call_tool(tool, arguments)
        if result.is_error:
            raise Refused(result.structured_content["error"]["code"])
        return result.structured_content

    async def until(self, client, tool, is_there, **arguments):
        """Asks until the answer is as wanted. A campaign that is still being prepared is waited for."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                try:
                    answer = await self.call(client, tool, **arguments)
                    if is_there(answer):
                        return answer
                except Refused as refused:
                    self.assertEqual(str(refused), "UPSTREAM_UNAVAILABLE")
                await asyncio.sleep(0.15)

    async def test_the_whole_loop(self):
        project = Project(self)
        async with Client(self.target(project), mode=self.mode) as client:
            await client.list_tools()
            await self.until(client, "get_corpus_size", lambda answer: answer["size"] > 0)
            failed = await self.until(
                client, "read_logs", lambda answer: answer["events"], eventType="PropertyFalsified", count=1
            )
            self.assertEqual(failed["events"][0]["eventType"], "PropertyFalsified")
            injected = await self.call(client, "inject_transaction", sequence=["deposit(1 ether)", "withdraw(?)"])
            self.assertEqual(injected["injectedCount"], 2)
            await self.until(
                client,
                "read_logs",
                lambda answer: any(event["data"]["injected"] for event in answer["events"]),
                eventType="TransactionExecuted",
                count=2500,
            )
            signature = "deposit(uint256)"
            prioritised = await self.call(client, "prioritize_function", functionSignature=signature)
            self.assertEqual(prioritised["prioritizedFunctions"], [signature])
            self.assertEqual((await self.call(client, "clear_priorities"))["clearedCount"], 1)
            page = await self.call(client, "inspect_corpus_transactions", limit=3)
            self.assertLessEqual(len(page["transactions"]), 3)
            found = await self.call(client, "find_transaction_in_corpus", functionSignature=signature)
            self.assertGreaterEqual(found["count"], len(found["matches"]))
            await self.until(client, "show_coverage", lambda answer: answer["overallCoverage"] > 0)
            dumped = await client.call_tool("dump_lcov", {})
            self.assertTrue(dumped.content[0].text.startswith("TN:"), dumped)
        log = (project.root / "corpus" / "mcp-commands.jsonl").read_text().splitlines()
        tools = [json.loads(line)["tool"] for line in log]
        self.assertEqual(tools, ["inject_transaction", "prioritize_function", "clear_priorities"])


class OverHttp:
    def target(self, project):
        return project.serve(self, *FLAGS)


class OverStdio:
    def target(self, project):
        return StdioServerParameters(command=VOUCH, args=project.stdio_arguments(*FLAGS), cwd=str(project.root))


class Http2026(OverHttp, Behaviour, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


class HttpLegacy(OverHttp, Behaviour, unittest.IsolatedAsyncioTestCase):
    mode = "legacy"


class Stdio2026(OverStdio, Behaviour, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


if __name__ == "__main__":
    unittest.main()
