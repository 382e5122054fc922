// What every client must see of the reference servers behind the gateway, whichever SDK, protocol revision and front door.
//
// `connect(t, place)` gives a connected client, `watch` makes a call whose progress is watched. Servers in Node are slow
// to start, so one gateway serves all checks of a client.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { failed } from "../support/behaviour.mjs";
import { ADMITTED, direct, place } from "./place.mjs";

const NO_SUCH_TOOL = { code: -32602 };
const ENTITY = { name: "gateway", entityType: "program", observations: ["stands between"] };

/** Calls that change nothing, or the same on both sides: upstream, tool, arguments. */
const calls = (root) => [
  ["files", "read_text_file", { path: join(root, "docs/guide.md") }],
  ["files", "read_text_file", { path: join(root, "docs/guide.md"), head: 1 }],
  ["files", "list_directory", { path: join(root, "src/auth") }],
  ["files", "directory_tree", { path: join(root, "src") }],
  ["files", "write_file", { path: join(root, "out/note.txt"), content: "Größe: 1 µm\n" }],
  ["memory", "create_entities", { entities: [ENTITY] }],
  ["memory", "open_nodes", { names: ["gateway"] }],
  ["everything", "get-structured-content", { location: "Chicago" }],
];

export function standsBetween(label, connect, watch) {
  test(label, async (t) => {
    const at = await place(t);
    const client = await connect(t, at);
    const call = (name, args) => client.callTool({ name, arguments: args });

    // Before anything is listed: SDK 1 holds the structured content of an error, too, against an output schema it knows.
    await t.test("stops arguments that break the schema", async () => {
      const mistyped = failed(await call("files__read_text_file", { path: 7 }), "INVALID_INPUT");
      assert.match(mistyped.message, /path/);
      failed(await call("everything__echo", {}), "INVALID_INPUT");
      failed(await call("memory__create_entities", { entities: [{ name: "no type" }] }), "INVALID_INPUT");
    });

    const { tools } = await client.listTools();
    await t.test("offers the tools that conform, as their servers define them, and no others", async (t) => {
      for (const upstream of ["files", "memory", "everything"]) {
        const offered = tools.filter((tool) => tool.name.startsWith(`${upstream}__`));
        const own = await definitions(t, at, upstream);
        const expected = upstream === "everything" ? ADMITTED : Object.keys(own);
        assert.deepEqual(offered.map((tool) => tool.name.split("__")[1]).sort(), [...expected].sort());
        for (const tool of offered) {
          const { description, inputSchema, outputSchema } = own[tool.name.split("__")[1]];
          assert.deepEqual(tool.inputSchema, inputSchema, tool.name);
          // What the server left out comes from the overlay, with its own words.
          if (outputSchema) assert.deepEqual(tool.outputSchema, outputSchema, tool.name);
          if (outputSchema) assert.equal(tool.description, description);
          else assert.equal(tool.outputSchema.additionalProperties, false, tool.name);
        }
      }
    });

    await t.test("answers as the servers do", async (t) => {
      const servers = new Map();
      for (const [upstream, tool, args] of calls(at.root)) {
        if (!servers.has(upstream)) servers.set(upstream, await direct(t, at, upstream));
        const expected = answer(await servers.get(upstream).callTool({ name: tool, arguments: args }));
        assert.ok(!expected.isError, JSON.stringify(expected));
        assert.deepEqual(answer(await call(`${upstream}__${tool}`, args)), expected, `${upstream}__${tool}`);
      }
      assert.equal(await readFile(join(at.root, "out/note.txt"), "utf8"), "Größe: 1 µm\n");
    });

    await t.test("gives the answer of echo the structure of its overlay", async () => {
      const result = await call("everything__echo", { message: "hello" });
      assert.ok(!result.isError, JSON.stringify(result));
      assert.deepEqual(result.structuredContent, { text: "Echo: hello" });
      assert.deepEqual(result.content, [{ type: "text", text: "Echo: hello" }]);
    });

    await t.test("passes on what a server refuses", async () => {
      const result = await call("files__read_text_file", { path: join(at.root, "missing.md") });
      assert.equal(result.isError, true, JSON.stringify(result));
      assert.match(JSON.stringify(result.content), /ENOENT: no such file or directory/);
    });

    await t.test("does not know a tool that was refused", async () => {
      await assert.rejects(call("everything__get-sum", { a: 1, b: 2 }), NO_SUCH_TOOL);
      await assert.rejects(call("echo", { message: "without its prefix" }), NO_SUCH_TOOL);
    });

    await t.test("keeps a server inside its sandbox", async () => {
      // The server itself would allow it: the whole project is among its directories.
      const result = await call("files__write_file", { path: join(at.root, "docs/new.md"), content: "no" });
      assert.equal(result.isError, true, JSON.stringify(result));
      assert.match(JSON.stringify(result.content), /EACCES/);
      await assert.rejects(readFile(join(at.root, "docs/new.md")), { code: "ENOENT" });
    });

    await t.test("relays progress", async () => {
      const seen = [];
      const name = "everything__trigger-long-running-operation";
      const result = await watch(client, { name, arguments: { duration: 0.4, steps: 4 } }, (it) => seen.push(it));
      assert.equal(result.structuredContent.text, "Long running operation completed. Duration: 0.4 seconds, Steps: 4.");
      // Both SDKs drop a report that they read together with the answer, which the last one may be.
      const steps = [1, 2, 3, 4].map((step) => [step, 4]).slice(0, Math.max(seen.length, 3));
      assert.deepEqual(
        seen.map(({ progress, total }) => [progress, total]),
        steps,
      );
    });
  });
}

/** The server's own definitions by name. */
async function definitions(t, at, upstream) {
  const { tools } = await (await direct(t, at, upstream)).listTools();
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
}

/** What of a result is the tool's own; the rest belongs to the revision of the protocol. */
export const answer = ({ content, structuredContent, isError = false }) => ({ content, structuredContent, isError });
