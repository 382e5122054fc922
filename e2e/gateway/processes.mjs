// Lists processes with `ps`, which works on every supported system.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const LIMIT_MS = 20_000;

/** Returns all processes except zombies. */
async function listProcesses() {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "pid=,ppid=,stat=,args="], {
    maxBuffer: 1 << 26,
  });
  return stdout
    .split("\n")
    .map((line) => line.match(/^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/))
    .filter((match) => match && !match[3].startsWith("Z"))
    .map(([, pid, parent, , args]) => ({ pid: Number(pid), parent: Number(parent), args }));
}

/** Returns the process id of the gateway of a project. */
export async function findGatewayPid({ root }) {
  const found = (await listProcesses()).filter(({ args }) => / gateway /.test(args) && args.includes(root));
  assert.equal(found.length, 1, `gateways of ${root}: ${JSON.stringify(found)}`);
  return found[0].pid;
}

/** Returns all descendants of a process. */
export async function listDescendants(pid) {
  const processes = await listProcesses();
  const found = processes.filter(({ parent }) => parent === pid);
  for (const { pid } of found) found.push(...processes.filter(({ parent }) => parent === pid));
  return found;
}

/** Waits until all processes have exited. */
export async function waitForExit(pids) {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const left = (await listProcesses()).filter(({ pid }) => pids.includes(pid));
    if (left.length === 0) return;
    assert.ok(Date.now() < end, `still running after ${LIMIT_MS} ms: ${JSON.stringify(left)}`);
    await pause(50);
  }
}
