// What a kept sequence breaks is told while the rest of the corpus still waits to be replayed.
//
// The rest is made so long that it cannot have been replayed: thousands of calls that each use up their gas. As soon as the
// failure is told the campaign is stopped, and the calls that it made by then say how far it was.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

import { atEnd } from '../support/cleanup.mjs';
import { VOUCH } from '../support/vouch.mjs';
import { compile, folder, only, write } from './support.mjs';

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

function sequence(names) {
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

test('a failure is told before the corpus is replayed to its end', async (t) => {
  const root = await folder(t);
  const long = sequence(Array(LENGTH).fill('spin'));
  const number = (index) => String(index).padStart(8, '0');
  const kept = Array.from({ length: SEQUENCES }, (_, index) => [`corpus/coverage/${number(index + 2)}.txt`, long]);
  await write(root, {
    'Slow.sol': SOURCE,
    'Slow.json': only(compile({ 'Slow.sol': SOURCE }), 'Slow.sol'),
    [`corpus/coverage/${number(1)}.txt`]: sequence(['spin', 'breakIt']),
    ...Object.fromEntries(kept),
  });

  const args = ['fuzz', 'Slow.json', '--corpus-dir', join(root, 'corpus'), '--workers', '1', '--seed', '1', '--json'];
  const child = spawn(VOUCH, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  atEnd(t, () => child.kill('SIGKILL'));
  const printed = text(child.stdout);
  const ended = new Promise((done) => child.once('close', done));
  const said = [];
  for await (const line of createInterface({ input: child.stderr })) {
    said.push(line);
    if (line.startsWith('failed: ')) child.kill('SIGINT');
  }
  assert.equal(await ended, 1, said.join('\n'));
  assert.ok(said.includes(`the corpus has ${SEQUENCES + 1} sequences, which are run first`), said.join('\n'));
  assert.ok(said.includes('failed: echidna_whole after 2 calls'), said.join('\n'));

  const { calls, tests } = JSON.parse(await printed);
  const [whole] = tests;
  assert.deepEqual([whole.name, whole.status, whole.transactions.length], ['echidna_whole', 'solved', 1]);
  const all = SEQUENCES * LENGTH + 2;
  t.diagnostic(`told within ${calls} of ${all} calls`);
  assert.ok(calls >= 2 && calls < all, `${calls} of ${all} calls: the replay was over`);
});
