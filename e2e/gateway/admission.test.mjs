// `vouch upstream tools` lists every tool of every server with its state, and each refused tool with reasons and remedies.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ADMITTED, connectDirectly, createGatewayProject, OVERLAID, runVouch } from "./project.mjs";

const MISSING_OUTPUT_SCHEMA = "C016";

/** Runs the command, checks every entry, and returns state and rules by upstream and tool. */
async function readToolStates(project, exitCode) {
  const ran = await runVouch(project, "upstream", "tools", "--json");
  assert.equal(ran.exitCode, exitCode, ran.stderr);
  const found = {};
  for (const { upstream, tool, state, reasons } of JSON.parse(ran.stdout)) {
    const stopped = state === "refused" || state === "quarantined";
    assert.ok(reasons.length > 0 || !stopped, `${upstream} ${tool} is ${state} without a reason`);
    for (const { rule, message, remedy } of reasons) assert.ok(rule && message && remedy, `${upstream} ${tool}`);
    (found[upstream] ??= {})[tool] = { state, rules: reasons.map((reason) => reason.rule) };
  }
  return found;
}

test("valid tools are ready, tools with an overlay are overlaid, and the rest are refused with reasons", async (t) => {
  const project = await createGatewayProject(t);
  const found = await readToolStates(project, 1);
  for (const upstream of ["files", "memory"]) {
    const { tools } = await (await connectDirectly(t, project, upstream)).listTools();
    const expected = tools.map((tool) => [tool.name, "ready"]).sort();
    assert.deepEqual(Object.entries(found[upstream]).map(([tool, { state }]) => [tool, state]).sort(), expected);
  }
  const { tools } = await (await connectDirectly(t, project, "everything")).listTools();
  for (const { name } of tools) {
    const { state, rules } = found.everything[name];
    const expected = OVERLAID.includes(name) ? "overlaid" : ADMITTED.includes(name) ? "ready" : "refused";
    assert.equal(state, expected, name);
    if (state === "refused") assert.ok(rules.includes(MISSING_OUTPUT_SCHEMA), `${name}: ${rules}`);
  }
});

test("a tool without an output schema is refused if its overlay is missing", async (t) => {
  const project = await createGatewayProject(t, { overlays: false });
  const { everything } = await readToolStates(project, 1);
  for (const tool of OVERLAID) {
    // The reason for the refusal comes before other findings.
    assert.deepEqual([everything[tool].state, everything[tool].rules[0]], ["refused", MISSING_OUTPUT_SCHEMA]);
  }
  assert.equal(everything["get-structured-content"].state, "ready");
});

test("the command succeeds if no tool is refused", async (t) => {
  const project = await createGatewayProject(t, { servers: "files-only.toml" });
  assert.deepEqual(Object.keys(await readToolStates(project, 0)), ["files"]);
});
