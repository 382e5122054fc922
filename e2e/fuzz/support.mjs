// Helpers for fuzz tests: smart contracts with known bugs, the compiler, and runs of `vouch fuzz`.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { addCleanup } from '../support/cleanup.mjs';
import { VOUCH } from '../support/vouch.mjs';

/** The smart contracts of the fuzzer's test suite, and those that only `forge` can check. */
const TARGETS = join(import.meta.dirname, '../../crates/fuzz/tests/targets');
const CONTRACTS = join(import.meta.dirname, 'contracts');
/** Smart contracts that cannot be fuzzed. */
const BAD = 'Bad.sol';

/** Creates a folder, which is removed after the test `t`. */
export async function createFolder(t) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'vouch-fuzz-')));
  addCleanup(t, () => rm(root, { recursive: true, force: true }));
  return root;
}

/** Writes files and creates their folders; `files` maps paths to texts. */
export async function writeFiles(root, files) {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** Writes a script that runs the compiler, for `--solc` and Foundry, and returns its path. */
export async function writeSolcProgram(root) {
  const program = join(root, 'solc');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dirname, 'solc.mjs')}' "$@"\n`);
  await chmod(program, 0o755);
  return program;
}

/** Returns the path of `forge` from npm, or undefined if npm has none for this platform. */
export function findForge() {
  const platform = { 'linux-x64': 'linux-amd64', 'darwin-arm64': 'darwin-arm64' }[`${process.platform}-${process.arch}`];
  const program = join(import.meta.dirname, `../node_modules/@foundry-rs/forge-${platform}/bin/forge`);
  return existsSync(program) ? program : undefined;
}

/** Returns the smart contracts of the fuzzer's test suite. */
export const listTargets = () => readSubjects(TARGETS, readdirSync(TARGETS).filter((name) => name !== BAD));

/** Returns the smart contracts in this folder. */
export const listContracts = () => readSubjects(CONTRACTS, readdirSync(CONTRACTS));

function readSubjects(from, files) {
  return files.filter((file) => file.endsWith('.sol')).sort().map((file) => readSubject(join(from, file)));
}

/** Reads a source and its settings, which are comments such as `// mode: assertion` at its top. */
function readSubject(path) {
  const text = readFileSync(path, 'utf8');
  const readSetting = (key) => [...text.matchAll(new RegExp(`^// ${key}: (.*)$`, 'gm'))].map((match) => match[1]);
  const [mode = 'property'] = readSetting('mode');
  const [calls = '60000'] = readSetting('calls');
  const balance = readSetting('balance').map((wei) => `balanceContract: ${wei}`);
  return {
    name: basename(path, '.sol'),
    text,
    mode,
    calls,
    config: [...balance, ...readSetting('config'), ''].join('\n'),
    /** Number of failures that the comments of the functions announce. */
    failures: text.match(/^ *\/\/\/ (fails in|reaches) /gm)?.length ?? 0,
  };
}

/** Compiles sources (a map from path to text) with the npm compiler and returns the standard JSON output. */
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

/** Returns the part of a compiler's output that belongs to one source, so that constants of other sources are not used. */
export function selectSource(output, path) {
  return JSON.stringify({ contracts: { [path]: output.contracts[path] }, sources: { [path]: output.sources[path] } });
}

/** Runs `vouch fuzz` to its end and returns its results. Throws with the output if no campaign was run. */
export async function runFuzz(cwd, args) {
  const all = ['fuzz', ...args, '--json'];
  const { code, stdout, stderr } = await runProgram(VOUCH, all, { cwd });
  if (code !== 0 && code !== 1) throw new Error(`vouch ${all.join(' ')}: exit ${code}\n${stderr}`);
  return { code, stderr, results: JSON.parse(stdout) };
}

/** Runs a program to its end and returns its exit code and output, also if it fails. */
export function runProgram(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 1 << 30, ...options }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}
