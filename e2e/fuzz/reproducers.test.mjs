// Every failure that `vouch fuzz` writes down as a Foundry test fails under `forge test`, for the reason that was found. It
// passes where the contract is mended, and where the last step is left out, without which nothing is broken.
//
// All tests are compiled and run by one `forge test`: the compiler is WebAssembly, and starting it is what takes time.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';

import { mended } from './mend.mjs';
import { compile, contracts, folder, forgeProgram, fuzz, only, run, solcProgram, targets, write } from './support.mjs';

/** Failures as they were found, with all the steps that revert or do nothing. */
const UNSHRUNK = ['Quorum', 'Reentrancy', 'Strings', 'Structs', 'Token', 'Waiting'];
const FIXED = ['--seed', '1', '--workers', '1', '--quiet'];
/** Shrinking is done, so without its last step a sequence breaks nothing. */
const IS_MINIMAL = { shrunk: true, unshrunk: false };

const forge = forgeProgram();

const skip = !forge && 'NOT CHECKED: npm has no forge for this machine';

test('reproducers fail under forge, and pass once the mistake is gone', { skip }, async (t) => {
  const root = await folder(t);
  const solc = await solcProgram(root);
  await layOut(root, solc);
  const findings = await findEverything(root, solc);
  // That all are found is for the fuzzer's own suite to say; here it matters that there is a test for nearly each.
  const announced = [...targets(), ...contracts()].reduce((sum, { failures }) => sum + failures, 0);
  const shrunk = findings.filter(({ how }) => how === 'shrunk').length;
  t.diagnostic(`${shrunk} of ${announced} failures found, ${findings.length - shrunk} more left unshrunk`);
  assert.ok(shrunk >= announced * 0.95, `${shrunk} of ${announced}`);

  await write(root, Object.assign({}, ...findings.map((finding) => files(finding))));
  const results = await forgeTest(root);
  for (const finding of findings) {
    await t.test(`${finding.subject}: ${finding.reason} (${finding.how})`, () => check(finding, results));
  }
  assert.equal(results.size, 0, `tests that nobody expected: ${[...results.keys()]}`);
});

/** A Foundry project with all contracts, mended ones, and what was compiled of the targets, all of them at once. */
async function layOut(root, solc) {
  const sources = (folder, subjects, text) =>
    Object.fromEntries(subjects.map((subject) => [`${folder}/${subject.name}.sol`, text(subject)]));
  const all = [...targets(), ...contracts()];
  const output = compile(sources('src', targets(), ({ text }) => text), { optimizer: { enabled: true, runs: 200 } });
  await write(root, {
    'foundry.toml': `[profile.default]\nsrc = "src"\ntest = "test"\nlibs = []\noffline = true\nsolc = "${solc}"\n`,
    ...sources('src', all, ({ text }) => text),
    ...sources('mended', all, mended),
    ...Object.fromEntries(targets().map(({ name }) => [`build/${name}.json`, only(output, `src/${name}.sol`)])),
  });
}

async function findEverything(root, solc) {
  const build = ({ name }) => [`build/${name}.json`];
  const source = ({ name }) => [`src/${name}.sol`, '--solc', solc];
  const unshrunk = targets().filter(({ name }) => UNSHRUNK.includes(name));
  return [
    ...(await findAll(root, targets(), build, 'shrunk', [])),
    ...(await findAll(root, contracts(), source, 'shrunk', [])),
    ...(await findAll(root, unshrunk, build, 'unshrunk', ['--shrink-limit', '0'])),
  ];
}

async function findAll(root, subjects, what, how, more) {
  const findings = [];
  for (const subject of subjects) findings.push(...(await find(root, subject, what(subject), how, more)));
  return findings;
}

