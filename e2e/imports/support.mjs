/** Runs the import resolver of `read_file` on a folder, and scores its answers against the expected ones. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const NODE_MODULES = new URL('../node_modules/', import.meta.url);
const RESOLVER = process.env.IMPORTS_BIN
  ?? new URL('../../target/debug/examples/imports', import.meta.url).pathname;

const KNOWN_MISSES = JSON.parse(readFileSync(new URL('known-misses.json', import.meta.url), 'utf8'));

/** Copies installed packages into one project folder and returns its path. */
export async function copyPackages(t, packages) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'vouch-imports-')));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const name of packages) {
    const from = new URL(name, NODE_MODULES).pathname;
    const isOwnFile = (path) => !path.slice(from.length).includes('/node_modules');
    await cp(from, join(root, name.replace('@', '')), { recursive: true, filter: isOwnFile });
  }
  return root;
}

/** Returns one object for each file: `{file, imports: [{specifier, kind, line, files?, external?}]}`. */
export async function resolveImports(root) {
  const { stdout } = await promisify(execFile)(RESOLVER, [root], { maxBuffer: 1 << 30 });
  return stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
}

/** Counts correct answers and collects wrong ones, by the place of the import. */
export class Score {
  constructor(title) {
    this.title = title;
    this.files = 0;
    this.right = 0;
    this.missed = new Map();
    this.invented = new Map();
  }

  /** Compares an answer with the expected path, which is undefined if the import is not a file of the project. */
  compare(where, expected, answer) {
    if (answer === expected) this.right += 1;
    else (answer === undefined ? this.missed : this.invented).set(where, `${where}: ${answer} instead of ${expected}`);
  }

  /** Asserts that exactly the imports in known-misses.json are missed, and that no target is invented. */
  check() {
    const known = new Set((KNOWN_MISSES[this.title] ?? []).map((miss) => miss.import));
    assert.deepEqual([...this.invented.values()], [], this.title);
    const unknown = [...this.missed].filter(([where]) => !known.has(where)).map(([, line]) => line);
    assert.deepEqual(unknown, [], `${this.title}: missed, and not in known-misses.json`);
    const stale = [...known].filter((where) => !this.missed.has(where));
    assert.deepEqual(stale, [], `${this.title}: no longer missed; remove them from known-misses.json`);
  }

  toString() {
    return `${this.title}: ${this.files} files, ${this.right} right, ${this.missed.size} missed, `
      + `${this.invented.size} invented`;
  }
}
