// The fake of `postern-auth/testing`: what it answers is what the sidecar answers.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { after, before, test } from "node:test";
import { AdviceRequired, Client, createFetch, FetchFailed, InternalError, LoginRequired, protect } from "postern-auth";
import { createLogin } from "postern-auth/express";
import { adviceRequired, failure, FakePostern, FetchResult } from "postern-auth/testing";
import { repositoryRoot } from "./support/consumer.mjs";
import { callbackUrl, Playground, Sidecar } from "./support/upstream.mjs";
import { rejection, within } from "./support/waiting.mjs";

const read = (name) => readFileSync(path.join(repositoryRoot, name), "utf8");

let fake;
before(async () => {
  fake = await FakePostern.start();
});
after(() => fake.stop());

test("the document that the fake checks with is the sidecar's", () => {
  assert.equal(read("clients/node/lib/testing/openrpc.json"), read("proto-docs/openrpc.json"), "run make docs");
});

// Every method, as Tests/Documents recorded it from the sidecar.

const ELLIPSIS = "…";
const folder = path.join(repositoryRoot, "proto-docs/examples");
const recorded = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .flatMap((name) => {
    const { examples } = JSON.parse(read(`proto-docs/examples/${name}`));
    return examples.map((example) => ({ method: name.replace(/\.json$/, ""), ...example }));
  });
const wireName = { cancelRequest: "$/cancelRequest" };
const clientName = { "rpc.discover": "discover" };

/** The value without the marks of what a page leaves out. */
function isAbridged(value) {
  if (typeof value !== "object" || value === null) return value === ELLIPSIS;
  return Object.entries(value).some(([name, one]) => name === ELLIPSIS || isAbridged(one));
}

const exchanges = recorded.flatMap(({ method, title, send, receive }) => {
  const requests = [send].flat().map((request, index) => ({ method: wireName[method] ?? method, id: index + 1, ...request }));
  return requests
    .filter((request) => !request.method.startsWith("$/"))
    .map((request) => {
      const response = receive.find(({ id }) => id === request.id);
      return { title: `${request.method}: ${title}`, request, response };
    })
    .filter(({ response }) => response !== undefined);
});

test("there is a recorded conversation of every method", () => {
  const names = JSON.parse(read("proto-docs/openrpc.json")).methods.map(({ name }) => name);
  const found = new Set(exchanges.map(({ request }) => request.method));
  assert.deepEqual(names.filter((name) => !found.has(name) && !name.startsWith("$/")), []);
});

// The recordings that a page shortens, and what only a stream has: the conversation with the binary below has them whole.
const LIVE = ["discover", "getInfo", "metrics", "fetchResource", "subscribe", "refreshSession"];

for (const { title, request, response } of exchanges) {
  const { method, params = {} } = request;
  const name = clientName[method] ?? method;
  if (params.stream || isAbridged(response.result ?? {})) {
    test(`${title}: its method is compared with the binary`, () => assert.ok(LIVE.includes(name), name));
    continue;
  }
  test(`${title}: the fake gives the answer that was recorded`, async () => {
    fake.reset();
    if (response.error === undefined) {
      fake.when(name).returns(response.result);
      const { task: _, url: __, ...result } = await fake.client.call(method, known(params));
      const { task: ___, url: ____, ...expected } = response.result;
      return assert.deepEqual(result, expected);
    }
    const { code, data } = response.error;
    const { reason, ...more } = data;
    const error = await within(fake.client.call(method, known(params)).catch((one) => one));
    // The fake rejects what the sidecar rejects by its schema; what a schema cannot say is set up.
    if (error.reason === "invalid_params") return assert.deepEqual([error.code, error.path], [code, data.path]);
    fake.when(name).fails(reason, more);
    const set = await rejection(fake.client.call(method, known(params)));
    const { retryable, outcome, ...told } = set.data;
    const { retryable: _, outcome: __, ...expected } = data;
    assert.deepEqual([set.code, set.reason, told], [code, reason, expected]);
  });
}

