// The MCP inspector's command line: one process for each request, no elicitation.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { describe, test } from "node:test";

import { TOOLS, succeeded } from "../support/behaviour.mjs";
import { project, serve, stdio } from "../support/vouch.mjs";

const INSPECTOR = resolve(
  import.meta.dirname,
  "../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);
function inspect(place, target, ...args) {
  // A home of its own: the inspector must neither read nor write the developer's catalog.
  const env = { ...process.env, HOME: place.root };
  const all = [INSPECTOR, "--cli", ...target, "--format", "json", "--quiet", ...args];
  return new Promise((done, broken) => {
    execFile(process.execPath, all, { env }, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") return broken(error);
      const exitCode = error?.code ?? 0;
      done({ exitCode, result: stdout && JSON.parse(stdout).result, stderr });
    });
  });
}

function call(place, target, tool, args) {
  const json = JSON.stringify(args);
  return inspect(place, target, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json);
}

function answered({ exitCode, result, stderr }) {
  assert.equal(exitCode, 0, stderr);
  return succeeded(result);
}

const overHttp = async (t, place) => [await serve(t, place), "--transport", "http"];
const overStdio = async (_t, place) => {
  const { command, args } = stdio(place);
  return [command, ...args];
};

for (const era of ["legacy", "modern"]) {
  for (const [transport, reach] of [
    ["HTTP", overHttp],
    ["stdio", overStdio],
  ]) {
    describe(`inspector (${era}) over ${transport}`, () => {
      const open = async (t) => {
        const place = await project(t);
        const target = [...(await reach(t, place)), "--protocol-era", era];
        return { place, target };
      };

      test("lists the tools", async (t) => {
        const { place, target } = await open(t);
        const { exitCode, result, stderr } = await inspect(place, target, "--method", "tools/list");
        assert.equal(exitCode, 0, stderr);
        assert.deepEqual(
          result.tools.map((tool) => tool.name),
          TOOLS,
        );
      });

      test("calls tools, and waits for the person", async (t) => {
        const { place, target } = await open(t);
        const hello = await call(place, target, "hello", { name: "Inspector" });
        assert.equal(answered(hello).message, "Hello, Inspector!");

        const read = await call(place, target, "read_repo_file", { path: "docs/guide.md" });
        assert.equal(answered(read).content, "# Guide\n\nSmall steps.\n");

        const entry = { file: "best_practices.md", entry: "Small steps." };
        const first = await call(place, target, "write_memory_entry", entry);
        // The inspector holds the structured content of an error, too, against the output schema, and then prints its
        // own complaint in place of our envelope. That the call waits for a person shows in the queue.
        assert.notEqual(first.exitCode, 0);
        assert.equal(await place.memory(entry.file), null);

        const [approval] = JSON.parse(await place.vouch("approvals", "list", "--json"));
        assert.equal(approval.tool, "write_memory_entry");
        await place.vouch("approvals", "approve", approval.id, "--yes");
        const second = await call(place, target, "write_memory_entry", entry);
        assert.equal(answered(second).success, true);
        assert.equal(await place.memory(entry.file), "Small steps.\n");
      });
    });
  }
}
