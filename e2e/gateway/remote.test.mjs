// server-everything behind the gateway over streamable HTTP, with sessions, as a server somewhere else would be.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk2 from "../support/client-2.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { serve } from "../support/vouch.mjs";
import { answer } from "./behaviour.mjs";
import { ADMITTED, direct, everything, freePort, place } from "./place.mjs";

const remote = (t, url) => place(t, { servers: "remote.toml", values: { url } });
const echo = (client, message) => client.callTool({ name: "everything__echo", arguments: { message } });

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  for (const door of ["HTTP", "stdio"]) {
    test(`${name} over ${door}, the server over HTTP`, async (t) => {
      const at = await remote(t, await everything(t));
      const transport = door === "HTTP" ? sdk.overHttp(await serve(t, at)) : sdk.overStdio(at);
      const client = await sdk.connect(t, transport);
      const names = (await client.listTools()).tools.map((tool) => tool.name);
      assert.deepEqual(names.filter((name) => name.startsWith("everything__")).sort(), ADMITTED.map(prefixed).sort());

      assert.deepEqual((await echo(client, "hi")).structuredContent, { text: "Echo: hi" });
      const weather = { name: "get-structured-content", arguments: { location: "New York" } };
      const expected = answer(await (await direct(t, at, "everything")).callTool(weather));
      assert.deepEqual(answer(await client.callTool({ ...weather, name: prefixed(weather.name) })), expected);

      const steps = [];
      const long = { name: prefixed("trigger-long-running-operation"), arguments: { duration: 0.3, steps: 3 } };
      await sdk.callWatching(client, long, ({ progress }) => steps.push(progress));
      assert.deepEqual(steps, [1, 2, 3]);
    });
  }
}

test("a server that comes back with no memory of its sessions is found again by the next call", async (t) => {
  const port = await freePort();
  let client;
  // The first server ends with this part, and its sessions with it.
  await t.test("before", async (first) => {
    const at = await remote(t, await everything(first, port));
    client = await sdk1.connect(t, sdk1.overHttp(await serve(t, at)));
    assert.deepEqual((await echo(client, "one")).structuredContent, { text: "Echo: one" });
  });
  await everything(t, port);
  assert.deepEqual((await echo(client, "two")).structuredContent, { text: "Echo: two" });
});

function prefixed(tool) {
  return `everything__${tool}`;
}
