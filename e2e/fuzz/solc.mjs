// The npm package `solc` with the part of the native compiler's command line that forge and `vouch` use: `--version`, and
// standard JSON from stdin to stdout. Imports must be part of the JSON, as with forge.

import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Writes to stdout. A pipe takes 64 KiB at a time and fails with EAGAIN while full; output pending at exit would be lost. */
function writeStdout(text) {
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
  // Loading the compiler takes a second, and forge asks several times, so the version comes from the package. Forge
  // expects a commit and a platform after it, and compares only the version.
  const { version } = require('solc/package.json');
  writeStdout(`solc, the solidity compiler commandline interface\nVersion: ${version}+commit.00000000.Linux.g++\n`);
} else {
  writeStdout(require('solc').compile(readFileSync(0, 'utf8')));
}
