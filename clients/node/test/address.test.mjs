// A client of an address, for development: POST /rpc with the gateway's key.
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { after, before, test } from "node:test";
import { Client, createFetch, FetchFailed, PosternError, RequestError } from "postern-auth";
import { runNode, makeConsumer } from "./support/consumer.mjs";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { rejection, within } from "./support/waiting.mjs";

const KEY = "a-key-of-24-characters!!";
let playground, sidecar, front, directory, keyFile;
before(async () => {
  directory = await mkdtemp("/tmp/postern-key-");
  keyFile = `${directory}/key`;
  await writeFile(keyFile, `${KEY}\n`);
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  front = await startFront(sidecar.socketPath);
});
after(async () => {
  await front.stop();
  await sidecar.stop();
  await playground.stop();
  await rm(directory, { recursive: true });
});

/** `POST /rpc` before the sidecar's socket, with the key, as the gateway's address has it. */
async function startFront(socketPath) {
  const server = http.createServer(async (req, res) => {
    const pieces = [];
    for await (const piece of req) pieces.push(piece);
    const problem = (status, code, reason) => {
      res.writeHead(status, { "Content-Type": "application/problem+json" });
      res.end(JSON.stringify({ type: `urn:postern:error:${reason}`, title: reason, status, code, reason, outcome: "not_sent" }));
    };
    if (req.headers["postern-key"] !== KEY) return problem(401, -32035, "key_required");
    if (req.method !== "POST" || req.url !== "/rpc") return problem(404, -32602, "invalid_params");
    if (front.answer) return front.answer(req, res);
    const socket = net.createConnection(socketPath);
    res.on("close", () => socket.destroy());
    socket.write(`${Buffer.concat(pieces)}\n`);
    let text = "";
    for await (const piece of socket.setEncoding("utf8")) {
      text += piece;
      if (text.endsWith("\n")) break;
    }
    res.writeHead(200, { "Content-Type": "application/json" });
    res.end(text.trimEnd());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `http://127.0.0.1:${server.address().port}`;
  return { server, address, stop: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))) };
}

async function freePort() {
  const free = net.createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address();
  await new Promise((resolve) => free.close(resolve));
  return port;
}

function clientOf(t, options = {}) {
  const client = new Client({ socketPath: front.address, keyFile, ...options });
  t.after(() => {
    front.answer = undefined;
    client.destroy();
  });
  return client;
}

test("calls and errors are those of the socket", async (t) => {
  const client = clientOf(t);
  assert.equal((await client.getInfo()).name, "postern");
  const fetch = createFetch({ client, resource: "orders" });
  const response = await fetch("orders");
  assert.deepEqual([response.status, (await response.json()).orders.length], [200, 2]);
  const error = await rejection(client.getTask({ task: "none" }));
  assert.deepEqual([error.name, error.reason, error.path], ["FetchError", "task_not_found", "/task"]);
  const many = await Promise.all(Array.from({ length: 50 }, () => client.listSessions()));
  assert.equal(many.length, 50);
});

test("the gateway's own address takes the same calls", async (t) => {
  const port = await freePort();
  const listen = { path: `${directory}/http.sock`, address: `127.0.0.1:${port}`, keyFile };
  await chmod(keyFile, 0o600);
  await writeFile(keyFile, `${KEY}${KEY}\n`);
  t.after(() => writeFile(keyFile, `${KEY}\n`));
  const own = await Sidecar.start(playground, { gateway: { listen } });
  t.after(() => own.stop());
  // It may listen a little later than the sidecar's socket.
  const client = clientOf(t, { socketPath: `http://127.0.0.1:${port}`, connectWaitMs: 10_000 });
  assert.equal((await client.getInfo()).name, "postern");
  const response = await createFetch({ client, resource: "orders" })("orders");
  assert.equal((await response.json()).orders.length, 2);
  assert.equal((await rejection(client.getTask({ task: "none" }))).reason, "task_not_found");
  const other = clientOf(t, { socketPath: `http://127.0.0.1:${port}`, keyFile: `${directory}/other` });
  await writeFile(`${directory}/other`, "another-key-of-24-chars!");
  assert.match((await rejection(other.getInfo())).message, /does not accept the key/);
});

test("a program finds it by POSTERN_SOCKET and POSTERN_KEY_FILE", async (t) => {
  const consumer = await makeConsumer();
  t.after(() => consumer.remove());
  const source = `import { Client } from "postern-auth"; console.log((await new Client().getInfo()).name);`;
  await writeFile(`${consumer.directory}/main.mjs`, source);
  const env = { POSTERN_SOCKET: front.address, POSTERN_KEY_FILE: keyFile };
  const { stdout, stderr } = await runNode(["main.mjs"], { cwd: consumer.directory, env });
  assert.equal(stdout, "postern\n", stderr);
});

test("what needs a connection says that it needs the Unix socket", async (t) => {
  const client = clientOf(t);
  for (const [what, call] of [
    ["subscribe", () => client.subscribe({ events: ["event.sessionEnded"] })],
    ["subscribe", () => client.events(["event.sessionEnded"]).next()],
    ["registerDelegate", () => client.registerDelegate({ methods: [] })],
    ["a delegate", () => client.setDelegates({ updateRequest: () => ({}) })],
    ["a delegate", async () => new Client({ socketPath: front.address, keyFile, delegates: { updateRequest: () => ({}) } })],
    ["narrow", () => client.narrow({ resources: [] })],
    ["a stream", async () => client.stream({ resource: "orders", path: "orders" })],
    ["an endpoint that is bound to this connection", () => client.endpoint({ resources: [] })],
  ]) {
    const error = await rejection(call());
    assert.ok(error instanceof RequestError, `${error}`);
    assert.deepEqual([error.reason, error.outcome], ["invalid_request", "not_sent"]);
    assert.ok(error.message.startsWith(`${what} needs the sidecar's Unix socket: ${front.address}`), error.message);
  }
  const error = await rejection(createFetch({ client, streaming: true, resource: "orders" })("orders"));
  assert.ok(error instanceof FetchFailed && /a stream needs/.test(error.message), error.message);
});

