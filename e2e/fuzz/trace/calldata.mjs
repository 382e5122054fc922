// The calls of a corpus file as bytes: written anew from Echidna's format and the ABI's rules, so that nothing of what is
// tested here reads its own writing.

import { createRequire } from 'node:module';

const { keccak256 } = createRequire(import.meta.resolve('solc'))('js-sha3');

/** `[{from, to, data, value, gasPrice, seconds, blocks}]`; `data` is undefined where only time goes by. */
export function calls(text) {
  return JSON.parse(text).map(({ call, src, dst, value, gasprice, delay }) => ({
    from: src,
    to: dst,
    data: calldata(call),
    value: BigInt(value),
    gasPrice: BigInt(gasprice),
    seconds: BigInt(delay[0]),
    blocks: BigInt(delay[1]),
  }));
}

function calldata({ tag, contents }) {
  switch (tag) {
    case 'NoCall': return undefined;
    case 'SolCalldata': return Buffer.from(fromHaskell(contents));
    case 'SolCall': {
      const [name, values] = contents;
      if (name === '') return Buffer.alloc(0);
      const signature = `${name}(${values.map(typeOf).join(',')})`;
      return Buffer.concat([Buffer.from(keccak256(signature).slice(0, 8), 'hex'), encodeAll(values)]);
    }
    default: throw new Error(`the call ${tag} is not known here`);
  }
}

/** The name of a value's type as it stands in a signature. */
function typeOf({ tag, contents }) {
  switch (tag) {
    case 'AbiUInt': return `uint${contents[0]}`;
    case 'AbiInt': return `int${contents[0]}`;
    case 'AbiBytes': return `bytes${contents[0]}`;
    case 'AbiArrayDynamic': return `${nameOf(contents[0])}[]`;
    case 'AbiArray': return `${nameOf(contents[1])}[${contents[0]}]`;
    case 'AbiTuple': return `(${contents.map(typeOf).join(',')})`;
    default: return PLAIN[tag];
  }
}

const PLAIN = { AbiBool: 'bool', AbiAddress: 'address', AbiString: 'string', AbiBytesDynamic: 'bytes', AbiFunction: 'function' };

/** The same of a type that stands alone, as that of a list's elements does. */
function nameOf({ tag, contents }) {
  switch (tag) {
    case 'AbiUIntType': return `uint${contents}`;
    case 'AbiIntType': return `int${contents}`;
    case 'AbiBytesType': return `bytes${contents}`;
    case 'AbiArrayDynamicType': return `${nameOf(contents)}[]`;
    case 'AbiArrayType': return `${nameOf(contents[1])}[${contents[0]}]`;
    case 'AbiTupleType': return `(${contents.map(nameOf).join(',')})`;
    default: return PLAIN[tag.slice(0, -'Type'.length)];
  }
}

/** Values one after the other: what has no fixed size stands behind, and its place in front. */
function encodeAll(values) {
  const parts = values.map((value) => ({ bytes: encode(value), isDynamic: isDynamic(typeOf(value)) }));
  let place = parts.reduce((sum, { bytes, isDynamic }) => sum + (isDynamic ? 32 : bytes.length), 0);
  const heads = [];
  const tails = [];
  for (const { bytes, isDynamic } of parts) {
    heads.push(isDynamic ? word(BigInt(place)) : bytes);
    if (!isDynamic) continue;
    tails.push(bytes);
    place += bytes.length;
  }
  return Buffer.concat([...heads, ...tails]);
}

function encode({ tag, contents }) {
  switch (tag) {
    case 'AbiUInt':
    case 'AbiInt': return word(BigInt(contents[1]));
    case 'AbiBool': return word(contents ? 1n : 0n);
    case 'AbiAddress': return word(BigInt(contents));
    case 'AbiBytes': return padded(fromHaskell(contents[1]));
    case 'AbiFunction': return padded(fromHaskell(contents));
    case 'AbiString':
    case 'AbiBytesDynamic': {
      const bytes = fromHaskell(contents);
      return Buffer.concat([word(BigInt(bytes.length)), padded(bytes)]);
    }
    case 'AbiArrayDynamic': return Buffer.concat([word(BigInt(contents[1].length)), encodeAll(contents[1])]);
    case 'AbiArray': return encodeAll(contents[2]);
    case 'AbiTuple': return encodeAll(contents);
    default: throw new Error(`the value ${tag} is not known here`);
  }
}

const isDynamic = (type) => /\bstring\b|\bbytes(?!\d)|\[\]/.test(type);

function word(number) {
  return Buffer.from(BigInt.asUintN(256, number).toString(16).padStart(64, '0'), 'hex');
}

function padded(bytes) {
  return Buffer.concat([Buffer.from(bytes), Buffer.alloc((32 - (bytes.length % 32)) % 32)]);
}

/** In the order of their numbers, but for those that one letter names. */
const CONTROLS = [
  'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI',
  'DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US SP',
].join(' ').split(' ');
const LETTERS = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "'": 39, '\\': 92 };

/** The bytes of a Haskell literal such as `"caf\233\&1\NUL"`. */
function fromHaskell(literal) {
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
