// Inserts a marker before each statement and into each loop condition: a call with a unique number. The number of times
// that a marker runs is the execution count of the statement, independent of source maps.

/** The first seven bytes of each marker number; two more bytes identify the marker. */
const MAGIC = 0x7f0c4e5a1d93b7n;

/** The opcode that pushes a marker number. */
export const PUSH = 'PUSH9';

const LINE_END = 10;
const SEMICOLON = 59;

const HELPER = '\nfunction vouchMarker(uint256) pure returns (bool) {\n    return true;\n}\n';

/** Returns the index of the marker in a word, or undefined. */
export function parseMarker(word) {
  return word >> 16n === MAGIC ? Number(word & 0xffffn) : undefined;
}

/**
 * Returns the marked text and the line of each marker: `{text, lines, variables}`. `variables` are the lines of initialized
 * state variables. These are not statements, so their counts cannot be checked.
 */
export function insertMarkers(text, ast) {
  const bytes = Buffer.from(text);
  const state = { bytes, inserts: [], lines: [], variables: new Set() };
  visit(ast, state);
  let out = '';
  let done = 0;
  // The sort is stable: at the same offset, an outer statement begins first and ends last.
  const inserts = state.inserts.toSorted((left, right) => left.at - right.at);
  for (const { at, text } of inserts) {
    out += bytes.subarray(done, at) + text;
    done = at;
  }
  return { text: out + bytes.subarray(done) + HELPER, lines: state.lines, variables: state.variables };
}

function visit(node, state) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const one of node) visit(one, state);
    return;
  }
  switch (node.nodeType) {
    case 'VariableDeclaration':
      if (node.stateVariable && !node.constant && node.value) state.variables.add(lineAt(sourceRange(node)[0], state));
      return;
    case 'Block':
    case 'UncheckedBlock':
      for (const statement of node.statements) markStatement(statement, state, false);
      return;
    case 'IfStatement':
      visitBody(node.trueBody, state);
      visitBody(node.falseBody, state);
      return;
    case 'ForStatement':
    case 'WhileStatement':
    case 'DoWhileStatement':
      if (node.condition) markCondition(node.condition, state);
      visitBody(node.body, state);
      return;
    default:
      for (const child of Object.values(node)) visit(child, state);
  }
}

/** Visits a body without a required block; a marker makes braces necessary. */
function visitBody(body, state) {
  if (!body) return;
  if (body.nodeType === 'Block' || body.nodeType === 'UncheckedBlock') visit(body, state);
  else markStatement(body, state, true);
}

function markStatement(statement, state, needsBraces) {
  const { nodeType } = statement;
  if (nodeType === 'Block' || nodeType === 'UncheckedBlock') return visit(statement, state);
  // `_` in a modifier runs no code of the modifier.
  if (nodeType === 'PlaceholderStatement') return;
  const [start, end] = sourceRange(statement);
  // Coverage counts the condition, which may begin on another line.
  const counted = nodeType === 'IfStatement' ? sourceRange(statement.condition)[0] : start;
  const call = `vouchMarker(${addMarker(counted, state)});`;
  state.inserts.push({ at: start, text: needsBraces ? `{ ${call} ` : `${call} ` });
  visit(statement, state);
  // In the AST a statement ends before its semicolon.
  if (needsBraces) state.inserts.push({ at: state.bytes[end] === SEMICOLON ? end + 1 : end, text: ' }' });
}

function markCondition(expression, state) {
  const [start, end] = sourceRange(expression);
  state.inserts.push({ at: start, text: `(vouchMarker(${addMarker(start, state)}) && (` });
  state.inserts.push({ at: end, text: '))' });
}

function addMarker(offset, state) {
  const number = state.lines.length;
  state.lines.push(lineAt(offset, state));
  return `0x${((MAGIC << 16n) | BigInt(number)).toString(16)}`;
}

function lineAt(offset, { bytes }) {
  return bytes.subarray(0, offset).filter((byte) => byte === LINE_END).length + 1;
}

function sourceRange({ src }) {
  const [start, length] = src.split(':').map(Number);
  return [start, start + length];
}
