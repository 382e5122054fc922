// What every client must see of the context tools and resources, whichever SDK, protocol revision and transport it uses.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { failed, succeeded } from "./behaviour.mjs";
import { project } from "./vouch.mjs";

export function knowsTheProject(label, connect) {
  describe(`${label}: context`, () => {
    test("greps with place and surroundings", async (t) => {
      const client = await connect(t, await project(t));
      const grep = (args) => client.callTool({ name: "grep_codebase", arguments: args });
      const found = succeeded(await grep({ pattern: "function issue\\w+" }));
      assert.equal(found.totalMatches, 1);
      const [match] = found.matches;
      assert.deepEqual([match.file, match.line, match.column], ["src/auth/tokens.ts", 4, 8]);
      assert.equal(match.text, "export function issueToken(user: string): string {");
      assert.equal(match.context.before.length, 2);
      const none = succeeded(await grep({ pattern: "no_such_word_anywhere" }));
      assert.deepEqual([none.matches, none.totalMatches], [[], 0]);
      assert.match(none.message, /No matches found/);
      assert.match(failed(await grep({ pattern: "[invalid(" }), "INVALID_INPUT").message, /regex/i);
    });

    test("reads a file with what it imports", async (t) => {
      const client = await connect(t, await project(t));
      const read = (args) => client.callTool({ name: "read_file", arguments: args });
      const answer = succeeded(await read({ path: "src/auth/tokens.ts", includeDeps: true }));
      assert.equal(answer.file.language, "typescript");
      const [dependency] = answer.dependencies;
      assert.deepEqual([dependency.path, dependency.type, dependency.level], ["src/auth/store.ts", "import", 1]);
      assert.match(dependency.content, /class TokenStore/);
      failed(await read({ path: ".env" }), "ACCESS_DENIED");
      failed(await read({ path: "src/none.ts" }), "NOT_FOUND");
    });

    test("finds what a question means, and says how a question must be", async (t) => {
      const client = await connect(t, await project(t));
      const search = (args) => client.callTool({ name: "context_search", arguments: args });
      const found = succeeded(await search({ query: "where are tokens issued" }));
      assert.equal(found.query, "where are tokens issued");
      assert.ok(found.results.length > 0 && found.totalFound >= found.results.length);
      assert.ok(
        found.results.slice(0, 3).some((result) => result.path === "src/auth/tokens.ts"),
        JSON.stringify(found.results),
      );
      for (const result of found.results) assert.ok(result.score >= 0 && result.score <= 1, result.score);
      const rules = succeeded(await search({ query: "how do we store tokens", type: "rule" }));
      assert.match(rules.results[0].content, /never in plain text/);
      const short = failed(await search({ query: "ab" }), "INVALID_INPUT");
      assert.match(short.message, /at least 3 characters/);
    });

    test("lists and reads resources", async (t) => {
      const client = await connect(t, await project(t));
      const { resources } = await client.listResources();
      assert.ok(resources.some((resource) => resource.uri === "context://project/overview"));
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(resourceTemplates.some((template) => template.uriTemplate === "context://module/{name}"));

      const overview = await markdown(client, "context://project/overview");
      assert.match(overview, /typescript/i);
      succeeded(await client.callTool({ name: "read_file", arguments: { path: "docs/guide.md" } }));
      assert.match(await markdown(client, "context://session/current"), /docs\/guide\.md/);
    });

    test("says which resources there are not", async (t) => {
      const client = await connect(t, await project(t));
      const read = (uri) => client.readResource({ uri });
      await assert.rejects(read("context://module/none"), { code: -32602, message: /none/ });
      await assert.rejects(read("context://nowhere"), (error) => [-32002, -32602].includes(error.code));
    });
  });
}

async function markdown(client, uri) {
  const { contents } = await client.readResource({ uri });
  assert.equal(contents.length, 1);
  assert.equal(contents[0].uri, uri);
  assert.equal(contents[0].mimeType, "text/markdown");
  return contents[0].text;
}
