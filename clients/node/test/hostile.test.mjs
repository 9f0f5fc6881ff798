// Servers that are dead, slow or lying: every call ends, with an error that says what may have happened.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { afterEach, test } from "node:test";
import {
  AdviceRequired,
  Client,
  ConnectionError,
  createFetch,
  DeadlineExceeded,
  FetchError,
  PosternError,
  SessionError,
  RequestError,
} from "postern-auth";
import { FakeSidecar, answer, encoded, refuse, tell } from "./support/fake.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

const cleanUps = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function fake(behaviour, options = {}) {
  const server = await FakeSidecar.start(behaviour);
  const client = new Client({ socketPath: server.socketPath, ...options });
  cleanUps.push(() => server.stop(), () => client.destroy());
  return { server, client };
}

const says = (text) => ({ onRequest: (_, socket) => socket.write(text) });

const violations = {
  "no JSON": "garbage\n",
  "half a JSON text": '{"jsonrpc":"2.0","id":1,\n',
  "HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n",
  "a header framing": "Content-Length: 40\r\n\r\n",
  "bytes that are no UTF-8": Buffer.from([0xff, 0xfe, 0x0a]),
  "a scalar": "42\n",
  "null": "null\n",
  "an array": '[{"jsonrpc":"2.0","id":1,"result":{}}]\n',
  "no version": '{"id":1,"result":{}}\n',
  "an id that was never given": '{"jsonrpc":"2.0","id":99,"result":{}}\n',
  "the id as a string": '{"jsonrpc":"2.0","id":"1","result":{}}\n',
  "neither result nor error": '{"jsonrpc":"2.0","id":1}\n',
  "result and error": '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}\n',
  "a result without an id": '{"jsonrpc":"2.0","result":{}}\n',
};
for (const [what, text] of Object.entries(violations)) {
  test(`${what} ends the connection and all its calls, not the client`, async () => {
    const { server, client } = await fake({
      onRequest: ({ id }, socket, number) => (number === 1 ? socket.write(text) : answer(socket, id, { fine: true })),
    });
    const errors = await Promise.all([rejection(client.getInfo()), rejection(client.health())]);
    for (const error of errors) {
      assert.ok(error instanceof ConnectionError, error);
      assert.equal(error.reason, "protocol_violation");
      assert.equal(error.outcome, "unknown");
    }
    assert.deepEqual(await within(client.getInfo()), { fine: true });
    assert.equal(server.connections, 2);
  });
}

test("an answer that never ends is cut at the limit instead of filling the memory", async () => {
  let sent = 0;
  const piece = "x".repeat(64 * 1024);
  const flood = (socket) => {
    while (!socket.destroyed && socket.write(piece)) sent += piece.length;
    if (!socket.destroyed) socket.once("drain", () => flood(socket));
  };
  const { client } = await fake({ onRequest: (_, socket) => flood(socket) }, { maxMessageBytes: 1024 * 1024 });
  const error = await rejection(client.getInfo());
  assert.equal(error.reason, "protocol_violation");
  assert.match(error.message, /more than 1048576 bytes/);
  assert.ok(sent < 8 * 1024 * 1024, `${sent} bytes were taken`);
});

test("an answer that stops in the middle does not hang", async () => {
  const { client } = await fake(says('{"jsonrpc":"2.0","id":1,"res'), { stallMs: 50 });
  const error = await rejection(client.getInfo());
  assert.equal(error.reason, "protocol_violation");
  assert.match(error.message, /an incomplete message/);
});

test("an answer that comes byte by byte is put together, characters of several bytes too", async () => {
  const text = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"name":"Zürich €"}}\n');
  const { client } = await fake({
    onRequest: async (_, socket) => {
      for (const byte of text) await new Promise((done) => socket.write(Buffer.from([byte]), done));
    },
  });
  assert.deepEqual(await within(client.getInfo()), { name: "Zürich €" });
});

test("a long answer in many small pieces costs what its bytes cost", async () => {
  const length = 300_000;
  const { Splitter } = createRequire(import.meta.url)("../lib/framing.js");
  const messages = [];
  const splitter = new Splitter(1024 * 1024, (text) => messages.push(text));
  for (let number = 0; number < length; number += 1) splitter.push(Buffer.from(String(number % 10)));
  assert.ok(splitter.pieces.length < 2000, `${splitter.pieces.length} pieces are held`);
  splitter.push(Buffer.from("\n[]\n\n{"));
  assert.equal(messages[0], "0123456789".repeat(length / 10));
  assert.deepEqual([messages.length, messages[1], splitter.isPartial], [2, "[]", true]);
});

