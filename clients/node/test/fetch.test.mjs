// createFetch beside what the platform's fetch does.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client, createFetch, FetchFailed, RequestError, FetchError } from "postern-auth";
import { Playground, Sidecar, login, signOn } from "./support/upstream.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

let playground, sidecar, client, open, orders;
before(async () => {
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  client = new Client({ socketPath: sidecar.socketPath });
  open = createFetch({ client, resource: "open" });
  orders = createFetch({ client, resource: "orders" });
});
after(async () => {
  await client.close();
  await sidecar.stop();
  await playground.stop();
});

const echo = async (path, init, fetch = open) => (await fetch(path, init)).json();

test("a Response is a native one, with a token nobody saw", async () => {
  const response = await orders("orders");
  assert.ok(response instanceof Response);
  assert.deepEqual([response.status, response.ok, response.statusText], [200, true, "OK"]);
  assert.equal(response.url, `${playground.baseUrl}/resource/orders`);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.ok(response.body instanceof ReadableStream);
  assert.equal(response.type, (await fetch(response.url)).type);
  assert.equal(response.postern.attempts, 1);
  const copy = response.clone();
  assert.equal(copy.url, response.url);
  assert.deepEqual(await copy.json(), await response.json());
  assert.equal(response.bodyUsed, true);
});

test("paths, absolute URLs, URL and Request objects name the same resource; the fragment is dropped", async () => {
  const url = `${playground.baseUrl}/open/echo?a=1`;
  for (const input of ["echo?a=1", "/echo?a=1", url, new URL(url), new Request(url), `${url}#part`]) {
    const response = await open(input);
    assert.deepEqual([response.url, response.redirected], [url, false]);
    assert.equal((await response.json()).query, "a=1");
  }
});

test("an origin that the resource does not allow is refused, whatever the path", async () => {
  const error = await rejection(orders("https://attacker.example/"));
  assert.ok(error instanceof FetchFailed && error instanceof TypeError);
  assert.ok(error.cause instanceof FetchError);
  assert.deepEqual([error.reason, error.code, error.outcome], ["origin_not_allowed", 1007, "not_sent"]);
});

const form = () => {
  const data = new FormData();
  data.append("field", "wert");
  data.append("file", new Blob(["inhalt"], { type: "text/plain" }), "a.txt");
  return data;
};
const pieces = () =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("in "));
      controller.enqueue(new TextEncoder().encode("pieces"));
      controller.close();
    },
  });
async function* generated() {
  yield bytes("in ");
  yield bytes("pieces");
}
const bytes = (text) => new TextEncoder().encode(text);
const urlEncoded = "application/x-www-form-urlencoded";
const bodies = [
  ["a string", () => "Zürich \u0000", "Zürich \u0000", "text/plain;charset=UTF-8"],
  ["an empty string", () => "", "", "text/plain;charset=UTF-8"],
  ["half of a surrogate pair", () => "\ud800", "\ufffd", "text/plain;charset=UTF-8"],
  ["URLSearchParams", () => new URLSearchParams({ a: "ü" }), "a=%C3%BC", `${urlEncoded};charset=UTF-8`],
  ["a Blob", () => new Blob(["blob"], { type: "text/csv" }), "blob", "text/csv"],
  ["a Uint8Array", () => bytes("bytes"), "bytes", undefined],
  ["an ArrayBuffer", () => bytes("buffer").buffer, "buffer", undefined],
  ["a Buffer", () => Buffer.from("node"), "node", undefined],
  ["a ReadableStream", pieces, "in pieces", undefined],
  ["a Readable of Node", () => Readable.from(["in ", "pieces"]), "in pieces", undefined],
  ["an asynchronous generator", generated, "in pieces", undefined],
  ["a view of other numbers", () => new Uint16Array([0x4241, 0x4443]), "ABCD", undefined],
  ["a number", () => 5, "5", "text/plain;charset=UTF-8"],
];
for (const [what, body, text, type] of bodies) {
  test(`${what} is sent as the platform's fetch sends it`, async () => {
    const init = { method: "POST", body: body(), duplex: "half" };
    const seen = await echo("echo", init);
    assert.deepEqual([seen.method, seen.body, seen.headers["content-type"]?.[0]], ["POST", text, type]);
    const direct = await (await fetch(`${playground.baseUrl}/open/echo`, { ...init, body: body() })).json();
    assert.deepEqual([seen.body, seen.headers["content-type"]], [direct.body, direct.headers["content-type"]]);
  });
}

