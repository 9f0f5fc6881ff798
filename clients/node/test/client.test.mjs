// The client against the real sidecar and the playground.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import {
  Cancelled,
  Client,
  DeadlineExceeded,
  LoginRequired,
  RequestError,
  FetchError,
  ValidationUndecided,
} from "postern-auth";
import { Playground, Sidecar, login } from "./support/upstream.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

let playground, sidecar, client;
before(async () => {
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  client = new Client({ socketPath: sidecar.socketPath });
});
beforeEach(() => playground.ask("DELETE", "/playground/faults"));
after(async () => {
  await client.close();
  await sidecar.stop();
  await playground.stop();
});

test("plain calls work, with and without params", async () => {
  assert.equal((await client.getInfo()).name, "postern");
  assert.equal((await client.discover()).info.title, "Postern");
  assert.equal((await client.health({})).checks.configuration.status, "ok");
  assert.match((await client.metrics()).text, /postern_/);
  assert.deepEqual(await client.call("listTasks"), await client.listTasks());
});

test("a thousand calls at once stay within the sidecar's limits, and each gets its own answer", async () => {
  const paths = Array.from({ length: 1000 }, (_, number) => `echo?n=${number}`);
  const results = await Promise.all(paths.map((path) => client.fetchResource({ resource: "open", path })));
  results.forEach(({ body }, number) => assert.equal(JSON.parse(body).query, `n=${number}`));
  const { text } = await client.metrics();
  assert.doesNotMatch(text, /reason="overloaded"[^\n]* [1-9]/);
});

test("a fetch gets a token by itself and gives headers as they came", async () => {
  const result = await client.fetchResource({ resource: "orders", path: "orders" });
  assert.equal(result.status, 200);
  assert.equal(JSON.parse(result.body).orders.length, 2);
  assert.ok(Array.isArray(result.headers["content-type"]));
});

test("errors have the class of their family and say what the sidecar said", async () => {
  const cases = [
    [() => client.fetchResource({ resource: "nobody" }), RequestError, "invalid_params", -32602],
    [() => client.fetchResource({ resource: "open", path: "../x" }), FetchError, "invalid_url", 1006],
    [() => client.getTask({ task: "none" }), FetchError, "task_not_found", 1016],
    [() => client.getSession({ session: "none" }), LoginRequired, "session_not_found", 5001],
    [() => client.verifyJws({ jws: "a.b.c", jwks: { keys: 1 } }), ValidationUndecided, "jwks_invalid", 2004],
    [() => client.call("noSuchMethod"), RequestError, "method_not_found", -32601],
    [() => client.fetchResource({ resource: "mine", path: "orders" }), LoginRequired, "not_authenticated", 1001],
  ];
  for (const [call, type, reason, code] of cases) {
    const error = await rejection(call());
    assert.equal(error.constructor, type, error.stack);
    assert.deepEqual([error.reason, error.code], [reason, code]);
    assert.match(error.message, new RegExp(reason));
  }
  const error = await rejection(client.fetchResource({ resource: "open", typo: 1 }));
  assert.equal(error.path, "/typo");
  assert.equal(error.method, "fetchResource");
});

test("an unreachable server says that nothing was sent", async (t) => {
  await playground.ask("POST", "/playground/faults", { token: { kind: "unavailable" } });
  const other = await Sidecar.start(playground);
  t.after(() => other.stop());
  const own = new Client({ socketPath: other.socketPath });
  const error = await rejection(own.fetchResource({ resource: "orders", path: "orders" }));
  assert.deepEqual([error.reason, error.outcome], ["device_not_authenticated", "not_sent"]);
  assert.equal(error.retryable, true);
  assert.equal(error.upstream.status, 503);
  await own.close();
});

test("timeoutMs is the sidecar's, whose answer knows the outcome", async () => {
  // The machine may pause for longer than the time, or than the client waits for the sidecar's word: then once more.
  let error;
  for (let count = 0; count < 5 && error?.outcome !== "sent_no_reply"; count++) {
    error = await rejection(client.fetchResource({ resource: "open", path: "slow?ms=60000" }, { timeoutMs: 100 }));
    assert.ok(error instanceof DeadlineExceeded);
  }
  assert.equal(error.outcome, "sent_no_reply");
});

test("an aborted signal ends the task at the sidecar, not only the wait for it", async () => {
  const abort = new AbortController();
  const params = { resource: "open", path: "slow?ms=60000", task: "aborted" };
  const call = rejection(client.fetchResource(params, { signal: abort.signal }));
  const state = async () => (await client.getTask({ task: "aborted" }).catch(() => ({}))).state;
  await eventually(async () => (await state()) === "running");
  abort.abort();
  assert.equal((await call).name, "AbortError");
  await eventually(async () => (await state()) === "cancelled");
});

