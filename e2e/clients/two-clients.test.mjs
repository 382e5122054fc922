// What one client writes another one finds: two SDKs, two protocol revisions, one project.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect as connectOne, overHttp as oneOverHttp, overStdio as oneOverStdio } from "../support/sdk-1.mjs";
import { connect as connectTwo, overHttp as twoOverHttp, overStdio as twoOverStdio } from "../support/client-2.mjs";
import { succeeded } from "../support/behaviour.mjs";
import { project, serve } from "../support/vouch.mjs";

const ACCEPT = () => ({ action: "accept", content: { approve: true } });
const DECISION = {
  file: "decisions.jsonl",
  entry: JSON.stringify({ decision: "Refresh tokens rotate on every use", module: "auth" }),
};
const QUERY = { query: "rotation of refresh tokens", type: "decision" };

async function findsNext(writer, reader) {
  const search = async () => succeeded(await reader.callTool({ name: "context_search", arguments: QUERY }));
  const before = await search();
  assert.ok(before.results.every((result) => !result.content.includes("rotate on every use")));
  succeeded(await writer.callTool({ name: "write_memory_entry", arguments: DECISION }));
  const [found] = (await search()).results;
  assert.match(found.content, /rotate on every use/);
  assert.deepEqual([found.type, found.source], ["decision", "discovery"]);
}

test("SDK 1 writes, client 2 finds, at one server", async (t) => {
  const url = await serve(t, await project(t));
  await findsNext(await connectOne(t, oneOverHttp(url), ACCEPT), await connectTwo(t, twoOverHttp(url)));
});

test("client 2 writes, SDK 1 finds, at one server", async (t) => {
  const url = await serve(t, await project(t));
  await findsNext(await connectTwo(t, twoOverHttp(url), ACCEPT), await connectOne(t, oneOverHttp(url)));
});

test("each with a server process of its own", async (t) => {
  const place = await project(t);
  await findsNext(await connectTwo(t, twoOverStdio(place), ACCEPT), await connectOne(t, oneOverStdio(place)));
});
