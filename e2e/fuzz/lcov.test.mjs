// Reports of coverage are what Debian's `lcov` and `genhtml` read, branches included, and come to the same sums.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { compile, contracts, folder, fuzz, only, run, targets, write } from './support.mjs';

/** Inheritance, libraries, contracts made by others, overloads, loops, text that is no text. */
const SUBJECTS = ['Factory', 'Inherited', 'Ledger', 'Letters', 'Linked', 'Market', 'Token', 'Waiting'];
const FIXED = ['--seed', '1', '--workers', '1', '--quiet', '--test-mode', 'exploration', '--test-limit', '3000'];
/** Words by which either program complains, be it only of one record. */
const COMPLAINT = /warn|error|ignor|invalid|inconsistent|mismatch|unknown|skipp|negative|cannot|can't/i;

/** `xtask` unpacks Debian's package where the machine has none. */
const path = [process.env.LCOV_BIN, process.env.PATH].filter(Boolean).join(':');
const call = (program, args, cwd) => run(program, args, { cwd, env: { ...process.env, PATH: path, LC_ALL: 'C' } });
const version = await call('lcov', ['--version']).then(({ stdout }) => stdout.match(/version (\d+)/)?.[1], () => undefined);
const skip = version === undefined && 'NOT CHECKED: there is no lcov, and Debian\'s package could not be had';

test('lcov and genhtml take the reports', { skip }, async (t) => {
  const root = await folder(t);
  const reports = await reportsOf(root);
  // Since 2.0 the options have other names.
  const option = (program) => ['--rc', version === '1' ? `${program}_branch_coverage=1` : 'branch_coverage=1'];

  for (const report of reports) {
    const { code, stdout, stderr } = await call('lcov', ['--summary', report, ...option('lcov')], root);
    assert.deepEqual([code, stderr], [0, ''], stdout);
    assert.doesNotMatch(stdout, COMPLAINT);
    assert.deepEqual(counted(stdout), sums(readFileSync(join(root, report), 'utf8')), `${report}\n${stdout}`);
  }

  const { code, stdout, stderr } = await call('genhtml', [...reports, ...option('genhtml'), '--output-directory', 'html'], root);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  assert.doesNotMatch(stdout, COMPLAINT);
  const whole = reports.map((report) => readFileSync(join(root, report), 'utf8')).join('');
  const truth = sums(whole);
  assert.deepEqual(counted(stdout), truth, stdout);
  for (const [what, [hit]] of Object.entries(truth)) assert.ok(hit > 0, `no ${what} ran`);
  const made = readdirSync(join(root, 'html'), { recursive: true });
  for (const [, source] of whole.matchAll(/^SF:.*\/(.*)$/gm)) {
    assert.ok(made.some((file) => file.endsWith(`${source}.gcov.html`)), `no page for ${source}: ${made}`);
  }
});

/** Fuzzes each subject; the paths of the reports. */
async function reportsOf(root) {
  const subjects = [...targets(), ...contracts()].filter(({ name }) => SUBJECTS.includes(name));
  assert.equal(subjects.length, SUBJECTS.length);
  const sources = Object.fromEntries(subjects.map(({ name, text }) => [`src/${name}.sol`, text]));
  const output = compile(sources);
  await write(root, sources);
  const reports = [];
  for (const { name, config } of subjects) {
    const build = `build/${name}.json`;
    await write(root, { [build]: only(output, `src/${name}.sol`), [`config/${name}.yaml`]: config });
    const reported = `reports/${name}`;
    await fuzz(root, [build, '--contract', name, '--config', `config/${name}.yaml`, '--coverage-dir', reported, ...FIXED]);
    const file = readdirSync(join(root, reported)).find((file) => file.endsWith('.lcov'));
    reports.push(join(reported, file));
  }
  return reports;
}

/** What either program prints: `lines......: 90.0% (9 of 10 lines)`, or `no data found`. */
function counted(printed) {
  const row = (what) => {
    const line = new RegExp(`^ *${what}\\.*: (?:.*\\((\\d+) of (\\d+) |no data found)`, 'm');
    const [, hit, found] = printed.match(line) ?? assert.fail(printed);
    return [Number(hit ?? 0), Number(found ?? 0)];
  };
  return { lines: row('lines'), functions: row('functions'), branches: row('branches') };
}

/** The same from the records themselves: once from the sums that they say, and once counted, which has to agree. */
function sums(report) {
  const listed = (pattern) => [...report.matchAll(pattern)].map(([, count]) => Number(count));
  const said = (key) => listed(new RegExp(`^${key}:(\\d+)$`, 'gm')).reduce((sum, number) => sum + number, 0);
  const count = (counts) => [counts.filter((count) => count > 0).length, counts.length];
  const truth = {
    lines: count(listed(/^DA:\d+,(\d+)$/gm)),
    functions: count(listed(/^FNDA:(\d+),.*$/gm)),
    branches: count(listed(/^BRDA:\d+,\d+,\d+,(\d+|-)$/gm).map((count) => count || 0)),
  };
  const summed = {
    lines: [said('LH'), said('LF')],
    functions: [said('FNH'), said('FNF')],
    branches: [said('BRH'), said('BRF')],
  };
  assert.deepEqual(summed, truth);
  return truth;
}
