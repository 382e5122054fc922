#!/usr/bin/env node
// The npm package `solc` as the native compiler that forge and crytic-compile want to start. $BENCH_SOLC is its folder.
//
// With --standard-json it compiles what it is told. With --combined-json it compiles one file for Echidna 2.0.2, which
// knows no rules after London, with the optimiser that all others have.
'use strict';

const fs = require('fs');

const BENCH_VERSION = '0.8.37+commit.f401782d.Linux.g++';
const args = process.argv.slice(2);

if (args.includes('--version')) {
  write(`solc, the solidity compiler commandline interface\nVersion: ${version()}\n`);
} else if (args.includes('--standard-json')) {
  write(compile(JSON.parse(fs.readFileSync(0, 'utf8'))));
} else if (args.includes('--combined-json')) {
  write(JSON.stringify(combined(args.find((arg) => arg.endsWith('.sol')))));
} else {
  fail(`only --version, --standard-json and --combined-json are known, not: ${args.join(' ')}`);
}

// The package copies its input to the stack of the compiler, which 1.6 MB overflow, so sources are fetched one by one.
function compile(input) {
  const given = new Map();
  for (const [name, { content }] of Object.entries(input.sources)) {
    if (content === undefined) continue;
    given.set(name, content);
    input.sources[name] = { urls: [name] };
  }
  const find = (name) => (given.has(name) ? { contents: given.get(name) } : { error: `"${name}" not found` });
  return compiler().compile(JSON.stringify(input), { import: find });
}

function compiler() {
  return require(process.env.BENCH_SOLC);
}

// Loading the compiler takes most of a second, and both ask for its version each time. Public targets need others.
function version() {
  const { version } = require(`${process.env.BENCH_SOLC}/package.json`);
  if (BENCH_VERSION.startsWith(`${version}+`)) return BENCH_VERSION;
  return `${compiler().version().split('.Emscripten')[0]}.Linux.g++`;
}

function combined(file) {
  const wanted = ['abi', 'evm.bytecode', 'evm.deployedBytecode', 'evm.methodIdentifiers', 'metadata', 'devdoc', 'userdoc'];
  const input = {
    language: 'Solidity',
    sources: { [file]: { content: fs.readFileSync(file, 'utf8') } },
    settings: {
      evmVersion: 'london',
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '': ['ast'], '*': wanted } },
    },
  };
  const output = JSON.parse(compiler().compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((error) => error.severity === 'error');
  if (errors.length > 0) fail(errors.map((error) => error.formattedMessage).join('\n'));
  const result = { contracts: {}, sources: {}, sourceList: Object.keys(output.sources), version: version() };
  for (const [name, { ast }] of Object.entries(output.sources)) result.sources[name] = { AST: ast };
  for (const [source, contracts] of Object.entries(output.contracts)) {
    for (const [name, { abi, evm, metadata, devdoc, userdoc }] of Object.entries(contracts)) {
      result.contracts[`${source}:${name}`] = {
        abi,
        bin: evm.bytecode.object,
        'bin-runtime': evm.deployedBytecode.object,
        srcmap: evm.bytecode.sourceMap,
        'srcmap-runtime': evm.deployedBytecode.sourceMap,
        hashes: evm.methodIdentifiers ?? {},
        metadata,
        devdoc,
        userdoc,
      };
    }
  }
  return result;
}

// A pipe takes 64 KiB at a time, and process.exit() would cut off what waits.
function write(text) {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += fs.writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
