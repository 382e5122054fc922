// `@modelcontextprotocol/client` 2.x, over HTTP and over stdio.

import { keepsItsContracts } from "../support/behaviour.mjs";
import { knowsTheProject } from "../support/context.mjs";
import { connect, overHttp, overStdio } from "../support/client-2.mjs";
import { serve } from "../support/vouch.mjs";

const atServer = async (t, place, answer) => connect(t, overHttp(await serve(t, place)), answer);
const startingIt = (t, place, answer) => connect(t, overStdio(place), answer);

for (const behaves of [keepsItsContracts, knowsTheProject]) {
  behaves("TypeScript client 2 over HTTP", atServer);
  behaves("TypeScript client 2 over stdio", startingIt);
}