test("delegates that are refused are told, not lost without a word", async () => {
  const { client } = await fake(
    {
      onRequest: ({ id, method }, socket) => {
        if (method === "registerDelegate") refuse(socket, id, -32020, { reason: "peer_forbidden" });
        else answer(socket, id);
      },
    },
    { delegates: { updateRequest: () => ({}) } },
  );
  const refused = new Promise((resolve) => client.once("refused", resolve));
  await within(client.getInfo());
  assert.equal((await within(refused)).reason, "peer_forbidden");
});

test("a connection cut in the middle of an answer is told, and a call that reads is sent once more", async () => {
  const { server, client } = await fake({
    onRequest: ({ id }, socket, number) => {
      if (number === 1) socket.end('{"jsonrpc":"2.0","id":1,"res');
      else answer(socket, id, { number });
    },
  });
  assert.deepEqual(await within(client.getInfo()), { number: 2 });
  assert.equal(server.requests.length, 2);
});

test("a server that always hangs up gets a call that reads three times and no more", async () => {
  const { server, client } = await fake({ onRequest: (_, socket) => socket.destroy() });
  const error = await rejection(client.getInfo());
  assert.ok(error instanceof ConnectionError);
  assert.deepEqual([error.reason, error.outcome], ["connection_lost", "unknown"]);
  assert.equal(server.requests.length, 3);
});

const once = {
  createSession: { issuer: "x", grant: { type: "refresh_token", refreshToken: "r" } },
  endSession: { session: "s" },
  refreshSession: { session: "s" },
  completeAuthorization: { callbackUrl: "u" },
  authenticateWithAdvice: { continuation: "c" },
  validateLogoutToken: { logoutToken: "t" },
  cancelTask: { task: "t" },
  invalidateDecisions: {},
};
for (const [method, params] of Object.entries(once)) {
  test(`${method} is never sent twice`, async () => {
    const { server, client } = await fake({ onRequest: (_, socket) => socket.destroy() });
    const error = await rejection(client[method](params));
    assert.deepEqual([error.reason, error.outcome, error.method], ["connection_lost", "unknown", method]);
    assert.equal(server.requests.length, 1);
  });
}

const fetches = [
  [{ path: "x" }, 3],
  [{ path: "x", method: "head" }, 3],
  [{ path: "x", method: "PUT", body: "b" }, 1],
  [{ path: "x", method: "DELETE" }, 1],
  [{ path: "x", method: "POST", body: "b" }, 1],
  [{ path: "x", method: "patch", body: "b" }, 1],
  [{ continuation: "c" }, 1],
  [{ path: "x", task: "mine" }, 1],
];
for (const [params, times] of fetches) {
  test(`a lost fetchResource ${JSON.stringify(params)} is sent ${times} times`, async () => {
    const { server, client } = await fake({ onRequest: (_, socket) => socket.destroy() });
    assert.equal((await rejection(client.fetchResource(params))).outcome, "unknown");
    assert.equal(server.requests.length, times);
  });
}

test("what was never sent is sent on the next connection, though it may not be repeated", async () => {
  const { server, client } = await fake(
    {
      onRequest: ({ id, method }, socket, number) => {
        if (number === 1 && method === "endSession") return; // holds the only place
        answer(socket, id, { ended: true });
      },
    },
    { maxInFlight: 1 },
  );
  const first = rejection(client.endSession({ session: "a" }));
  const second = client.revokeToken({ session: "b" });
  await eventually(() => server.requests.length === 1);
  for (const socket of server.sockets) socket.destroy();
  assert.equal((await first).outcome, "unknown");
  assert.deepEqual(await within(second), { ended: true });
  assert.deepEqual(server.requests.map(({ method }) => method), ["endSession", "revokeToken"]);
});

test("a sidecar that is going refuses, and its successor is asked, whatever the method", async () => {
  const { server, client } = await fake({
    onRequest: ({ id }, socket, number) => {
      if (number === 1) refuse(socket, id, -32021, { reason: "shutting_down", retryable: true, outcome: "not_sent" });
      else answer(socket, id, { number });
    },
  });
  assert.deepEqual(await within(client.createSession(once.createSession)), { number: 2 });
  await eventually(() => server.sockets.size === 1);
});

