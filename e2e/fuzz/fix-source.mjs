// Fixes the bugs of smart contracts. A reproducer that still fails on the fixed version would fail on anything.
//
// Smart contracts in this folder contain their fix: `// mended: CODE` is above the line that CODE replaces. Those of the
// fuzzer's suite have no such comment. There, each failing test is changed so that it cannot fail.

/** Returns the source of a smart contract without its bugs. */
export function fixSource({ text, mode }) {
  if (/^ *\/\/ mended: /m.test(text)) return text.replace(/^( *)\/\/ mended: (.*)\n.*$/gm, '$1$2');
  switch (mode) {
    case 'assertion':
      // A failing `require` and other events are not failures.
      return text.replaceAll('assert(', 'require(').replaceAll('AssertionFailed(', 'Noted(');
    case 'overflow':
      return replaceBodies(text, /^ *function .*/, (body) => `        unchecked {\n${body}        }\n`);
    default:
      return replaceBodies(text, /^ *\/\/\/ (?:fails in|reaches) .*\n(?: *\/\/\/ .*\n)* *function .*/, (_, head) => passingBody(head));
  }
}

/** Returns a function body with which the test passes. */
function passingBody(head) {
  if (head.includes('echidna_revert_')) return '        revert("as expected");\n';
  if (head.includes('echidna_opt_')) return '        return type(int256).min;\n';
  return head.includes('returns') ? '        return true;\n' : '';
}

/** Replaces the bodies of the functions whose first lines match `head`. Relies on the formatting of the sources. */
function replaceBodies(text, head, replace) {
  const whole = new RegExp(`(${head.source})\\{\\n([\\s\\S]*?)^    \\}$`, 'gm');
  return text.replace(whole, (_, head, body) => `${head}{\n${replace(body, head)}    }`);
}
