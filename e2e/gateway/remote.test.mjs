// server-everything behind the gateway over streamable HTTP with sessions, like a remote server.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk2 from "../support/client-2.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { startServer } from "../support/vouch.mjs";
import { pickToolResult } from "./behavior.mjs";
import { ADMITTED, connectDirectly, createGatewayProject, findFreePort, startEverythingServer } from "./project.mjs";

const createRemoteProject = (t, url) => createGatewayProject(t, { servers: "remote.toml", values: { url } });
const callEcho = (client, message) => client.callTool({ name: "everything__echo", arguments: { message } });

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  for (const transportName of ["HTTP", "stdio"]) {
    test(`${name} over ${transportName} calls a server over HTTP`, async (t) => {
      const project = await createRemoteProject(t, await startEverythingServer(t));
      const transport = transportName === "HTTP" ? sdk.createHttpTransport(await startServer(t, project)) : sdk.createStdioTransport(project);
      const client = await sdk.connect(t, transport);
      const names = (await client.listTools()).tools.map((tool) => tool.name);
      assert.deepEqual(names.filter((name) => name.startsWith("everything__")).sort(), ADMITTED.map(addPrefix).sort());

      assert.deepEqual((await callEcho(client, "hi")).structuredContent, { text: "Echo: hi" });
      const weather = { name: "get-structured-content", arguments: { location: "New York" } };
      const expected = pickToolResult(await (await connectDirectly(t, project, "everything")).callTool(weather));
      assert.deepEqual(pickToolResult(await client.callTool({ ...weather, name: addPrefix(weather.name) })), expected);

      const steps = [];
      const long = { name: addPrefix("trigger-long-running-operation"), arguments: { duration: 0.3, steps: 3 } };
      await sdk.callWithProgress(client, long, ({ progress }) => steps.push(progress));
      assert.deepEqual(steps, [1, 2, 3]);
    });
  }
}

test("the next call reconnects to a restarted server that lost its sessions", async (t) => {
  const port = await findFreePort();
  let client;
  // The first server and its sessions end with this subtest.
  await t.test("before the restart", async (first) => {
    const project = await createRemoteProject(t, await startEverythingServer(first, port));
    client = await sdk1.connect(t, sdk1.createHttpTransport(await startServer(t, project)));
    assert.deepEqual((await callEcho(client, "one")).structuredContent, { text: "Echo: one" });
  });
  await startEverythingServer(t, port);
  assert.deepEqual((await callEcho(client, "two")).structuredContent, { text: "Echo: two" });
});

function addPrefix(tool) {
  return `everything__${tool}`;
}