test("when there is no successor the refusal is told", async () => {
  const { client, server } = await fake({
    onRequest: ({ id }, socket) => {
      server.server.close();
      refuse(socket, id, -32021, { reason: "shutting_down", retryable: true, outcome: "not_sent" });
    },
  });
  const error = await rejection(client.endSession({ session: "s" }));
  assert.deepEqual([error.reason, error.code, error.outcome], ["shutting_down", -32021, "not_sent"]);
});

test("successors that all refuse are asked for a while, and not without a pause", async () => {
  const { client, server } = await fake(
    { onRequest: ({ id }, socket) => refuse(socket, id, -32021, { reason: "shutting_down", outcome: "not_sent" }) },
    { reconnectWaitMs: 300 },
  );
  const error = await rejection(client.endSession({ session: "s" }));
  assert.deepEqual([error.reason, error.outcome], ["shutting_down", "not_sent"]);
  assert.ok(server.connections > 1 && server.connections < 12, `${server.connections} connections`);
});

for (const outcome of ["sent_no_reply", undefined, "a newer sidecar's"]) {
  test(`what a sidecar that is going cut off with ${outcome} is retried only when it reads`, async () => {
    const { server, client } = await fake({
      onRequest: ({ id }, socket, number) => {
        if (number < 3) refuse(socket, id, -32021, { reason: "shutting_down", outcome });
        else answer(socket, id, { number });
      },
    });
    const error = await rejection(client.createSession(once.createSession));
    assert.deepEqual([error.reason, error.outcome], ["shutting_down", outcome]);
    assert.equal((await rejection(client.fetchResource({ path: "x", method: "POST" }))).outcome, outcome);
    assert.deepEqual(await within(client.getSession({ session: "s" })), { number: 3 });
    assert.deepEqual(server.requests.map(({ method }) => method), ["createSession", "fetchResource", "getSession"]);
  });
}

test("what stands behind a message that the other side does not read was not sent, and goes on the next connection", async () => {
  const { server, client } = await fake({
    onConnect: (socket, number) => number === 1 && socket.pause(),
    onRequest: ({ id, method }, socket) => answer(socket, id, { method }),
  });
  const large = rejection(client.fetchResource({ path: "x", method: "POST", body: "x".repeat(4_000_000) }));
  await eventually(() => server.sockets.size === 1);
  // Its first bytes are out: also where the timer is late, and goes before what the client has to do.
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const small = client.createSession(once.createSession);
  await new Promise((resolve) => setImmediate(resolve));
  for (const socket of server.sockets) socket.destroy();
  assert.equal((await large).outcome, "unknown");
  assert.deepEqual(await within(small), { method: "createSession" });
});

test("a sidecar that asks and asks, and takes no answer, is left: nothing piles up", async () => {
  const question = (number) => `${JSON.stringify({ jsonrpc: "2.0", id: number, method: "delegate.ofANewerOne" })}\n`;
  let asked = 0;
  const { client } = await fake({
    onRequest: (_, socket) => {
      socket.pause();
      const ask = () => {
        while (!socket.destroyed && asked < 200_000 && socket.write(question((asked += 1)))) continue;
      };
      socket.on("drain", ask);
      ask();
    },
  });
  const error = await rejection(client.createSession(once.createSession), 30);
  assert.deepEqual([error.reason, error.outcome], ["protocol_violation", "unknown"]);
  assert.ok(asked < 200_000, "all questions were taken");
});

