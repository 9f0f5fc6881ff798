// The classes of errors: the same as in Python, one table for both (proto-docs/node.md).
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import * as postern from "postern-auth";
import { repositoryRoot } from "./support/consumer.mjs";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { rejection } from "./support/waiting.mjs";

const require = createRequire(import.meta.url);
const { fromAnswer } = require("../lib/error-codes.js");

/** The Python client's module of exceptions. */
function pythonErrors() {
  const sources = path.join(repositoryRoot, "clients/python/src");
  const folder = ["postern_auth", "postern"].find((name) => readdirSync(sources).includes(name));
  return readFileSync(path.join(sources, folder, "errors.py"), "utf8");
}

test("every exception of the Python client is a class of that name here, below the same class, for the same codes", () => {
  const source = pythonErrors();
  // StatusError is raise_for_status's; programs that use fetch look at `response.ok`.
  const others = ["PosternError", "StatusError"];
  const classes = [...source.matchAll(/^class ([A-Z]\w+)\((\w+)/gm)].filter(([, name]) => !others.includes(name));
  assert.ok(classes.length >= 19);
  for (const [, name, base] of classes) {
    assert.equal(typeof postern[name], "function", `${name} is missing`);
    const above = base.startsWith("_") ? postern.FetchError : postern[base];
    assert.ok(postern[name].prototype instanceof above, `${name} is not below ${base}`);
  }
  const codes = [...source.matchAll(/^ {4}(-?\d+): ([A-Z]\w+),$/gm)];
  assert.ok(codes.length >= 20);
  for (const [, code, name] of codes) {
    const { constructor } = fromAnswer({ code: Number(code), message: "m", data: { reason: "r" } });
    // A digit is a family of codes, by the thousand.
    const family = fromAnswer({ code: Number(code) * 1000 + 999, message: "m", data: { reason: "r" } });
    assert.equal(code.length === 1 ? family.constructor.name : constructor.name, name, code);
  }
});

test("a wrong client secret is told apart from a user who has to log in", async (t) => {
  const playground = await Playground.start();
  t.after(() => playground.stop());
  const { baseUrl, issuer } = playground;
  const sidecar = await Sidecar.start(playground, {
    issuers: { play: { issuer, clientId: "svc", clientAuth: "client_secret_basic", clientSecret: "wrong" } },
    resources: { orders: { baseUrl: `${baseUrl}/resource/`, issuer: "play", auth: "clientCredentials", scope: "orders" } },
  });
  t.after(() => sidecar.stop());
  const client = new postern.Client({ socketPath: sidecar.socketPath });
  t.after(() => client.close());
  const error = await rejection(client.fetchResource({ resource: "orders", path: "orders" }));
  assert.deepEqual([error.name, error.code, error.upstream.code], ["ClientAuthenticationError", 1003, "invalid_client"]);
  assert.ok(!(error instanceof postern.LoginRequired));
  const scope = fromAnswer({ code: 1003, message: "m", data: { upstream: { code: "invalid_scope" } } });
  assert.equal(scope.name, "FetchError", "no login helps");
  const login = await rejection(client.createSession({
    issuer: "play", grant: { type: "refresh_token", refreshToken: "r" },
  }));
  assert.deepEqual([login.name, login.code, login.data.error], ["ClientAuthenticationError", 5003, "invalid_client"]);
});

test("one class says that nobody is logged in, for each of the codes, and for no other", () => {
  const codes = Array.from({ length: 7000 }, (_, code) => code);
  const found = codes.filter((code) => fromAnswer({ code, message: "m", data: { reason: "r" } }) instanceof postern.LoginRequired);
  assert.deepEqual(found, [1001, 1002, 5001, 5002]);
});

test("the errors of the client itself have classes of their own", async (t) => {
  const client = new postern.Client({ socketPath: "/tmp/no-such-directory/s" });
  t.after(() => client.destroy());
  const missing = await rejection(client.getInfo());
  assert.deepEqual([missing.name, missing.reason], ["ConnectionFailed", "connection_failed"]);
  await client.close();
  const closed = await rejection(client.getInfo());
  assert.deepEqual([closed.name, closed.reason], ["ClientClosed", "client_closed"]);
  for (const error of [missing, closed]) assert.ok(error instanceof postern.ConnectionError);
});