/** The sessions and continuations of a recording are not the fake's. */
function known({ session, continuation, ...params }) {
  const isJourney = continuation !== undefined && params.callbacks !== undefined;
  return { ...params, ...(isJourney ? { continuation } : {}), ...(session === undefined ? {} : { session: fake.login().session }) };
}

// The same conversation with the binary.

/** The kinds of a value's members, and no values. */
function shape(value) {
  if (Array.isArray(value)) return value.slice(0, 1).map(shape);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).sort().map(([name, one]) => [name, shape(one)]));
}

/** What differs from one issuer or server to the next. */
function common(result) {
  if (typeof result !== "object" || result === null) return result;
  if (result.sessions) return { ...result, sessions: result.sessions.map(common) };
  const { claims, acr, headers, expiresAt, ...others } = result;
  return { ...others, ...(headers && { headers: Object.keys(headers).includes("content-type") }) };
}

const redirectUri = "http://127.0.0.1/callback";

/** Each step with its answer, or its error. */
async function conversation(client, comeBack) {
  const answers = {};
  const note = async (name, call) => {
    try {
      answers[name] = shape(common(await within(call)));
    } catch (error) {
      const { reason, code, path, retryable, outcome, data } = error;
      answers[name] = { error: error.name, reason, code, path, retryable, outcome, detail: data.detail };
    }
  };
  await note("a misspelt param", client.getTask({ tsk: "t" }));
  await note("a missing param", client.endSession({}));
  await note("a param of another kind", client.listSessions({ limit: "many" }));
  await note("no such method", client.call("none"));
  await note("no sessions", client.listSessions());
  await note("subscribe", client.subscribe({ events: ["event.sessionRefreshed", "event.sessionEnded"] }));
  const events = [];
  for (const name of ["event.sessionRefreshed", "event.sessionEnded"]) client.on(name, (params) => events.push([name, shape(params)]));
  const begun = await client.beginAuthorization({ issuer: "shop", redirectUri });
  answers.begun = { ...shape(begun), cookie: begun.cookie.split("=")[0].replace(/-[^-]*$/, ""), expiresAt: "string" };
  const back = await comeBack(begun.authorizationUrl);
  await note("another browser", client.completeAuthorization({ callbackUrl: back, state: "of another browser" }));
  const completed = await client.completeAuthorization({ callbackUrl: back, state: begun.state });
  answers.completed = shape(common(completed));
  const { session } = completed;
  await note("a second time", client.completeAuthorization({ callbackUrl: back, state: begun.state }));
  await note("getSession", client.getSession({ session }));
  await note("listSessions", client.listSessions());
  await note("refreshSession", client.refreshSession({ session }));
  await note("a fetch", client.fetchResource({ resource: "mine", path: "orders", session, task: "own" }));
  await note("its task", client.getTask({ task: "own" }));
  await note("no task", client.getTask({ task: "another" }));
  await note("a fetch without a user", client.fetchResource({ resource: "mine", path: "orders", auth: "user" }));
  await note("a fetch of nobody", client.fetchResource({ resource: "mine", path: "orders", session: "none" }));
  await note("no such continuation", client.fetchResource({ continuation: "none" }));
  await note("no such journey", client.authenticateWithAdvice({ continuation: "none" }));
  const stream = client.stream({ resource: "mine", path: "orders", session });
  await note("the head of a stream", stream.head);
  await note("the body of a stream", new Response(stream.body).text());
  await note("the result of a stream", stream.result);
  await note("endSession", client.endSession({ session }));
  await note("endSession again", client.endSession({ session }));
  await note("getSession again", client.getSession({ session }));
  await note("discover", client.discover().then(({ methods }) => methods.map(({ name }) => name)));
  await note("registerDelegate", client.registerDelegate({ methods: ["delegate.updateRequest"] }));
  await note("unsubscribe", client.unsubscribe({ events: ["event.sessionRefreshed"] }));
  return { ...answers, events };
}

