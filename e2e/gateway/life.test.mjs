// The processes behind the gateway: one that dies is started again by the next call, and none outlives the gateway.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk2 from "../support/client-2.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { serve } from "../support/vouch.mjs";
import { place } from "./place.mjs";
import { below, gateway, gone } from "./processes.mjs";

const SERVERS = ["server-filesystem", "server-memory", "server-everything"];
const ENTITY = { name: "memory", entityType: "server", observations: ["was killed"] };

/** A client, the gateway's process and those of the servers behind it. */
async function open(t, sdk = sdk1) {
  const at = await place(t);
  const client = await sdk.connect(t, sdk.overHttp(await serve(t, at)));
  // Whoever has listed the tools of a server has started it.
  await client.listTools();
  const own = await gateway(at);
  return { at, client, own, servers: await serversBelow(own) };
}

async function serversBelow(pid) {
  const found = {};
  for (const server of SERVERS) {
    const processes = (await below(pid)).filter(({ args }) => args.includes(`${server}/dist/index.js`));
    assert.equal(processes.length, 1, `${server}: ${JSON.stringify(processes)}`);
    found[server] = processes[0].pid;
  }
  return found;
}

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  test(`${name}: a server that was killed answers the next call`, async (t) => {
    const { client, own, servers } = await open(t, sdk);
    const call = (name, args) => client.callTool({ name: `memory__${name}`, arguments: args });
    await call("create_entities", { entities: [ENTITY] });
    process.kill(servers["server-memory"], "SIGKILL");
    await gone([servers["server-memory"]]);

    const found = await call("open_nodes", { names: [ENTITY.name] });
    assert.deepEqual(found.structuredContent, { entities: [ENTITY], relations: [] });
    const after = await serversBelow(own);
    assert.notEqual(after["server-memory"], servers["server-memory"]);
    assert.equal(after["server-everything"], servers["server-everything"], "the others were left alone");
  });
}

for (const signal of ["SIGTERM", "SIGINT", "SIGKILL"]) {
  test(`no process is left after ${signal}`, async (t) => {
    const { own, servers } = await open(t);
    process.kill(own, signal);
    await gone([own, ...Object.values(servers)]);
  });
}

test("no process is left after a client over stdio has closed", async (t) => {
  const at = await place(t);
  const client = await sdk1.connect(t, sdk1.overStdio(at));
  await client.listTools();
  const own = await gateway(at);
  const servers = await serversBelow(own);
  await client.close();
  await gone([own, ...Object.values(servers)]);
});