test("a sidecar that takes the answers may ask as often as it likes", async () => {
  const { client, server } = await fake({
    onRequest: ({ id, method, error }, socket) => {
      if (error !== undefined) return;
      for (let number = 0; number < 30_000; number += 1) {
        socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: `q${number}`, method: "delegate.ofANewerOne" })}\n`);
      }
      answer(socket, id, { method });
    },
  });
  assert.equal((await within(client.getInfo(), 30)).method, "getInfo");
  await eventually(() => server.requests.length === 30_001, 30);
});

test("nobody listens: told at once, nothing was sent", async () => {
  const client = new Client({ socketPath: "/tmp/no-such-directory/s" });
  const error = await rejection(client.createSession(once.createSession), 4);
  assert.ok(error instanceof ConnectionError);
  assert.deepEqual([error.reason, error.outcome, error.retryable], ["connection_failed", "not_sent", true]);
  assert.equal(error.cause.code, "ENOENT");
  assert.match(error.message, /no-such-directory/);
});

for (const [what, path, message] of [
  ["too long", `/tmp/${"x".repeat(200)}`, /107 bytes/],
  ["empty", "", /empty/],
  ["one with a NUL", "/tmp/s\0ocket", /NUL/],
  ["of the abstract kind", "\0postern", /NUL/],
]) {
  test(`a socket path that is ${what} is told, not cut and not waited for`, async () => {
    const client = new Client({ socketPath: path, connectWaitMs: 60_000 });
    const error = await rejection(client.getInfo());
    assert.ok(error instanceof ConnectionError);
    assert.match(error.message, message);
    assert.deepEqual([error.reason, error.outcome, error.retryable], ["connection_failed", "not_sent", false]);
    client.destroy();
  });
}

test("with connectWaitMs a sidecar may come late", async () => {
  const { server, client } = await fake({ onRequest: ({ id }, socket) => answer(socket, id, { late: true }) });
  server.server.close();
  const patient = new Client({ socketPath: server.socketPath, connectWaitMs: 10_000 });
  cleanUps.push(() => patient.destroy());
  const result = patient.getInfo();
  assert.equal((await rejection(client.getInfo())).reason, "connection_failed");
  server.server.listen(server.socketPath);
  assert.deepEqual(await within(result), { late: true });
});

test("a server that never answers: timeoutMs ends the call, says what is known and cancels it", async () => {
  const { server, client } = await fake({ onRequest: ({ id, method }, socket) => method === "health" && answer(socket, id, {}) });
  await client.health(); // on a connection that is there a request is sent at once
  const error = await rejection(client.getInfo({}, { timeoutMs: 20 }));
  assert.ok(error instanceof DeadlineExceeded);
  assert.deepEqual([error.reason, error.outcome], ["deadline_exceeded", "unknown"]);
  await eventually(() => server.requests.length === 3);
  const [, request, cancel] = server.requests;
  assert.equal(request.params.meta.timeoutMs, 20);
  assert.deepEqual([cancel.method, cancel.params, cancel.id], ["$/cancelRequest", { id: request.id }, undefined]);
});

test("a server that stops reading: calls end by their time, and no more are taken than the queue holds", async () => {
  const behaviour = { onConnect: (socket) => socket.pause() };
  const { client } = await fake(behaviour, { maxInFlight: 2, maxQueued: 2 });
  const calls = [1, 2, 3, 4, 5].map(() => rejection(client.getInfo({}, { timeoutMs: 100 })));
  const errors = await Promise.all(calls);
  // Until it is connected all calls wait.
  const overloaded = errors.filter(({ reason }) => reason === "overloaded");
  assert.equal(overloaded.length, 3);
  assert.ok(overloaded.every(({ outcome }) => outcome === "not_sent"));
  assert.ok(errors.filter((error) => error instanceof DeadlineExceeded).length === 2);
});

test("an aborted signal ends the call with its reason and cancels it; the late answer harms nothing", async () => {
  const { server, client } = await fake({
    onRequest: ({ id, method, params }, socket) => {
      if (method === "$/cancelRequest") refuse(socket, params.id, -32800, { reason: "request_cancelled" });
      else if (method === "health") answer(socket, id, { status: "ok" });
    },
  });
  const abort = new AbortController();
  const calls = Array.from({ length: 20 }, () => rejection(client.getInfo({}, { signal: abort.signal })));
  await eventually(() => server.requests.length === 20);
  abort.abort(new Error("enough"));
  for (const call of calls) assert.equal((await call).message, "enough");
  assert.equal((await within(client.health())).status, "ok");
  assert.equal(server.connections, 1);
  assert.equal((await rejection(client.getInfo({}, { signal: abort.signal }))).message, "enough");
  assert.equal(server.requests.filter(({ method }) => method === "getInfo").length, 20);
});

test("params that the sidecar could not parse are refused before they cost other calls their answers", async () => {
  const { server, client } = await fake({}, { maxRequestBytes: 1000 });
  let deep = [];
  for (let level = 0; level < 200; level += 1) deep = [deep];
  const cyclic = {};
  cyclic.self = cyclic;
  const cases = [
    [{ parameters: { deep } }, "invalid_params"],
    [{ parameters: cyclic }, "invalid_params"],
    [{ parameters: { n: 12345678901234567890 } }, "invalid_params"],
    [{ parameters: { n: new Number(1e19) } }, "invalid_params"],
    [{ parameters: { n: { toJSON: () => 1e19 } } }, "invalid_params"],
    [{ parameters: { deep: { toJSON: () => deep } } }, "invalid_params"],
    [{ parameters: { "a\0": 1 } }, "invalid_params"],
    [{ parameters: { list: [{ "b\0": 1 }] } }, "invalid_params"],
    [{ body: "half \ud800" }, "invalid_params"],
    [{ body: "\ud83d\ude00\\ud800".slice(1) }, "invalid_params"],
    [{ body: "x".repeat(1001) }, "message_too_large"],
    [{ body: "€".repeat(400) }, "message_too_large"],
  ];
  for (const [params, reason] of cases) {
    const error = await rejection(client.fetchResource(params));
    assert.ok(error instanceof RequestError, error);
    assert.deepEqual([error.reason, error.outcome], [reason, "not_sent"]);
  }
  for (const params of [null, [], "x", 1]) {
    assert.ok((await rejection(client.call("getInfo", params))) instanceof TypeError);
  }
  assert.equal(server.requests.length, 0);
});

test("an escaped backslash before ud800 is no surrogate", async () => {
  const { client } = await fake({ onRequest: ({ id, params }, socket) => answer(socket, id, params) });
  const params = { body: "\\ud800 \ud83d\ude00" };
  assert.deepEqual(await within(client.fetchResource(params)), params);
});

test("an error about a message that was too large goes to the call that sent it", async () => {
  const { client } = await fake({
    onRequest: ({ id, params }, socket) => {
      if (params.body) refuse(socket, null, -32007, { reason: "message_too_large", limitBytes: 500 });
      else setImmediate(() => answer(socket, id, {}));
    },
  });
  const calls = [client.getInfo(), client.fetchResource({ body: "x".repeat(600) })];
  const [small, large] = await Promise.allSettled(calls);
  assert.equal(small.status, "fulfilled");
  assert.equal(large.reason.reason, "message_too_large");
});

// Catches everybody's calls ended by one caller's message: its size was taken without what stands before the method.
test("an error about a message that is too large by a byte goes to the call that sent it", async () => {
  const lengths = [];
  const { client } = await fake({
    onRequest: (message, socket) => {
      lengths.push(Buffer.byteLength(JSON.stringify(message)));
      if (message.params.body) {
        refuse(socket, null, -32007, { reason: "message_too_large", limitBytes: lengths.at(-1) - 1 });
      } else setTimeout(() => answer(socket, message.id, {}), 20);
    },
  });
  const calls = [client.createSession(once.createSession), client.fetchResource({ body: "x".repeat(600) })];
  const [small, large] = await Promise.allSettled(calls);
  assert.equal(small.status, "fulfilled", small.reason);
  assert.equal(large.reason.reason, "message_too_large");
});

test("an error about a message of too many values goes to the call that sent it, be it given up", async () => {
  const { client, server } = await fake({
    onRequest: ({ id, params }, socket) => {
      if (id === undefined) return;
      if (params.parameters) {
        setTimeout(() => refuse(socket, null, -32025, { reason: "message_too_complex", limitValues: 100 }), 20);
      } else setTimeout(() => answer(socket, id, {}), 60);
    },
  });
  const many = { parameters: { list: Array(200).fill(0) } };
  const others = [client.createSession(once.createSession), client.fetchResource({ body: "x".repeat(600) })];
  assert.equal((await rejection(client.fetchResource(many))).reason, "message_too_complex");
  await within(Promise.all(others));
  const left = rejection(client.fetchResource(many, { signal: AbortSignal.timeout(5) }));
  const other = client.createSession(once.createSession);
  assert.equal((await left).name, "TimeoutError");
  await within(other);
  assert.equal(server.connections, 1);
});

test("a connection that is one too many is told as such", async () => {
  const { client } = await fake({
    onConnect: (socket) => {
      refuse(socket, null, -32009, { reason: "overloaded", retryable: true, retryAfterMs: 500 });
      socket.end();
    },
  });
  const error = await rejection(client.createSession(once.createSession));
  assert.deepEqual([error.reason, error.retryAfterMs, error.outcome], ["overloaded", 500, "not_sent"]);
});

const oddErrors = [
  [{ code: 1999, message: "new", data: { reason: "brand_new" } }, FetchError, "brand_new"],
  [{ code: 5999, message: "new", data: { reason: "brand_new" } }, SessionError, "brand_new"],
  [{ code: 9999, message: "new", data: { reason: "brand_new" } }, PosternError, "brand_new"],
  [{ code: 1017, message: "m", data: { reason: "advice_required" } }, AdviceRequired, "advice_required"],
  [{ code: 1017, message: "m", data: { reason: "other" } }, AdviceRequired, "other"],
  [{ code: "x", data: null }, PosternError, "unknown"],
  ["text", PosternError, "unknown"],
  [null, PosternError, "unknown"],
];
for (const [error, type, reason] of oddErrors) {
  test(`the error ${JSON.stringify(error)} becomes a ${type.name}`, async () => {
    const { client } = await fake({
      onRequest: ({ id }, socket) => socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`),
    });
    const thrown = await rejection(client.getInfo());
    assert.equal(thrown.constructor, type);
    assert.equal(thrown.reason, reason);
    assert.equal(thrown.name, type.name);
  });
}

