// Lists that come in pages, as iterators over all of them; and what a caller sends is its own business.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "postern-auth";
import { FakePostern } from "postern-auth/testing";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

let playground, sidecar, client;
before(async () => {
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  client = new Client({ socketPath: sidecar.socketPath, timeoutMs: 30_000 });
});
after(async () => {
  await client?.close();
  await sidecar?.stop();
  await playground?.stop();
});

async function all(iterator) {
  const found = [];
  for await (const one of iterator) found.push(one);
  return found;
}

// Catches a list that ends with its first page, and one that begins again.
test("every session and every task comes once, whatever their number", async () => {
  const sessions = [];
  const tasks = [];
  for (let number = 0; number < 260; number += 1) {
    const grant = { type: "tokens", accessToken: `a${number}`, expiresIn: 600 };
    sessions.push((await client.createSession({ issuer: "shop", grant })).session);
    tasks.push((await client.fetchResource({ resource: "open", path: "status/200" })).task);
  }
  for (const params of [undefined, { limit: 7 }, { limit: 1000 }]) {
    assert.deepEqual((await all(client.sessions(params))).map(({ session }) => session), sessions);
    assert.deepEqual((await all(client.tasks(params))).map(({ task }) => task), [...tasks].reverse(), "the latest first");
  }
});

test("a page is asked for when it is needed, and a signal ends the walk", async (t) => {
  const fake = await FakePostern.start();
  t.after(() => fake.stop());
  const [first] = ["first", "second", "third"].map((subject) => fake.login({ subject }));
  const abort = new AbortController();
  const sessions = fake.client.sessions({ limit: 1 }, { signal: abort.signal });
  assert.equal(fake.calls.length, 0);
  assert.equal((await sessions.next()).value.subject, "first");
  assert.equal(fake.calls.length, 1);
  assert.equal((await sessions.next()).value.subject, "second");
  abort.abort(new Error("enough"));
  assert.equal((await rejection(sessions.next())).message, "enough");
  assert.deepEqual(fake.callsTo("listSessions"), [{ limit: 1 }, { limit: 1, cursor: first.session }]);
});

// The sidecar answers what it cannot parse without an id, which ended the calls of everybody on the connection.
const odd = {
  "a name with U+0000": { parameters: { "a\0": 1 } },
  "too many values": { parameters: { list: Array(150_000).fill(0) } },
  "a large integer of a toJSON": { parameters: { n: { toJSON: () => 1e19 } } },
};
for (const [what, params] of Object.entries(odd)) {
  test(`${what}: params that cannot be read are their caller's alone`, async (t) => {
    const own = new Client({ socketPath: sidecar.socketPath, timeoutMs: 20_000 });
    t.after(() => own.destroy());
    const others = ["GET", "POST"].map((method) => own.fetchResource({ resource: "open", path: "slow?ms=1500", method }));
    const running = async () => (await client.listTasks({ state: "running" })).tasks;
    await eventually(async () => (await running()).length === 2);
    assert.match((await rejection(own.fetchResource(params))).reason, /^(invalid_params|message_too_complex)$/);
    for (const { status } of await within(Promise.all(others))) assert.equal(status, 200);
  });
}
