// `@modelcontextprotocol/client` 2.x, over HTTP and over stdio.

import { testToolContracts } from "../support/behavior.mjs";
import { testContextTools } from "../support/context.mjs";
import { connect, createHttpTransport, createStdioTransport } from "../support/client-2.mjs";
import { startServer } from "../support/vouch.mjs";

const connectOverHttp = async (t, project, answer) =>
  connect(t, createHttpTransport(await startServer(t, project)), answer);
const connectOverStdio = (t, project, answer) => connect(t, createStdioTransport(project), answer);

for (const defineTests of [testToolContracts, testContextTools]) {
  defineTests("TypeScript client 2 over HTTP", connectOverHttp);
  defineTests("TypeScript client 2 over stdio", connectOverStdio);
}
