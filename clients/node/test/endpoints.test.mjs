// Sockets for children, what a client gives up, and the answers to a child's calls.
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, test } from "node:test";
import { Client } from "postern-auth";
import { FakeSidecar, answer } from "./support/fake.mjs";
import { eventually, within } from "./support/waiting.mjs";

const MADE = { endpoint: "e-1", path: "/run/postern.sock.e-1" };
let fake, client, reject;
beforeEach(async () => {
  reject = new Set();
  fake = await FakeSidecar.start({
    onRequest: (message, socket) => {
      if (message.id === undefined || message.method === undefined) return;
      if (reject.has(message.method)) {
        const error = { code: -32602, message: "no", data: { reason: "invalid_params" } };
        return socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, error })}\n`);
      }
      const results = { createEndpoint: { ...MADE, http: { path: "/h" } }, registerDelegate: { registered: ["delegate.approveCall"] } };
      answer(socket, message.id, results[message.method] ?? {});
    },
  });
  client = new Client({ socketPath: fake.socketPath });
});
afterEach(async () => {
  client.destroy();
  await fake.stop();
});

const methods = () => fake.requests.map(({ method }) => method);

// Would catch an empty list that is left out, and an endpoint that stays when its block has ended.
test("an endpoint lives until it is revoked", async () => {
  const endpoint = await within(client.endpoint({ resources: ["orders"], paths: [], http: true }));
  assert.equal(endpoint.path, MADE.path);
  assert.deepEqual(endpoint.environment, { POSTERN_SOCKET: MADE.path, POSTERN_HTTP_SOCKET: "/h" });
  const { meta: _, ...sent } = fake.requests[0].params;
  assert.deepEqual(sent, { bindTo: "connection", resources: ["orders"], paths: [], http: true });
  await endpoint.revoke();
  assert.deepEqual(methods(), ["createEndpoint", "revokeEndpoint"]);
  assert.equal(fake.requests[1].params.endpoint, "e-1");
});

test("a block that has ended with its endpoint ends without an error", async () => {
  const endpoint = await client.endpoint({ bindTo: { pid: 7 } });
  assert.deepEqual(fake.requests[0].params.bindTo, { pid: 7 });
  reject.add("revokeEndpoint");
  await endpoint[Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]();
  await assert.rejects(endpoint.revoke());
});

test("a descriptor, which Node would lose, is a TypeError", async () => {
  await assert.rejects(client.endpoint({ descriptor: true }), TypeError);
  assert.deepEqual(fake.requests, []);
});

// Would catch rights that come back with a new connection, or on that of a stream.
test("what was given up stays given up on later connections, before their first call", async () => {
  await client.narrow({ resources: ["orders"], sessions: [] });
  assert.deepEqual(methods(), ["narrow"]);
  for (const socket of fake.sockets) socket.destroy();
  await eventually(() => fake.sockets.size === 0);
  await within(client.getInfo());
  assert.deepEqual(methods(), ["narrow", "narrow", "getInfo"]);
  assert.deepEqual(fake.requests[1].params, { resources: ["orders"], sessions: [] });
  fake.requests.length = 0;
  const stream = client.stream({ resource: "orders", path: "x" });
  stream.result.catch(() => {});
  await eventually(() => methods().includes("fetchResource"));
  assert.equal(methods()[0], "narrow");
  stream.cancel();
});

// Would catch calls with more rights than were left, while a later connection has not been narrowed, or cannot be.
test("a later connection that cannot be narrowed makes no call", async () => {
  await client.narrow({ methods: ["getInfo"] });
  reject.add("narrow");
  for (const socket of fake.sockets) socket.destroy();
  await eventually(() => fake.sockets.size === 0);
  await assert.rejects(within(client.getInfo()), { reason: "invalid_params" });
  assert.deepEqual(methods(), ["narrow", "narrow"]);
  reject.clear();
  await within(client.getInfo());
  assert.deepEqual(methods().slice(-2), ["narrow", "getInfo"]);
});

test("what was not given up is not given up later", async () => {
  reject.add("narrow");
  await assert.rejects(client.narrow({ paths: ["../x"] }));
  for (const socket of fake.sockets) socket.destroy();
  await eventually(() => fake.sockets.size === 0);
  await within(client.getInfo());
  assert.deepEqual(methods(), ["narrow", "getInfo"]);
});

test("a call through an endpoint is put to the maker", async () => {
  const asked = [];
  await client.setDelegates({ approveCall: (params) => (asked.push(params), { answer: "once" }) });
  const [socket] = fake.sockets;
  const params = { endpoint: "e-1", chain: ["e-1"], method: "fetchResource", resource: "orders", httpMethod: "POST", path: "pay" };
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: "postern-1", method: "delegate.approveCall", params })}\n`);
  await eventually(() => fake.requests.some(({ id }) => id === "postern-1"));
  assert.deepEqual(fake.requests.at(-1).result, { answer: "once" });
  assert.deepEqual(asked, [params]);
});

// Catches an answer that Python's function may give and Node's not, and that becomes a "no" without a word.
test("an approval that is no object is reported, and is none", async () => {
  const warned = once(process, "warning");
  await client.setDelegates({ approveCall: () => "once" });
  const [socket] = fake.sockets;
  const params = { endpoint: "e-1", chain: ["e-1"], method: "fetchResource", resource: "orders", httpMethod: "POST", path: "pay" };
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: "postern-2", method: "delegate.approveCall", params })}\n`);
  await eventually(() => fake.requests.some(({ id }) => id === "postern-2"));
  assert.equal(fake.requests.at(-1).result, undefined);
  const [warning] = await warned;
  assert.match(warning.message, /approveCall must return \{ answer: "once"/);
});
