// `@modelcontextprotocol/client` 2.x, pinned to 2026-07-28: an elicitation is an `input_required` result, and the client
// repeats the call with the response.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { addCleanup } from "./cleanup.mjs";
import { withProgress } from "./progress.mjs";
import { stdioCommand } from "./vouch.mjs";

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
  addCleanup(t, () => client.close());
  return client;
}

export const createHttpTransport = (url, token) =>
  new StreamableHTTPClientTransport(
    new URL(url),
    token && { requestInit: { headers: { Authorization: `Bearer ${token}` } } },
  );
export const createStdioTransport = (project, flags) => new StdioClientTransport(stdioCommand(project, flags));

/** Calls a tool and passes progress to a callback. The two SDKs take their own callback in different arguments. */
export const callWithProgress = (client, params, onProgress) =>
  withProgress(client, onProgress, () => client.callTool(params, { onprogress: () => {} }));
