// A project with the reference servers behind a gateway, and the same servers reached directly, to compare with.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";

import * as sdk1 from "../support/sdk-1.mjs";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { listen, project, VOUCH } from "../support/vouch.mjs";

const HERE = import.meta.dirname;
const MODULES = resolve(HERE, "../node_modules");
const LOOPBACK = resolve(HERE, "../support/loopback.mjs");

/** The tools of server-everything that may run: one keeps its own contract, the others have one in `contracts`. */
export const OVERLAID = ["echo", "trigger-long-running-operation"];
export const ADMITTED = [...OVERLAID, "get-structured-content"];

/** `servers` names the file with the upstreams; what is in `values` goes into its braces. */
export async function place(t, { servers = "vouch.toml", values = {}, overlays = true } = {}) {
  const at = await project(t);
  for (const folder of ["out", "graph"]) await mkdir(join(at.root, folder));
  if (overlays) await cp(join(HERE, "contracts"), join(at.root, "contracts"), { recursive: true });
  const fill = {
    node: process.execPath,
    runtime: dirname(dirname(process.execPath)),
    modules: MODULES,
    root: at.root,
    ...values,
  };
  const template = await readFile(join(HERE, servers), "utf8");
  await writeFile(
    join(at.root, "vouch.toml"),
    template.replace(/^#.*\n/gm, "").replace(/\{(\w+)\}/g, (_, name) => fill[name]),
  );
  return { ...at, command: "gateway" };
}

/** server-everything over streamable HTTP, on this machine alone. Ends with the test `t`. */
export function everything(t, port = 0) {
  const args = ["--import", LOOPBACK, script("everything"), "streamableHttp"];
  return listen(t, process.execPath, args, undefined, { ...process.env, PORT: String(port) });
}

/** A client of one reference server with nothing between; `files` and `memory` see the same files as behind the gateway. */
export function direct(t, { root }, name) {
  const start = {
    files: { args: [script("filesystem"), root] },
    memory: { args: [script("memory")], env: { MEMORY_FILE_PATH: join(root, "graph/direct.jsonl") } },
    everything: { args: [script("everything"), "stdio"] },
  }[name];
  return sdk1.connect(t, new StdioClientTransport({ command: process.execPath, stderr: "ignore", env: {}, ...start }));
}

/** What a `vouch` command says and how it ends, whether well or not. */
export function vouch({ root }, ...args) {
  return new Promise((done, broken) => {
    execFile(VOUCH, [...args, "--root", root], (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") return broken(error);
      done({ exitCode: error?.code ?? 0, stdout, stderr });
    });
  });
}

/** A port that was free a moment ago, for a server that is to come back where it was. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

const script = (server) => join(MODULES, `@modelcontextprotocol/server-${server}/dist/index.js`);
