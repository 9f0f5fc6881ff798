// What callers leave, abort or dispose of, and a sidecar that goes away for a moment.
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Client, createFetch } from "postern-auth";
import { answer, FakeSidecar } from "./support/fake.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

const cleanUps = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function fake(behaviour, options) {
  const server = await FakeSidecar.start(behaviour);
  const client = new Client({ socketPath: server.socketPath, ...options });
  cleanUps.push(() => server.stop(), () => client.destroy());
  return { server, client };
}

/** As after a sidecar's end: the client has noticed. */
async function gone(server, client) {
  client.ref();
  await Promise.all([once(client, "disconnected"), server.goAway()]);
  client.unref();
}

const obliging = { onRequest: ({ id, params }, socket) => id && answer(socket, id, { subscribed: params.events ?? [] }) };

test("a signal that has aborted already: nothing is sent, and its reason is told everywhere", async () => {
  const { server, client } = await fake(obliging);
  const reason = new Error("not any more");
  const signal = AbortSignal.abort(reason);
  const fetch = createFetch({ client, resource: "r" });
  assert.equal(await rejection(client.getInfo({}, { signal })), reason);
  assert.equal(await rejection(fetch("x", { signal })), reason);
  assert.equal(await rejection(client.events(["event.sessionEnded"], { signal }).next()), reason);
  const streamed = client.stream({ resource: "r", path: "x" }, { signal });
  assert.equal(await rejection(streamed.result), reason);
  assert.equal(await rejection(streamed.body.getReader().read()), reason);
  assert.equal(server.requests.length, 0);
});

test("a signal that aborts while events are subscribed to, and while one is waited for", async () => {
  const { server, client } = await fake({ onRequest: () => {} });
  const first = new AbortController();
  const subscribing = rejection(client.events(["event.sessionEnded"], { signal: first.signal }).next());
  await eventually(() => server.requests.length === 1);
  first.abort();
  assert.equal((await subscribing).name, "AbortError");

  const other = await fake(obliging);
  const second = new AbortController();
  const events = other.client.events(["event.sessionEnded"], { signal: second.signal });
  const waiting = rejection(events.next());
  await eventually(() => other.server.requests.length === 1);
  // Answered behind the subscription.
  await other.client.getInfo();
  await pause(0);
  second.abort();
  assert.equal((await waiting).name, "AbortError");
  await eventually(() => other.server.requests.at(-1).method === "unsubscribe");
});

test("leaving a loop over events takes the subscription back", async () => {
  const { server, client } = await fake({
    onRequest: ({ id, method }, socket) => {
      answer(socket, id, { subscribed: [] });
      const event = { jsonrpc: "2.0", method: "event.sessionEnded", params: {} };
      if (method === "subscribe") socket.write(`${JSON.stringify(event)}\n`);
    },
  });
  for await (const { event } of client.events(["event.sessionEnded"])) {
    assert.equal(event, "event.sessionEnded");
    break;
  }
  await eventually(() => server.requests.at(-1).method === "unsubscribe");
});

test("a sidecar that was there is waited for, as long as the options say", async () => {
  const { server, client } = await fake(obliging);
  await client.getInfo();
  await gone(server, client);
  const calls = [client.createSession({ issuer: "i", grant: {} }), client.getInfo()];
  await pause(300);
  server.comeBack();
  await within(Promise.all(calls));

  const hasty = new Client({ socketPath: server.socketPath, reconnectWaitMs: 0 });
  cleanUps.push(() => hasty.destroy());
  await hasty.getInfo();
  await gone(server, hasty);
  const started = Date.now();
  assert.equal((await rejection(hasty.getInfo())).reason, "connection_failed");
  assert.ok(Date.now() - started < 4000);
});

test("a call's own time and signal end the waiting for a sidecar that is away", async () => {
  const { server, client } = await fake(obliging);
  await client.getInfo();
  await gone(server, client);
  const signal = AbortSignal.timeout(30);
  assert.equal((await rejection(client.getInfo({}, { signal }), 3)).name, "TimeoutError");
  assert.equal((await rejection(client.getInfo({}, { timeoutMs: 20 }), 4)).reason, "deadline_exceeded");
});

test("a call that has timed out ends no other, and later ones time out as well", async () => {
  const { server, client } = await fake({ onRequest: () => {} });
  const patient = client.getInfo();
  for (const timeoutMs of [40, 20, 20]) {
    assert.equal((await rejection(client.getInfo({}, { timeoutMs }), 4)).reason, "deadline_exceeded");
  }
  const together = [20, 60, 40].map((timeoutMs) => rejection(client.getInfo({}, { timeoutMs }), 4));
  for (const error of await Promise.all(together)) assert.equal(error.reason, "deadline_exceeded");
  const [socket] = server.sockets;
  answer(socket, server.requests[0].id, { name: "postern" });
  assert.equal((await within(patient)).name, "postern");
});

test("clients and streams are disposed of", async () => {
  const asyncDispose = Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose");
  const { server, client } = await fake({ onRequest: () => {} });
  const streamed = client.stream({ resource: "r", path: "x" });
  await eventually(() => server.sockets.size === 1);
  await streamed[asyncDispose]();
  assert.equal((await rejection(streamed.result)).reason, "request_cancelled");
  await eventually(() => server.sockets.size === 0);
  await client[asyncDispose]();
  assert.equal((await rejection(client.getInfo())).reason, "client_closed");
});
