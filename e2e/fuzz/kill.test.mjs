// A campaign that is killed with SIGKILL, at any moment, leaves a folder that the next one uses: no file is damaged, the lock
// is free, and what was found is found again without a single new call.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import { VOUCH } from '../support/vouch.mjs';
import { stages } from './stages.mjs';
import { compile, folder, fuzz, only, write } from './support.mjs';

const STAGES = 24;
/** After how many changes of the folder it is killed: in the middle of writing as often as between. */
const MOMENTS = [2, 40, 5, 120, 17, 33, 250, 9, 64, 100];
const ENDLESS = ['--test-limit', '1000000000', '--format', 'none'];
const READ = ['coverage', 'reproducers', 'reproducers-unshrunk'];
const WRITTEN = [...READ, 'foundry'];

test('a killed campaign loses nothing that it had found', async (t) => {
  const root = await folder(t);
  const sources = { 'Stages.sol': stages(STAGES) };
  await write(root, { ...sources, 'Stages.json': only(compile(sources), 'Stages.sol') });
  const corpus = join(root, 'corpus');
  for (const name of WRITTEN) mkdirSync(join(corpus, name), { recursive: true });

  const announced = new Set();
  let there = 0;
  for (const [round, moment] of MOMENTS.entries()) {
    const { said, signal } = await killed(root, corpus, round, moment);
    assert.equal(signal, 'SIGKILL', said.join('\n'));
    // What the folder held before was taken, all of it, and nothing complained of.
    assert.deepEqual(said.filter((line) => /warning|error|damaged|not used|another campaign/.test(line)), []);
    if (there > 0) assert.ok(said.includes(`the corpus has ${there} sequences, which are run first`), said.join('\n'));
    for (const line of said) {
      const failed = line.match(/^failed: (\S+) after/);
      if (failed) announced.add(failed[1]);
    }
    there = sequences(corpus).length;
  }
  t.diagnostic(`${there} sequences and ${announced.size} failures after ${MOMENTS.length} kills`);
  assert.ok(there > MOMENTS.length && announced.size > 0);

  const { results } = await fuzz(root, ['Stages.json', '--corpus-dir', corpus, '--test-limit', '0', '--workers', '1', '--quiet']);
  const failed = new Set(results.tests.filter(({ status }) => status !== 'passed').map(({ name }) => name));
  assert.deepEqual([...announced].filter((name) => !failed.has(name)), [], 'what was announced is found in the corpus');
  for (const name of WRITTEN) {
    const left = readdirSync(join(corpus, name)).filter((file) => !/^[\w]+\.(txt|t\.sol)$/.test(file));
    assert.deepEqual(left, [], 'nothing half written is left, and nothing was set aside');
  }
});

/** Runs a campaign until the folder has changed so often; gives what it said and how it ended. */
async function killed(root, corpus, round, moment) {
  const args = ['fuzz', 'Stages.json', '--corpus-dir', corpus, '--seed', String(round), '--workers', '2', ...ENDLESS];
  const child = spawn(VOUCH, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  const said = [];
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  let changes = 0;
  const watchers = WRITTEN.map((name) => watch(join(corpus, name), () => {
    changes += 1;
    if (changes === moment) child.kill('SIGKILL');
  }));
  const signal = await new Promise((done) => child.once('close', (_, signal) => done(signal)));
  for (const watcher of watchers) watcher.close();
  return { said, signal };
}

/** The files that the next campaign reads; each has to be whole. */
function sequences(corpus) {
  const files = READ.flatMap((name) => readdirSync(join(corpus, name)).map((file) => join(corpus, name, file)));
  const whole = files.filter((file) => file.endsWith('.txt'));
  for (const file of whole) assert.ok(JSON.parse(readFileSync(file, 'utf8')).length > 0, file);
  assert.ok(existsSync(join(corpus, '.vouch-lock')));
  return whole;
}
