// `@modelcontextprotocol/sdk` 1.x: the handshake revisions, in which the server sends an elicitation as a request.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { addCleanup } from "./cleanup.mjs";
import { withProgress } from "./progress.mjs";
import { stdioCommand } from "./vouch.mjs";

export async function connect(t, transport, answer) {
  const capabilities = answer ? { elicitation: {} } : {};
  const client = new Client({ name: "e2e-sdk-1", version: "1.0.0" }, { capabilities });
  if (answer) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params));
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
  withProgress(client, onProgress, () => client.callTool(params, undefined, { onprogress: () => {} }));
