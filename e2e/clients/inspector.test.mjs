// The command line of the MCP inspector: one process per request, no elicitation.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { describe, test } from "node:test";

import { TOOLS, expectSuccess } from "../support/behavior.mjs";
import { createProject, startServer, stdioCommand } from "../support/vouch.mjs";

const INSPECTOR = resolve(
  import.meta.dirname,
  "../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);

/** Runs the inspector with a method and returns its exit code, result and stderr. */
function runInspector(project, target, ...args) {
  // A separate home: the inspector must neither read nor write the developer's catalog.
  const env = { ...process.env, HOME: project.root };
  const all = [INSPECTOR, "--cli", ...target, "--format", "json", "--quiet", ...args];
  return new Promise((resolveRun, rejectRun) => {
    execFile(process.execPath, all, { env }, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") return rejectRun(error);
      const exitCode = error?.code ?? 0;
      resolveRun({ exitCode, result: stdout && JSON.parse(stdout).result, stderr });
    });
  });
}

function callTool(project, target, tool, args) {
  const json = JSON.stringify(args);
  return runInspector(project, target, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json);
}

function expectAnswer({ exitCode, result, stderr }) {
  assert.equal(exitCode, 0, stderr);
  return expectSuccess(result);
}

const targetOverHttp = async (t, project) => [await startServer(t, project), "--transport", "http"];
const targetOverStdio = async (_t, project) => {
  // The inspector passes only a few variables on to a server.
  const { command, args, env } = stdioCommand(project);
  return ["env", ...Object.entries(env).map(([name, value]) => `${name}=${value}`), command, ...args];
};

for (const era of ["legacy", "modern"]) {
  for (const [transport, createTarget] of [
    ["HTTP", targetOverHttp],
    ["stdio", targetOverStdio],
  ]) {
    describe(`inspector (${era}) over ${transport}`, () => {
      const open = async (t) => {
        const project = await createProject(t);
        const target = [...(await createTarget(t, project)), "--protocol-era", era];
        return { project, target };
      };

      test("lists the tools", async (t) => {
        const { project, target } = await open(t);
        const { exitCode, result, stderr } = await runInspector(project, target, "--method", "tools/list");
        assert.equal(exitCode, 0, stderr);
        assert.deepEqual(
          result.tools.map((tool) => tool.name),
          TOOLS,
        );
      });

      test("calls tools, and queues a write until a user approves it", async (t) => {
        const { project, target } = await open(t);
        const hello = await callTool(project, target, "hello", { name: "Inspector" });
        assert.equal(expectAnswer(hello).message, "Hello, Inspector!");

        const read = await callTool(project, target, "read_repo_file", { path: "docs/guide.md" });
        assert.equal(expectAnswer(read).content, "# Guide\n\nSmall steps.\n");

        const entry = { file: "best_practices.md", entry: "Small steps." };
        const first = await callTool(project, target, "write_memory_entry", entry);
        // The inspector validates the structured content of an error against the output schema, too, and prints its own
        // error instead of our envelope. The queue shows that the call is pending.
        assert.notEqual(first.exitCode, 0);
        assert.equal(await project.readMemory(entry.file), null);

        const [approval] = JSON.parse(await project.runVouch("approvals", "list", "--json"));
        assert.equal(approval.tool, "write_memory_entry");
        await project.runVouch("approvals", "approve", approval.id, "--yes");
        const second = await callTool(project, target, "write_memory_entry", entry);
        assert.equal(expectAnswer(second).success, true);
        assert.equal(await project.readMemory(entry.file), "Small steps.\n");
      });
    });
  }
}
