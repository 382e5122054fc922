// Expectations shared by all clients, for every SDK, protocol revision and transport.
//
// `connect(t, project, answer)` returns a connected client with `listTools` and `callTool`, which both TypeScript SDKs have.
// `answer` returns the user's response to an elicitation; without it the client offers no elicitation.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { createProject } from "./vouch.mjs";

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

/** Defines the tests of the tool contracts for one client. */
export function testToolContracts(label, connect) {
  describe(label, () => {
    test("lists the tools with both schemas", async (t) => {
      const client = await connect(t, await createProject(t));
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
      const client = await connect(t, await createProject(t));
      const named = expectSuccess(await client.callTool({ name: "hello", arguments: { name: "Learner" } }));
      assert.equal(named.message, "Hello, Learner!");
      assert.ok(Date.parse(named.timestamp), named.timestamp);
      const plain = expectSuccess(await client.callTool({ name: "hello", arguments: {} }));
      assert.equal(plain.message, "Hello, World!");
    });

    test("reads a file in both encodings", async (t) => {
      const client = await connect(t, await createProject(t));
      const read = (encoding) =>
        client.callTool({ name: "read_repo_file", arguments: { path: "docs/guide.md", ...encoding } });
      const text = expectSuccess(await read({}));
      assert.equal(text.content, "# Guide\n\nSmall steps.\n");
      assert.equal(text.path, "docs/guide.md");
      assert.equal(text.size, 22);
      assert.equal(text.encoding, "utf-8");
      const bytes = expectSuccess(await read({ encoding: "base64" }));
      assert.equal(Buffer.from(bytes.content, "base64").toString(), text.content);
    });

    test("refuses blocked paths and missing files", async (t) => {
      const client = await connect(t, await createProject(t));
      const read = (path) => client.callTool({ name: "read_repo_file", arguments: { path } });
      assert.equal(expectError(await read(".env"), "ACCESS_DENIED").status, 403);
      assert.equal(expectError(await read("docs/../../etc/passwd"), "ACCESS_DENIED").status, 403);
      assert.equal(expectError(await read("docs/missing.md"), "NOT_FOUND").status, 404);
    });

    test("names the parameter that breaks the schema", async (t) => {
      const client = await connect(t, await createProject(t));
      const call = (name, args) => client.callTool({ name, arguments: args });
      const unknown = expectError(await call("hello", { nam: "typo" }), "INVALID_INPUT");
      assert.match(unknown.message, /nam/);
      const mistyped = expectError(await call("read_repo_file", { path: 7 }), "INVALID_INPUT");
      assert.match(mistyped.message, /path/);
    });

    test("an unknown tool is a protocol error", async (t) => {
      const client = await connect(t, await createProject(t));
      await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });
    });

    test("shows the whole entry, and writes it when the user accepts", async (t) => {
      const project = await createProject(t);
      const shown = [];
      const client = await connect(t, project, (elicitation) => {
        shown.push(elicitation.message);
        return ACCEPT;
      });
      const written = expectSuccess(await client.callTool({ name: "write_memory_entry", arguments: ENTRY }));
      assert.equal(written.success, true);
      assert.equal(written.file, ENTRY.file);
      assert.equal(written.bytes_written, ENTRY.entry.length + 1);
      assert.equal(await project.readMemory(ENTRY.file), `${ENTRY.entry}\n`);
      assert.equal(shown.length, 1);
      assert.ok(shown[0].includes(ENTRY.entry), shown[0]);
    });

    for (const [how, answer] of [
      ["declines", { action: "decline" }],
      ["cancels", { action: "cancel" }],
      ["says no", { action: "accept", content: { approve: false } }],
    ]) {
      test(`writes nothing when the user ${how}`, async (t) => {
        const project = await createProject(t);
        const client = await connect(t, project, () => answer);
        expectError(await client.callTool({ name: "write_memory_entry", arguments: ENTRY }), "APPROVAL_DENIED");
        assert.equal(await project.readMemory(ENTRY.file), null);
      });
    }

    test("rejects an invalid entry without an elicitation", async (t) => {
      const project = await createProject(t);
      const client = await connect(t, project, () => assert.fail("unexpected elicitation"));
      const entry = "no JSON at all";
      expectError(await client.callTool({ name: "write_memory_entry", arguments: { ...ENTRY, entry } }), "INVALID_INPUT");
      assert.equal(await project.readMemory(ENTRY.file), null);
    });

    test("queues the write of a client without elicitation, and runs it once after approval", async (t) => {
      const project = await createProject(t);
      const client = await connect(t, project);
      const write = () => client.callTool({ name: "write_memory_entry", arguments: ENTRY });
      const { details } = expectError(await write(), "APPROVAL_REQUIRED");
      assert.equal(await project.readMemory(ENTRY.file), null);
      await project.runVouch("approvals", "approve", String(details.approvalId), "--yes");
      expectSuccess(await write());
      assert.equal(await project.readMemory(ENTRY.file), `${ENTRY.entry}\n`);
      expectError(await write(), "APPROVAL_REQUIRED");
      assert.equal(await project.readMemory(ENTRY.file), `${ENTRY.entry}\n`);
    });
  });
}

/** Asserts that a call succeeded and that its text is the same JSON, and returns the structured content. */
export function expectSuccess(result) {
  assert.ok(!result.isError, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

/** Asserts that a call failed with this code in the error envelope, and returns the error. */
export function expectError(result, code) {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  const { success, error } = result.structuredContent;
  assert.equal(success, false);
  assert.equal(error.code, code, error.message);
  return error;
}
