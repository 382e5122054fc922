/** The resolver of `read_file` over a folder, and how its answers are counted against the truth. */

import { execFile } from 'node:child_process';
import { cp, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const NODE_MODULES = new URL('../node_modules/', import.meta.url);
const RESOLVER = process.env.IMPORTS_BIN
  ?? new URL('../../target/debug/examples/imports', import.meta.url).pathname;

/** Copies of installed packages, as if each were a folder of one project. */
export async function projectOf(t, packages) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'vouch-imports-')));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const name of packages) {
    const from = new URL(name, NODE_MODULES).pathname;
    const own = (path) => !path.slice(from.length).includes('/node_modules');
    await cp(from, join(root, name.replace('@', '')), { recursive: true, filter: own });
  }
  return root;
}

/** One object for each file: `{file, imports: [{specifier, kind, line, files?, external?}]}`. */
export async function resolved(root) {
  const { stdout } = await promisify(execFile)(RESOLVER, [root], { maxBuffer: 1 << 30 });
  return stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
}

/** Right and wrong answers, with the first of the wrong ones. */
export class Score {
  constructor(title) {
    this.title = title;
    this.files = 0;
    this.right = 0;
    this.missed = [];
    this.invented = [];
  }

  /** `expected` is the path that is true, or undefined where no file of the project is meant. */
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
