// `@modelcontextprotocol/client` 2.x, pinned to 2026-07-28: the question comes back as an `input_required` result, and the
// client calls again with the answer.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { keepsItsContracts } from "../support/behaviour.mjs";
import { atEnd } from "../support/cleanup.mjs";
import { serve, stdio } from "../support/vouch.mjs";

async function connect(t, transport, answer) {
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

keepsItsContracts("TypeScript client 2 over HTTP", async (t, place, answer) =>
  connect(t, new StreamableHTTPClientTransport(new URL(await serve(t, place))), answer),
);

keepsItsContracts("TypeScript client 2 over stdio", (t, place, answer) =>
  connect(t, new StdioClientTransport(stdio(place)), answer),
);
