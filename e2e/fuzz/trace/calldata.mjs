// Encodes the calls of a corpus file. This is an independent implementation of Echidna's format and the ABI, so the code
// under test does not check itself.

import { createRequire } from 'node:module';

const { keccak256 } = createRequire(import.meta.resolve('solc'))('js-sha3');

/** Returns `[{from, to, data, value, gasPrice, seconds, blocks}]`; `data` is undefined if only time passes. */
export function parseCalls(text) {
  return JSON.parse(text).map(({ call, src, dst, value, gasprice, delay }) => ({
    from: src,
    to: dst,
    data: encodeCall(call),
    value: BigInt(value),
    gasPrice: BigInt(gasprice),
    seconds: BigInt(delay[0]),
    blocks: BigInt(delay[1]),
  }));
}

function encodeCall({ tag, contents }) {
  switch (tag) {
    case 'NoCall': return undefined;
    case 'SolCalldata': return Buffer.from(parseHaskellBytes(contents));
    case 'SolCall': {
      const [name, values] = contents;
      if (name === '') return Buffer.alloc(0);
      const signature = `${name}(${values.map(valueTypeName).join(',')})`;
      return Buffer.concat([Buffer.from(keccak256(signature).slice(0, 8), 'hex'), encodeAll(values)]);
    }
    default: throw new Error(`unsupported call ${tag}`);
  }
}

/** Returns the name of a value's type in a signature. */
function valueTypeName({ tag, contents }) {
  switch (tag) {
    case 'AbiUInt': return `uint${contents[0]}`;
    case 'AbiInt': return `int${contents[0]}`;
    case 'AbiBytes': return `bytes${contents[0]}`;
    case 'AbiArrayDynamic': return `${typeName(contents[0])}[]`;
    case 'AbiArray': return `${typeName(contents[1])}[${contents[0]}]`;
    case 'AbiTuple': return `(${contents.map(valueTypeName).join(',')})`;
    default: return SIMPLE_TYPES[tag];
  }
}

const SIMPLE_TYPES = { AbiBool: 'bool', AbiAddress: 'address', AbiString: 'string', AbiBytesDynamic: 'bytes', AbiFunction: 'function' };

/** Returns the name of a type without a value, such as the element type of an array. */
function typeName({ tag, contents }) {
  switch (tag) {
    case 'AbiUIntType': return `uint${contents}`;
    case 'AbiIntType': return `int${contents}`;
    case 'AbiBytesType': return `bytes${contents}`;
    case 'AbiArrayDynamicType': return `${typeName(contents)}[]`;
    case 'AbiArrayType': return `${typeName(contents[1])}[${contents[0]}]`;
    case 'AbiTupleType': return `(${contents.map(typeName).join(',')})`;
    default: return SIMPLE_TYPES[tag.slice(0, -'Type'.length)];
  }
}

/** Encodes values as heads and tails: a dynamic value is a tail, and its head is the offset of the tail. */
function encodeAll(values) {
  const parts = values.map((value) => ({ bytes: encodeValue(value), isDynamic: isDynamic(valueTypeName(value)) }));
  let offset = parts.reduce((sum, { bytes, isDynamic }) => sum + (isDynamic ? 32 : bytes.length), 0);
  const heads = [];
  const tails = [];
  for (const { bytes, isDynamic } of parts) {
    heads.push(isDynamic ? encodeWord(BigInt(offset)) : bytes);
    if (!isDynamic) continue;
    tails.push(bytes);
    offset += bytes.length;
  }
  return Buffer.concat([...heads, ...tails]);
}

function encodeValue({ tag, contents }) {
  switch (tag) {
    case 'AbiUInt':
    case 'AbiInt': return encodeWord(BigInt(contents[1]));
    case 'AbiBool': return encodeWord(contents ? 1n : 0n);
    case 'AbiAddress': return encodeWord(BigInt(contents));
    case 'AbiBytes': return padBytes(parseHaskellBytes(contents[1]));
    case 'AbiFunction': return padBytes(parseHaskellBytes(contents));
    case 'AbiString':
    case 'AbiBytesDynamic': {
      const bytes = parseHaskellBytes(contents);
      return Buffer.concat([encodeWord(BigInt(bytes.length)), padBytes(bytes)]);
    }
    case 'AbiArrayDynamic': return Buffer.concat([encodeWord(BigInt(contents[1].length)), encodeAll(contents[1])]);
    case 'AbiArray': return encodeAll(contents[2]);
    case 'AbiTuple': return encodeAll(contents);
    default: throw new Error(`unsupported value ${tag}`);
  }
}

const isDynamic = (type) => /\bstring\b|\bbytes(?!\d)|\[\]/.test(type);

function encodeWord(number) {
  return Buffer.from(BigInt.asUintN(256, number).toString(16).padStart(64, '0'), 'hex');
}

function padBytes(bytes) {
  return Buffer.concat([Buffer.from(bytes), Buffer.alloc((32 - (bytes.length % 32)) % 32)]);
}

/** Names of the control characters, in order of their codes. */
const CONTROLS = [
  'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI',
  'DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US SP',
].join(' ').split(' ');
const LETTERS = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "'": 39, '\\': 92 };

/** Returns the bytes of a Haskell literal such as `"caf\233\&1\NUL"`. */
function parseHaskellBytes(literal) {
  const bytes = [];
  const names = [...CONTROLS, 'DEL'].sort((left, right) => right.length - left.length).join('|');
  const token = new RegExp(`\\\\&|\\\\(\\d+)|\\\\(${names})|\\\\(.)|([^\\\\])`, 'gsy');
  for (const [whole, number, name, letter, plain] of literal.slice(1, -1).matchAll(token)) {
    if (whole === '\\&') continue;
    if (number) bytes.push(Number(number));
    else if (name) bytes.push(name === 'DEL' ? 127 : CONTROLS.indexOf(name));
    else bytes.push(letter ? LETTERS[letter] : plain.charCodeAt(0));
  }
  return bytes;
}
