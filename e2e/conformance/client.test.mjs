// Runs the client scenarios of the official conformance suite with the product's connection to servers (crate `link`).
//
// There is one test for each scenario and applicable protocol revision. The suite starts a server for the scenario, runs
// the client against it, and checks the messages of the client.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";

import { addCleanup } from "../support/cleanup.mjs";

const SUITE = resolve(import.meta.dirname, "../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const CLIENT =
  process.env.CONFORMANCE_CLIENT_BIN ?? resolve(import.meta.dirname, "../../target/debug/conformance_client");
const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
/** A revision with few scenarios of its own, and the one whose scenarios it also has to pass. */
const FORCED = { "2025-03-26": "2025-06-18" };

const scenarios = await listScenarios();
const notOffered = parse(await readFile(resolve(import.meta.dirname, "client-not-offered.yaml"), "utf8"));
const findReason = (name) => notOffered.find((entry) => entry.scenario === name)?.reason;

test("every entry of client-not-offered.yaml names a client scenario once, with a reason", () => {
  const names = notOffered.map((entry) => entry.scenario);
  assert.deepEqual(names.filter((name) => !scenarios.has(name)), [], "unknown scenarios");
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), [], "duplicate scenarios");
  for (const { scenario, reason } of notOffered) assert.ok(reason?.trim(), scenario);
});

test("every client scenario is run at some revision, or listed as not offered", () => {
  const neither = [...scenarios].filter(
    ([name, revisions]) => !findReason(name) && !REVISIONS.some((revision) => revisions.includes(revision)),
  );
  assert.deepEqual(neither, []);
});

describe("client scenarios", { concurrency: 2 }, () => {
  for (const [name, revisions] of scenarios) {
    const reason = findReason(name);
    const offered = REVISIONS.filter((revision) => revisions.includes(revision) || revisions.includes(FORCED[revision]));
    // A scenario that is not offered fails at every revision, so one revision is enough.
    for (const revision of reason ? revisions.slice(-1) : offered) {
      test(`client ${revision} ${name}`, async (t) => {
        const force = revision !== "extension" && !revisions.includes(revision) ? ["--force"] : [];
        const { checks, output } = await runScenario(t, name, revision, force);
        assertOutcome(checks, reason, output);
        // A warning (a recommendation of the specification) does not fail a scenario, but is reported.
        for (const check of checks.filter((check) => check.status === "WARNING")) t.diagnostic(summarizeCheck(check));
        if (reason) t.diagnostic(`not offered: ${reason.trim()}`);
      });
    }
  }
});

const summarizeCheck = ({ id, name, errorMessage, details }) =>
  `${id} (${name}): ${errorMessage ?? details?.message ?? "no reason given"}`;

/** Asserts that an offered scenario passes some check and fails none, and that a listed scenario does not pass. */
function assertOutcome(checks, reason, output) {
  const failed = checks.filter((check) => check.status === "FAILURE");
  // A scenario with only skipped checks does not count as passed.
  const passed = failed.length === 0 && checks.some((check) => check.status === "SUCCESS");
  if (reason) return assert.ok(!passed, "the scenario passes: remove it from client-not-offered.yaml");
  assert.deepEqual(failed.map(summarizeCheck), [], output);
  assert.ok(passed, `no check passed\n${output}`);
}

/** Runs one scenario; returns its checks and the output of suite and client. */
async function runScenario(t, scenario, revision, force) {
  const folder = await mkdtemp(join(tmpdir(), "vouch-conformance-"));
  addCleanup(t, () => rm(folder, { recursive: true, force: true }));
  // Extensions belong to no revision.
  const version = revision === "extension" ? [] : ["--spec-version", revision];
  const args = ["client", "--command", CLIENT, "--scenario", scenario, "--output-dir", folder, ...version, ...force];
  // The exit code is ignored: some checks may fail.
  const ended = await promisify(execFile)(process.execPath, [SUITE, ...args], { maxBuffer: 1 << 26 }).catch(
    (error) => error,
  );
  const output = `${ended.stdout}${ended.stderr}`;
  // A scenario with a slash in its name has a subfolder.
  const paths = await readdir(folder, { recursive: true });
  const results = paths.filter((path) => path.endsWith("checks.json"));
  assert.equal(results.length, 1, output);
  return { checks: JSON.parse(await readFile(join(folder, results[0]), "utf8")), output };
}

/** Returns a map from scenario to its revisions, as listed by the suite. */
async function listScenarios() {
  const { stdout } = await promisify(execFile)(process.execPath, [SUITE, "list", "--client"]);
  const lines = stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm);
  return new Map([...lines].map(([, name, revisions]) => [name, revisions.split(",")]));
}
