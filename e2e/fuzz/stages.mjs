// Generates a smart contract for long campaigns: each stage is reachable only from the previous one and breaks another
// property, so a campaign keeps finding failures.

import { createHash } from 'node:crypto';

/** Returns the code that opens a stage, which is hard to guess. */
function deriveCode(stage) {
  return createHash('sha256').update(`stage ${stage}`).digest().readUInt32BE();
}

/** Returns the source of `Stages` with this many stages. */
export function generateStagesContract(count) {
  const numbers = Array.from({ length: count }, (_, stage) => stage);
  const steps = numbers.map((stage) => `
    function step_${stage}(uint32 code) external {
        if (stage == ${stage} && code == ${deriveCode(stage)}) stage = ${stage + 1};
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
