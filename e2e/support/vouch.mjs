// Starts and stops the built binary for a test, each time in a project folder of its own.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { atEnd } from "./cleanup.mjs";

const targetFolder = resolve(import.meta.dirname, "../../target/debug");

export const VOUCH = process.env.VOUCH_BIN ?? join(targetFolder, "vouch");
export const CONFORMANCE_SERVER =
  process.env.CONFORMANCE_SERVER_BIN ?? join(targetFolder, "conformance_server");

/** A debug build on a busy machine is slow to start; a hang should still fail the test, not the whole run. */
const START_LIMIT_MS = 30_000;

/** A little program: a file, what it imports, a rule about it. A guide to read, and a file that nobody may read. */
const FILES = {
  "docs/guide.md": "# Guide\n\nSmall steps.\n",
  "AGENTS.md": "# Rules\n\n- Tokens must be stored hashed, never in plain text.\n",
  "src/auth/tokens.ts":
    'import { TokenStore } from "./store";\n\n// A new token for a user who has logged in.\n' +
    "export function issueToken(user: string): string {\n  return new TokenStore().add(user);\n}\n",
  "src/auth/store.ts":
    "export class TokenStore {\n  add(user: string): string {\n    return `${user}-${Date.now()}`;\n  }\n}\n",
  ".env": "TOKEN=not-for-you\n",
};

/** A project of its own. Ends with the test `t`. */
export async function project(t) {
  const root = await mkdtemp(join(tmpdir(), "vouch-e2e-"));
  atEnd(t, () => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return {
    root,
    /** The text of a memory file, or null where nothing was ever written to it. */
    memory: (file) =>
      readFile(join(root, ".claude/memory", file), "utf8").catch((error) => {
        if (error.code === "ENOENT") return null;
        throw error;
      }),
    /** Runs a `vouch` command on this project and gives its stdout. */
    vouch: async (...args) => {
      const { stdout } = await promisify(execFile)(VOUCH, [...args, "--root", root]);
      return stdout;
    },
  };
}

/** How a client starts the server by itself and speaks to it over stdio. `command` is `serve` or `gateway`. */
export function stdio({ root, command = "serve" }, flags = []) {
  return { command: VOUCH, args: [command, "--stdio", "--root", root, ...flags], cwd: root, stderr: "ignore" };
}

/** The URL of a server for this project on a free port. Ends with the test `t`. */
export function serve(t, { root, command = "serve" }, flags = []) {
  return listen(t, VOUCH, [command, "--port", "0", "--root", root, ...flags], root);
}

/** Starts a server and waits for the line on stderr that says where it listens. */
export async function listen(t, command, args, cwd, env = process.env) {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((done) => child.once("close", done));
  atEnd(t, async () => {
    child.kill();
    await ended;
  });
  const said = [];
  const url = new Promise((found, failed) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      said.push(line);
      const match = line.match(/http:\/\/\S+?\/mcp/);
      if (match) found(match[0]);
    });
    child.once("error", failed);
    child.once("close", (code) => failed(new Error(`${command} ended with ${code}:\n${said.join("\n")}`)));
    setTimeout(
      () => failed(new Error(`${command} named no URL within ${START_LIMIT_MS} ms:\n${said.join("\n")}`)),
      START_LIMIT_MS,
    ).unref();
  });
  return url;
}