test("an address that is not loopback, or has more than a port, and a key that is missing or wrong, are errors without the key", async (t) => {
  await writeFile(`${directory}/wrong`, "another-key-of-24-chars!");
  await writeFile(`${directory}/lines`, "two\nlines");
  for (const [options, message] of [
    [{ socketPath: "http://192.0.2.1:7080" }, /not a loopback address/],
    [{ socketPath: "https://127.0.0.1:7080" }, /another scheme than http/],
    [{ socketPath: "http://127.0.0.1:7080/rpc" }, /more than a host and a port/],
    [{ socketPath: "http://user:s3cret@127.0.0.1:7080" }, /a user or a password/],
    [{ socketPath: "http://127.0.0.1:port" }, /not a URL/],
    [{ keyFile: "" }, /needs a key: POSTERN_KEY_FILE/],
    [{ keyFile: `${directory}/none` }, /cannot be read: ENOENT/],
    [{ keyFile: `${directory}/lines` }, /has no key/],
    [{ keyFile: `${directory}/wrong` }, /does not accept the key/],
  ]) {
    const error = await rejection(clientOf(t, options).getInfo());
    assert.deepEqual([error.name, error.reason, error.outcome], ["ConnectionFailed", "connection_failed", "not_sent"]);
    assert.match(error.message, message);
    assert.ok(!/s3cret|another-key|two/.test(error.message), error.message);
  }
});

test("an error about what needs the socket shows no password either", async (t) => {
  const client = clientOf(t, { socketPath: "http://user:s3cret@127.0.0.1:7080" });
  assert.ok(!(await rejection(client.subscribe({ events: [] }))).message.includes("s3cret"));
});

test("a sidecar that is missing is waited for, and is an error then", async (t) => {
  const port = await freePort();
  const socketPath = `http://127.0.0.1:${port}`;
  const error = await rejection(clientOf(t, { socketPath }).getInfo());
  assert.deepEqual([error.reason, error.retryable], ["connection_failed", true]);
  assert.match(error.message, /gateway\.listen\.address/);
  const waiting = clientOf(t, { socketPath, connectWaitMs: 10_000 }).getInfo();
  const late = http.createServer((_, res) => res.end('{"jsonrpc":"2.0","id":1,"result":{"name":"late"}}')).listen(port, "127.0.0.1");
  t.after(() => late.close());
  assert.equal((await within(waiting)).name, "late");
});

test("a lost response is retried for what reads, and is unknown for what does not", async (t) => {
  const client = clientOf(t);
  let count = 0;
  front.answer = (req) => (count++, req.socket.destroy());
  const error = await rejection(client.createSession({ issuer: "play", grant: { type: "sso", ssoToken: "t" } }));
  assert.deepEqual([error.name, error.outcome, count], ["ConnectionLost", "unknown", 1]);
  assert.equal((await rejection(client.getInfo())).reason, "connection_lost");
  assert.equal(count, 4);
});

test("what is not JSON-RPC is a violation, and an answer may not be larger than the limit", async (t) => {
  const client = clientOf(t, { maxMessageBytes: 1000 });
  for (const [status, body] of [
    [200, "<html>"],
    [200, "{}"],
    [500, "{}"],
    [200, `{"jsonrpc":"2.0","id":1,"result":"${"a".repeat(2000)}"}`],
  ]) {
    front.answer = (_, res) => res.writeHead(status, { "Content-Type": "application/json" }).end(body);
    assert.equal((await rejection(client.getInfo())).reason, "protocol_violation", body.slice(0, 20));
  }
  front.answer = (_, res) => {
    res.writeHead(503, { "Content-Type": "application/problem+json" });
    res.end(JSON.stringify({ code: -32009, reason: "overloaded", detail: "too many", retryable: true, outcome: "not_sent" }));
  };
  assert.equal((await rejection(client.getInfo())).name, "Unavailable");
});

test("a call ends with its signal, its timeout and its client, at the sidecar too", async (t) => {
  let closed = 0;
  front.answer = (req, res) => void res.on("close", () => (closed += 1));
  const client = clientOf(t);
  const reason = new Error("mine");
  const abort = new AbortController();
  const calls = [
    rejection(client.getInfo({}, { signal: abort.signal })),
    rejection(client.getInfo({}, { timeoutMs: 50 })),
    rejection(client.getInfo()),
  ];
  await new Promise((resolve) => setTimeout(resolve, 200));
  abort.abort(reason);
  assert.equal(await calls[0], reason);
  assert.equal((await calls[1]).reason, "deadline_exceeded");
  client.destroy();
  assert.equal((await calls[2]).reason, "client_closed");
  assert.ok((await rejection(client.getInfo())) instanceof PosternError);
  while (closed < 3) await new Promise((resolve) => setImmediate(resolve));
});

test("close lets calls complete", async (t) => {
  const client = clientOf(t);
  const call = client.getInfo();
  await within(client.close());
  assert.equal((await call).name, "postern");
});
