// `@modelcontextprotocol/sdk` 1.x: the handshake revisions, in which the server sends an elicitation as a request.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { addCleanup } from "./cleanup.mjs";
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

export const createHttpTransport = (url) => new StreamableHTTPClientTransport(new URL(url));
export const createStdioTransport = (project, flags) => new StdioClientTransport(stdioCommand(project, flags));

/**
 * Calls a tool and passes progress to a callback. The two SDKs take the callback in different arguments. This SDK drops its
 * callback with the answer, even for a report that arrived before the answer in the same chunk. So this function reads the
 * reports from the transport.
 */
export async function callWithProgress(client, params, onProgress) {
  const { transport } = client;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress") onProgress(message.params);
    return onmessage.call(transport, message, extra);
  };
  try {
    return await client.callTool(params, undefined, { onprogress: () => {} });
  } finally {
    transport.onmessage = onmessage;
  }
}
