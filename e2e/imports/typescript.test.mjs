/** Compares TypeScript imports with the compiler's resolution, and JavaScript imports with that of Node. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

import { copyPackages, resolveImports, Score } from './support.mjs';

const OPTIONS = {
  allowJs: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  resolveJsonModule: true,
};

/** Returns the import specifiers of a file that are string literals, from the compiler's AST. */
function listSpecifiers(path) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const found = new Set();
  const add = (node) => node && ts.isStringLiteralLike(node) && found.add(node.text);
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier);
    else if (ts.isExternalModuleReference(node)) add(node.expression);
    else if (ts.isImportTypeNode(node)) add(node.argument.literal);
    else if (ts.isCallExpression(node)) {
      const name = node.expression.getText(source);
      if (node.expression.kind === ts.SyntaxKind.ImportKeyword || name === 'require') add(node.arguments[0]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const isRelative = (specifier) => /^\.\.?(\/|$)/.test(specifier);
const firstFile = (imported) => imported.files?.[0];

test('TypeScript imports resolve as in the compiler', async (t) => {
  const root = await copyPackages(t, [
    '@modelcontextprotocol/client', '@modelcontextprotocol/sdk', 'ajv', 'ajv-formats', 'es-toolkit', 'hono', 'ink', 'jose',
    'lru-cache', 'minimatch', 'path-scurry', 'pino', 'type-fest', 'undici', 'vite', 'yaml', 'zod',
  ]);
  const cache = ts.createModuleResolutionCache(root, (name) => name, OPTIONS);
  const relatives = new Score('TypeScript, relative imports');
  const others = new Score('TypeScript, other imports');
  const listed = new Score('TypeScript, imports that are listed');
  for (const { file, imports } of await resolveImports(root)) {
    if (!/\.[cm]?tsx?$/.test(file)) continue;
    const path = join(root, file);
    const specifiers = listSpecifiers(path);
    const answers = new Map(imports.filter((i) => i.kind !== 'reference').map((i) => [i.specifier, i]));
    for (const score of [relatives, others, listed]) score.files += 1;
    for (const specifier of new Set([...specifiers, ...answers.keys()])) {
      const find = (set) => (set.has(specifier) ? specifier : undefined);
      listed.compare(`${file} ${specifier}`, find(specifiers), find(answers));
    }
    for (const [specifier, imported] of answers) {
      const module = ts.resolveModuleName(specifier, path, OPTIONS, ts.sys, cache).resolvedModule;
      const real = module && relative(root, realpathSync(module.resolvedFileName));
      const expected = real && !real.startsWith('..') && !real.includes('node_modules/') ? real : undefined;
      // The compiler does not resolve styles and similar files; an existing file is correct.
      const target = join(dirname(path), specifier);
      const plain = isRelative(specifier) && existsSync(target) && statSync(target).isFile() ? relative(root, target) : undefined;
      (isRelative(specifier) ? relatives : others).compare(`${file} ${specifier}`, expected ?? plain, firstFile(imported));
    }
  }
  for (const score of [relatives, others, listed]) t.diagnostic(String(score));
  assert.ok(relatives.right > 2000, `${relatives}`);
  for (const score of [relatives, others, listed]) score.check();
});

test('JavaScript imports resolve as in Node', async (t) => {
  const root = await copyPackages(t, [
    '@modelcontextprotocol/sdk', 'ajv', 'body-parser', 'es-toolkit', 'express', 'hono', 'iconv-lite', 'ink', 'pino',
    'postcss', 'qs', 'raw-body', 'react-reconciler', 'rolldown', 'router', 'send', 'undici', 'vite', 'ws', 'yaml', 'zod',
  ]);
  const score = new Score('JavaScript, relative imports');
  for (const { file, imports } of await resolveImports(root)) {
    if (!/\.[cm]?js$/.test(file)) continue;
    score.files += 1;
    const path = join(root, file);
    for (const imported of imports.filter((i) => isRelative(i.specifier))) {
      let expected;
      if (imported.kind === 'require') {
        try {
          expected = createRequire(path).resolve(imported.specifier);
        } catch {
          expected = undefined;
        }
      } else {
        const exact = join(dirname(path), imported.specifier);
        expected = existsSync(exact) && statSync(exact).isFile() ? exact : undefined;
      }
      // Imports that only a bundler resolves cannot be compared with Node.
      if (expected === undefined && imported.kind !== 'require') continue;
      score.compare(`${file} ${imported.specifier}`, expected && relative(root, expected), firstFile(imported));
    }
  }
  t.diagnostic(String(score));
  assert.ok(score.right > 1000, `${score}`);
  score.check();
});