test("close waits for what is under way, takes no more, and destroy does not wait", async () => {
  const { server, client } = await fake({ onRequest: ({ id }, socket) => setImmediate(() => answer(socket, id, {})) });
  const call = client.getInfo();
  const closed = client.close();
  const refused = await rejection(client.getInfo());
  assert.deepEqual([refused.reason, refused.outcome], ["client_closed", "not_sent"]);
  assert.deepEqual(await within(call), {});
  await within(closed);
  await eventually(() => server.sockets.size === 0);

  const other = await fake();
  const pending = rejection(other.client.endSession({ session: "s" }));
  await eventually(() => other.server.requests.length === 1);
  other.client.destroy();
  const error = await pending;
  assert.deepEqual([error.reason, error.outcome], ["client_closed", "unknown"]);
});

test("close waits for calls that wait for a sidecar, and may be called twice", async () => {
  const { server } = await fake({ onRequest: ({ id }, socket) => answer(socket, id, { late: true }) });
  server.server.close();
  const client = new Client({ socketPath: server.socketPath, connectWaitMs: 10_000 });
  cleanUps.push(() => client.destroy());
  const call = client.getInfo();
  const told = [];
  client.on("disconnected", (error) => told.push(error));
  const closed = Promise.all([client.close(), client.close()]);
  setTimeout(() => server.server.listen(server.socketPath), 50);
  assert.deepEqual(await within(call), { late: true });
  await within(closed);
  assert.deepEqual(told, []);
});

