// The work of an agent on a campaign, through any client: start, read, inject, prioritize, clear, dump.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { createProject } from "./vouch.mjs";

export const FLAGS = ["--packs", "campaign", "--demo", "--corpus-dir", "corpus"];

/** Tools that every campaign server must list. */
const REQUIRED_TOOLS = [
  "clear_priorities",
  "dump_lcov",
  "find_transaction_in_corpus",
  "get_corpus_size",
  "inject_transaction",
  "inspect_corpus_transactions",
  "prioritize_function",
  "read_logs",
  "show_coverage",
];
const SENDER = "0x0000000000000000000000000000000000010000";
const LIMIT_MS = 60_000;

/**
 * Defines the tests of the campaign tools for one client. `connect(t, project)` returns a client of a server that runs the
 * bundled demo. The SDK validates every answer against its schema.
 */
export function testCampaignTools(name, connect) {
  test(`${name}: reads, steers and exports a campaign`, async (t) => {
    const project = await createProject(t);
    const client = await connect(t, project);
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    for (const tool of REQUIRED_TOOLS) assert.ok(names.includes(tool), `${tool} is not among ${names}`);
    const call = createCaller(client);

    const size = await pollUntil(call, "get_corpus_size", {}, ({ size }) => size > 0);
    const page = await call("inspect_corpus_transactions", { limit: 5 });
    assert.ok(page.total >= size.size && page.transactions.length > 0);
    const failed = await pollUntil(
      call,
      "read_logs",
      { eventType: "PropertyFalsified" },
      ({ events }) => events.some((event) => event.data.shrunk),
    );
    assert.ok(failed.events[0].data.counterexample.length > 0, JSON.stringify(failed.events[0]));

    const injected = await call("inject_transaction", { sequence: ["deposit(?)", "withdraw(1)"], sender: SENDER });
    assert.equal(injected.injectedCount, 2);
    const executed = await pollUntil(
      call,
      "read_logs",
      { eventType: "TransactionExecuted", count: 2500 },
      ({ events }) => events.some((event) => event.data.injected && event.data.call === "withdraw(1)"),
    );
    assert.ok(executed.events.every((event) => event.data.sender === event.data.sender.toLowerCase()));

    const set = await call("prioritize_function", { functionSignature: "withdraw(uint256)" });
    assert.deepEqual(set.prioritizedFunctions, ["withdraw(uint256)"]);
    assert.equal((await call("clear_priorities", {})).clearedCount, 1);

    const found = await call("find_transaction_in_corpus", { functionSignature: "deposit(uint256)" });
    assert.equal(found.count, found.matches.length);
    const coverage = await pollUntil(call, "show_coverage", {}, ({ overallCoverage }) => overallCoverage > 0);
    assert.ok(coverage.contracts.some((contract) => contract.name === "Vault"));
    const dumped = await client.callTool({ name: "dump_lcov", arguments: { outputPath: "now.lcov" } });
    assert.match(dumped.content[0].text, /^TN:/);
    assert.equal(await readFile(join(project.root, "corpus", "now.lcov"), "utf8"), dumped.content[0].text);
    const log = await readFile(join(project.root, "corpus", "mcp-commands.jsonl"), "utf8");
    assert.deepEqual(
      log.trim().split("\n").map((line) => JSON.parse(line).tool),
      ["inject_transaction", "prioritize_function", "clear_priorities"],
    );
  });

  test(`${name}: refused calls return an error code, and the campaign continues`, async (t) => {
    const client = await connect(t, await createProject(t));
    const call = createCaller(client);
    await pollUntil(call, "get_corpus_size", {}, () => true);
    const before = await call("campaign_status", {});
    for (const [tool, args, code] of [
      ["read_logs", { count: 2501 }, "INVALID_INPUT"],
      ["inject_transaction", { sequence: ["deposit(1, 2)"] }, "INVALID_INPUT"],
      ["prioritize_function", { functionSignature: "depozit(uint256)" }, "INVALID_INPUT"],
      ["find_transaction_in_corpus", {}, "INVALID_INPUT"],
      ["show_coverage", { contract: "Missing" }, "NOT_FOUND"],
      ["dump_lcov", { outputPath: "../out.lcov" }, "ACCESS_DENIED"],
    ]) {
      const result = await client.callTool({ name: tool, arguments: args });
      assert.equal(result.isError, true, `${tool} took ${JSON.stringify(args)}`);
      assert.equal(JSON.parse(result.content[0].text).error.code, code, result.content[0].text);
    }
    await pollUntil(call, "campaign_status", {}, ({ calls }) => calls > before.calls);
  });
}

/** Returns a function that calls a tool and throws its error. */
function createCaller(client) {
  return async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    const answer = result.structuredContent;
    if (result.isError) throw Object.assign(new Error(JSON.stringify(answer)), { code: answer?.error?.code });
    return answer;
  };
}

/** Calls a tool until its answer is as expected, and returns it. Waits for a campaign that is still being prepared. */
async function pollUntil(call, tool, args, isExpected) {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    let last;
    try {
      last = await call(tool, args);
      if (isExpected(last)) return last;
    } catch (error) {
      if (error.code !== "UPSTREAM_UNAVAILABLE") throw error;
      last = error.message;
    }
    assert.ok(Date.now() < end, `${tool} did not return the expected answer; last: ${JSON.stringify(last)}`);
    await pause(150);
  }
}
