// The lines that a report of coverage says were run, and how often, against another EVM that runs the same calls on the same
// sources with a marker in front of each statement. Neither source maps nor anything of ours is part of that count.
//
// On optimised builds source maps tell less. What is told must still be true; the rest has to be left out.

import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { compile, folder, fuzz, only, targets, write } from './support.mjs';
import { calls } from './trace/calldata.mjs';
import { deploy } from './trace/chain.mjs';
import { marked } from './trace/markers.mjs';

/** How much of what ran has to be told: a report that left out everything would have no wrong line. */
const BUILDS = [
  { name: 'unoptimised', settings: {}, told: 0.99, inexact: [] },
  { name: 'optimised', settings: { optimizer: { enabled: true, runs: 200 } }, told: 0.95, inexact: [] },
  {
    name: 'via IR',
    settings: { viaIR: true, optimizer: { enabled: true, runs: 200 } },
    told: 0.6,
    // Here the optimiser takes part of a statement to where another one runs, and a count is off by some.
    inexact: ['Auction', 'Destroyed', 'SelfTransfer', 'Shares', 'Signed', 'TwoAsserts'],
  },
];
/** Loops until there is no gas left, which is longer than one wants to watch. */
const ENDLESS = ['Endless'];
/** Calls that go as deep as their gas allows: markers need some of it, so only whether a line ran can be compared. */
const GAS_DECIDES = ['Reentrancy'];
/** Tests of Foundry cheat, which the other EVM cannot. */
const CHEATS = 'foundry';
const FIXED = ['--seed', '1', '--workers', '1', '--quiet', '--test-mode', 'exploration'];

test('lines that ran are those that another EVM ran', async (t) => {
  const root = await folder(t);
  const subjects = targets().filter(({ name, mode }) => !ENDLESS.includes(name) && mode !== CHEATS);
  const path = ({ name }) => `src/${name}.sol`;
  const sources = Object.fromEntries(subjects.map((subject) => [path(subject), subject.text]));
  await write(root, sources);
  const outputs = BUILDS.map(({ settings }) => compile(sources, settings));
  const markedBy = (path, text) => marked(text, outputs[0].sources[path].ast);
  const marks = Object.fromEntries(Object.entries(sources).map(([path, text]) => [path, markedBy(path, text)]));
  const instrumented = compile(Object.fromEntries(Object.entries(marks).map(([path, { text }]) => [path, text])));

  const told = BUILDS.map(() => ({ lines: 0, of: 0 }));
  for (const subject of subjects) {
    await t.test(subject.name, async () => {
      const builds = outputs.map((output) => only(output, path(subject)));
      const corpus = await explore(root, subject, builds);
      const truth = await trace(corpus, instrumented.contracts[path(subject)], subject, marks[path(subject)].lines);
      for (const [index, { name, inexact }] of BUILDS.entries()) {
        const lines = linesOf(await replay(root, subject, index, corpus), path(subject));
        const onlyWhether = [...GAS_DECIDES, ...inexact].includes(subject.name);
        for (const line of marks[path(subject)].variables) if (lines.get(line) > 0) lines.delete(line);
        compare(`${subject.name}, ${name}`, lines, truth, told[index], onlyWhether);
      }
    });
  }
  for (const [index, { name, told: least }] of BUILDS.entries()) {
    const { lines, of } = told[index];
    t.diagnostic(`${name}: ${lines} of the ${of} lines that ran are told`);
    assert.ok(of > 200 && lines >= of * least, `${name}: ${lines} of ${of}`);
  }
});

/** Writes down the builds of a subject, and fuzzes the first; the folder of what was kept. */
async function explore(root, subject, builds) {
  await write(root, {
    [`config/${subject.name}.yaml`]: subject.config,
    ...Object.fromEntries(builds.map((build, index) => [`build/${index}/${subject.name}.json`, build])),
  });
  const corpus = join(root, 'corpus', subject.name);
  await run(root, subject, 0, corpus, ['--test-limit', '2000', '--seq-len', '10']);
  return corpus;
}

/** Runs exactly what was kept on a build; the folder of the report. */
async function replay(root, subject, index, corpus) {
  // What is replayed may be kept once more in another form; the next build has to run the same calls.
  const copy = join(root, 'copies', String(index), subject.name);
  cpSync(join(corpus, 'coverage'), join(copy, 'coverage'), { recursive: true });
  await run(root, subject, index, copy, ['--test-limit', '0']);
  return copy;
}

function run(root, { name }, index, corpus, more) {
  const what = [`build/${index}/${name}.json`, '--contract', name, '--config', `config/${name}.yaml`];
  return fuzz(root, [...what, '--corpus-dir', corpus, ...FIXED, ...more]);
}

/** Line to how often control came to it, for each line on which a marked statement begins. */
async function trace(corpus, contracts, subject, lines) {
  const value = BigInt(subject.config.match(/balanceContract: (\d+)/)?.[1] ?? 0);
  const chain = await deploy(contracts, subject.name, value);
  const folder = join(corpus, 'coverage');
  const files = readdirSync(folder).sort();
  assert.ok(files.length > 0, 'the campaign kept nothing');
  for (const file of files) await chain.replay(calls(readFileSync(join(folder, file), 'utf8')));
  const truth = new Map(lines.map((line) => [line, 0]));
  for (const [marker, count] of chain.counts) truth.set(lines[marker], Math.max(truth.get(lines[marker]), count));
  return truth;
}

/** The `DA` records of a source. */
function linesOf(folder, path) {
  const report = readdirSync(folder).find((file) => file.endsWith('.lcov'));
  const records = readFileSync(join(folder, report), 'utf8').split('end_of_record\n');
  const record = records.find((record) => record.includes(`SF:${path}\n`)) ?? assert.fail(`no record for ${path}`);
  return new Map([...record.matchAll(/^DA:(\d+),(\d+)$/gm)].map(([, line, count]) => [Number(line), Number(count)]));
}

function compare(what, lines, truth, told, onlyWhether) {
  const same = (left, right) => (onlyWhether ? left > 0 === right > 0 : left === right);
  const wrong = [...lines].filter(([line, count]) => !truth.has(line) || !same(truth.get(line), count))
    .map(([line, count]) => `line ${line}: ${count} instead of ${truth.get(line)}`);
  assert.deepEqual(wrong, [], what);
  const ran = [...truth].filter(([, count]) => count > 0);
  told.lines += ran.filter(([line]) => lines.has(line)).length;
  told.of += ran.length;
}
