// Both TypeScript SDKs with the gateway, over HTTP and stdio: handshake and stateless clients, handshake servers.

import * as sdk2 from "../support/client-2.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { startServer } from "../support/vouch.mjs";
import { testGateway } from "./behavior.mjs";

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  const connectOverHttp = async (t, project) => sdk.connect(t, sdk.createHttpTransport(await startServer(t, project)));
  const connectOverStdio = (t, project) => sdk.connect(t, sdk.createStdioTransport(project));
  testGateway(`${name} with the gateway over HTTP`, connectOverHttp, sdk.callWithProgress);
  testGateway(`${name} with the gateway over stdio`, connectOverStdio, sdk.callWithProgress);
}
