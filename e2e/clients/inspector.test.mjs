// The MCP inspector's command line: one process for each request, no elicitation.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { describe, test } from "node:test";

import { failed, succeeded } from "../support/behaviour.mjs";
import { project, serve, stdio } from "../support/vouch.mjs";

const INSPECTOR = resolve(
  import.meta.dirname,
  "../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);
/** The inspector's exit code for a tool that answered `isError`. */
const TOOL_ERROR = 5;

function inspect(place, target, ...args) {
  // A home of its own: the inspector must neither read nor write the developer's catalog.
  const env = { ...process.env, HOME: place.root };
  const all = [INSPECTOR, "--cli", ...target, "--format", "json", "--quiet", ...args];
  return new Promise((done, broken) => {
    execFile(process.execPath, all, { env }, (error, stdout, stderr) => {
      const exitCode = error?.code ?? 0;
      if (stdout === "") return broken(new Error(`inspector ended with ${exitCode}: ${stderr}`));
      done({ exitCode, result: JSON.parse(stdout).result });
    });
  });
}

function call(place, target, tool, args) {
  const json = JSON.stringify(args);
  return inspect(place, target, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json);
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
        const { result } = await inspect(place, target, "--method", "tools/list");
        assert.deepEqual(
          result.tools.map((tool) => tool.name),
          ["hello", "read_repo_file", "write_memory_entry"],
        );
      });

      test("calls all three", async (t) => {
        const { place, target } = await open(t);
        const hello = await call(place, target, "hello", { name: "Inspector" });
        assert.equal(succeeded(hello.result).message, "Hello, Inspector!");

        const read = await call(place, target, "read_repo_file", { path: "docs/guide.md" });
        assert.equal(succeeded(read.result).content, "# Guide\n\nSmall steps.\n");

        const entry = { file: "best_practices.md", entry: "Small steps." };
        const first = await call(place, target, "write_memory_entry", entry);
        assert.equal(first.exitCode, TOOL_ERROR);
        const { details } = failed(first.result, "APPROVAL_REQUIRED");
        assert.equal(await place.memory(entry.file), null);

        await place.vouch("approvals", "approve", String(details.approvalId));
        const second = await call(place, target, "write_memory_entry", entry);
        assert.equal(succeeded(second.result).success, true);
        assert.equal(await place.memory(entry.file), "Small steps.\n");
      });
    });
  }
}
