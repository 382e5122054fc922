// A live fuzz campaign, watched and steered through both TypeScript SDKs.

import * as sdk2 from "../support/client-2.mjs";
import { FLAGS, steersACampaign } from "../support/campaign.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { serve } from "../support/vouch.mjs";

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  steersACampaign(`${name} over HTTP`, async (t, place) =>
    sdk.connect(t, sdk.overHttp(await serve(t, place, FLAGS))),
  );
  steersACampaign(`${name} over stdio`, (t, place) => sdk.connect(t, sdk.overStdio(place, FLAGS)));
}
