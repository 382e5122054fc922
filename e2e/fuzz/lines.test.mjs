// Compares the line counts of a coverage report with another EVM. That EVM runs the same calls on the same sources, with a
// marker before each statement. Its counts use neither source maps nor code of this project.
//
// Source maps of optimized builds are less precise. Reported lines must still be correct; other lines must be left out.

import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { compile, createFolder, listTargets, runFuzz, selectSource, writeFiles } from './support.mjs';
import { parseCalls } from './trace/calldata.mjs';
import { deploy } from './trace/chain.mjs';
import { insertMarkers } from './trace/markers.mjs';

const BUILDS = [
  { name: 'unoptimized', settings: {}, inexact: [] },
  { name: 'optimized', settings: { optimizer: { enabled: true, runs: 200 } }, inexact: [] },
  {
    name: 'via IR',
    settings: { viaIR: true, optimizer: { enabled: true, runs: 200 } },
    // The optimizer moves parts of statements to other statements, so counts are not exact.
    inexact: ['Auction', 'Destroyed', 'SelfTransfer', 'Shares', 'Signed', 'TwoAsserts'],
  },
];
/** Executed lines that the report of a build leaves out, by build and smart contract, with reasons. */
const UNREPORTED = JSON.parse(readFileSync(new URL('unreported-lines.json', import.meta.url), 'utf8'));
/** Loops until its gas is used up, which takes too long. */
const ENDLESS = ['Endless'];
/** The call depth depends on the gas, and markers use gas. So only zero and non-zero counts are compared. */
const GAS_DEPENDENT = ['Reentrancy'];
/** Foundry tests use cheatcodes, which the other EVM does not support. */
const CHEATCODE_MODE = 'foundry';
const SEEDED_FLAGS = ['--seed', '1', '--workers', '1', '--quiet', '--test-mode', 'exploration'];

test('reported line counts match those of another EVM', async (t) => {
  const root = await createFolder(t);
  const subjects = listTargets().filter(({ name, mode }) => !ENDLESS.includes(name) && mode !== CHEATCODE_MODE);
  const path = ({ name }) => `src/${name}.sol`;
  const sources = Object.fromEntries(subjects.map((subject) => [path(subject), subject.text]));
  await writeFiles(root, sources);
  const outputs = BUILDS.map(({ settings }) => compile(sources, settings));
  const markSource = (path, text) => insertMarkers(text, outputs[0].sources[path].ast);
  const marks = Object.fromEntries(Object.entries(sources).map(([path, text]) => [path, markSource(path, text)]));
  const instrumented = compile(Object.fromEntries(Object.entries(marks).map(([path, { text }]) => [path, text])));

  const reported = BUILDS.map(() => ({ lines: 0, executed: 0, leftOut: {} }));
  for (const subject of subjects) {
    await t.test(subject.name, async () => {
      const builds = outputs.map((output) => selectSource(output, path(subject)));
      const corpus = await exploreSubject(root, subject, builds);
      const expected = await countLines(corpus, instrumented.contracts[path(subject)], subject, marks[path(subject)].lines);
      for (const [index, { name, inexact }] of BUILDS.entries()) {
        const lines = readLineCounts(await replayCorpus(root, subject, index, corpus), path(subject));
        const ignoreCounts = [...GAS_DEPENDENT, ...inexact].includes(subject.name);
        for (const line of marks[path(subject)].variables) if (lines.get(line) > 0) lines.delete(line);
        compareLines(subject.name, name, lines, expected, reported[index], ignoreCounts);
      }
    });
  }
  for (const [index, { name }] of BUILDS.entries()) {
    const { lines, executed, leftOut } = reported[index];
    t.diagnostic(`${name}: ${lines} of ${executed} executed lines are reported`);
    assert.ok(executed > 200, `${name}: ${executed}`);
    assert.ok(UNREPORTED[name].reason, name);
    assert.deepEqual(leftOut, UNREPORTED[name].lines, `${name}: executed lines without a count, and those in unreported-lines.json`);
  }
});

/** Writes the builds of a smart contract, fuzzes the first, and returns the corpus folder. */
async function exploreSubject(root, subject, builds) {
  await writeFiles(root, {
    [`config/${subject.name}.yaml`]: subject.config,
    ...Object.fromEntries(builds.map((build, index) => [`build/${index}/${subject.name}.json`, build])),
  });
  const corpus = join(root, 'corpus', subject.name);
  await fuzzBuild(root, subject, 0, corpus, ['--test-limit', '2000', '--seq-len', '10']);
  return corpus;
}

/** Replays the corpus on a build and returns the folder of the report. */
async function replayCorpus(root, subject, index, corpus) {
  // A replay may add files to its corpus, and the next build must run the same calls. So each build gets a copy.
  const copy = join(root, 'copies', String(index), subject.name);
  cpSync(join(corpus, 'coverage'), join(copy, 'coverage'), { recursive: true });
  await fuzzBuild(root, subject, index, copy, ['--test-limit', '0']);
  return copy;
}

function fuzzBuild(root, { name }, index, corpus, flags) {
  const target = [`build/${index}/${name}.json`, '--contract', name, '--config', `config/${name}.yaml`];
  return runFuzz(root, [...target, '--corpus-dir', corpus, ...SEEDED_FLAGS, ...flags]);
}

/** Returns how often each line with a marked statement was executed in the other EVM. */
async function countLines(corpus, contracts, subject, lines) {
  const value = BigInt(subject.config.match(/balanceContract: (\d+)/)?.[1] ?? 0);
  const chain = await deploy(contracts, subject.name, value);
  const folder = join(corpus, 'coverage');
  const files = readdirSync(folder).sort();
  assert.ok(files.length > 0, 'the corpus is empty');
  for (const file of files) await chain.replay(parseCalls(readFileSync(join(folder, file), 'utf8')));
  const counts = new Map(lines.map((line) => [line, 0]));
  for (const [marker, count] of chain.counts) counts.set(lines[marker], Math.max(counts.get(lines[marker]), count));
  return counts;
}

/** Returns the `DA` records of a source as a map from line to count. */
function readLineCounts(folder, path) {
  const report = readdirSync(folder).find((file) => file.endsWith('.lcov'));
  const records = readFileSync(join(folder, report), 'utf8').split('end_of_record\n');
  const record = records.find((record) => record.includes(`SF:${path}\n`)) ?? assert.fail(`no record for ${path}`);
  return new Map([...record.matchAll(/^DA:(\d+),(\d+)$/gm)].map(([, line, count]) => [Number(line), Number(count)]));
}

/** Asserts that the reported lines are correct, and adds to the totals of a build. */
function compareLines(subject, build, lines, expected, totals, ignoreCounts) {
  const isSame = (left, right) => (ignoreCounts ? left > 0 === right > 0 : left === right);
  const wrong = [...lines].filter(([line, count]) => !expected.has(line) || !isSame(expected.get(line), count))
    .map(([line, count]) => `line ${line}: ${count} instead of ${expected.get(line)}`);
  assert.deepEqual(wrong, [], `${subject}, ${build}`);
  const executed = [...expected].filter(([, count]) => count > 0).map(([line]) => line);
  const leftOut = executed.filter((line) => !lines.has(line));
  totals.lines += executed.length - leftOut.length;
  totals.executed += executed.length;
  if (leftOut.length > 0) totals.leftOut[subject] = leftOut;
}
