/** Runs the import resolver of `read_file` on a folder, and scores its answers against the expected ones. */

import { execFile } from 'node:child_process';
import { cp, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const NODE_MODULES = new URL('../node_modules/', import.meta.url);
const RESOLVER = process.env.IMPORTS_BIN
  ?? new URL('../../target/debug/examples/imports', import.meta.url).pathname;

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

/** Counts correct answers and collects wrong ones. */
export class Score {
  constructor(title) {
    this.title = title;
    this.files = 0;
    this.right = 0;
    this.missed = [];
    this.invented = [];
  }

  /** Compares an answer with the expected path, which is undefined if the import is not a file of the project. */
  compare(where, expected, answer) {
    if (answer === expected) this.right += 1;
    else (answer === undefined ? this.missed : this.invented).push(`${where}: ${answer} instead of ${expected}`);
  }

  get share() {
    return this.right / (this.right + this.missed.length + this.invented.length);
  }

  toString() {
    const wrong = [...this.invented, ...this.missed].slice(0, 10).map((line) => `\n    ${line}`).join('');
    return `${this.title}: ${this.files} files, ${this.right} right, ${this.missed.length} missed, `
      + `${this.invented.length} invented, ${(this.share * 100).toFixed(2)} %${wrong}`;
  }
}
