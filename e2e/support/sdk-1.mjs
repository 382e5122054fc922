// `@modelcontextprotocol/sdk` 1.x: the handshake revisions, where the server sends its question as a request.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { atEnd } from "./cleanup.mjs";
import { stdio } from "./vouch.mjs";

export async function connect(t, transport, answer) {
  const capabilities = answer ? { elicitation: {} } : {};
  const client = new Client({ name: "e2e-sdk-1", version: "1.0.0" }, { capabilities });
  if (answer) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params));
  }
  await client.connect(transport);
  atEnd(t, () => client.close());
  return client;
}

export const overHttp = (url) => new StreamableHTTPClientTransport(new URL(url));
export const overStdio = (place, flags) => new StdioClientTransport(stdio(place, flags));

/**
 * A call whose progress is watched; the two SDKs take the watcher in different places. This one forgets its watcher with the
 * answer, even for a report that came before it in the same piece of the stream. So the reports are taken where they arrive.
 */
export async function callWatching(client, params, watch) {
  const { transport } = client;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress") watch(message.params);
    return onmessage.call(transport, message, extra);
  };
  try {
    return await client.callTool(params, undefined, { onprogress: () => {} });
  } finally {
    transport.onmessage = onmessage;
  }
}
