// Debian's `lcov` and `genhtml` read the coverage reports, including branches, and compute the same totals.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { compile, createFolder, listContracts, listTargets, runFuzz, runProgram, selectSource, writeFiles } from './support.mjs';

/** Smart contracts with inheritance, libraries, deployed contracts, overloads, loops and invalid UTF-8. */
const SUBJECTS = ['Factory', 'Inherited', 'Ledger', 'Letters', 'Linked', 'Market', 'Token', 'Waiting'];
const SEEDED_FLAGS = ['--seed', '1', '--workers', '1', '--quiet', '--test-mode', 'exploration', '--test-limit', '3000'];
/** Words in warnings and errors of both programs, even about a single record. */
const WARNING = /warn|error|ignor|invalid|inconsistent|mismatch|unknown|skipp|negative|cannot|can't/i;

/** `xtask` unpacks Debian's package if lcov is not installed. */
const path = [process.env.LCOV_BIN, process.env.PATH].filter(Boolean).join(':');
const runTool = (program, args, cwd) => runProgram(program, args, { cwd, env: { ...process.env, PATH: path, LC_ALL: 'C' } });
const version = await runTool('lcov', ['--version']).then(({ stdout }) => stdout.match(/version (\d+)/)?.[1], () => undefined);
const skip = version === undefined && 'NOT CHECKED: lcov is not installed, and Debian\'s package is unavailable';

test('lcov and genhtml accept the reports and agree on the totals', { skip }, async (t) => {
  const root = await createFolder(t);
  const reports = await generateReports(root);
  // The options were renamed in lcov 2.0.
  const branchOption = (program) => ['--rc', version === '1' ? `${program}_branch_coverage=1` : 'branch_coverage=1'];

  for (const report of reports) {
    const { code, stdout, stderr } = await runTool('lcov', ['--summary', report, ...branchOption('lcov')], root);
    assert.deepEqual([code, stderr], [0, ''], stdout);
    assert.doesNotMatch(stdout, WARNING);
    assert.deepEqual(parseSummary(stdout), sumRecords(readFileSync(join(root, report), 'utf8')), `${report}\n${stdout}`);
  }

  const { code, stdout, stderr } = await runTool('genhtml', [...reports, ...branchOption('genhtml'), '--output-directory', 'html'], root);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  assert.doesNotMatch(stdout, WARNING);
  const allReports = reports.map((report) => readFileSync(join(root, report), 'utf8')).join('');
  const totals = sumRecords(allReports);
  assert.deepEqual(parseSummary(stdout), totals, stdout);
  for (const [kind, [hit]] of Object.entries(totals)) assert.ok(hit > 0, `no ${kind} were hit`);
  const pages = readdirSync(join(root, 'html'), { recursive: true });
  for (const [, source] of allReports.matchAll(/^SF:.*\/(.*)$/gm)) {
    assert.ok(pages.some((file) => file.endsWith(`${source}.gcov.html`)), `no page for ${source}: ${pages}`);
  }
});

/** Fuzzes each smart contract and returns the paths of the reports. */
async function generateReports(root) {
  const subjects = [...listTargets(), ...listContracts()].filter(({ name }) => SUBJECTS.includes(name));
  assert.equal(subjects.length, SUBJECTS.length);
  const sources = Object.fromEntries(subjects.map(({ name, text }) => [`src/${name}.sol`, text]));
  const output = compile(sources);
  await writeFiles(root, sources);
  const reports = [];
  for (const { name, config } of subjects) {
    const build = `build/${name}.json`;
    await writeFiles(root, { [build]: selectSource(output, `src/${name}.sol`), [`config/${name}.yaml`]: config });
    const folder = `reports/${name}`;
    await runFuzz(root, [build, '--contract', name, '--config', `config/${name}.yaml`, '--coverage-dir', folder, ...SEEDED_FLAGS]);
    const file = readdirSync(join(root, folder)).find((file) => file.endsWith('.lcov'));
    reports.push(join(folder, file));
  }
  return reports;
}

/** Parses the summary of either program: `lines......: 90.0% (9 of 10 lines)`, or `no data found`. */
function parseSummary(printed) {
  const row = (kind) => {
    const line = new RegExp(`^ *${kind}\\.*: (?:.*\\((\\d+) of (\\d+) |no data found)`, 'm');
    const [, hit, found] = printed.match(line) ?? assert.fail(printed);
    return [Number(hit ?? 0), Number(found ?? 0)];
  };
  return { lines: row('lines'), functions: row('functions'), branches: row('branches') };
}

/** Returns the totals of a report, after checking that its total records match the counted records. */
function sumRecords(report) {
  const matchCounts = (pattern) => [...report.matchAll(pattern)].map(([, count]) => Number(count));
  const sumTotals = (key) => matchCounts(new RegExp(`^${key}:(\\d+)$`, 'gm')).reduce((sum, number) => sum + number, 0);
  const countHits = (counts) => [counts.filter((count) => count > 0).length, counts.length];
  const counted = {
    lines: countHits(matchCounts(/^DA:\d+,(\d+)$/gm)),
    functions: countHits(matchCounts(/^FNDA:(\d+),.*$/gm)),
    branches: countHits(matchCounts(/^BRDA:\d+,\d+,\d+,(\d+|-)$/gm).map((count) => count || 0)),
  };
  const declared = {
    lines: [sumTotals('LH'), sumTotals('LF')],
    functions: [sumTotals('FNH'), sumTotals('FNF')],
    branches: [sumTotals('BRH'), sumTotals('BRF')],
  };
  assert.deepEqual(declared, counted);
  return counted;
}
