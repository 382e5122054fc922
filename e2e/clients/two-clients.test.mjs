// An entry written by one client is found by another: two SDKs, two protocol revisions, one project.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk1 from "../support/sdk-1.mjs";
import * as sdk2 from "../support/client-2.mjs";
import { expectSuccess } from "../support/behavior.mjs";
import { createProject, startServer, startServerWithToken } from "../support/vouch.mjs";

const ACCEPT = () => ({ action: "accept", content: { approve: true } });
const DECISION = {
  file: "decisions.jsonl",
  entry: JSON.stringify({ decision: "Refresh tokens rotate on every use", module: "auth" }),
};
const QUERY = { query: "rotation of refresh tokens", type: "decision" };

/** Writes an entry with one client and checks that a search of the other finds it at once. */
async function writeAndSearch(writer, reader) {
  const search = async () => expectSuccess(await reader.callTool({ name: "context_search", arguments: QUERY }));
  const before = await search();
  assert.ok(before.results.every((result) => !result.content.includes("rotate on every use")));
  expectSuccess(await writer.callTool({ name: "write_memory_entry", arguments: DECISION }));
  const [found] = (await search()).results;
  assert.match(found.content, /rotate on every use/);
  assert.deepEqual([found.type, found.source], ["decision", "discovery"]);
}

test("client 2 finds an entry that SDK 1 wrote through the same server", async (t) => {
  const url = await startServer(t, await createProject(t));
  await writeAndSearch(
    await sdk1.connect(t, sdk1.createHttpTransport(url), ACCEPT),
    await sdk2.connect(t, sdk2.createHttpTransport(url)),
  );
});

test("SDK 1 finds an entry that client 2 wrote through the same server", async (t) => {
  const url = await startServer(t, await createProject(t));
  await writeAndSearch(
    await sdk2.connect(t, sdk2.createHttpTransport(url), ACCEPT),
    await sdk1.connect(t, sdk1.createHttpTransport(url)),
  );
});

test("an entry written through one server process is found through another", async (t) => {
  const project = await createProject(t);
  await writeAndSearch(
    await sdk2.connect(t, sdk2.createStdioTransport(project), ACCEPT),
    await sdk1.connect(t, sdk1.createStdioTransport(project)),
  );
});

for (const [name, sdk] of [["SDK 1", sdk1], ["client 2", sdk2]]) {
  test(`${name} calls with the token of the project, and its own answer does not approve a write`, async (t) => {
    const project = await createProject(t);
    const { url, token } = await startServerWithToken(t, project);
    await assert.rejects(sdk.connect(t, sdk.createHttpTransport(url)), /401|Unauthorized|token/i);
    await assert.rejects(sdk.connect(t, sdk.createHttpTransport(url, `${token}0`)), /401|Unauthorized|token/i);

    const asked = [];
    const client = await sdk.connect(t, sdk.createHttpTransport(url, token), (params) => {
      asked.push(params);
      return ACCEPT();
    });
    expectSuccess(await client.callTool({ name: "hello", arguments: {} }));
    const write = () => client.callTool({ name: "write_memory_entry", arguments: DECISION });
    const { error } = (await write()).structuredContent;
    assert.equal(error.code, "APPROVAL_REQUIRED");
    assert.deepEqual(asked, []);
    assert.equal(await project.readMemory(DECISION.file), null);
    await project.runVouch("approvals", "approve", error.details.approvalId, "--yes");
    expectSuccess(await write());
  });
}