/** Fuzzes one contract: each of its failures with the Foundry test that was written for it. */
async function find(root, subject, what, how, more) {
  const corpus = `corpus/${how}/${subject.name}`;
  const config = `config/${subject.name}.yaml`;
  await write(root, { [config]: subject.config });
  const { results } = await fuzz(root, [
    ...what, '--contract', subject.name, '--config', config, '--test-mode', subject.mode,
    '--test-limit', subject.calls, '--corpus-dir', corpus, ...FIXED, ...more,
  ]);
  const failed = results.tests.filter(({ status }) => status === 'solved');

  const foundry = join(root, corpus, 'foundry');
  const written = readdirSync(foundry).map((file) => ({ file, text: readFileSync(join(foundry, file), 'utf8') }));
  assert.ok(written.length >= failed.length, `${subject.name}: a Foundry test for each failure`);
  return failed.map((failure) => {
    // A function that fails in several places has several files, which differ in nothing that is asked here.
    const of = written.findIndex(({ text }) => text.includes(`breaks \`${failure.name}\` of`));
    assert.notEqual(of, -1, `${subject.name}: no Foundry test replays ${JSON.stringify(failure)}`);
    const [{ file, text }] = written.splice(of, 1);
    return { subject: subject.name, how, failure, reason: reason(failure), contract: basename(file, '.t.sol'), text };
  });
}

/** What the replay has to complain of. */
function reason({ type, name, value }) {
  switch (type) {
    case 'assertion': return `${name}: an assertion failed`;
    case 'overflow': return `${name}: arithmetic overflowed`;
    case 'optimization': return `${name} reaches ${value}`;
    case 'foundry': return `${name} reverts`;
    default:
      if (name.startsWith('echidna_revert_')) return `${name} does not revert`;
      return name.startsWith('invariant_') ? `${name} reverts` : `${name} does not hold`;
  }
}

/** The test as it was written, on the mended contract, and without its last step. */
function files({ subject, how, contract, text, failure }) {
  const named = (kind) => `${contract}_${how}_${kind}`;
  const renamed = (kind, text) => text.replace(`contract ${contract} {`, `contract ${named(kind)} {`);
  const variants = {
    failing: text,
    mended: text.replaceAll(`"src/${subject}.sol"`, `"mended/${subject}.sol"`),
    shortened: shortened(how, failure, text),
  };
  const written = Object.entries(variants).filter(([, text]) => text !== undefined);
  return Object.fromEntries(written.map(([kind, text]) => [`test/${named(kind)}.t.sol`, renamed(kind, text)]));
}

/** Undefined where the last step itself is judged, where there is none, and where it may be one too many. */
function shortened(how, { type, name, transactions }, text) {
  const isAsked = type === 'property' || type === 'optimization';
  if (!isAsked || !IS_MINIMAL[how] || transactions.length === 0) return undefined;
  const lines = text.split('\n');
  const last = lines.findLastIndex((line) => /^ {8}step\(/.test(line));
  assert.notEqual(last, -1, `${name}: no step in\n${text}`);
  lines.splice(last, 1);
  return lines.join('\n');
}

/** The outcome of each test contract. */
async function forgeTest(root) {
  const args = ['test', '--json', '--match-contract', '^Reproducer_'];
  // Whatever Foundry finds in somebody's home must not matter.
  const { stdout, stderr } = await run(forge, args, { cwd: root, env: { PATH: process.env.PATH, HOME: root } });
  assert.match(stdout, /^\{/, `forge: ${stdout}\n${stderr}`);
  const suites = Object.entries(JSON.parse(stdout));
  // A set-up that fails stands in the place of the test.
  const outcome = (results) => results['test_replay()'] ?? Object.values(results)[0];
  return new Map(suites.map(([suite, { test_results: results }]) => [suite.split(':')[1], outcome(results)]));
}

function check({ how, contract, reason, failure, text }, results) {
  const take = (kind) => {
    const name = `${contract}_${how}_${kind}`;
    const result = results.get(name);
    results.delete(name);
    return result && { status: result.status, reason: result.reason };
  };
  const outcomes = { failing: take('failing'), mended: take('mended'), shortened: take('shortened') };
  assert.deepEqual(outcomes.failing, { status: 'Failure', reason });
  assert.deepEqual(outcomes.mended, { status: 'Success', reason: null });
  const isShortened = shortened(how, failure, text) !== undefined;
  assert.deepEqual(outcomes.shortened, isShortened ? { status: 'Success', reason: null } : undefined);
}
