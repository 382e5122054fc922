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

/** A call whose progress is watched; the two SDKs take the watcher in different places. */
export const callWatching = (client, params, onprogress) => client.callTool(params, undefined, { onprogress });
