"""The Python SDK, pinned to 2026-07-28 and once more with the older handshake, over HTTP and over stdio."""

import asyncio
import json
import unittest

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult, INVALID_PARAMS

from support.vouch import VOUCH, Project

ENTRY = {"file": "progress_log.jsonl", "entry": '{"event":"milestone"}'}


def answering(action, approve=None):
    """A person who always replies the same, and a list of what they were shown."""
    shown = []

    async def reply(_context, question):
        shown.append(question.message)
        content = None if approve is None else {"approve": approve}
        return ElicitResult(action=action, content=content)

    return reply, shown


class Behaviour:
    """What must hold for each protocol revision and transport; the classes below choose them."""

    mode: str

    async def asyncSetUp(self):
        # unittest switches asyncio's debug mode on, which reports every start of a server as a slow step.
        asyncio.get_running_loop().set_debug(False)

    def target(self, project):
        raise NotImplementedError

    def connect(self, project, reply=None):
        return Client(self.target(project), mode=self.mode, elicitation_callback=reply)

    def succeeded(self, result):
        self.assertFalse(result.is_error, result)
        self.assertEqual(json.loads(result.content[0].text), result.structured_content)
        return result.structured_content

    def failed(self, result, code):
        self.assertTrue(result.is_error, result)
        self.assertEqual(json.loads(result.content[0].text), result.structured_content)
        error = result.structured_content["error"]
        self.assertIs(result.structured_content["success"], False)
        self.assertEqual(error["code"], code, error)
        return error

    async def test_lists_the_tools(self):
        async with self.connect(Project(self)) as client:
            tools = (await client.list_tools()).tools
        self.assertEqual([tool.name for tool in tools], ["hello", "read_repo_file", "write_memory_entry"])
        for tool in tools:
            self.assertIs(tool.input_schema["additionalProperties"], False)
            self.assertEqual(tool.output_schema["type"], "object")

    async def test_speaks_the_revision_that_was_asked_for(self):
        async with self.connect(Project(self)) as client:
            self.assertEqual(client.protocol_version >= "2026-07-28", self.mode != "legacy")

    async def test_greets_and_reads(self):
        async with self.connect(Project(self)) as client:
            hello = self.succeeded(await client.call_tool("hello", {"name": "Python"}))
            self.assertEqual(hello["message"], "Hello, Python!")
            read = self.succeeded(await client.call_tool("read_repo_file", {"path": "docs/guide.md"}))
            self.assertEqual(read["content"], "# Guide\n\nSmall steps.\n")
            self.assertEqual(read["size"], 22)

    async def test_errors_come_in_the_envelope(self):
        async with self.connect(Project(self)) as client:
            denied = self.failed(await client.call_tool("read_repo_file", {"path": ".env"}), "ACCESS_DENIED")
            self.assertEqual(denied["status"], 403)
            self.failed(await client.call_tool("read_repo_file", {"path": "nothing.md"}), "NOT_FOUND")
            invalid = self.failed(await client.call_tool("read_repo_file", {"path": 7}), "INVALID_INPUT")
            self.assertIn("path", invalid["message"])

    async def test_an_unknown_tool_is_a_protocol_error(self):
        async with self.connect(Project(self)) as client:
            with self.assertRaises(MCPError) as raised:
                await client.call_tool("no_such_tool", {})
        self.assertEqual(raised.exception.error.code, INVALID_PARAMS)

    async def test_writes_what_the_person_accepts(self):
        project = Project(self)
        reply, shown = answering("accept", approve=True)
        async with self.connect(project, reply) as client:
            written = self.succeeded(await client.call_tool("write_memory_entry", ENTRY))
        self.assertEqual(written["bytes_written"], len(ENTRY["entry"]) + 1)
        self.assertEqual(project.memory(ENTRY["file"]), ENTRY["entry"] + "\n")
        self.assertEqual(len(shown), 1)
        self.assertIn(ENTRY["entry"], shown[0])

    async def test_writes_nothing_when_the_person_declines(self):
        for reply, _ in (answering("decline"), answering("cancel"), answering("accept", approve=False)):
            project = Project(self)
            async with self.connect(project, reply) as client:
                self.failed(await client.call_tool("write_memory_entry", ENTRY), "APPROVAL_DENIED")
            self.assertIsNone(project.memory(ENTRY["file"]))

    async def test_queues_the_write_of_a_client_that_cannot_ask(self):
        project = Project(self)
        async with self.connect(project) as client:
            error = self.failed(await client.call_tool("write_memory_entry", ENTRY), "APPROVAL_REQUIRED")
            self.assertIsNone(project.memory(ENTRY["file"]))
            project.vouch("approvals", "approve", str(error["details"]["approvalId"]), "--yes")
            self.succeeded(await client.call_tool("write_memory_entry", ENTRY))
            self.failed(await client.call_tool("write_memory_entry", ENTRY), "APPROVAL_REQUIRED")
        self.assertEqual(project.memory(ENTRY["file"]), ENTRY["entry"] + "\n")


class OverHttp(Behaviour):
    def target(self, project):
        return project.serve(self)


class OverStdio(Behaviour):
    def target(self, project):
        return StdioServerParameters(command=VOUCH, args=project.stdio_arguments())


class CurrentOverHttp(OverHttp, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


class CurrentOverStdio(OverStdio, unittest.IsolatedAsyncioTestCase):
    mode = "2026-07-28"


class HandshakeOverHttp(OverHttp, unittest.IsolatedAsyncioTestCase):
    mode = "legacy"


class HandshakeOverStdio(OverStdio, unittest.IsolatedAsyncioTestCase):
    mode = "legacy"
