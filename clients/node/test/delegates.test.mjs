// The sidecar's own requests, answered by functions.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "postern-auth";
import { FakeSidecar, answer } from "./support/fake.mjs";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { eventually, within } from "./support/waiting.mjs";

let playground, sidecar;
before(async () => {
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
});
after(async () => {
  await sidecar.stop();
  await playground.stop();
});

const decisions = [
  ["says yes", () => ({ refresh: true }), 2],
  ["says yes later", async () => ({ refresh: true }), 2],
  ["says no", () => ({ refresh: false }), 1],
  ["throws: the default", () => { throw new Error("secret"); }, 1],
  ["rejects: the default", async () => { throw new Error("secret"); }, 1],
  ["gives nothing: the default", () => undefined, 1],
  ["gives what is no JSON: the default", () => ({ refresh: 1n }), 1],
  ["gives another shape: the default", () => ({ refresh: "yes" }), 1],
];
for (const [what, evaluateTokenRefresh, attempts] of decisions) {
  test(`evaluateTokenRefresh that ${what}`, async () => {
    const client = new Client({ socketPath: sidecar.socketPath, delegates: { evaluateTokenRefresh } });
    const result = await within(client.fetchResource({ resource: "orders", path: "status/404" }));
    assert.deepEqual([result.status, result.attempts], [404, attempts]);
    await client.close();
  });
}

test("a delegate is told about the answer, and asked in a stream too", async () => {
  const asked = [];
  const client = new Client({ socketPath: sidecar.socketPath });
  const evaluateTokenRefresh = (params) => (asked.push(params), { refresh: false });
  assert.deepEqual(await client.setDelegates({ evaluateTokenRefresh }), {
    registered: ["delegate.evaluateTokenRefresh"],
  });
  await client.fetchResource({ resource: "orders", path: "status/418", task: "seen" });
  assert.deepEqual([asked[0].task, asked[0].status], ["seen", 418]);
  const { body, result } = client.stream({ resource: "orders", path: "status/403" });
  await within(new Response(body).arrayBuffer());
  assert.deepEqual([(await result).status, asked[1].status], [403, 403]);
  assert.deepEqual(await client.setDelegates({}), { registered: [] });
  await client.fetchResource({ resource: "orders", path: "status/418" });
  assert.equal(asked.length, 2);
  await client.close();
});

test("a delegate may call the client, even when every place is taken by calls that wait for it", async () => {
  const delegates = {
    async evaluateTokenRefresh({ task }) {
      assert.equal((await client.getTask({ task })).state, "running");
      return { refresh: false };
    },
  };
  const client = new Client({ socketPath: sidecar.socketPath, delegates, maxInFlight: 2 });
  const fetches = Array.from({ length: 10 }, () => client.fetchResource({ resource: "orders", path: "status/404" }));
  assert.equal((await within(Promise.all(fetches))).length, 10);
  await client.close();
});

test("a delegate that hangs is told to stop, and the sidecar gets an answer", async (t) => {
  const fake = await FakeSidecar.start({
    onRequest: ({ id, method }, socket) => {
      if (method !== "registerDelegate") return;
      answer(socket, id, { registered: ["delegate.updateRequest"] });
      const ask = (id, method) => socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: {} })}\n`);
      ask("postern-1", "delegate.updateRequest");
      ask("postern-2", "delegate.noSuch");
    },
  });
  t.after(() => fake.stop());
  let signal;
  const updateRequest = (_, context) => {
    signal = context.signal;
    return new Promise(() => {});
  };
  const client = new Client({ socketPath: fake.socketPath, delegateTimeoutMs: 50 });
  await client.setDelegates({ updateRequest });
  await eventually(() => fake.requests.length === 3);
  const [unknown, late] = fake.requests.slice(1);
  assert.deepEqual([unknown.id, unknown.error.code], ["postern-2", -32601]);
  assert.deepEqual([late.id, late.error.code], ["postern-1", -32603]);
  assert.equal(signal.aborted, true);
  client.destroy();
});

test("names and values that are no delegates are refused", () => {
  for (const delegates of [{ evaluateTokenRefresh: true }, { onTokenRefresh: () => {} }]) {
    assert.throws(() => new Client({ delegates }), TypeError);
  }
});
