"""The Python SDK, pinned to 2026-07-28 and with the older handshake, over HTTP and over stdio."""

import asyncio
import json
import unittest

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult, INVALID_PARAMS

from support.vouch import STDIO_ENVIRONMENT, VOUCH, Project

TOOLS = ["context_search", "grep_codebase", "hello", "read_file", "read_repo_file", "write_memory_entry"]
DECISION = {"file": "decisions.jsonl", "entry": '{"decision":"Refresh tokens rotate on every use"}'}
ENTRY = {"file": "progress_log.jsonl", "entry": '{"event":"milestone"}'}


def make_responder(action, approve=None):
    """Returns an elicitation callback with a fixed response, and the list of messages that it received."""
    shown = []

    async def reply(_context, elicitation):
        shown.append(elicitation.message)
        content = None if approve is None else {"approve": approve}
        return ElicitResult(action=action, content=content)

    return reply, shown


class ToolTests:
    """Tests for every protocol revision and transport; the classes below choose them."""

    mode: str

    async def asyncSetUp(self):
        # unittest enables asyncio's debug mode, which reports every start of a server as a slow step.
        asyncio.get_running_loop().set_debug(False)

    def target(self, project):
        raise NotImplementedError

    def connect(self, project, reply=None):
        return Client(self.target(project), mode=self.mode, elicitation_callback=reply)

    def expect_success(self, result):
        self.assertFalse(result.is_error, result)
        self.assertEqual(json.loads(result.content[0].text), result.structured_content)
        return result.structured_content

    def expect_error(self, result, code):
        self.assertTrue(result.is_error, result)
        self.assertEqual(json.loads(result.content[0].text), result.structured_content)
        error = result.structured_content["error"]
        self.assertIs(result.structured_content["success"], False)
        self.assertEqual(error["code"], code, error)
        return error

    async def test_lists_the_tools(self):
        async with self.connect(Project(self)) as client:
            tools = (await client.list_tools()).tools
        self.assertEqual([tool.name for tool in tools], TOOLS)
        for tool in tools:
            self.assertIs(tool.input_schema["additionalProperties"], False)
            self.assertEqual(tool.output_schema["type"], "object")

    async def test_uses_the_requested_revision(self):
        async with self.connect(Project(self)) as client:
            self.assertEqual(client.protocol_version >= "2026-07-28", self.mode != "legacy")

    async def test_calls_hello_and_reads_a_file(self):
        async with self.connect(Project(self)) as client:
            hello = self.expect_success(await client.call_tool("hello", {"name": "Python"}))
            self.assertEqual(hello["message"], "Hello, Python!")
            read = self.expect_success(await client.call_tool("read_repo_file", {"path": "docs/guide.md"}))
            self.assertEqual(read["content"], "# Guide\n\nSmall steps.\n")
            self.assertEqual(read["size"], 22)

    async def test_returns_errors_in_the_envelope(self):
        async with self.connect(Project(self)) as client:
            denied = self.expect_error(await client.call_tool("read_repo_file", {"path": ".env"}), "ACCESS_DENIED")
            self.assertEqual(denied["status"], 403)
            self.expect_error(await client.call_tool("read_repo_file", {"path": "nothing.md"}), "NOT_FOUND")
            invalid = self.expect_error(await client.call_tool("read_repo_file", {"path": 7}), "INVALID_INPUT")
            self.assertIn("path", invalid["message"])

    async def test_an_unknown_tool_is_a_protocol_error(self):
        async with self.connect(Project(self)) as client:
            with self.assertRaises(MCPError) as raised:
                await client.call_tool("no_such_tool", {})
        self.assertEqual(raised.exception.error.code, INVALID_PARAMS)

    async def test_writes_when_the_user_accepts(self):
        project = Project(self)
        reply, shown = make_responder("accept", approve=True)
        async with self.connect(project, reply) as client:
            written = self.expect_success(await client.call_tool("write_memory_entry", ENTRY))
        self.assertEqual(written["bytes_written"], len(ENTRY["entry"]) + 1)
        self.assertEqual(project.read_memory(ENTRY["file"]), ENTRY["entry"] + "\n")
        self.assertEqual(len(shown), 1)
        self.assertIn(ENTRY["entry"], shown[0])

    async def test_writes_nothing_when_the_user_declines(self):
        for reply, _ in (make_responder("decline"), make_responder("cancel"), make_responder("accept", approve=False)):
            project = Project(self)
            async with self.connect(project, reply) as client:
                self.expect_error(await client.call_tool("write_memory_entry", ENTRY), "APPROVAL_DENIED")
            self.assertIsNone(project.read_memory(ENTRY["file"]))

    async def test_queues_the_write_of_a_client_without_elicitation(self):
        project = Project(self)
        async with self.connect(project) as client:
            error = self.expect_error(await client.call_tool("write_memory_entry", ENTRY), "APPROVAL_REQUIRED")
            self.assertIsNone(project.read_memory(ENTRY["file"]))
            project.run_vouch("approvals", "approve", str(error["details"]["approvalId"]), "--yes")
            self.expect_success(await client.call_tool("write_memory_entry", ENTRY))
            self.expect_error(await client.call_tool("write_memory_entry", ENTRY), "APPROVAL_REQUIRED")
        self.assertEqual(project.read_memory(ENTRY["file"]), ENTRY["entry"] + "\n")


    async def test_greps_and_reads_with_imports(self):
        async with self.connect(Project(self)) as client:
            found = self.expect_success(await client.call_tool("grep_codebase", {"pattern": r"def issue\w+"}))
            match = found["matches"][0]
            self.assertEqual((match["file"], match["line"], match["column"]), ("src/auth/tokens.py", 4, 1))
            self.expect_error(await client.call_tool("grep_codebase", {"pattern": "["}), "INVALID_INPUT")
            arguments = {"path": "src/auth/tokens.py", "includeDeps": True}
            read = self.expect_success(await client.call_tool("read_file", arguments))
            self.assertEqual([it["path"] for it in read["dependencies"]], ["src/auth/store.py"])
            self.assertIn("class TokenStore", read["dependencies"][0]["content"])

    async def test_searches_by_meaning(self):
        async with self.connect(Project(self)) as client:
            found = self.expect_success(await client.call_tool("context_search", {"query": "where are tokens issued"}))
            self.assertIn("src/auth/tokens.py", [result.get("path") for result in found["results"][:3]], found)
            arguments = {"query": "how do we store tokens", "type": "rule"}
            rules = self.expect_success(await client.call_tool("context_search", arguments))
            self.assertIn("never in plain text", rules["results"][0]["content"])
            short = self.expect_error(await client.call_tool("context_search", {"query": "ab"}), "INVALID_INPUT")
            self.assertIn("at least 3 characters", short["message"])

    async def test_reads_resources(self):
        async with self.connect(Project(self)) as client:
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            self.assertIn("context://project/overview", uris)
            templates = (await client.list_resource_templates()).resource_templates
            self.assertIn("context://module/{name}", [template.uri_template for template in templates])
            overview = (await client.read_resource("context://project/overview")).contents[0]
            self.assertEqual(overview.mime_type, "text/markdown")
            self.assertIn("python", overview.text.lower())
            with self.assertRaises(MCPError) as raised:
                await client.read_resource("context://module/none")
        self.assertEqual(raised.exception.error.code, INVALID_PARAMS)

    async def test_finds_an_entry_of_another_client(self):
        project = Project(self)
        reply, _ = make_responder("accept", approve=True)
        async with self.connect(project, reply) as writer, self.connect(project) as reader:
            self.expect_success(await writer.call_tool("write_memory_entry", DECISION))
            arguments = {"query": "rotation of refresh tokens", "type": "decision"}
            found = self.expect_success(await reader.call_tool("context_search", arguments))
        self.assertIn("rotate on every use", found["results"][0]["content"])


class OverHttp(ToolTests):
    def target(self, project):
        return project.start_server(self)


class OverStdio(ToolTests):
    def target(self, project):
        return StdioServerParameters(command=VOUCH, args=project.stdio_arguments(), env=STDIO_ENVIRONMENT)


class CurrentOverHttp(OverHttp, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


class CurrentOverStdio(OverStdio, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


class HandshakeOverHttp(OverHttp, unittest.IsolatedAsyncioTestCase):
    mode = "legacy"


class HandshakeOverStdio(OverStdio, unittest.IsolatedAsyncioTestCase):
    mode = "legacy"
