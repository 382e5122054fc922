// Watches and steers a live fuzz campaign through both TypeScript SDKs.

import * as sdk2 from "../support/client-2.mjs";
import { FLAGS, testCampaignTools } from "../support/campaign.mjs";
import * as sdk1 from "../support/sdk-1.mjs";
import { startServer } from "../support/vouch.mjs";

for (const [name, sdk] of [
  ["TypeScript SDK 1", sdk1],
  ["TypeScript client 2", sdk2],
]) {
  testCampaignTools(`${name} over HTTP`, async (t, project) =>
    sdk.connect(t, sdk.createHttpTransport(await startServer(t, project, FLAGS))),
  );
  testCampaignTools(`${name} over stdio`, (t, project) =>
    sdk.connect(t, sdk.createStdioTransport(project, FLAGS)),
  );
}