test("a task can be held, let go and cancelled by its name", async () => {
  const call = rejection(client.fetchResource({ resource: "open", path: "slow?ms=60000", task: "held" }));
  await eventually(() => client.getTask({ task: "held" }).catch(() => undefined));
  assert.equal((await client.suspendTask({ task: "held" })).state, "suspended");
  assert.equal((await client.resumeTask({ task: "held" })).state, "running");
  assert.equal((await client.cancelTask({ task: "held" })).state, "cancelled");
  assert.ok((await call) instanceof Cancelled);
});

test("a user's session from login to end", async () => {
  const session = await login(client, playground);
  assert.equal(session.subject, "user-1001");
  const result = await client.fetchResource({ resource: "mine", path: "orders", session: session.session });
  assert.equal(result.status, 200);
  assert.equal((await client.listSessions()).sessions.length, 1);
  assert.equal((await client.endSession({ session: session.session })).ended, true);
  assert.equal((await rejection(client.getSession({ session: session.session }))).reason, "session_not_found");
});

test("events come to listeners and iterators, bounded, and end with the iterator", async () => {
  const session = await login(client, playground);
  const heard = [];
  client.on("event.sessionRefreshed", (params) => heard.push(params.session));
  const abort = new AbortController();
  const events = client.events(["event.sessionRefreshed", "event.sessionEnded"], { signal: abort.signal });
  const first = events.next();
  await eventually(async () => (await client.subscribe({ events: ["event.sessionEnded"] })).subscribed.length === 2);
  await client.refreshSession({ session: session.session });
  const { value } = await within(first);
  assert.deepEqual([value.event, value.params.session], ["event.sessionRefreshed", session.session]);
  await client.endSession({ session: session.session });
  assert.equal((await within(events.next())).value.event, "event.sessionEnded");
  assert.deepEqual(heard, [session.session]);
  const last = rejection(events.next());
  abort.abort(new Error("enough"));
  assert.equal((await last).message, "enough");
  client.removeAllListeners();
});

test("after a restart calls go on, subscriptions and delegates are there again, and it is told", async (t) => {
  const own = await Sidecar.start(playground);
  t.after(() => own.stop());
  const asked = [];
  const delegates = { evaluateTokenRefresh: ({ status }) => (asked.push(status), { refresh: false }) };
  const other = new Client({ socketPath: own.socketPath, delegates, connectWaitMs: 10_000 });
  await other.subscribe({ events: ["event.configReloaded"] });
  const lost = new Promise((resolve) => other.once("disconnected", resolve));
  const again = new Promise((resolve) => other.once("reconnected", resolve));
  const reloaded = new Promise((resolve) => other.once("event.configReloaded", resolve));
  other.ref();
  await own.kill("SIGKILL");
  assert.equal((await within(lost)).reason, "connection_lost");
  const call = other.getInfo();
  await own.run();
  assert.equal((await within(call)).name, "postern");
  await within(again);
  await other.fetchResource({ resource: "orders", path: "orders" });
  assert.deepEqual(asked, [200]);
  await own.configure({ ...own.configuration, limits: { batch: 63 } });
  await other.reloadConfig();
  assert.deepEqual((await within(reloaded)).changed, ["limits"]);
  await other.close();
});

test("a sidecar killed under a call: repeatable ones are answered by the next, others say unknown", async (t) => {
  const own = await Sidecar.start(playground);
  t.after(() => own.stop());
  const other = new Client({ socketPath: own.socketPath, connectWaitMs: 10_000 });
  const get = other.fetchResource({ resource: "open", path: "slow?ms=3000" });
  const body = { method: "POST", body: "x" };
  const post = rejection(other.fetchResource({ resource: "open", path: "slow?ms=60000", ...body }), 30);
  await eventually(async () => (await other.listTasks()).tasks.length === 2);
  await own.kill("SIGKILL");
  assert.deepEqual([(await post).reason, (await post).outcome], ["connection_lost", "unknown"]);
  await own.run();
  assert.equal((await within(get, 30)).status, 200);
  await other.close();
});

test("a sidecar that drains answers what it has, and the client ends with it", async (t) => {
  const own = await Sidecar.start(playground);
  t.after(() => own.stop());
  const other = new Client({ socketPath: own.socketPath });
  const slow = other.fetchResource({ resource: "open", path: "slow?ms=300", task: "t" });
  await eventually(() => other.getTask({ task: "t" }).catch(() => undefined));
  await own.kill("SIGTERM");
  assert.equal((await within(slow)).status, 200);
  assert.equal((await rejection(other.getInfo())).reason, "connection_failed");
});

test("await using: the client can be disposed of", async () => {
  const other = new Client({ socketPath: sidecar.socketPath });
  const call = other.getInfo();
  await other[Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]();
  assert.equal((await call).name, "postern");
});
