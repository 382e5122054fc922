// `@modelcontextprotocol/sdk` 1.x, over HTTP and over stdio.

import { testToolContracts } from "../support/behavior.mjs";
import { testContextTools } from "../support/context.mjs";
import { connect, createHttpTransport, createStdioTransport } from "../support/sdk-1.mjs";
import { startServer } from "../support/vouch.mjs";

const connectOverHttp = async (t, project, answer) =>
  connect(t, createHttpTransport(await startServer(t, project)), answer);
const connectOverStdio = (t, project, answer) => connect(t, createStdioTransport(project), answer);

for (const defineTests of [testToolContracts, testContextTools]) {
  defineTests("TypeScript SDK 1 over HTTP", connectOverHttp);
  defineTests("TypeScript SDK 1 over stdio", connectOverStdio);
}
