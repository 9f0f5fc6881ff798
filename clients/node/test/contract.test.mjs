// One source of truth: proto-docs/openrpc.json. What the sidecar has and the client lacks, or vice versa, fails here.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { Client } from "postern-auth";
import { packageRoot, repositoryRoot, typescriptPath } from "./support/consumer.mjs";
import { differences, loadTypes } from "./support/schema.mjs";

const require = createRequire(import.meta.url);
const { METHODS, OWN_METHODS, PASS_METHODS, onlyReads } = require("../lib/methods.js");
const { REASONS } = require("../lib/error-codes.js");
const ts = require(typescriptPath);

const document = JSON.parse(readFileSync(path.join(repositoryRoot, "proto-docs/openrpc.json"), "utf8"));
const methods = document.methods.filter(({ name }) => name !== "$/cancelRequest"); // a notification: AbortSignal
const types = loadTypes(ts, path.join(packageRoot, "index.d.ts"));

const byWireName = new Map([
  ...Object.entries(METHODS).map(([name, [wire]]) => [wire, name]),
  ...OWN_METHODS.map((name) => [name, name]),
  ...Object.entries(PASS_METHODS).map(([name, [wire]]) => [wire, `pass.${name}`]),
]);

// The sidecar's own check of `state` says where it comes from, so its schema does not require it; a compiler can.
const REQUIRED_HERE = { completeAuthorization: ["state"] };

test("every method of the sidecar is a method of the client and of its types, and none more", () => {
  assert.deepEqual([...byWireName.keys()].sort(), methods.map(({ name }) => name).sort());
  const names = [...byWireName.values()];
  const client = new Client();
  for (const name of names) {
    const [group, own] = name.startsWith("pass.") ? [client.pass, name.slice(5)] : [Client.prototype, name];
    assert.equal(typeof group[own], "function", name);
  }
  assert.deepEqual(types.members("Methods").sort(), names.filter((name) => !name.startsWith("pass.")).sort());
  assert.deepEqual(types.members("PassMethods").sort(), Object.keys(PASS_METHODS).sort());
});

test("what is retried though it may have been done is what wire.md names", () => {
  const page = readFileSync(path.join(repositoryRoot, "proto-docs/wire.md"), "utf8");
  const [, list] = page.match(/These methods read, or have no effect beyond their connection:\s+([^;]*);/);
  const named = [...list.matchAll(/`([\w.]+)`/g)].map(([, name]) => name);
  const reading = methods.map(({ name }) => name).filter((name) => name !== "fetchResource" && onlyReads(name, {}));
  assert.deepEqual(named.sort(), reading.sort());
  assert.ok(!onlyReads("aMethodOfANewerSidecar", {}));
});

for (const { name, params, result } of methods) {
  const own = byWireName.get(name);
  const words = own?.split(".") ?? [];
  const type = words.map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  test(`the types of ${name} have the members of its params and result, of the same kinds, and none more`, () => {
    const schema = {
      type: "object",
      properties: Object.fromEntries(params.map((param) => [param.name, param.schema])),
      required: [...params.filter(({ required }) => required).map((param) => param.name), ...(REQUIRED_HERE[name] ?? [])],
    };
    const context = { types, schemas: document.components.schemas };
    assert.deepEqual(differences(context, schema, types.type(`${type}Params`), "params"), []);
    assert.deepEqual(differences(context, result.schema, types.type(`${type}Result`), "result"), []);
    assert.ok(types.signatureUses(words.length > 1 ? "PassMethods" : "Methods", words.at(-1), [`${type}Params`, `${type}Result`]), "the method takes others");
  });
}

test("the comparison of types sees what is missing, too many, optional or of another kind", () => {
  const context = { types, schemas: {} };
  const schema = (properties, required) => ({ type: "object", properties, required });
  const text = { type: "string" };
  const session = types.type("EndSessionParams");
  const meta = { meta: {} };
  assert.deepEqual(differences(context, schema({ session: text, ...meta }, ["session"]), session, ""), []);
  for (const wrong of [
    schema({ ...meta }, []),
    schema({ session: text, more: text, ...meta }, ["session"]),
    schema({ session: text, ...meta }, []),
    schema({ session: { type: "integer" }, ...meta }, ["session"]),
    schema({ session: { type: "string", enum: ["a"] }, ...meta }, ["session"]),
    schema({ session: { type: "array", items: text }, ...meta }, ["session"]),
  ]) {
    assert.equal(differences(context, wrong, session, "").length, 1, JSON.stringify(wrong));
  }
});

test("every error of the sidecar has a class, and every class's reasons are errors of the sidecar", () => {
  const here = REASONS.map(([code, reason]) => `${code} ${reason}`).sort();
  const page = readFileSync(path.join(repositoryRoot, "proto-docs/errors.md"), "utf8");
  // The gateway's listener answers its own to HTTP, and no call.
  const calls = page.replace(/^## The gateway's listener$.*?(?=^## )/ms, "");
  const listed = [...calls.matchAll(/^\| (-?\d+) \| `(\w+)` \|/gm)].map(([, code, reason]) => `${code} ${reason}`);
  assert.deepEqual(here, listed.sort());
  for (const { name, errors } of document.methods) {
    for (const { code, data } of errors ?? []) assert.ok(here.includes(`${code} ${data.reason}`), `${name} ${code}`);
  }
});

test("the types name every reason", () => {
  assert.deepEqual(types.literals("Reason").sort(), [...new Set(REASONS.map(([, reason]) => reason))].sort());
});

test("the types know every event and every delegate", () => {
  const items = (method, param) => {
    const { params } = methods.find(({ name }) => name === method);
    return params.find(({ name }) => name === param).schema.items.enum;
  };
  assert.deepEqual(types.members("Events").sort(), items("subscribe", "events").sort());
  const functions = types.members("DelegateFunctions").map((name) => `delegate.${name}`);
  assert.deepEqual(functions.sort(), items("registerDelegate", "methods").sort());
});
