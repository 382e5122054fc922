// Starts and stops the built binary for a test, each time in a separate project folder.

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { addCleanup } from "./cleanup.mjs";

const targetFolder = resolve(import.meta.dirname, "../../target/debug");

export const VOUCH = process.env.VOUCH_BIN ?? join(targetFolder, "vouch");
export const CONFORMANCE_SERVER =
  process.env.CONFORMANCE_SERVER_BIN ?? join(targetFolder, "conformance_server");

/** State of the tests' projects, so that no test writes into the home folder. Children inherit it. */
const STATE_HOME = mkdtempSync(join(tmpdir(), "vouch-e2e-state-"));
process.env.XDG_STATE_HOME = STATE_HOME;
// The tests write the configuration of their projects themselves.
process.env.VOUCH_TRUST = "1";
process.on("exit", () => rmSync(STATE_HOME, { recursive: true, force: true }));

/** Maximum start time. A debug build on a busy machine starts slowly; a hang should fail the test, not the whole run. */
const START_LIMIT_MS = 30_000;

/** The files of a project: a source file with an import, a rule about it, a guide, and a blocked file. */
const FILES = {
  "docs/guide.md": "# Guide\n\nSmall steps.\n",
  "AGENTS.md": "# Rules\n\n- Tokens must be stored hashed, never in plain text.\n",
  "src/auth/tokens.ts":
    'import { TokenStore } from "./store";\n\n// A new token for a user who has logged in.\n' +
    "export function issueToken(user: string): string {\n  return new TokenStore().add(user);\n}\n",
  "src/auth/store.ts":
    "export class TokenStore {\n  add(user: string): string {\n    return `${user}-${Date.now()}`;\n  }\n}\n",
  ".env": "TOKEN=not-for-you\n",
  // Clients over HTTP are asked for approvals only if the operator trusts them.
  "vouch.toml": '[clients.local]\napprove = "ask"\n',
};

/** Creates a project folder, which is removed after the test `t`. */
export async function createProject(t) {
  const root = await mkdtemp(join(tmpdir(), "vouch-e2e-"));
  addCleanup(t, () => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return {
    root,
    /** Returns the text of a memory file, or null if it does not exist. */
    readMemory: (file) =>
      readFile(join(root, ".claude/memory", file), "utf8").catch((error) => {
        if (error.code === "ENOENT") return null;
        throw error;
      }),
    /** Runs a `vouch` command on this project and returns its stdout. */
    runVouch: async (...args) => {
      const { stdout } = await promisify(execFile)(VOUCH, [...args, "--root", root]);
      return stdout;
    },
  };
}

/** Returns the command with which a client starts a server over stdio. `command` is `serve` or `gateway`. */
export function stdioCommand({ root, command = "serve" }, flags = []) {
  // The SDKs pass only a few variables on to a child.
  const env = { XDG_STATE_HOME: STATE_HOME, VOUCH_TRUST: "1" };
  return { command: VOUCH, args: [command, "--stdio", "--root", root, ...flags], cwd: root, env, stderr: "ignore" };
}

/** Starts a server without token on a free port and returns its URL. The server stops after the test `t`. */
export function startServer(t, { root, command = "serve" }, flags = []) {
  return spawnServer(t, VOUCH, [command, "--port", "0", "--no-token", "--root", root, ...flags], root);
}

/** Starts a server that requires the token of the project. Returns its URL and the token. */
export async function startServerWithToken(t, project) {
  const url = await spawnServer(t, VOUCH, ["serve", "--port", "0", "--root", project.root], project.root);
  return { url, token: (await project.runVouch("token")).trim() };
}

/** Starts a server and returns the URL that it prints to stderr. The server stops after the test `t`. */
export async function spawnServer(t, command, args, cwd, env = process.env) {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  const closed = new Promise((resolveClosed) => child.once("close", resolveClosed));
  addCleanup(t, async () => {
    child.kill();
    await closed;
  });
  const output = [];
  const url = new Promise((resolveUrl, rejectUrl) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      output.push(line);
      const match = line.match(/http:\/\/\S+?\/mcp/);
      if (match) resolveUrl(match[0]);
    });
    child.once("error", rejectUrl);
    child.once("close", (code) => rejectUrl(new Error(`${command} exited with code ${code}:\n${output.join("\n")}`)));
    setTimeout(
      () => rejectUrl(new Error(`${command} printed no URL within ${START_LIMIT_MS} ms:\n${output.join("\n")}`)),
      START_LIMIT_MS,
    ).unref();
  });
  return url;
}
