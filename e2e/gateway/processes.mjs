// What runs below a process, as `ps` tells it on every system.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const LIMIT_MS = 20_000;

/** Every process, without those that ended and were not yet asked how. */
async function all() {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "pid=,ppid=,stat=,args="], {
    maxBuffer: 1 << 26,
  });
  return stdout
    .split("\n")
    .map((line) => line.match(/^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/))
    .filter((match) => match && !match[3].startsWith("Z"))
    .map(([, pid, parent, , args]) => ({ pid: Number(pid), parent: Number(parent), args }));
}

/** The gateway of this project. */
export async function gateway({ root }) {
  const found = (await all()).filter(({ args }) => / gateway /.test(args) && args.includes(root));
  assert.equal(found.length, 1, `gateways of ${root}: ${JSON.stringify(found)}`);
  return found[0].pid;
}

/** All that a process started, and what those started. */
export async function below(pid) {
  const processes = await all();
  const found = processes.filter(({ parent }) => parent === pid);
  for (const { pid } of found) found.push(...processes.filter(({ parent }) => parent === pid));
  return found;
}

/** Waits until none of them is left. */
export async function gone(pids) {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const left = (await all()).filter(({ pid }) => pids.includes(pid));
    if (left.length === 0) return;
    assert.ok(Date.now() < end, `still there after ${LIMIT_MS} ms: ${JSON.stringify(left)}`);
    await pause(50);
  }
}
