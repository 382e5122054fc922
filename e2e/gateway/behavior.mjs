// Expectations on the reference servers behind the gateway, for every SDK, protocol revision and transport.
//
// `connect(t, project)` returns a connected client, `callWithProgress` makes a call with a progress callback. Servers in
// Node are slow to start, so one gateway serves all checks of a client.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { expectError } from "../support/behavior.mjs";
import { ADMITTED, connectDirectly, createGatewayProject } from "./project.mjs";

const UNKNOWN_TOOL = { code: -32602 };
const ENTITY = { name: "gateway", entityType: "program", observations: ["stands between"] };

/** Calls with the same result directly and through the gateway: upstream, tool, arguments. */
const listComparableCalls = (root) => [
  ["files", "read_text_file", { path: join(root, "docs/guide.md") }],
  ["files", "read_text_file", { path: join(root, "docs/guide.md"), head: 1 }],
  ["files", "list_directory", { path: join(root, "src/auth") }],
  ["files", "directory_tree", { path: join(root, "src") }],
  ["files", "write_file", { path: join(root, "out/note.txt"), content: "Größe: 1 µm\n" }],
  ["memory", "create_entities", { entities: [ENTITY] }],
  ["memory", "open_nodes", { names: ["gateway"] }],
  ["everything", "get-structured-content", { location: "Chicago" }],
];

/** Defines the tests of the gateway for one client. */
export function testGateway(label, connect, callWithProgress) {
  test(label, async (t) => {
    const project = await createGatewayProject(t);
    const client = await connect(t, project);
    const call = (name, args) => client.callTool({ name, arguments: args });

    // Before tools are listed: once SDK 1 knows an output schema, it validates the structured content of errors, too.
    await t.test("rejects arguments that violate the schema", async () => {
      const mistyped = expectError(await call("files__read_text_file", { path: 7 }), "INVALID_INPUT");
      assert.match(mistyped.message, /path/);
      expectError(await call("everything__echo", {}), "INVALID_INPUT");
      expectError(await call("memory__create_entities", { entities: [{ name: "no type" }] }), "INVALID_INPUT");
    });

    const { tools } = await client.listTools();
    await t.test("lists exactly the admitted tools, as their servers define them", async (t) => {
      for (const upstream of ["files", "memory", "everything"]) {
        const offered = tools.filter((tool) => tool.name.startsWith(`${upstream}__`));
        const own = await listDefinitions(t, project, upstream);
        const expected = upstream === "everything" ? ADMITTED : Object.keys(own);
        assert.deepEqual(offered.map((tool) => tool.name.split("__")[1]).sort(), [...expected].sort());
        for (const tool of offered) {
          const { description, inputSchema, outputSchema } = own[tool.name.split("__")[1]];
          assert.deepEqual(tool.inputSchema, inputSchema, tool.name);
          // An overlay supplies a missing output schema and its own description.
          if (outputSchema) assert.deepEqual(tool.outputSchema, outputSchema, tool.name);
          if (outputSchema) assert.equal(tool.description, description);
          else assert.equal(tool.outputSchema.additionalProperties, false, tool.name);
        }
      }
    });

    await t.test("returns the same answers as the servers", async (t) => {
      const servers = new Map();
      for (const [upstream, tool, args] of listComparableCalls(project.root)) {
        if (!servers.has(upstream)) servers.set(upstream, await connectDirectly(t, project, upstream));
        const expected = pickToolResult(await servers.get(upstream).callTool({ name: tool, arguments: args }));
        assert.ok(!expected.isError, JSON.stringify(expected));
        assert.deepEqual(pickToolResult(await call(`${upstream}__${tool}`, args)), expected, `${upstream}__${tool}`);
      }
      assert.equal(await readFile(join(project.root, "out/note.txt"), "utf8"), "Größe: 1 µm\n");
    });

    await t.test("returns the answer of echo in the structure of its overlay", async () => {
      const result = await call("everything__echo", { message: "hello" });
      assert.ok(!result.isError, JSON.stringify(result));
      assert.deepEqual(result.structuredContent, { text: "Echo: hello" });
      assert.deepEqual(result.content, [{ type: "text", text: "Echo: hello" }]);
    });

    await t.test("passes on an error of a server", async () => {
      const result = await call("files__read_text_file", { path: join(project.root, "missing.md") });
      assert.equal(result.isError, true, JSON.stringify(result));
      assert.match(JSON.stringify(result.content), /ENOENT: no such file or directory/);
    });

    await t.test("rejects calls of refused tools as unknown", async () => {
      await assert.rejects(call("everything__get-sum", { a: 1, b: 2 }), UNKNOWN_TOOL);
      await assert.rejects(call("echo", { message: "without its prefix" }), UNKNOWN_TOOL);
    });

    await t.test("prevents a server from writing outside its sandbox", async () => {
      // The server itself allows the write: the whole project is among its directories.
      const result = await call("files__write_file", { path: join(project.root, "docs/new.md"), content: "no" });
      assert.equal(result.isError, true, JSON.stringify(result));
      assert.match(JSON.stringify(result.content), /EROFS/);
      await assert.rejects(readFile(join(project.root, "docs/new.md")), { code: "ENOENT" });
    });

    await t.test("relays progress", async () => {
      const seen = [];
      const name = "everything__trigger-long-running-operation";
      const result = await callWithProgress(client, { name, arguments: { duration: 0.4, steps: 4 } }, (it) => seen.push(it));
      assert.equal(result.structuredContent.text, "Long running operation completed. Duration: 0.4 seconds, Steps: 4.");
      // Both SDKs drop a report that they read together with the answer. This can happen to the last report.
      const steps = [1, 2, 3, 4].map((step) => [step, 4]).slice(0, Math.max(seen.length, 3));
      assert.deepEqual(
        seen.map(({ progress, total }) => [progress, total]),
        steps,
      );
    });
  });
}

/** Returns the definitions of the server by tool name. */
async function listDefinitions(t, project, upstream) {
  const { tools } = await (await connectDirectly(t, project, upstream)).listTools();
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
}

/** Returns the parts of a result that come from the tool; the rest depends on the protocol revision. */
export const pickToolResult = ({ content, structuredContent, isError = false }) => ({
  content,
  structuredContent,
  isError,
});
