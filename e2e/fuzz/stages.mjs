// A contract that is never done: each stage is found only from the one before, and with each another property is broken. So a
// campaign keeps finding things for as long as anybody wants to watch.

import { createHash } from 'node:crypto';

/** What opens a stage: a number that nobody guesses. */
function codeOf(stage) {
  return createHash('sha256').update(`stage ${stage}`).digest().readUInt32BE();
}

/** The source of `Stages` with so many stages. */
export function stages(count) {
  const numbers = Array.from({ length: count }, (_, stage) => stage);
  const steps = numbers.map((stage) => `
    function step_${stage}(uint32 code) external {
        if (stage == ${stage} && code == ${codeOf(stage)}) stage = ${stage + 1};
    }
`);
  const properties = numbers.map((stage) => `
    function echidna_${stage}() external view returns (bool) {
        return stage <= ${stage};
    }
`);
  return `// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

contract Stages {
    uint256 private stage;
${steps.join('')}${properties.join('')}}
`;
}
