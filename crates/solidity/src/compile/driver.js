// Compiles the standard JSON on the input with the npm package `solc`, and writes the compiler's answer.
// Arguments: the folder of the package, the folder of the project, more folders to look for imports in.
// Nothing outside of the project is read.
'use strict';

const fs = require('fs');
const path = require('path');

const [packageFolder, projectFolder, ...moreFolders] = process.argv.slice(1);
const MAX_SOURCE = 16 * 1024 * 1024;

// A link may lead anywhere, so the place that counts is the one behind all links.
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
      return { error: `"${name}" lies outside of the project ${root}` };
    }
    const { size } = fs.statSync(file);
    if (size > MAX_SOURCE) {
      return { error: `"${name}" is larger than 16 MiB` };
    }
    return { contents: fs.readFileSync(file, 'utf8') };
  }
  return { error: `"${name}" is in none of ${[root, ...moreFolders].join(', ')}` };
}

function findImport(name) {
  try {
    return readSource(name);
  } catch (error) {
    return { error: `cannot read "${name}": ${error.message}` };
  }
}

// A pipe takes 64 KiB at a time, and answers EAGAIN while it is full. Ending the process would lose what waits.
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

const solc = require(packageFolder);
writeAll(solc.compile(fs.readFileSync(0, 'utf8'), { import: findImport }));
