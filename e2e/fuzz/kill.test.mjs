// A campaign killed with SIGKILL at any moment leaves a usable corpus folder: no file is damaged, the lock is free, and the
// next campaign reports all earlier failures without a new call.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import { VOUCH } from '../support/vouch.mjs';
import { generateStagesContract } from './stages.mjs';
import { compile, createFolder, runFuzz, selectSource, writeFiles } from './support.mjs';

const STAGES = 24;
/** For each round, the number of folder changes before the kill. Kills happen during writes and between them. */
const CHANGES_BEFORE_KILL = [2, 40, 5, 120, 17, 33, 250, 9, 64, 100];
const ENDLESS_FLAGS = ['--test-limit', '1000000000', '--format', 'none'];
const READ_FOLDERS = ['coverage', 'reproducers', 'reproducers-unshrunk'];
const WRITTEN_FOLDERS = [...READ_FOLDERS, 'foundry'];

test('a killed campaign keeps all failures that it reported', async (t) => {
  const root = await createFolder(t);
  const sources = { 'Stages.sol': generateStagesContract(STAGES) };
  await writeFiles(root, { ...sources, 'Stages.json': selectSource(compile(sources), 'Stages.sol') });
  const corpus = join(root, 'corpus');
  for (const name of WRITTEN_FOLDERS) mkdirSync(join(corpus, name), { recursive: true });

  const announced = new Set();
  let sequenceCount = 0;
  for (const [round, killAfter] of CHANGES_BEFORE_KILL.entries()) {
    const { output, signal } = await runUntilKilled(root, corpus, round, killAfter);
    assert.equal(signal, 'SIGKILL', output.join('\n'));
    // All earlier sequences are replayed, without a warning.
    assert.deepEqual(output.filter((line) => /warning|error|damaged|unused|another campaign/.test(line)), []);
    if (sequenceCount > 0) assert.ok(output.includes(`replaying ${sequenceCount} corpus sequences first`), output.join('\n'));
    for (const line of output) {
      const failed = line.match(/^failed: (\S+) after/);
      if (failed) announced.add(failed[1]);
    }
    sequenceCount = readSequenceFiles(corpus).length;
  }
  t.diagnostic(`${sequenceCount} sequences and ${announced.size} failures after ${CHANGES_BEFORE_KILL.length} kills`);
  assert.ok(sequenceCount > CHANGES_BEFORE_KILL.length && announced.size > 0);

  const { results } = await runFuzz(root, ['Stages.json', '--corpus-dir', corpus, '--test-limit', '0', '--workers', '1', '--quiet']);
  const failed = new Set(results.tests.filter(({ verdict }) => verdict === 'failed').map(({ name }) => name));
  assert.deepEqual([...announced].filter((name) => !failed.has(name)), [], 'every reported failure is in the corpus');
  for (const name of WRITTEN_FOLDERS) {
    const left = readdirSync(join(corpus, name)).filter((file) => !/^[\w]+\.(txt|t\.sol)$/.test(file));
    assert.deepEqual(left, [], 'no partial file is left, and no file was set aside');
  }
});

/** Runs a campaign and kills it after `killAfter` changes of the folder; returns its output and exit signal. */
async function runUntilKilled(root, corpus, round, killAfter) {
  const args = ['fuzz', 'Stages.json', '--corpus-dir', corpus, '--seed', String(round), '--workers', '2', ...ENDLESS_FLAGS];
  const child = spawn(VOUCH, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  const output = [];
  createInterface({ input: child.stderr }).on('line', (line) => output.push(line));
  let changes = 0;
  const watchers = WRITTEN_FOLDERS.map((name) => watch(join(corpus, name), () => {
    changes += 1;
    if (changes === killAfter) child.kill('SIGKILL');
  }));
  const signal = await new Promise((resolve) => child.once('close', (_, signal) => resolve(signal)));
  for (const watcher of watchers) watcher.close();
  return { output, signal };
}

/** Returns the files that the next campaign reads, after checking that each is complete. */
function readSequenceFiles(corpus) {
  const files = READ_FOLDERS.flatMap((name) => readdirSync(join(corpus, name)).map((file) => join(corpus, name, file)));
  const complete = files.filter((file) => file.endsWith('.txt'));
  for (const file of complete) assert.ok(JSON.parse(readFileSync(file, 'utf8')).length > 0, file);
  assert.ok(existsSync(join(corpus, '.vouch-lock')));
  return complete;
}
