// Foundry's node `anvil` on loopback, and a proxy in front of it that counts requests and can fail.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { addCleanup } from './cleanup.mjs';

/** Returns the path of `anvil` from npm, or undefined if npm has none for this platform. */
export function findAnvil() {
  const platform = { 'linux-x64': 'linux-amd64' }[`${process.platform}-${process.arch}`];
  const program = join(import.meta.dirname, `../node_modules/@foundry-rs/anvil-${platform}/bin/anvil`);
  return existsSync(program) ? program : undefined;
}

/** Starts a node with these flags, which ends with the test `t`. */
export async function startAnvil(t, flags = []) {
  const child = spawn(findAnvil(), ['--port', '0', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  addCleanup(t, stop);
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const match = line.match(/^Listening on (\S+)/);
      if (match) resolve(`http://${match[1]}`);
    });
    child.once('close', () => reject(new Error('anvil ended before it listened')));
  });
  return { url, stop, send: (method, ...params) => send(url, method, params) };
}

async function send(url, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = await response.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

/**
 * Starts a proxy in front of a node. `answer` may handle a request itself: it gets the number of the request, its body and
 * the response, and returns true if it has answered.
 */
export async function startProxy(t, node, answer = () => false) {
  const proxy = { requests: 0, paths: new Set(), answer };
  const server = createServer(async (request, response) => {
    proxy.requests += 1;
    proxy.paths.add(request.url);
    const number = proxy.requests;
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    if (proxy.answer(number, body, response)) return;
    try {
      const headers = { 'content-type': 'application/json' };
      const answered = await fetch(node.url, { method: 'POST', headers, body });
      response.writeHead(answered.status, headers).end(await answered.text());
    } catch {
      response.destroy();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.stop = () => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  addCleanup(t, proxy.stop);
  proxy.host = `127.0.0.1:${server.address().port}`;
  return proxy;
}