test("the fake and the binary give the same answers to the same conversation", async (t) => {
  const playground = await Playground.start();
  t.after(() => playground.stop());
  const sidecar = await Sidecar.start(playground);
  t.after(() => sidecar.stop());
  const client = new Client({ socketPath: sidecar.socketPath });
  t.after(() => client.destroy());
  const real = await conversation(client, (url) => callbackUrl(playground, url));
  fake.reset();
  fake.when("fetchResource").returns(FetchResult.of(200, { json: { orders: [{ id: "A-1" }] } }));
  const own = new Client({ socketPath: fake.socketPath });
  t.after(() => own.destroy());
  assert.deepEqual(await conversation(own, (url) => fake.callbackUrl(url)), real);
  fake.verify();
  // What only a rule can say has the binary's form.
  for (const name of ["getInfo", "metrics", "health"]) {
    const result = await client[name]();
    fake.when(name).returns(result);
    assert.deepEqual(await own[name](), result);
  }
});

// What a test sets up.

test("results come one after another, the last one for all further calls, and the newest rule that matches counts", async () => {
  fake.reset();
  const { client } = fake;
  const rule = fake.when("fetchResource").returns(failure("server_unreachable"), FetchResult.of(503), FetchResult.of(200));
  assert.equal((await rejection(client.fetchResource({ path: "a" }))).reason, "server_unreachable");
  for (const status of [503, 200, 200]) assert.equal((await client.fetchResource({ path: "a" })).status, status);
  fake.when("fetchResource", { path: /^b/ }).returns(({ path }) => FetchResult.of(200, { json: path }));
  assert.equal((await client.fetchResource({ path: "bc" })).body, '"bc"');
  assert.equal((await client.fetchResource({ path: "a" })).status, 200);
  assert.equal(rule.uses, 5);
  assert.deepEqual(fake.callsTo("fetchResource").map(({ path }) => path), ["a", "a", "a", "a", "bc", "a"]);
  fake.verify();
});

