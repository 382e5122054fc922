// Every Foundry test that `vouch fuzz` writes for a failure fails under `forge test` with the same reason. It passes if the
// smart contract is fixed, and if the last step is left out.
//
// One `forge test` compiles and runs all tests, because the WebAssembly compiler is slow to start.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';

import { fixSource } from './fix-source.mjs';
import {
  compile, createFolder, findForge, listContracts, listTargets, runFuzz, runProgram, selectSource, writeFiles, writeSolcProgram,
} from './support.mjs';

/** Smart contracts whose failures are also tested before shrinking, with all steps that revert or have no effect. */
const UNSHRUNK = ['Quorum', 'Reentrancy', 'Strings', 'Structs', 'Token', 'Waiting'];
const SEEDED_FLAGS = ['--seed', '1', '--workers', '1', '--quiet'];
/** A shrunk sequence breaks nothing without its last step. */
const IS_MINIMAL = { shrunk: true, unshrunk: false };

/** Failures that one worker with this seed does not find within the call limit, by smart contract. */
const NOT_FOUND = {
  Plateaus: { failures: 1, reason: 'The fuzzer\'s own suite finds the third failure with another seed and more calls.' },
};

/** Smart contracts whose Foundry tests fail before the replay, with the reason of the failure. */
const NOT_REPLAYED = {
  // The replay calls setUp() with `vm.prank`. Forge refuses `startPrank` inside of such a call.
  ForgeRules: 'setUp() reverted',
};

const forge = findForge();

const skip = !forge && 'NOT CHECKED: npm has no forge for this platform';

test('reproducers fail under forge, and pass once the bug is fixed', { skip }, async (t) => {
  const root = await createFolder(t);
  const solc = await writeSolcProgram(root);
  await writeFoundryProject(root, solc);
  const findings = await findAllFailures(root, solc);
  const shrunk = findings.filter(({ how }) => how === 'shrunk');
  const subjects = [...listTargets(), ...listContracts()];
  const missing = subjects.map(({ name, failures }) => [name, failures - shrunk.filter(({ subject }) => subject === name).length]);
  const expected = Object.entries(NOT_FOUND).map(([name, { failures }]) => [name, failures]);
  t.diagnostic(`${shrunk.length} failures found, and ${findings.length - shrunk.length} unshrunk failures`);
  assert.deepEqual(missing.filter(([, count]) => count !== 0), expected, 'failures that are not found, and those in NOT_FOUND');

  await writeFiles(root, Object.assign({}, ...findings.map((finding) => buildTestFiles(finding))));
  const results = await runForgeTests(root);
  for (const finding of findings) {
    await t.test(`${finding.subject}: ${finding.reason} (${finding.how})`, () => checkFinding(finding, results));
  }
  assert.equal(results.size, 0, `unexpected tests: ${[...results.keys()]}`);
});

/** Writes a Foundry project with all smart contracts, their fixed versions, and the build of the targets. */
async function writeFoundryProject(root, solc) {
  const sources = (folder, subjects, text) =>
    Object.fromEntries(subjects.map((subject) => [`${folder}/${subject.name}.sol`, text(subject)]));
  const all = [...listTargets(), ...listContracts()];
  const output = compile(sources('src', listTargets(), ({ text }) => text), { optimizer: { enabled: true, runs: 200 } });
  await writeFiles(root, {
    'foundry.toml': `[profile.default]\nsrc = "src"\ntest = "test"\nlibs = []\noffline = true\nsolc = "${solc}"\n`,
    ...sources('src', all, ({ text }) => text),
    ...sources('fixed', all, fixSource),
    ...Object.fromEntries(listTargets().map(({ name }) => [`build/${name}.json`, selectSource(output, `src/${name}.sol`)])),
  });
}

async function findAllFailures(root, solc) {
  const build = ({ name }) => [`build/${name}.json`];
  const source = ({ name }) => [`src/${name}.sol`, '--solc', solc];
  const unshrunk = listTargets().filter(({ name }) => UNSHRUNK.includes(name));
  return [
    ...(await findFailuresOfAll(root, listTargets(), build, 'shrunk', [])),
    ...(await findFailuresOfAll(root, listContracts(), source, 'shrunk', [])),
    ...(await findFailuresOfAll(root, unshrunk, build, 'unshrunk', ['--shrink-limit', '0'])),
  ];
}

async function findFailuresOfAll(root, subjects, targetArgs, how, flags) {
  const findings = [];
  for (const subject of subjects) findings.push(...(await findFailures(root, subject, targetArgs(subject), how, flags)));
  return findings;
}

