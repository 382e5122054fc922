// Another EVM: runs calls on the fuzzer's initial chain and counts how often each marker runs.

import { createEVM } from '@ethereumjs/evm';
import { createAccount, createAddressFromString, hexToBytes } from '@ethereumjs/util';

import { parseMarker, PUSH } from './markers.mjs';

/** The fuzzer's defaults. */
const TARGET = '0x00a329c0648769a73afac7f9381e08fb43dbea72';
const DEPLOYER = '0x0000000000000000000000000000000000030000';
const SENDERS = ['0x0000000000000000000000000000000000010000', '0x0000000000000000000000000000000000020000', DEPLOYER];
const START = { number: 4_370_000n, timestamp: 1_524_785_992n };
const CALL_GAS = 12_500_000n;
const BALANCE = 1n << 100n;
/** The address of the first library; the choice is arbitrary. */
const FIRST_LIBRARY = 0x4000n;

const parseAddress = (text) => createAddressFromString(`0x${BigInt(text).toString(16).padStart(40, '0')}`);

/** Deploys the smart contract `name` and its libraries from a compiler's output for one source. */
export async function deploy(contracts, name, value) {
  const evm = await createEVM({ allowUnlimitedContractSize: true });
  const chain = new Chain(evm);
  for (const sender of SENDERS) await evm.stateManager.putAccount(parseAddress(sender), createAccount({ balance: BALANCE + value }));
  const libraries = new Map();
  const linkCode = ({ object, linkReferences }) => {
    let code = object;
    for (const name of Object.values(linkReferences).flatMap(Object.keys)) {
      for (const { start } of Object.values(linkReferences).flatMap((file) => file[name] ?? [])) {
        code = code.slice(0, 2 * start) + libraries.get(name) + code.slice(2 * start + 40);
      }
    }
    return hexToBytes(`0x${code}`);
  };
  const all = Object.entries(contracts);
  for (const [index, [library, { evm: compiled }]] of all.filter(([, it]) => isLibrary(it, contracts)).entries()) {
    const libraryAddress = (FIRST_LIBRARY + BigInt(index)).toString(16).padStart(40, '0');
    libraries.set(library, libraryAddress);
    await chain.runConstructor(`0x${libraryAddress}`, linkCode(compiled.bytecode), 0n);
  }
  await chain.runConstructor(TARGET, linkCode(contracts[name].evm.bytecode), value);
  return chain;
}

/** Returns true if another smart contract links to this one. */
function isLibrary(contract, contracts) {
  const references = Object.values(contracts).flatMap(({ evm }) => Object.values(evm.bytecode.linkReferences));
  return references.flatMap(Object.keys).some((name) => contracts[name] === contract);
}

class Chain {
  /** A map from marker to the number of times that it ran. */
  counts = new Map();

  constructor(evm) {
    this.evm = evm;
    let isPushed = false;
    evm.events.on('step', ({ opcode, stack }, resume) => {
      if (isPushed) this.countMarker(parseMarker(stack.at(-1)));
      isPushed = opcode.name === PUSH;
      resume?.();
    });
  }

  countMarker(marker) {
    if (marker !== undefined) this.counts.set(marker, (this.counts.get(marker) ?? 0) + 1);
  }

  /** Runs a constructor at a given address, as the fuzzer does. */
  async runConstructor(target, code, value) {
    const state = this.evm.stateManager;
    await state.putAccount(parseAddress(target), createAccount({ nonce: 1n }));
    await state.putCode(parseAddress(target), code);
    const { execResult } = await this.runCall({ ...START, from: DEPLOYER, to: target, data: new Uint8Array(), value, gasPrice: 0n });
    if (execResult.exceptionError) throw new Error(`constructor failed: ${execResult.exceptionError.error}`);
    await state.putCode(parseAddress(target), execResult.returnValue);
  }

  /** Runs a sequence and reverts its changes. */
  async replay(calls) {
    await this.evm.journal.checkpoint();
    let { number, timestamp } = START;
    for (const call of calls) {
      timestamp += call.seconds;
      number += call.blocks;
      if (call.data !== undefined) await this.runCall({ ...call, number, timestamp });
    }
    await this.evm.journal.revert();
  }

  runCall({ from, to, data, value, gasPrice, number, timestamp }) {
    const header = { ...HEADER, number, timestamp };
    return this.evm.runCall({
      caller: parseAddress(from), origin: parseAddress(from), to: parseAddress(to), data, value, gasPrice,
      gasLimit: CALL_GAS, block: { header }, skipNonceIncrement: true,
    });
  }
}

const HEADER = {
  coinbase: parseAddress('0x0'),
  difficulty: 0n,
  prevRandao: new Uint8Array(32),
  gasLimit: CALL_GAS,
  baseFeePerGas: 0n,
  getBlobGasPrice: () => 1n,
};
