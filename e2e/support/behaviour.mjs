// What every client must see, whichever SDK, protocol revision and transport it uses.
//
// `connect(t, project, answer)` gives a connected client with `listTools` and `callTool`, as both TypeScript SDKs have them.
// `answer` is what the person behind it replies to a question; without it the client offers no elicitation.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { project } from "./vouch.mjs";

export const TOOLS = [
  "context_search",
  "grep_codebase",
  "hello",
  "read_file",
  "read_repo_file",
  "write_memory_entry",
];
const ENTRY = { file: "decisions.jsonl", entry: '{"decision":"ship it"}' };
const ACCEPT = { action: "accept", content: { approve: true } };

export function keepsItsContracts(label, connect) {
  describe(label, () => {
    test("lists the tools with both schemas", async (t) => {
      const client = await connect(t, await project(t));
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map((tool) => tool.name),
        TOOLS,
      );
      for (const tool of tools) {
        assert.ok(tool.description, tool.name);
        assert.equal(tool.inputSchema.type, "object");
        assert.equal(tool.inputSchema.additionalProperties, false);
        assert.equal(tool.outputSchema.type, "object");
      }
      const writing = tools.filter((tool) => !tool.annotations.readOnlyHint);
      assert.deepEqual(
        writing.map((tool) => tool.name),
        ["write_memory_entry"],
      );
    });

    test("greets, with and without a name", async (t) => {
      const client = await connect(t, await project(t));
      const named = succeeded(await client.callTool({ name: "hello", arguments: { name: "Learner" } }));
      assert.equal(named.message, "Hello, Learner!");
      assert.ok(Date.parse(named.timestamp), named.timestamp);
      const plain = succeeded(await client.callTool({ name: "hello", arguments: {} }));
      assert.equal(plain.message, "Hello, World!");
    });

    test("reads a file in both encodings", async (t) => {
      const client = await connect(t, await project(t));
      const read = (encoding) =>
        client.callTool({ name: "read_repo_file", arguments: { path: "docs/guide.md", ...encoding } });
      const text = succeeded(await read({}));
      assert.equal(text.content, "# Guide\n\nSmall steps.\n");
      assert.equal(text.path, "docs/guide.md");
      assert.equal(text.size, 22);
      assert.equal(text.encoding, "utf-8");
      const bytes = succeeded(await read({ encoding: "base64" }));
      assert.equal(Buffer.from(bytes.content, "base64").toString(), text.content);
    });

    test("refuses what may not be read and what is not there", async (t) => {
      const client = await connect(t, await project(t));
      const read = (path) => client.callTool({ name: "read_repo_file", arguments: { path } });
      assert.equal(failed(await read(".env"), "ACCESS_DENIED").status, 403);
      assert.equal(failed(await read("docs/../../etc/passwd"), "ACCESS_DENIED").status, 403);
      assert.equal(failed(await read("docs/missing.md"), "NOT_FOUND").status, 404);
    });

    test("names the parameter that breaks the schema", async (t) => {
      const client = await connect(t, await project(t));
      const call = (name, args) => client.callTool({ name, arguments: args });
      const unknown = failed(await call("hello", { nam: "typo" }), "INVALID_INPUT");
      assert.match(unknown.message, /nam/);
      const mistyped = failed(await call("read_repo_file", { path: 7 }), "INVALID_INPUT");
      assert.match(mistyped.message, /path/);
    });

    test("an unknown tool is a protocol error", async (t) => {
      const client = await connect(t, await project(t));
      await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });
    });

    test("writes an entry that the person accepts, and shows it whole first", async (t) => {
      const place = await project(t);
      const shown = [];
      const client = await connect(t, place, (question) => {
        shown.push(question.message);
        return ACCEPT;
      });
      const written = succeeded(await client.callTool({ name: "write_memory_entry", arguments: ENTRY }));
      assert.equal(written.success, true);
      assert.equal(written.file, ENTRY.file);
      assert.equal(written.bytes_written, ENTRY.entry.length + 1);
      assert.equal(await place.memory(ENTRY.file), `${ENTRY.entry}\n`);
      assert.equal(shown.length, 1);
      assert.ok(shown[0].includes(ENTRY.entry), shown[0]);
    });

    for (const [how, answer] of [
      ["declines", { action: "decline" }],
      ["cancels", { action: "cancel" }],
      ["says no", { action: "accept", content: { approve: false } }],
    ]) {
      test(`writes nothing when the person ${how}`, async (t) => {
        const place = await project(t);
        const client = await connect(t, place, () => answer);
        failed(await client.callTool({ name: "write_memory_entry", arguments: ENTRY }), "APPROVAL_DENIED");
        assert.equal(await place.memory(ENTRY.file), null);
      });
    }

    test("does not ask about an entry that would be refused anyway", async (t) => {
      const place = await project(t);
      const client = await connect(t, place, () => assert.fail("nobody should be asked"));
      const entry = "no JSON at all";
      failed(await client.callTool({ name: "write_memory_entry", arguments: { ...ENTRY, entry } }), "INVALID_INPUT");
      assert.equal(await place.memory(ENTRY.file), null);
    });

    test("queues the write of a client that cannot ask, and runs it once after approval", async (t) => {
      const place = await project(t);
      const client = await connect(t, place);
      const write = () => client.callTool({ name: "write_memory_entry", arguments: ENTRY });
      const { details } = failed(await write(), "APPROVAL_REQUIRED");
      assert.equal(await place.memory(ENTRY.file), null);
      await place.vouch("approvals", "approve", String(details.approvalId), "--yes");
      succeeded(await write());
      assert.equal(await place.memory(ENTRY.file), `${ENTRY.entry}\n`);
      failed(await write(), "APPROVAL_REQUIRED");
      assert.equal(await place.memory(ENTRY.file), `${ENTRY.entry}\n`);
    });
  });
}

/** The structured answer of a call that succeeded; its text is the same JSON. */
export function succeeded(result) {
  assert.ok(!result.isError, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

/** The error of a call that failed with this code, in the one envelope. */
export function failed(result, code) {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  const { success, error } = result.structuredContent;
  assert.equal(success, false);
  assert.equal(error.code, code, error.message);
  return error;
}
