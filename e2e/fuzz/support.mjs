// Contracts with known mistakes, the compiler that reads them, and `vouch fuzz` on them.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { atEnd } from '../support/cleanup.mjs';
import { VOUCH } from '../support/vouch.mjs';

/** Those of the fuzzer's own suite, and those that only `forge` can judge. */
const TARGETS = join(import.meta.dirname, '../../crates/fuzz/tests/targets');
const CONTRACTS = join(import.meta.dirname, 'contracts');
/** Contracts that cannot be fuzzed. */
const BAD = 'Bad.sol';

/** A folder that ends with the test `t`. */
export async function folder(t) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'vouch-fuzz-')));
  atEnd(t, () => rm(root, { recursive: true, force: true }));
  return root;
}

/** Writes files with their folders; `files` maps paths to texts. */
export async function write(root, files) {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** The compiler as a program, as `--solc` and Foundry want it. */
export async function solcProgram(root) {
  const program = join(root, 'solc');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dirname, 'solc.mjs')}' "$@"\n`);
  await chmod(program, 0o755);
  return program;
}

/** Foundry's, from npm; undefined where there is none for this machine. */
export function forgeProgram() {
  const platform = { 'linux-x64': 'linux-amd64', 'darwin-arm64': 'darwin-arm64' }[`${process.platform}-${process.arch}`];
  const program = join(import.meta.dirname, `../node_modules/@foundry-rs/forge-${platform}/bin/forge`);
  return existsSync(program) ? program : undefined;
}

/** The contracts of the fuzzer's own suite. */
export const targets = () => subjects(TARGETS, readdirSync(TARGETS).filter((name) => name !== BAD));

/** The contracts beside these tests. */
export const contracts = () => subjects(CONTRACTS, readdirSync(CONTRACTS));

function subjects(from, files) {
  return files.filter((file) => file.endsWith('.sol')).sort().map((file) => subject(join(from, file)));
}

/** A source with its settings: lines such as `// mode: assertion` at its top. */
function subject(path) {
  const text = readFileSync(path, 'utf8');
  const setting = (key) => [...text.matchAll(new RegExp(`^// ${key}: (.*)$`, 'gm'))].map((match) => match[1]);
  const [mode = 'property'] = setting('mode');
  const [calls = '60000'] = setting('calls');
  const balance = setting('balance').map((wei) => `balanceContract: ${wei}`);
  return {
    name: basename(path, '.sol'),
    text,
    mode,
    calls,
    config: [...balance, ...setting('config'), ''].join('\n'),
    /** How many failures the comments above the functions announce. */
    failures: text.match(/^ *\/\/\/ (fails in|reaches) /gm)?.length ?? 0,
  };
}

/** What the npm compiler makes of sources (path to text), as standard JSON. */
export function compile(sources, settings = {}) {
  const solc = createRequire(import.meta.url)('solc');
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(Object.entries(sources).map(([path, content]) => [path, { content }])),
    settings: {
      ...settings,
      outputSelection: { '*': { '': ['ast'], '*': ['abi', 'evm.bytecode', 'evm.deployedBytecode'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((error) => error.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'));
  return output;
}

/** The part of a compiler's output that one source is about: the constants of others are not its own. */
export function only(output, path) {
  return JSON.stringify({ contracts: { [path]: output.contracts[path] }, sources: { [path]: output.sources[path] } });
}

/** Runs `vouch fuzz` to its end; a run that could not fuzz is an error with what it said. */
export async function fuzz(cwd, args) {
  const all = ['fuzz', ...args, '--json'];
  const { code, stdout, stderr } = await run(VOUCH, all, { cwd });
  if (code !== 0 && code !== 1) throw new Error(`vouch ${all.join(' ')}: exit ${code}\n${stderr}`);
  return { code, stderr, results: JSON.parse(stdout) };
}

/** Runs a program to its end, whatever that is. */
export function run(program, args, options = {}) {
  return new Promise((done, failed) => {
    execFile(program, args, { maxBuffer: 1 << 30, ...options }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') failed(error);
      else done({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}
