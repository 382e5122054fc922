// `@modelcontextprotocol/sdk` 1.x, over HTTP and over stdio.

import { keepsItsContracts } from "../support/behaviour.mjs";
import { knowsTheProject } from "../support/context.mjs";
import { connect, overHttp, overStdio } from "../support/sdk-1.mjs";
import { serve } from "../support/vouch.mjs";

const atServer = async (t, place, answer) => connect(t, overHttp(await serve(t, place)), answer);
const startingIt = (t, place, answer) => connect(t, overStdio(place), answer);

for (const behaves of [keepsItsContracts, knowsTheProject]) {
  behaves("TypeScript SDK 1 over HTTP", atServer);
  behaves("TypeScript SDK 1 over stdio", startingIt);
}
