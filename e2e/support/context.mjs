// Expectations on the context tools and resources, shared by all clients, for every SDK, protocol revision and transport.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { expectError, expectSuccess } from "./behavior.mjs";
import { createProject } from "./vouch.mjs";

/** Defines the tests of the context tools and resources for one client. */
export function testContextTools(label, connect) {
  describe(`${label}: context`, () => {
    test("returns grep matches with location and context lines", async (t) => {
      const client = await connect(t, await createProject(t));
      const grep = (args) => client.callTool({ name: "grep_codebase", arguments: args });
      const found = expectSuccess(await grep({ pattern: "function issue\\w+" }));
      assert.equal(found.totalMatches, 1);
      const [match] = found.matches;
      assert.deepEqual([match.file, match.line, match.column], ["src/auth/tokens.ts", 4, 8]);
      assert.equal(match.text, "export function issueToken(user: string): string {");
      assert.equal(match.context.before.length, 2);
      const none = expectSuccess(await grep({ pattern: "no_such_word_anywhere" }));
      assert.deepEqual([none.matches, none.totalMatches], [[], 0]);
      assert.match(none.message, /No matches found/);
      assert.match(expectError(await grep({ pattern: "[invalid(" }), "INVALID_INPUT").message, /regex/i);
    });

    test("reads a file together with its imports", async (t) => {
      const client = await connect(t, await createProject(t));
      const read = (args) => client.callTool({ name: "read_file", arguments: args });
      const answer = expectSuccess(await read({ path: "src/auth/tokens.ts", includeDeps: true }));
      assert.equal(answer.file.language, "typescript");
      const [dependency] = answer.dependencies;
      assert.deepEqual([dependency.path, dependency.type, dependency.level], ["src/auth/store.ts", "import", 1]);
      assert.match(dependency.content, /class TokenStore/);
      expectError(await read({ path: ".env" }), "ACCESS_DENIED");
      expectError(await read({ path: "src/none.ts" }), "NOT_FOUND");
    });

    test("searches by meaning, and rejects a query that is too short", async (t) => {
      const client = await connect(t, await createProject(t));
      const search = (args) => client.callTool({ name: "context_search", arguments: args });
      const found = expectSuccess(await search({ query: "where are tokens issued" }));
      assert.equal(found.query, "where are tokens issued");
      assert.ok(found.results.length > 0 && found.totalFound >= found.results.length);
      assert.ok(
        found.results.slice(0, 3).some((result) => result.path === "src/auth/tokens.ts"),
        JSON.stringify(found.results),
      );
      for (const result of found.results) assert.ok(result.score >= 0 && result.score <= 1, result.score);
      const rules = expectSuccess(await search({ query: "how do we store tokens", type: "rule" }));
      assert.match(rules.results[0].content, /never in plain text/);
      const short = expectError(await search({ query: "ab" }), "INVALID_INPUT");
      assert.match(short.message, /at least 3 characters/);
    });

    test("lists and reads resources", async (t) => {
      const client = await connect(t, await createProject(t));
      const { resources } = await client.listResources();
      assert.ok(resources.some((resource) => resource.uri === "context://project/overview"));
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(resourceTemplates.some((template) => template.uriTemplate === "context://module/{name}"));

      const overview = await readMarkdown(client, "context://project/overview");
      assert.match(overview, /typescript/i);
      expectSuccess(await client.callTool({ name: "read_file", arguments: { path: "docs/guide.md" } }));
      assert.match(await readMarkdown(client, "context://session/current"), /docs\/guide\.md/);
    });

    test("returns an error for unknown resources", async (t) => {
      const client = await connect(t, await createProject(t));
      const read = (uri) => client.readResource({ uri });
      await assert.rejects(read("context://module/none"), { code: -32602, message: /none/ });
      await assert.rejects(read("context://nowhere"), (error) => [-32002, -32602].includes(error.code));
    });
  });
}

/** Reads a resource that must be a single Markdown text. */
async function readMarkdown(client, uri) {
  const { contents } = await client.readResource({ uri });
  assert.equal(contents.length, 1);
  assert.equal(contents[0].uri, uri);
  assert.equal(contents[0].mimeType, "text/markdown");
  return contents[0].text;
}
