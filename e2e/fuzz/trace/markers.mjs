// A source with a marker in front of each statement and in each condition of a loop: a call with a number that stands in no
// other place. How often a marker runs is how often control came to the statement, whatever a source map says.

/** Seven bytes that begin each number of a marker; two more tell markers apart. */
const MAGIC = 0x7f0c4e5a1d93b7n;

/** The size of the operand that pushes such a number. */
export const PUSH = 'PUSH9';

const LINE_END = 10;
const SEMICOLON = 59;

const HELPER = '\nfunction vouchMarker(uint256) pure returns (bool) {\n    return true;\n}\n';

/** The number of the marker that a word is, or undefined. */
export function markerOf(word) {
  return word >> 16n === MAGIC ? Number(word & 0xffffn) : undefined;
}

/**
 * The marked text, and for each marker the line of the statement: `{text, lines, variables}`. The last are the lines of variables
 * with a first value, which is no statement, so that only their being told can be checked.
 */
export function marked(text, ast) {
  const bytes = Buffer.from(text);
  const places = { bytes, inserts: [], lines: [], variables: new Set() };
  visit(ast, places);
  let out = '';
  let done = 0;
  // Sorting keeps the order of what stands at one place: the statement around another begins first and ends last.
  const inserts = places.inserts.toSorted((left, right) => left.at - right.at);
  for (const { at, text } of inserts) {
    out += bytes.subarray(done, at) + text;
    done = at;
  }
  return { text: out + bytes.subarray(done) + HELPER, lines: places.lines, variables: places.variables };
}

function visit(node, places) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const one of node) visit(one, places);
    return;
  }
  switch (node.nodeType) {
    case 'VariableDeclaration':
      if (node.stateVariable && !node.constant && node.value) places.variables.add(lineOf(range(node)[0], places));
      return;
    case 'Block':
    case 'UncheckedBlock':
      for (const statement of node.statements) mark(statement, places, false);
      return;
    case 'IfStatement':
      alone(node.trueBody, places);
      alone(node.falseBody, places);
      return;
    case 'ForStatement':
    case 'WhileStatement':
    case 'DoWhileStatement':
      if (node.condition) condition(node.condition, places);
      alone(node.body, places);
      return;
    default:
      for (const child of Object.values(node)) visit(child, places);
  }
}

/** A body that may do without braces, which it needs once there is a marker in it. */
function alone(body, places) {
  if (!body) return;
  if (body.nodeType === 'Block' || body.nodeType === 'UncheckedBlock') visit(body, places);
  else mark(body, places, true);
}

function mark(statement, places, needsBraces) {
  const { nodeType } = statement;
  if (nodeType === 'Block' || nodeType === 'UncheckedBlock') return visit(statement, places);
  // Where a modifier lets the function in, nothing of its own runs.
  if (nodeType === 'PlaceholderStatement') return;
  const [start, end] = range(statement);
  // What is counted is the condition, which may begin on another line.
  const counted = nodeType === 'IfStatement' ? range(statement.condition)[0] : start;
  const call = `vouchMarker(${marker(counted, places)});`;
  places.inserts.push({ at: start, text: needsBraces ? `{ ${call} ` : `${call} ` });
  visit(statement, places);
  // To the compiler a statement ends before its semicolon.
  if (needsBraces) places.inserts.push({ at: places.bytes[end] === SEMICOLON ? end + 1 : end, text: ' }' });
}

function condition(expression, places) {
  const [start, end] = range(expression);
  places.inserts.push({ at: start, text: `(vouchMarker(${marker(start, places)}) && (` });
  places.inserts.push({ at: end, text: '))' });
}

function marker(offset, places) {
  const number = places.lines.length;
  places.lines.push(lineOf(offset, places));
  return `0x${((MAGIC << 16n) | BigInt(number)).toString(16)}`;
}

function lineOf(offset, { bytes }) {
  return bytes.subarray(0, offset).filter((byte) => byte === LINE_END).length + 1;
}

function range({ src }) {
  const [start, length] = src.split(':').map(Number);
  return [start, start + length];
}
