// The same contracts without their mistakes: a replay that fails on them, too, would fail on anything.
//
// Contracts beside these tests say how they are mended: `// mended: CODE` stands above the line that CODE replaces. In those
// of the fuzzer's suite there is no such line. Of them each test that fails is made one that cannot, by what it asks.

/** The mended text of a source. */
export function mended({ text, mode }) {
  if (/^ *\/\/ mended: /m.test(text)) return text.replace(/^( *)\/\/ mended: (.*)\n.*$/gm, '$1$2');
  switch (mode) {
    case 'assertion':
      // A requirement may fail, and another event says nothing.
      return text.replaceAll('assert(', 'require(').replaceAll('AssertionFailed(', 'Noted(');
    case 'overflow':
      return bodies(text, /^ *function .*/, (body) => `        unchecked {\n${body}        }\n`);
    default:
      return bodies(text, /^ *\/\/\/ (?:fails in|reaches) .*\n(?: *\/\/\/ .*\n)* *function .*/, (_, head) => harmless(head));
  }
}

function harmless(head) {
  if (head.includes('echidna_revert_')) return '        revert("as it must");\n';
  if (head.includes('echidna_opt_')) return '        return type(int256).min;\n';
  return head.includes('returns') ? '        return true;\n' : '';
}

/** Replaces the bodies of functions; those whose first lines match `head` begin and end as all our sources are formatted. */
function bodies(text, head, replace) {
  const whole = new RegExp(`(${head.source})\\{\\n([\\s\\S]*?)^    \\}$`, 'gm');
  return text.replace(whole, (_, head, body) => `${head}{\n${replace(body, head)}    }`);
}
