// Creates a project with the reference servers behind a gateway, and direct connections to the same servers for comparison.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";

import * as sdk1 from "../support/sdk-1.mjs";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createProject, spawnServer, VOUCH } from "../support/vouch.mjs";

const HERE = import.meta.dirname;
const MODULES = resolve(HERE, "../node_modules");
const LOOPBACK = resolve(HERE, "../support/loopback.mjs");

/** The admitted tools of server-everything: one with a contract of its own, the others with an overlay in `contracts`. */
export const OVERLAID = ["echo", "trigger-long-running-operation"];
export const ADMITTED = [...OVERLAID, "get-structured-content"];

/** Creates a project. `servers` is the file with the upstreams; `values` fills its placeholders. */
export async function createGatewayProject(t, { servers = "vouch.toml", values = {}, overlays = true } = {}) {
  const project = await createProject(t);
  for (const folder of ["out", "graph"]) await mkdir(join(project.root, folder));
  if (overlays) await cp(join(HERE, "contracts"), join(project.root, "contracts"), { recursive: true });
  const placeholders = {
    node: process.execPath,
    runtime: dirname(dirname(process.execPath)),
    modules: MODULES,
    root: project.root,
    ...values,
  };
  const template = await readFile(join(HERE, servers), "utf8");
  await writeFile(
    join(project.root, "vouch.toml"),
    template.replace(/^#.*\n/gm, "").replace(/\{(\w+)\}/g, (_, name) => placeholders[name]),
  );
  return { ...project, command: "gateway" };
}

/** Starts server-everything over streamable HTTP on the loopback interface and returns its URL. It stops after the test `t`. */
export function startEverythingServer(t, port = 0) {
  const args = ["--import", LOOPBACK, serverScript("everything"), "streamableHttp"];
  return spawnServer(t, process.execPath, args, undefined, { ...process.env, PORT: String(port) });
}

/**
 * Connects to a reference server without the gateway. `files` sees the same files as behind the gateway; `memory` has a
 * separate file in the same folder.
 */
export function connectDirectly(t, { root }, name) {
  const options = {
    files: { args: [serverScript("filesystem"), root] },
    memory: { args: [serverScript("memory")], env: { MEMORY_FILE_PATH: join(root, "graph/direct.jsonl") } },
    everything: { args: [serverScript("everything"), "stdio"] },
  }[name];
  return sdk1.connect(t, new StdioClientTransport({ command: process.execPath, stderr: "ignore", env: {}, ...options }));
}

/** Runs a `vouch` command; returns its exit code, stdout and stderr, also if it fails. */
export function runVouch({ root }, ...args) {
  return new Promise((resolveRun, rejectRun) => {
    execFile(VOUCH, [...args, "--root", root], (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") return rejectRun(error);
      resolveRun({ exitCode: error?.code ?? 0, stdout, stderr });
    });
  });
}

/** Returns a port that is currently free, for a server that restarts at the same URL. */
export async function findFreePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

const serverScript = (server) => join(MODULES, `@modelcontextprotocol/server-${server}/dist/index.js`);
