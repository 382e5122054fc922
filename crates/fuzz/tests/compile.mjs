// Compiles `targets/*.sol` to `targets.json`, which the tests load so that they need no compiler. `targets-0.7`, with
// unchecked arithmetic, is compiled in the same way.
//
//     npm install --prefix FOLDER solc@0.8.37
//     node crates/fuzz/tests/compile.mjs FOLDER/node_modules/solc
//     npm install --prefix OTHER_FOLDER solc@0.7.6
//     node crates/fuzz/tests/compile.mjs OTHER_FOLDER/node_modules/solc targets-0.7
//
// The result is solc's standard-JSON output without the parts that the tests do not use. Syntax trees are reduced to a
// flat list of constants, which fill the fuzzer's dictionary. Each source carries the hash of its text, so that a test
// fails if a source was changed but not recompiled.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [path, folder = 'targets'] = process.argv.slice(2);
if (!path) fail('usage: node compile.mjs PATH_OF_THE_NPM_PACKAGE_SOLC [FOLDER]');
const require = createRequire(join(resolve(path), 'package.json'));
const solc = require(resolve(path));
const { keccak256 } = require('js-sha3');
const isChecked = !/^0\.[0-7]\./.test(solc.version());

const names = readdirSync(join(here, folder)).filter((name) => name.endsWith('.sol')).sort();
const sources = Object.fromEntries(
  names.map((name) => [name, { content: readFileSync(join(here, folder, name), 'utf8') }]),
);
const code = (part, more = []) =>
  ['object', 'sourceMap', 'linkReferences', ...more].map((field) => `evm.${part}.${field}`);
const input = {
  language: 'Solidity',
  sources,
  settings: {
    optimizer: { enabled: true, runs: 200 },
    // Comments must not change code.
    metadata: { bytecodeHash: 'none' },
    outputSelection: {
      '*': {
        '': ['ast'],
        '*': ['abi', ...code('bytecode'), ...code('deployedBytecode', ['immutableReferences'])],
      },
    },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const errors = (output.errors ?? []).filter((error) => error.severity === 'error');
if (errors.length > 0) fail(errors.map((error) => error.formattedMessage).join('\n'));

const trimmed = { compiler: solc.version(), contracts: {}, sources: {} };
for (const [name, { id, ast }] of Object.entries(output.sources)) {
  const hash = keccak256(sources[name].content);
  trimmed.sources[name] = { id, keccak256: hash, ast: { nodeType: 'SourceUnit', nodes: constants(ast) } };
}
for (const [name, contracts] of Object.entries(output.contracts)) {
  trimmed.contracts[name] = contracts;
  for (const { evm } of Object.values(contracts)) {
    for (const part of [evm.bytecode, evm.deployedBytecode]) dropUnrequestedFields(part);
  }
}
writeFileSync(join(here, `${folder}.json`), `${pretty(trimmed)}\n`);

function dropUnrequestedFields(part) {
  const wanted = ['object', 'sourceMap', 'linkReferences', 'immutableReferences'];
  for (const field of Object.keys(part)) {
    const isEmpty = typeof part[field] === 'object' && Object.keys(part[field]).length === 0;
    if (!wanted.includes(field) || isEmpty) delete part[field];
  }
}

/** Returns the nodes that contain a constant, without duplicates and without their children. */
function constants(tree) {
  const found = new Map();
  const waiting = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (node === null || typeof node !== 'object') continue;
    const kept = constant(node);
    if (kept) found.set(JSON.stringify(kept), kept);
    waiting.push(...Object.values(node));
  }
  return [...found.keys()].sort().map((key) => found.get(key));
}

function constant(node) {
  const { nodeType } = node;
  const typeString = node.typeDescriptions?.typeString;
  const typeDescriptions = typeString ? { typeString } : undefined;
  if (nodeType === 'Literal' && node.kind !== 'bool') {
    const { kind, value, hexValue, subdenomination } = node;
    return { nodeType, kind, value, hexValue, subdenomination, typeDescriptions };
  }
  if (nodeType === 'UnaryOperation' && node.operator === '-' && node.subExpression.nodeType === 'Literal') {
    return { nodeType, operator: '-', subExpression: constant(node.subExpression), typeDescriptions };
  }
  if (nodeType === 'EnumDefinition') {
    const members = node.members.map(({ name }) => ({ name }));
    return { nodeType, canonicalName: node.canonicalName, members };
  }
  // Needed to determine the type of an arithmetic operation.
  if (!isChecked && node.operator && node.src) {
    return { nodeType, operator: node.operator, src: node.src, typeDescriptions };
  }
  // A constant folded by the compiler.
  return typeString?.startsWith('int_const ') ? { nodeType, typeDescriptions } : undefined;
}

/** Formats one line for each contract and each source, so that diffs show only changed ones. */
function pretty({ compiler, contracts, sources }) {
  const lines = (entries) => entries.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  const block = (entries) => `{\n${lines(entries).join(',\n')}\n}`;
  const files = Object.entries(contracts).map(
    ([file, all]) => `${JSON.stringify(file)}: ${block(Object.entries(all))}`,
  );
  const all = block(Object.entries(sources));
  return `{\n"compiler": ${JSON.stringify(compiler)},\n"contracts": {\n${files.join(',\n')}\n},\n"sources": ${all}\n}`;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