test("FormData goes as multipart, its boundary in the type; a Request brings its body along", async () => {
  const url = `${playground.baseUrl}/open/echo`;
  const request = new Request(url, { method: "PUT", body: form(), headers: { "x-own": "1" } });
  for (const seen of [await echo("echo", { method: "POST", body: form() }), await echo(request)]) {
    const [, boundary] = seen.headers["content-type"][0].match(/^multipart\/form-data; boundary=(.+)$/);
    assert.match(seen.body, new RegExp(boundary));
    assert.match(seen.body, /name="field"\r\n\r\nwert\r\n/);
    assert.match(seen.body, /filename="a\.txt"\r\nContent-Type: text\/plain\r\n\r\ninhalt\r\n/);
  }
  const changed = await echo(new Request(url, { method: "PUT", body: "x" }), { method: "DELETE", body: null });
  assert.deepEqual([changed.method, changed.body], ["DELETE", ""]);
});

test("bytes that are no text come back as they were", async () => {
  const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const seen = await echo("echo", { method: "POST", body });
  assert.deepEqual(Buffer.from(seen.bodyBase64, "base64"), Buffer.from(body));
  const answer = new Uint8Array(await (await open("bytes/1000")).arrayBuffer());
  assert.ok(answer.length === 1000 && answer.every((byte, index) => byte === index % 251));
});

test("a body over the limit is refused while it is read, one that goes on for ever too", async () => {
  const small = createFetch({ client, resource: "open", maxBodyBytes: 1000 });
  let cancelled = false;
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(100)),
    cancel: () => (cancelled = true),
  });
  for (const body of [new Uint8Array(1001), endless]) {
    const error = await rejection(small("echo", { method: "POST", body, duplex: "half" }));
    assert.ok(error.cause instanceof RequestError);
    assert.deepEqual([error.reason, error.outcome], ["message_too_large", "not_sent"]);
  }
  assert.equal(cancelled, true);
  assert.equal((await small("echo", { method: "POST", body: new Uint8Array(1000) })).status, 200);
});

test("headers: repeats are kept, a fetch's own are dropped, Authorization is refused aloud", async () => {
  const headers = new Headers([["X-A", "1"], ["X-A", "2"], ["User-Agent", "me"], ["Content-Length", "7"]]);
  const seen = await echo("echo", { headers });
  assert.deepEqual(seen.headers["x-a"].join(", "), "1, 2");
  assert.doesNotMatch(JSON.stringify(seen.headers), /"me"/);
  assert.equal((await rejection(open("echo", { headers: { Authorization: "Bearer x" } }))).reason, "invalid_headers");
  const { headers: back } = await open("cookies?set=a%3D1&set=b%3D2");
  assert.deepEqual(back.getSetCookie?.() ?? back.get("set-cookie").split(", "), ["a=1", "b=2"]);
  const again = await open("cookies");
  assert.doesNotMatch(await again.text(), /a=1/, "a cookie was kept");
});

test("redirects are followed and told, or not followed, or refused", async () => {
  const target = `${playground.baseUrl}/open/echo`;
  const followed = await open("redirect?to=echo");
  assert.deepEqual([followed.status, followed.redirected, followed.url], [200, true, target]);
  assert.equal((await open(`${playground.baseUrl}/open/redirect?to=echo`)).redirected, true);
  assert.equal((await open("echo")).redirected, false);
  const odd = await open("echo?q=ü x%20y");
  assert.deepEqual([odd.redirected, (await odd.json()).query], [false, "q=%C3%BC%20x%20y"]);
  const manual = await open("redirect?to=echo", { redirect: "manual" });
  assert.deepEqual([manual.status, manual.headers.get("location"), manual.redirected], [302, "echo", false]);
  const error = await rejection(open("redirect?to=echo", { redirect: "error" }));
  assert.ok(error instanceof TypeError);
  assert.equal((await open("echo", { redirect: "error" })).status, 200);
  const away = await open("redirect?to=https%3A%2F%2Fattacker.example%2F");
  assert.deepEqual([away.status, away.redirected], [302, false]);
});

for (const status of [200, 204, 205, 304, 404, 500, 599]) {
  test(`${status} is a response, not an error`, async () => {
    const response = await open(`status/${status}`);
    assert.equal(response.status, status);
    assert.equal(response.ok, status < 300);
    if ([204, 205, 304].includes(status)) assert.equal(response.body, null);
    await response.text();
  });
}

