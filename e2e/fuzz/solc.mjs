// The npm package `solc` with the command line of the native compiler, as far as forge and `vouch` use it: `--version`, and
// standard JSON from the input to the output. Imports have to be in the JSON, as forge puts them.

import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A pipe takes 64 KiB at a time and says EAGAIN while it is full; ending the process would lose what waits. */
function print(text) {
  const bytes = Buffer.from(text);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

if (process.argv.includes('--version')) {
  // Loading the compiler takes a second, and forge asks several times; the package knows the number as well. Forge wants
  // a commit and a platform behind it, and compares only the number.
  const { version } = require('solc/package.json');
  print(`solc, the solidity compiler commandline interface\nVersion: ${version}+commit.00000000.Linux.g++\n`);
} else {
  print(require('solc').compile(readFileSync(0, 'utf8')));
}
