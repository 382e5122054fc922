// Runs the server scenarios of the official conformance suite against `conformance_server`, which uses the same runtime as
// `vouch serve`.
//
// The suite runs once for each protocol revision that the README names; each of its scenarios is a test. The suite lists
// only one scenario for 2025-03-26, so the scenarios of the next revision are forced on it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";

import { addCleanup } from "../support/cleanup.mjs";
import { CONFORMANCE_SERVER, spawnServer } from "../support/vouch.mjs";

const SUITE = resolve(import.meta.dirname, "../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/** A revision with few scenarios of its own, and the one whose scenarios it also has to pass. */
const FORCED = { "2025-03-26": "2025-06-18" };

const scenarios = await listScenarios();
const notOffered = parse(await readFile(resolve(import.meta.dirname, "not-offered.yaml"), "utf8"));

test("every entry of not-offered.yaml names a scenario once, with a reason", () => {
  const names = notOffered.map((entry) => entry.scenario);
  assert.deepEqual(names.filter((name) => !scenarios.has(name)), [], "unknown scenarios");
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), [], "duplicate scenarios");
  for (const { scenario, reason } of notOffered) assert.ok(reason?.trim(), scenario);
});

test("the revisions are those that the README names", async () => {
  const readme = await readFile(resolve(import.meta.dirname, "../../README.md"), "utf8");
  const [, first, last] = readme.match(/MCP revisions (\d{4}-\d\d-\d\d) to (\d{4}-\d\d-\d\d)/);
  assert.deepEqual([first, last], [REVISIONS[0], REVISIONS.at(-1)]);
  const known = new Set([...scenarios.values()].flat());
  known.delete("extension");
  assert.deepEqual([...known].sort(), REVISIONS, "revisions that the suite knows");
});

test("every scenario is run at some revision, or listed as not offered", () => {
  const listed = new Set(notOffered.map((entry) => entry.scenario));
  const neither = [...scenarios].filter(
    ([name, revisions]) => !listed.has(name) && !REVISIONS.some((revision) => revisions.includes(revision)),
  );
  assert.deepEqual(neither, []);
});

for (const revision of REVISIONS) {
  test(`conformance ${revision}`, async (t) => {
    const isForced = (revisions) => !revisions.includes(revision) && revisions.includes(FORCED[revision]);
    const forced = [...scenarios].filter(([, revisions]) => isForced(revisions)).map(([name]) => name);
    const results = await runSuite(t, revision, forced);
    for (const [name, revisions] of scenarios) {
      if (!revisions.includes(revision) && !isForced(revisions)) continue;
      await t.test(`${revision} ${name}`, (t) => {
        const entry = notOffered.find((entry) => entry.scenario === name);
        const checks = results.get(name);
        assertOutcome(checks, entry);
        // A warning (a recommendation of the specification) does not fail a scenario, but is reported.
        for (const check of checks.filter((check) => check.status === "WARNING")) t.diagnostic(summarizeCheck(check));
        if (entry) t.diagnostic(`not offered: ${entry.reason.trim()}`);
      });
    }
  });
}

const summarizeCheck = ({ id, errorMessage }) => `${id}: ${errorMessage}`;

/** Asserts that an offered scenario fails no check, and that a listed scenario fails some check. */
function assertOutcome(checks, entry) {
  assert.ok(checks?.length > 0, "the suite returned no result");
  const failed = checks.filter((check) => check.status === "FAILURE");
  if (entry) assert.notEqual(failed.length, 0, "the scenario passes: remove it from not-offered.yaml");
  else assert.deepEqual(failed.map(summarizeCheck), []);
}

/**
 * Runs all scenarios of a revision against a new server, and then the forced ones; returns a map from scenario to its
 * checks.
 */
async function runSuite(t, revision, forced) {
  const url = await spawnServer(t, CONFORMANCE_SERVER, []);
  const folder = await mkdtemp(join(tmpdir(), "vouch-conformance-"));
  addCleanup(t, () => rm(folder, { recursive: true, force: true }));
  const common = ["server", "--url", url, "--spec-version", revision, "--output-dir", folder];
  const run = (args) =>
    // The exit code is ignored: some scenarios may fail.
    promisify(execFile)(process.execPath, [SUITE, ...common, ...args], { maxBuffer: 1 << 26 }).catch((error) => error);
  const output = await run(["--suite", "all"]);
  for (const scenario of forced) await run(["--scenario", scenario, "--force"]);
  const results = new Map();
  for (const name of await readdir(folder)) {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    results.set(scenario, JSON.parse(await readFile(join(folder, name, "checks.json"), "utf8")));
  }
  assert.ok(results.size > 0, `${output.stdout}${output.stderr}`);
  return results;
}

/** Returns a map from scenario to its revisions, as listed by the suite. */
async function listScenarios() {
  const { stdout } = await promisify(execFile)(process.execPath, [SUITE, "list", "--server"]);
  const lines = stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm);
  return new Map([...lines].map(([, name, revisions]) => [name, revisions.split(",")]));
}