test("HEAD has headers and no body; other methods go as they are", async () => {
  const head = await open("bytes/1000", { method: "HEAD" });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
  for (const method of ["PUT", "patch", "DELETE"]) {
    assert.equal((await echo("echo", { method })).method, method.toUpperCase());
  }
  assert.equal((await rejection(open("echo", { method: "TRACE" }))).reason, "method_not_allowed");
});

test("a signal ends the fetch with its reason, before and while it waits, and the task with it", async () => {
  assert.equal((await rejection(open("echo", { signal: AbortSignal.abort() }))).name, "AbortError");
  const late = await rejection(open("slow?ms=60000", { signal: AbortSignal.timeout(50) }));
  assert.equal(late.name, "TimeoutError");
  const running = async () => (await client.listTasks({ limit: 1000 })).tasks.filter(({ state }) => state === "running");
  await eventually(async () => (await running()).length === 0);
  const abort = new AbortController();
  const call = rejection(open(new Request(`${playground.baseUrl}/open/slow?ms=60000`, { signal: abort.signal })));
  await eventually(async () => (await running()).length === 1);
  abort.abort();
  assert.equal((await call).name, "AbortError");
  await eventually(async () => (await running()).length === 0);
  const stuck = new ReadableStream({ pull: () => new Promise(() => {}) });
  const init = { method: "POST", body: stuck, duplex: "half", signal: AbortSignal.timeout(50) };
  assert.equal((await rejection(open("echo", init))).name, "TimeoutError");
});

test("what makes no sense is a TypeError, as in every fetch", async () => {
  const cases = [
    [{ body: "x" }],
    [{ method: "HEAD", body: "x" }],
    [{ redirect: "perhaps" }],
    [{ integrity: "sha256-x" }],
    [{ headers: { "bad name": "x" } }],
    [{ method: "POST", body: { a: 1 } }],
    [{ method: "POST", body: [1, 2] }],
    [{ method: "POST", body: new Map([["a", 1]]) }],
    [{ signal: {} }],
  ];
  for (const [init] of cases) {
    assert.ok((await rejection(open("echo", init))) instanceof TypeError, JSON.stringify(init));
  }
});

test("a body that is no text is an error that has the remedy, and nothing is sent", async () => {
  const error = await rejection(open("echo", { method: "POST", body: { a: 1 } }));
  assert.match(error.message, /JSON\.stringify/);
  assert.equal((await rejection(open("echo", { signal: {} }))).message, "signal must be an AbortSignal");
});

test("a request body whose stream fails is a TypeError with the program's own error, as in every fetch", async () => {
  const mine = new Error("the disk is full");
  const failing = () => new ReadableStream({ pull: () => Promise.reject(mine) });
  const broken = async function* () {
    yield bytes("a piece");
    throw mine;
  };
  const url = `${playground.baseUrl}/open/echo`;
  for (const body of [failing, broken]) {
    for (const [fetch, input] of [[open, "echo"], [globalThis.fetch, url]]) {
      const error = await rejection(fetch(input, { method: "POST", body: body(), duplex: "half" }));
      assert.ok(error instanceof TypeError);
      assert.equal(error.cause, mine);
    }
  }
});

test("the arguments are those of every fetch: without input it fails, init may be null, a used Request is an error", async () => {
  assert.ok((await rejection(open())) instanceof TypeError);
  assert.equal((await open("echo", null)).status, 200);
  const used = new Request(`${playground.baseUrl}/open/echo`, { method: "POST", body: "x" });
  await used.text();
  assert.ok((await rejection(open(used))) instanceof TypeError);
});

test("a fetch for a user's session, and one that times out", async () => {
  const { session } = await login(client, playground);
  const mine = createFetch({ client, resource: "mine", session });
  assert.equal((await mine("orders")).status, 200);
  const short = createFetch({ client, resource: "open", timeoutMs: 50 });
  assert.equal((await rejection(short("slow?ms=60000"))).reason, "deadline_exceeded");
});

