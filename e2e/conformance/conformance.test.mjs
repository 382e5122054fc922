// The official conformance suite against the fixture server, which is built on the same runtime as `vouch serve`.
//
// One run of the suite for each protocol revision, one test for each scenario in it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";

import { atEnd } from "../support/cleanup.mjs";
import { CONFORMANCE_SERVER, listen } from "../support/vouch.mjs";

const SUITE = resolve(import.meta.dirname, "../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const REVISIONS = ["2025-11-25", "2026-07-28"];

const scenarios = await listScenarios();
const notOffered = parse(await readFile(resolve(import.meta.dirname, "not-offered.yaml"), "utf8"));

test("every entry of the list names a scenario of the suite, once, and a reason", () => {
  const names = notOffered.map((entry) => entry.scenario);
  assert.deepEqual(names.filter((name) => !scenarios.has(name)), [], "unknown to the suite");
  assert.deepEqual(names.filter((name, at) => names.indexOf(name) !== at), [], "listed twice");
  for (const { scenario, reason } of notOffered) assert.ok(reason?.trim(), scenario);
});

test("every scenario is run at a revision, or listed", () => {
  const listed = new Set(notOffered.map((entry) => entry.scenario));
  const neither = [...scenarios].filter(
    ([name, revisions]) => !listed.has(name) && !REVISIONS.some((revision) => revisions.includes(revision)),
  );
  assert.deepEqual(neither, []);
});

for (const revision of REVISIONS) {
  test(`conformance ${revision}`, async (t) => {
    const results = await runSuite(t, revision);
    for (const [name, revisions] of scenarios) {
      if (!revisions.includes(revision)) continue;
      await t.test(`${revision} ${name}`, (t) => {
        const entry = notOffered.find((entry) => entry.scenario === name);
        const checks = results.get(name);
        judge(checks, entry);
        // What the specification only recommends does not fail a scenario, but should be seen.
        for (const check of checks.filter((check) => check.status === "WARNING")) t.diagnostic(inShort(check));
        if (entry) t.diagnostic(`not offered: ${entry.reason.trim()}`);
      });
    }
  });
}

const inShort = ({ id, errorMessage }) => `${id}: ${errorMessage}`;

/** What is offered fails no check; what is listed fails some, or the list is stale. */
function judge(checks, entry) {
  assert.ok(checks?.length > 0, "the suite gave no result");
  const failed = checks.filter((check) => check.status === "FAILURE");
  if (entry) assert.notEqual(failed.length, 0, "it passes, so it is offered: take it off the list");
  else assert.deepEqual(failed.map(inShort), []);
}

/** Runs all scenarios of a revision against a fresh fixture server: scenario → its checks. */
async function runSuite(t, revision) {
  const url = await listen(t, CONFORMANCE_SERVER, []);
  const folder = await mkdtemp(join(tmpdir(), "vouch-conformance-"));
  atEnd(t, () => rm(folder, { recursive: true, force: true }));
  const args = ["server", "--url", url, "--suite", "all", "--spec-version", revision, "--output-dir", folder];
  // The exit code only says that some scenario failed; which one may, is for the list to say.
  const output = await promisify(execFile)(process.execPath, [SUITE, ...args], { maxBuffer: 1 << 26 }).catch(
    (error) => error,
  );
  const results = new Map();
  for (const name of await readdir(folder)) {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    results.set(scenario, JSON.parse(await readFile(join(folder, name, "checks.json"), "utf8")));
  }
  assert.ok(results.size > 0, `${output.stdout}${output.stderr}`);
  return results;
}

/** Scenario → the revisions it applies to, as the suite itself lists them. */
async function listScenarios() {
  const { stdout } = await promisify(execFile)(process.execPath, [SUITE, "list", "--server"]);
  const lines = stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm);
  return new Map([...lines].map(([, name, revisions]) => [name, revisions.split(",")]));
}