test("a piece of a body that is missing ends the stream with an error", async () => {
  const { client } = await fake({
    onRequest: ({ id, params }, socket) => {
      const chunk = (sequence) => {
        const params_ = { task: params.task, sequence, dataBase64: "QUJD" };
        tell(socket, { method: "fetchResource.chunk", params: params_ });
      };
      chunk(0);
      chunk(2);
      answer(socket, id, { status: 200 });
    },
  });
  const { body, result } = client.stream({ path: "x" });
  assert.equal((await rejection(new Response(body).text())).reason, "protocol_violation");
  assert.equal((await rejection(result)).reason, "protocol_violation");
});

test("streaming takes the whole answer where the sidecar cannot stream", async () => {
  const { server, client } = await fake({
    onRequest: ({ id, params }, socket) => {
      if (params.stream) refuse(socket, id, -32602, { reason: "invalid_params", path: "/stream" });
      else answer(socket, id, { task: "t", status: 200, url: "http://a/x", headers: {}, body: "whole" });
    },
  });
  const response = await within(createFetch({ client, streaming: true })("http://a/x"));
  assert.equal(await response.text(), "whole");
  assert.equal(server.requests.length, 2);
});

test("an answer that makes no response is an error of the fetch", async () => {
  const answers = [{}, { status: 99, headers: {}, url: "x" }, { status: 200, headers: { "b d": ["x"] }, url: "x" }];
  const { client } = await fake({ onRequest: ({ id }, socket) => answer(socket, id, answers.pop()) });
  for (let left = answers.length; left > 0; left -= 1) {
    const error = await rejection(createFetch({ client })("http://a/x"));
    assert.ok(error instanceof TypeError || error instanceof RangeError, error);
  }
});

test("a stream whose connection is cut is an error, never a short body", async () => {
  const { client } = await fake({
    onRequest: ({ params }, socket) => {
      const chunk = { task: params.task, sequence: 0, dataBase64: "QUJD" };
      socket.end(encoded(socket, { method: "fetchResource.chunk", params: chunk }));
    },
  });
  const { body } = client.stream({ path: "x" });
  assert.equal((await rejection(new Response(body).text())).reason, "connection_lost");
});

test("options that are misspelt or senseless are refused", () => {
  for (const options of [{ socketpath: "x" }, { maxInFlight: 0 }, { maxMessageBytes: "1" }, { socketPath: 1 }]) {
    assert.throws(() => new Client(options), (error) => error instanceof TypeError || error instanceof RangeError);
  }
});
