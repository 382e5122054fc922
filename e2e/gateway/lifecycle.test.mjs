// Processes behind the gateway: the next call restarts a killed server, and no server outlives the gateway.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk2 from "../support/client-2.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { startServer } from "../support/vouch.mjs";
import { createGatewayProject } from "./project.mjs";
import { findGatewayPid, listDescendants, waitForExit } from "./processes.mjs";

const SERVERS = ["server-filesystem", "server-memory", "server-everything"];
const ENTITY = { name: "memory", entityType: "server", observations: ["was killed"] };

/** Starts a gateway; returns a client, the process id of the gateway and those of the servers behind it. */
async function startGateway(t, sdk = sdk1) {
  const project = await createGatewayProject(t);
  const client = await sdk.connect(t, sdk.createHttpTransport(await startServer(t, project)));
  // Listing the tools starts all servers.
  await client.listTools();
  const gatewayPid = await findGatewayPid(project);
  return { client, gatewayPid, servers: await findServerPids(gatewayPid) };
}

/** Returns the process id of each server below the gateway. */
async function findServerPids(pid) {
  const found = {};
  for (const server of SERVERS) {
    const processes = (await listDescendants(pid)).filter(({ args }) => args.includes(`${server}/dist/index.js`));
    assert.equal(processes.length, 1, `${server}: ${JSON.stringify(processes)}`);
    found[server] = processes[0].pid;
  }
  return found;
}

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  test(`${name}: a killed server answers the next call`, async (t) => {
    const { client, gatewayPid, servers } = await startGateway(t, sdk);
    const call = (name, args) => client.callTool({ name: `memory__${name}`, arguments: args });
    await call("create_entities", { entities: [ENTITY] });
    process.kill(servers["server-memory"], "SIGKILL");
    await waitForExit([servers["server-memory"]]);

    const found = await call("open_nodes", { names: [ENTITY.name] });
    assert.deepEqual(found.structuredContent, { entities: [ENTITY], relations: [] });
    const after = await findServerPids(gatewayPid);
    assert.notEqual(after["server-memory"], servers["server-memory"]);
    assert.equal(after["server-everything"], servers["server-everything"], "the other servers keep running");
  });
}

for (const signal of ["SIGTERM", "SIGINT", "SIGKILL"]) {
  test(`no process is left after ${signal}`, async (t) => {
    const { gatewayPid, servers } = await startGateway(t);
    process.kill(gatewayPid, signal);
    await waitForExit([gatewayPid, ...Object.values(servers)]);
  });
}

test("no process is left after a client closes the stdio connection", async (t) => {
  const project = await createGatewayProject(t);
  const client = await sdk1.connect(t, sdk1.createStdioTransport(project));
  await client.listTools();
  const gatewayPid = await findGatewayPid(project);
  const servers = await findServerPids(gatewayPid);
  await client.close();
  await waitForExit([gatewayPid, ...Object.values(servers)]);
});