test("streaming: a response at its head, its body of any size as it comes, and ended by who reads", async (t) => {
  const small = { baseUrl: `${playground.baseUrl}/open/`, auth: "none", maxBodyBytes: "1KiB" };
  const own = await Sidecar.start(playground, { resources: { small } });
  t.after(() => own.stop());
  const whole = createFetch({ socketPath: own.socketPath });
  assert.equal((await rejection(whole("bytes/2000000"))).reason, "response_too_large");
  const streaming = createFetch({ client: whole.client, streaming: true });
  for (const size of [0, 1000, 1_000_000, 5_000_000]) {
    const response = await streaming(`bytes/${size}`);
    assert.deepEqual([response.status, response.redirected, response.bodyUsed], [200, false, false]);
    const bytes = new Uint8Array(await response.clone().arrayBuffer());
    assert.ok(bytes.length === size && bytes.every((byte, index) => byte === index % 251), `${size} bytes`);
    await response.body.cancel();
  }
  const early = await streaming("bytes/1000000000");
  assert.equal(early.headers.get("content-length"), "1000000000");
  const reader = early.body.getReader();
  await reader.read();
  const { task } = early.postern;
  assert.equal((await whole.client.getTask({ task })).state, "running");
  await reader.cancel();
  await eventually(async () => (await whole.client.getTask({ task })).state === "cancelled");
  assert.equal((await rejection(early.postern.result)).reason, "request_cancelled");
  assert.equal((await streaming("status/204")).body, null);
  assert.equal((await streaming("redirects/2")).redirected, true);
  assert.equal((await rejection(streaming("../x"))).reason, "invalid_url");
  assert.equal((await rejection(streaming("redirects/2", { redirect: "error" }))).name, "TypeError");
  assert.equal((await rejection(streaming("slow?ms=60000", { signal: AbortSignal.timeout(50) }))).name, "TimeoutError");
  await whole.client.close();
});

test("streaming: the head is there while the server is still writing, and an abort in the middle ends the body", async (t) => {
  const upstream = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    response.write("data: 1\n\n");
  }).listen(0, "127.0.0.1");
  t.after(() => {
    upstream.close();
    upstream.closeAllConnections();
  });
  await once(upstream, "listening");
  const feed = { baseUrl: `http://127.0.0.1:${upstream.address().port}/`, auth: "none" };
  const own = await Sidecar.start(playground, { resources: { feed } });
  t.after(() => own.stop());
  const fetch = createFetch({ socketPath: own.socketPath, streaming: true });
  const end = new AbortController();
  const response = await within(fetch("x", { signal: end.signal }));
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await within(reader.read())).value, "data: 1\n\n");
  end.abort();
  assert.equal((await rejection(within(reader.read()))).name, "AbortError");
  await fetch.client.close();
});

test("streaming: a body that nobody reads goes with its response", async () => {
  const fetch = createFetch({ client, resource: "open", streaming: true });
  const task = await (async () => (await fetch("bytes/1000000000")).postern.task)();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  await eventually(async () => {
    collect();
    return (await client.getTask({ task })).state === "cancelled";
  });
});

test("a long URL is compared as far as the sidecar tells it", async () => {
  const long = `echo?q=${"x".repeat(4000)}`;
  assert.equal((await createFetch({ client, resource: "open" })(long)).redirected, false);
  const away = `redirect?to=echo&q=${"x".repeat(4000)}`;
  assert.equal((await createFetch({ client, resource: "open" })(away)).redirected, true);
});

test("options that are misspelt are refused", () => {
  assert.throws(() => createFetch({ client, sesion: "s" }), TypeError);
});

test("step-up: a delegate has the user do what a gateway wants, and the fetch goes on", async () => {
  const asked = [];
  const stepping = new Client({
    socketPath: sidecar.socketPath,
    delegates: {
      async onPolicyAdviceReceived({ advices, continuation }) {
        asked.push(advices[0].type);
        const answers = { PasswordCallback: "alice-password", ConfirmationCallback: "Yes" };
        const { state } = await stepping.authenticateWithAdvice({ continuation, answers });
        return { satisfied: state === "completed" };
      },
    },
  });
  const { session } = await signOn(stepping, playground);
  const pay = createFetch({ client: stepping, resource: "payments", session });
  const response = await pay("transaction/transfers", { method: "POST", body: "100" });
  assert.deepEqual([response.status, response.postern.advicesSatisfied.length], [200, 1]);
  assert.equal((await response.json()).body, "100");
  assert.deepEqual(asked, ["TransactionConditionAdvice"]);
  await stepping.setDelegates({});
  const error = await rejection(pay("transaction/transfers", { method: "POST", body: "200" }));
  assert.deepEqual([error.reason, typeof error.cause.continuation], ["advice_required", "string"]);
  await stepping.close();
});

test("without a client it makes one, which does not keep the program alive", async () => {
  const own = createFetch({ socketPath: sidecar.socketPath, resource: "open" });
  assert.equal((await within(own("echo"))).status, 200);
  await own.client.close();
});
