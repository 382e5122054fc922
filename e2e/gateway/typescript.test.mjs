// Both TypeScript SDKs at the gateway, over HTTP and over stdio: handshake and stateless clients, handshake servers.

import * as sdk2 from "../support/client-2.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { serve } from "../support/vouch.mjs";
import { standsBetween } from "./behaviour.mjs";

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  const atServer = async (t, place) => sdk.connect(t, sdk.overHttp(await serve(t, place)));
  const startingIt = (t, place) => sdk.connect(t, sdk.overStdio(place));
  standsBetween(`${name} at the gateway over HTTP`, atServer, sdk.callWatching);
  standsBetween(`${name} at the gateway over stdio`, startingIt, sdk.callWatching);
}
