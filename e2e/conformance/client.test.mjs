// The official conformance suite's scenarios for clients, played by the product's own connection to a server (`link`).
//
// One test for each scenario at each protocol revision it applies to. The suite starts a server for the scenario, runs
// the client against it, and judges what the client sent.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";

import { atEnd } from "../support/cleanup.mjs";

const SUITE = resolve(import.meta.dirname, "../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const CLIENT =
  process.env.CONFORMANCE_CLIENT_BIN ?? resolve(import.meta.dirname, "../../target/debug/conformance_client");
const REVISIONS = ["2025-11-25", "2026-07-28"];

const scenarios = await listScenarios();
const notOffered = parse(await readFile(resolve(import.meta.dirname, "client-not-offered.yaml"), "utf8"));
const reasonFor = (name) => notOffered.find((entry) => entry.scenario === name)?.reason;

test("every entry of the list names a client scenario of the suite, once, and a reason", () => {
  const names = notOffered.map((entry) => entry.scenario);
  assert.deepEqual(names.filter((name) => !scenarios.has(name)), [], "unknown to the suite");
  assert.deepEqual(names.filter((name, at) => names.indexOf(name) !== at), [], "listed twice");
  for (const { scenario, reason } of notOffered) assert.ok(reason?.trim(), scenario);
});

test("every client scenario is run at a revision, or listed", () => {
  const neither = [...scenarios].filter(
    ([name, revisions]) => !reasonFor(name) && !REVISIONS.some((revision) => revisions.includes(revision)),
  );
  assert.deepEqual(neither, []);
});

describe("client scenarios", { concurrency: 2 }, () => {
  for (const [name, revisions] of scenarios) {
    const reason = reasonFor(name);
    const offered = revisions.filter((revision) => REVISIONS.includes(revision));
    // What is not offered is not offered at any revision: one of them is enough to see that.
    for (const revision of reason ? revisions.slice(-1) : offered) {
      test(`client ${revision} ${name}`, async (t) => {
        const { checks, output } = await play(t, name, revision);
        judge(checks, reason, output);
        // What the specification only recommends does not fail a scenario, but should be seen.
        for (const check of checks.filter((check) => check.status === "WARNING")) t.diagnostic(inShort(check));
        if (reason) t.diagnostic(`not offered: ${reason.trim()}`);
      });
    }
  }
});

const inShort = ({ id, name, errorMessage, details }) =>
  `${id} (${name}): ${errorMessage ?? details?.message ?? "no reason given"}`;

/** What is offered passes a check and fails none; what is listed does not, or the list is stale. */
function judge(checks, reason, output) {
  const failed = checks.filter((check) => check.status === "FAILURE");
  // A scenario whose checks are all skipped has shown nothing.
  const passed = failed.length === 0 && checks.some((check) => check.status === "SUCCESS");
  if (reason) return assert.ok(!passed, "it passes, so it is offered: take it off the list");
  assert.deepEqual(failed.map(inShort), [], output);
  assert.ok(passed, `nothing was checked\n${output}`);
}

/** Runs one scenario: its checks, and what suite and client said. */
async function play(t, scenario, revision) {
  const folder = await mkdtemp(join(tmpdir(), "vouch-conformance-"));
  atEnd(t, () => rm(folder, { recursive: true, force: true }));
  // Extensions are on no revision's time line.
  const version = revision === "extension" ? [] : ["--spec-version", revision];
  const args = ["client", "--command", CLIENT, "--scenario", scenario, "--output-dir", folder, ...version];
  // The exit code only says that some check failed; which one may, is for the list to say.
  const ended = await promisify(execFile)(process.execPath, [SUITE, ...args], { maxBuffer: 1 << 26 }).catch(
    (error) => error,
  );
  const output = `${ended.stdout}${ended.stderr}`;
  // Scenarios with a slash in their name have folders of their own.
  const paths = await readdir(folder, { recursive: true });
  const results = paths.filter((path) => path.endsWith("checks.json"));
  assert.equal(results.length, 1, output);
  return { checks: JSON.parse(await readFile(join(folder, results[0]), "utf8")), output };
}

/** Scenario → the revisions it applies to, as the suite itself lists them. */
async function listScenarios() {
  const { stdout } = await promisify(execFile)(process.execPath, [SUITE, "list", "--client"]);
  const lines = stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm);
  return new Map([...lines].map(([, name, revisions]) => [name, revisions.split(",")]));
}
