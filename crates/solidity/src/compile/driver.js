// Compiles standard JSON from stdin with the npm package `solc`, and writes the compiler output to stdout.
// Arguments: package folder, project folder, further folders in which imports are searched.
// Files outside of the project folder are never read.
'use strict';

const fs = require('fs');
const path = require('path');

const [packageFolder, projectFolder, ...moreFolders] = process.argv.slice(1);
const MAX_SOURCE = 16 * 1024 * 1024;

// Symbolic links may point anywhere, so paths are compared after resolving them.
const root = fs.realpathSync(projectFolder);

function isBelowRoot(file) {
  const relative = path.relative(root, file);
  return relative !== '' && !path.isAbsolute(relative) && relative.split(path.sep)[0] !== '..';
}

function readSource(name) {
  for (const folder of [root, ...moreFolders]) {
    let file;
    try {
      file = fs.realpathSync(path.resolve(folder, name));
    } catch {
      continue;
    }
    if (!isBelowRoot(file)) {
      return { error: `"${name}" is outside of the project ${root}` };
    }
    const { size } = fs.statSync(file);
    if (size > MAX_SOURCE) {
      return { error: `"${name}" is larger than 16 MiB` };
    }
    return { contents: fs.readFileSync(file, 'utf8') };
  }
  return { error: `"${name}" not found in ${[root, ...moreFolders].join(', ')}` };
}

function findImport(name) {
  if (given.has(name)) return { contents: given.get(name) };
  try {
    return readSource(name);
  } catch (error) {
    return { error: `failed to read "${name}": ${error.message}` };
  }
}

// A pipe takes 64 KiB at a time and fails with EAGAIN while it is full. Exiting would lose the pending data.
function writeAll(text) {
  const bytes = Buffer.from(text);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let done = 0;
  while (done < bytes.length) {
    try {
      done += fs.writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

// The package copies its input to the stack of the compiler, which 1.6 MB overflow ("memory access out of bounds"). Large
// sources are therefore fetched by the compiler one by one.
const MAX_INPUT = 512 * 1024;
const given = new Map();

function shortenInput(text) {
  if (text.length <= MAX_INPUT) return text;
  const input = JSON.parse(text);
  for (const [name, source] of Object.entries(input.sources ?? {})) {
    if (typeof source.content !== 'string') continue;
    given.set(name, source.content);
    input.sources[name] = { urls: [name] };
  }
  return JSON.stringify(input);
}

// Without the separator, a file `solc.js` next to the folder would be loaded instead of the package.
const solc = require(packageFolder + path.sep);
// Before 0.6, the package takes the function itself.
const version = typeof solc.version === 'function' ? solc.version() : '';
const callbacks = /^0\.[45]\./.test(version) ? findImport : { import: findImport };
let output;
try {
  output = solc.compile(shortenInput(fs.readFileSync(0, 'utf8')), callbacks);
} catch (error) {
  // The trace would begin with a line of the minified compiler.
  process.stderr.write(`the compiler crashed: ${error}\n`);
  process.exit(70);
}
writeAll(output);
