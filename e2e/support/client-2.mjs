// `@modelcontextprotocol/client` 2.x, pinned to 2026-07-28: the question comes back as an `input_required` result, and the
// client calls again with the answer.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { atEnd } from "./cleanup.mjs";
import { stdio } from "./vouch.mjs";

export async function connect(t, transport, answer) {
  const client = new Client(
    { name: "e2e-client-2", version: "1.0.0" },
    {
      capabilities: answer ? { elicitation: {} } : {},
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    },
  );
  if (answer) {
    client.setRequestHandler("elicitation/create", async ({ params }) => answer(params));
  }
  await client.connect(transport);
  atEnd(t, () => client.close());
  return client;
}

export const overHttp = (url) => new StreamableHTTPClientTransport(new URL(url));
export const overStdio = (place, flags) => new StdioClientTransport(stdio(place, flags));

/** A call whose progress is watched; the two SDKs take the watcher in different places. */
export const callWatching = (client, params, onprogress) => client.callTool(params, { onprogress });