test("a call for which nothing is set up fails with what to write, without a secret, and verify tells it", async () => {
  fake.reset();
  const error = await rejection(fake.client.fetchResource({ resource: "orders", path: "orders?key=s3cret", headers: { "x-api-key": "s3cret" } }));
  assert.ok(error instanceof InternalError);
  assert.match(error.message, /fake\.when\("fetchResource", \{ resource: "orders", path: "orders" \}\)\.returns\(FetchResult\.of\(/);
  assert.ok(!error.message.includes("s3cret"), error.message);
  const login = await rejection(fake.client.introspectToken({ token: "s3cret", issuer: "corp" }));
  assert.ok(!login.message.includes("s3cret"), login.message);
  assert.throws(() => fake.verify(), /fetchResource[^]*introspectToken/);
});

test("what no sidecar answers cannot be set up", async () => {
  fake.reset();
  const { status, ...others } = FetchResult.of(200);
  for (const [set, message] of [
    [() => fake.when("fetchResorce"), /did you mean fetchResource/],
    [() => fake.when("fetchResource", { resorce: "a" }), /did you mean resource/],
    [() => fake.when("fetchResource").returns(others), /status is missing/],
    [() => fake.when("fetchResource").returns({ status, ...others, satus: 1 }), /did you mean status/],
    [() => fake.when("getSession").returns(FetchResult.of(200)), /not a result of getSession/],
    [() => fake.when("getSession").fails("invalid_url"), /getSession never fails with invalid_url/],
    [() => failure("sesion_expired"), /did you mean session_expired/],
    [() => FetchResult.of(200, { json: 1, text: "1" }), /json and text/],
    [() => FetchResult.of(200, { jason: 1 }), /did you mean json/],
    [() => fake.emit("event.sessionended", {}), /did you mean event.sessionEnded/],
    [() => fake.login({ subjekt: "a" }), /did you mean subject/],
  ]) assert.throws(set, message);
  fake.when("getSession").returns(() => ({ session: "only this" }));
  assert.match((await rejection(fake.client.getSession({ session: "s" }))).message, /not a result of getSession/);
  assert.throws(() => fake.verify(), /not a result of getSession/);
});

test("createFetch sees bodies, headers, redirects and streams as from the sidecar", async () => {
  fake.reset();
  fake.when("fetchResource", { path: "orders" }).returns(FetchResult.of(201, { json: { a: "ä" }, headers: { "X-A": ["1", "2"] } }));
  fake.when("fetchResource", { path: "image" }).returns(FetchResult.of(200, { body: new Uint8Array(200_000).fill(0xff) }));
  const fetch = createFetch({ client: fake.client, resource: "orders" });
  const response = await fetch("orders", { method: "POST", body: new URLSearchParams({ a: "b" }) });
  assert.deepEqual([response.status, response.statusText, response.headers.get("x-a")], [201, "Created", "1, 2"]);
  assert.deepEqual([response.url, response.redirected, await response.json()], ["https://orders.invalid/orders", false, { a: "ä" }]);
  assert.equal(fake.callsTo("fetchResource")[0].body, "a=b");
  const streamed = await createFetch({ client: fake.client, streaming: true })("image");
  assert.equal((await streamed.arrayBuffer()).byteLength, 200_000);
  assert.equal((await streamed.postern.result).status, 200);
  fake.when("fetchResource").fails("server_unreachable");
  const error = await rejection(fetch("orders"));
  assert.ok(error instanceof FetchFailed && error.retryable);
});

test("a user who is logged out, or not known, has to log in", async () => {
  fake.reset();
  fake.when("fetchResource").returns(FetchResult.of(200));
  const fetch = createFetch({ client: fake.client, resource: "mine" });
  const { session } = fake.login({ subject: "alice" });
  assert.equal((await fetch("orders", { session })).status, 200);
  await fake.client.endSession({ session });
  assert.ok((await rejection(fetch("orders", { session }))) instanceof LoginRequired);
});

test("an advice is satisfied by the program, or by its delegate, and then the fetch has its result", async (t) => {
  fake.reset();
  const advice = { type: "AuthenticateToService", value: "pay" };
  fake.when("fetchResource").returns(adviceRequired(advice, FetchResult.of(200, { text: "paid" })));
  const { session } = fake.login();
  const error = await rejection(fake.client.fetchResource({ resource: "bank", path: "pay", session }));
  assert.ok(error instanceof AdviceRequired);
  assert.deepEqual([error.advice, error.response.status], [advice, 401]);
  const { continuation } = error;
  const early = await rejection(fake.client.fetchResource({ continuation }));
  assert.equal(early.reason, "advice_required");
  assert.equal((await fake.client.authenticateWithAdvice({ continuation })).state, "completed");
  const result = await fake.client.fetchResource({ continuation });
  assert.deepEqual([result.body, result.advicesSatisfied], ["paid", [advice]]);
  assert.equal((await rejection(fake.client.fetchResource({ continuation }))).reason, "continuation_unknown");

  let isSatisfied = true;
  const delegates = { onPolicyAdviceReceived: ({ advices }) => ({ satisfied: isSatisfied && advices[0].value === "pay" }) };
  const client = new Client({ socketPath: fake.socketPath, delegates });
  t.after(() => client.close());
  assert.equal((await client.fetchResource({ resource: "bank", path: "pay", session })).status, 200);
  isSatisfied = false;
  assert.equal((await rejection(client.fetchResource({ resource: "bank", path: "pay", session }))).reason, "advice_failed");
});

test("a call can be cancelled, can take too long, and survives a lost connection", async () => {
  fake.reset();
  let aborted = 0;
  const never = (_, { signal }) => new Promise(() => signal.addEventListener("abort", () => (aborted += 1)));
  fake.when("fetchResource").returns(never);
  const slow = await rejection(fake.client.fetchResource({ path: "a" }, { timeoutMs: 30 }));
  assert.equal(slow.reason, "deadline_exceeded");
  const reason = new Error("mine");
  const abort = new AbortController();
  const cancelled = rejection(fake.client.fetchResource({ path: "a" }, { signal: abort.signal }));
  while (fake.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
  abort.abort(reason);
  assert.equal(await cancelled, reason);
  const lost = rejection(fake.client.fetchResource({ path: "a", method: "POST" }));
  while (fake.calls.length < 3) await new Promise((resolve) => setImmediate(resolve));
  fake.disconnect();
  assert.equal((await lost).reason, "connection_lost");
  assert.equal(aborted, 3);
});

test("events reach those who have subscribed", async () => {
  fake.reset();
  const events = fake.client.events(["event.sessionEnded", "event.keysRotated"]);
  const next = events.next();
  while (fake.callsTo("subscribe").length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(fake.emit("event.keysRotated", { issuer: "corp", added: ["k2"], removed: [] }), 1);
  assert.deepEqual((await within(next)).value.params.added, ["k2"]);
  assert.equal(fake.emit("event.configReloaded", { changed: [] }), 0);
  await events.return();
});

test("the Express glue logs a user in and out, unchanged", async (t) => {
  fake.reset();
  fake.when("fetchResource").returns(({ session }) => FetchResult.of(200, { json: { session } }));
  const server = http.createServer();
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  const publicUrl = `http://127.0.0.1:${server.address().port}`;
  const login = createLogin(fake.client, { issuer: "corp", publicUrl });
  server.on("request", (req, res) =>
    login.routes(req, res, () => login.currentSession(req, res, () => res.end(req.posternSession?.subject ?? "nobody"))));
  const cookies = new Map();
  const visit = async (url, method = "GET") => {
    const cookie = [...cookies].map((one) => one.join("=")).join("; ");
    const response = await fetch(new URL(url, publicUrl), { method, redirect: "manual", headers: { cookie, origin: publicUrl } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]*)=([^;]*)/.exec(line);
      cookies.set(name, value);
    }
    return response;
  };
  assert.equal(await (await visit("/")).text(), "nobody");
  const authorizationUrl = (await visit("/login")).headers.get("location");
  const back = await visit(fake.callbackUrl(authorizationUrl, { subject: "alice" }));
  assert.equal(back.status, 303, await back.text());
  assert.equal(await (await visit("/")).text(), "alice");
  await visit("/logout", "POST");
  assert.equal(await (await visit("/")).text(), "nobody");
  const again = (await visit("/login")).headers.get("location");
  assert.match(await (await visit(fake.callbackUrl(again, { error: "access_denied" }))).text(), /<html/i);
});

test("protect decides as the rule says", async (t) => {
  fake.reset();
  fake.when("validateRequest").fails("jwks_fetch_failed");
  const check = protect(fake.client, { issuer: "corp", audience: "https://api.example" });
  const server = http.createServer((req, res) => check(req, res, () => res.end(req.postern.claims.sub)));
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  const ask = () => fetch(`http://127.0.0.1:${server.address().port}/`, { headers: { authorization: "Bearer t" } });
  assert.equal((await ask()).status, 503);
  fake.when("validateRequest").returns({ valid: true, claims: { sub: "alice" }, tokenType: "Bearer", cached: false });
  assert.equal(await (await ask()).text(), "alice");
});

test("what is no message has an error, or ends the connection, and ends no test", async (t) => {
  fake.reset();
  const socket = net.createConnection(fake.socketPath);
  t.after(() => socket.destroy());
  const lines = [];
  socket.setEncoding("utf8").on("data", (text) => lines.push(...text.trim().split("\n")));
  socket.write('{"jsonrpc": oops}\n[1]\n{"jsonrpc":"2.0","id":1,"method":"none"}\n{"jsonrpc":"2.0","id":2,"method":"listSessions","params":null}\n');
  while (lines.length < 4) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(lines.map(JSON.parse).map(({ id, error }) => [id, error?.code]), [[null, -32700], [null, -32700], [1, -32601], [2, undefined]]);
  const framed = net.createConnection(fake.socketPath);
  framed.on("error", () => {});
  framed.write("Content-Type: none\r\n\r\n");
  await within(new Promise((resolve) => framed.on("close", resolve)));
});