/** Fuzzes one smart contract and returns each failure with its Foundry test. */
async function findFailures(root, subject, target, how, flags) {
  const corpus = `corpus/${how}/${subject.name}`;
  const config = `config/${subject.name}.yaml`;
  await writeFiles(root, { [config]: subject.config });
  const { results } = await runFuzz(root, [
    ...target, '--contract', subject.name, '--config', config, '--test-mode', subject.mode,
    '--test-limit', subject.calls, '--corpus-dir', corpus, ...SEEDED_FLAGS, ...flags,
  ]);
  const failed = results.tests.filter(({ status }) => status === 'solved');

  const foundry = join(root, corpus, 'foundry');
  const written = readdirSync(foundry).map((file) => ({ file, text: readFileSync(join(foundry, file), 'utf8') }));
  assert.ok(written.length >= failed.length, `${subject.name}: a Foundry test for each failure`);
  return failed.map((failure) => {
    // A function that fails at several locations has several files, which are equivalent here.
    const index = written.findIndex(({ text }) => text.includes(`breaks \`${failure.name}\` of`));
    assert.notEqual(index, -1, `${subject.name}: no Foundry test replays ${JSON.stringify(failure)}`);
    const [{ file, text }] = written.splice(index, 1);
    return { subject: subject.name, how, failure, reason: expectedReason(failure), contract: basename(file, '.t.sol'), text };
  });
}

/** Returns the message with which the replay must fail. */
function expectedReason({ type, name, value }) {
  switch (type) {
    case 'assertion': return `${name}: an assertion failed`;
    case 'overflow': return `${name}: arithmetic overflowed`;
    case 'optimization': return `${name} reaches ${value}`;
    case 'foundry': return `${name} reverts`;
    default:
      if (name.startsWith('echidna_revert_')) return `${name} does not revert`;
      return /^(invariant|statefulFuzz)/.test(name) ? `${name} reverts` : `${name} does not hold`;
  }
}

/** Returns the files of three tests: unchanged, with the fixed smart contract, and without the last step. */
function buildTestFiles({ subject, how, contract, text, failure }) {
  const testName = (kind) => `${contract}_${how}_${kind}`;
  const renameContract = (kind, text) => text.replace(`contract ${contract} {`, `contract ${testName(kind)} {`);
  const variants = {
    failing: text,
    fixed: text.replaceAll(`"src/${subject}.sol"`, `"fixed/${subject}.sol"`),
    shortened: dropLastStep(how, failure, text),
  };
  const written = Object.entries(variants).filter(([, text]) => text !== undefined);
  return Object.fromEntries(written.map(([kind, text]) => [`test/${testName(kind)}.t.sol`, renameContract(kind, text)]));
}

/**
 * Returns the test without its last step. Undefined if the last step itself fails, if there is no step, or if the
 * sequence is not minimal.
 */
function dropLastStep(how, { type, name, transactions }, text) {
  const isCheckedAfterwards = type === 'property' || type === 'optimization';
  if (!isCheckedAfterwards || !IS_MINIMAL[how] || transactions.length === 0) return undefined;
  const lines = text.split('\n');
  const last = lines.findLastIndex((line) => /^ {8}step\(/.test(line));
  assert.notEqual(last, -1, `${name}: no step in\n${text}`);
  lines.splice(last, 1);
  return lines.join('\n');
}

/** Runs all tests with forge and returns the outcome of each test contract. */
async function runForgeTests(root) {
  const args = ['test', '--json', '--match-contract', '^Reproducer_'];
  // A separate home: Foundry's global configuration must not matter.
  const { stdout, stderr } = await runProgram(forge, args, { cwd: root, env: { PATH: process.env.PATH, HOME: root } });
  assert.match(stdout, /^\{/, `forge: ${stdout}\n${stderr}`);
  const suites = Object.entries(JSON.parse(stdout));
  // If the setup fails, its result replaces that of the test.
  const outcome = (results) => results['test_replay()'] ?? Object.values(results)[0];
  return new Map(suites.map(([suite, { test_results: results }]) => [suite.split(':')[1], outcome(results)]));
}

function checkFinding({ subject, how, contract, reason, failure, text }, results) {
  const take = (kind) => {
    const name = `${contract}_${how}_${kind}`;
    const result = results.get(name);
    results.delete(name);
    return result && { status: result.status, reason: result.reason };
  };
  const outcomes = { failing: take('failing'), fixed: take('fixed'), shortened: take('shortened') };
  const early = NOT_REPLAYED[subject];
  assert.deepEqual(outcomes.failing, { status: 'Failure', reason: early ?? reason });
  if (early) return;
  assert.deepEqual(outcomes.fixed, { status: 'Success', reason: null });
  const isShortened = dropLastStep(how, failure, text) !== undefined;
  assert.deepEqual(outcomes.shortened, isShortened ? { status: 'Success', reason: null } : undefined);
}
