// Another EVM: calls on the chain as the fuzzer begins with it, and how often each marker runs.

import { createEVM } from '@ethereumjs/evm';
import { createAccount, createAddressFromString, hexToBytes } from '@ethereumjs/util';

import { markerOf, PUSH } from './markers.mjs';

/** What the fuzzer begins with unless it is told otherwise. */
const TARGET = '0x00a329c0648769a73afac7f9381e08fb43dbea72';
const DEPLOYER = '0x0000000000000000000000000000000000030000';
const SENDERS = ['0x0000000000000000000000000000000000010000', '0x0000000000000000000000000000000000020000', DEPLOYER];
const START = { number: 4_370_000n, timestamp: 1_524_785_992n };
const CALL_GAS = 12_500_000n;
const BALANCE = 1n << 100n;
/** Libraries can be anywhere. */
const LIBRARIES = 0x4000n;

const address = (text) => createAddressFromString(`0x${BigInt(text).toString(16).padStart(40, '0')}`);

/** Deploys the contract `name` of a compiler's output for one source. */
export async function deploy(contracts, name, value) {
  const evm = await createEVM({ allowUnlimitedContractSize: true });
  const chain = new Chain(evm);
  for (const sender of SENDERS) await evm.stateManager.putAccount(address(sender), createAccount({ balance: BALANCE + value }));
  const libraries = new Map();
  const linked = ({ object, linkReferences }) => {
    let code = object;
    for (const name of Object.values(linkReferences).flatMap(Object.keys)) {
      for (const { start } of Object.values(linkReferences).flatMap((file) => file[name] ?? [])) {
        code = code.slice(0, 2 * start) + libraries.get(name) + code.slice(2 * start + 40);
      }
    }
    return hexToBytes(`0x${code}`);
  };
  const all = Object.entries(contracts);
  for (const [index, [library, { evm: made }]] of all.filter(([, it]) => isLibrary(it, contracts)).entries()) {
    const place = (LIBRARIES + BigInt(index)).toString(16).padStart(40, '0');
    libraries.set(library, place);
    await chain.construct(`0x${place}`, linked(made.bytecode), 0n);
  }
  await chain.construct(TARGET, linked(contracts[name].evm.bytecode), value);
  return chain;
}

/** What another contract refers to. */
function isLibrary(contract, contracts) {
  const references = Object.values(contracts).flatMap(({ evm }) => Object.values(evm.bytecode.linkReferences));
  return references.flatMap(Object.keys).some((name) => contracts[name] === contract);
}

class Chain {
  /** Marker to how often it ran. */
  counts = new Map();

  constructor(evm) {
    this.evm = evm;
    let isPushed = false;
    evm.events.on('step', ({ opcode, stack }, resume) => {
      if (isPushed) this.count(markerOf(stack.at(-1)));
      isPushed = opcode.name === PUSH;
      resume?.();
    });
  }

  count(marker) {
    if (marker !== undefined) this.counts.set(marker, (this.counts.get(marker) ?? 0) + 1);
  }

  /** Runs a constructor at an address of our choice, as the fuzzer does. */
  async construct(place, code, value) {
    const state = this.evm.stateManager;
    await state.putAccount(address(place), createAccount({ nonce: 1n }));
    await state.putCode(address(place), code);
    const { execResult } = await this.call({ ...START, from: DEPLOYER, to: place, data: new Uint8Array(), value, gasPrice: 0n });
    if (execResult.exceptionError) throw new Error(`a constructor failed: ${execResult.exceptionError.error}`);
    await state.putCode(address(place), execResult.returnValue);
  }

  /** Runs a sequence and undoes it. */
  async replay(calls) {
    await this.evm.journal.checkpoint();
    let { number, timestamp } = START;
    for (const call of calls) {
      timestamp += call.seconds;
      number += call.blocks;
      if (call.data !== undefined) await this.call({ ...call, number, timestamp });
    }
    await this.evm.journal.revert();
  }

  call({ from, to, data, value, gasPrice, number, timestamp }) {
    const header = { ...HEADER, number, timestamp };
    return this.evm.runCall({
      caller: address(from), origin: address(from), to: address(to), data, value, gasPrice,
      gasLimit: CALL_GAS, block: { header }, skipNonceIncrement: true,
    });
  }
}

const HEADER = {
  coinbase: address('0x0'),
  difficulty: 0n,
  prevRandao: new Uint8Array(32),
  gasLimit: CALL_GAS,
  baseFeePerGas: 0n,
  getBlobGasPrice: () => 1n,
};
