// A failure of a corpus sequence is reported before the rest of the corpus is replayed.
//
// The rest is long: thousands of calls that each use up their gas. The test stops the campaign as soon as the failure is
// reported and checks the number of calls until then.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

import { addCleanup } from '../support/cleanup.mjs';
import { VOUCH } from '../support/vouch.mjs';
import { compile, createFolder, selectSource, writeFiles } from './support.mjs';

const SEQUENCES = 4000;
const LENGTH = 25;

const SOURCE = `// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

contract Slow {
    uint256 private rounds;
    bool private broken;

    function spin() external {
        while (true) rounds++;
    }

    function breakIt() external {
        broken = true;
    }

    function echidna_whole() external view returns (bool) {
        return !broken;
    }
}
`;

function serializeSequence(names) {
  return JSON.stringify(names.map((name) => ({
    call: { tag: 'SolCall', contents: [name, []] },
    src: '0x0000000000000000000000000000000000010000',
    dst: '0x00a329c0648769a73afac7f9381e08fb43dbea72',
    gas: 12_500_000,
    gasprice: '0x0',
    value: '0x0',
    delay: ['0x0', '0x0'],
  })));
}

test('reports a failure before the replay of the corpus is complete', async (t) => {
  const root = await createFolder(t);
  const long = serializeSequence(Array(LENGTH).fill('spin'));
  const formatNumber = (index) => String(index).padStart(8, '0');
  const kept = Array.from({ length: SEQUENCES }, (_, index) => [`corpus/coverage/${formatNumber(index + 2)}.txt`, long]);
  await writeFiles(root, {
    'Slow.sol': SOURCE,
    'Slow.json': selectSource(compile({ 'Slow.sol': SOURCE }), 'Slow.sol'),
    [`corpus/coverage/${formatNumber(1)}.txt`]: serializeSequence(['spin', 'breakIt']),
    ...Object.fromEntries(kept),
  });

  const args = ['fuzz', 'Slow.json', '--corpus-dir', join(root, 'corpus'), '--workers', '1', '--seed', '1', '--json'];
  const child = spawn(VOUCH, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  addCleanup(t, () => child.kill('SIGKILL'));
  const printed = text(child.stdout);
  const exitCode = new Promise((resolve) => child.once('close', resolve));
  const output = [];
  for await (const line of createInterface({ input: child.stderr })) {
    output.push(line);
    if (line.startsWith('failed: ')) child.kill('SIGINT');
  }
  assert.equal(await exitCode, 1, output.join('\n'));
  assert.ok(output.includes(`replaying ${SEQUENCES + 1} corpus sequences first`), output.join('\n'));
  assert.ok(output.includes('failed: echidna_whole after 2 calls'), output.join('\n'));

  const { calls, tests } = JSON.parse(await printed);
  const [whole] = tests;
  assert.deepEqual([whole.name, whole.status, whole.transactions.length], ['echidna_whole', 'solved', 1]);
  const all = SEQUENCES * LENGTH + 2;
  t.diagnostic(`reported within ${calls} of ${all} calls`);
  assert.ok(calls >= 2 && calls < all, `${calls} of ${all} calls: the replay was complete`);
});
