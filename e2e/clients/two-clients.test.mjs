// An entry written by one client is found by another: two SDKs, two protocol revisions, one project.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk1 from "../support/sdk-1.mjs";
import * as sdk2 from "../support/client-2.mjs";
import { expectSuccess } from "../support/behavior.mjs";
import { createProject, startServer } from "../support/vouch.mjs";

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
