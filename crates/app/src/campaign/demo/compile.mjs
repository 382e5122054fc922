// Compiles Solidity files, each into a JSON file beside it, so that the demo and the tests need no compiler.
//
//     npm install --prefix FOLDER solc@0.8.37
//     cd crates/app
//     node src/campaign/demo/compile.mjs FOLDER/node_modules/solc src/campaign/demo/Vault.sol ../cli/tests/cli/fuzz/*.sol
//
// Each JSON contains the hash of its source. A test compares it, so that a changed source without a new JSON is noticed.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';

const [path, ...files] = process.argv.slice(2);
if (files.length === 0) fail('usage: node compile.mjs PATH_OF_THE_NPM_PACKAGE_SOLC FILE.sol…');
const require = createRequire(join(resolve(path), 'package.json'));
const solc = require(resolve(path));
const { keccak256 } = require('js-sha3');

for (const file of files) {
  writeFileSync(file.replace(/\.sol$/, '.json'), `${JSON.stringify(compiled(file))}\n`);
}

function compiled(file) {
  const name = basename(file);
  const content = readFileSync(file, 'utf8');
  const code = ['bytecode', 'deployedBytecode'].flatMap((part) => [`evm.${part}.object`, `evm.${part}.sourceMap`]);
  const input = {
    language: 'Solidity',
    sources: { [name]: { content } },
    settings: {
      // Comments must not change code.
      metadata: { bytecodeHash: 'none' },
      outputSelection: { '*': { '': ['ast'], '*': ['abi', ...code] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((error) => error.severity === 'error');
  if (errors.length > 0) fail(errors.map((error) => error.formattedMessage).join('\n'));

  const part = ({ object, sourceMap }) => ({ object, sourceMap });
  const contracts = Object.entries(output.contracts[name]).map(([contract, { abi, evm }]) => [
    contract,
    { abi, evm: { bytecode: part(evm.bytecode), deployedBytecode: part(evm.deployedBytecode) } },
  ]);
  const { id, ast } = output.sources[name];
  return {
    compiler: solc.version(),
    contracts: { [name]: Object.fromEntries(contracts) },
    sources: { [name]: { id, keccak256: keccak256(content), ast } },
  };
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
