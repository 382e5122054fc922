#!/usr/bin/env node
// The npm package `solc` as the native compiler that forge and crytic-compile want to start. $BENCH_SOLC is its folder.
//
// With --standard-json it compiles what it is told. With --combined-json it compiles one file for Echidna 2.0.2, which
// knows no rules after London, with the optimiser that all others have.
'use strict';

const fs = require('fs');

const VERSION = '0.8.37+commit.f401782d.Linux.g++';
const args = process.argv.slice(2);

// Loading the compiler takes most of a second, and both ask for its version each time.
if (args.includes('--version')) {
  write(`solc, the solidity compiler commandline interface\nVersion: ${VERSION}\n`);
} else if (args.includes('--standard-json')) {
  write(compiler().compile(fs.readFileSync(0, 'utf8')));
} else if (args.includes('--combined-json')) {
  write(JSON.stringify(combined(args.find((arg) => arg.endsWith('.sol')))));
} else {
  fail(`only --version, --standard-json and --combined-json are known, not: ${args.join(' ')}`);
}

function compiler() {
  const solc = require(process.env.BENCH_SOLC);
  if (!VERSION.startsWith(solc.version().split('.Emscripten')[0])) fail(`this is solc ${solc.version()}`);
  return solc;
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
  const result = { contracts: {}, sources: {}, sourceList: Object.keys(output.sources), version: VERSION };
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
