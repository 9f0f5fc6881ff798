// createDispatcher: the platform's fetch, and libraries over undici, through the sidecar.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { Client, createDispatcher, LoginRequired } from "postern-auth";
import { Playground, Sidecar, signOn } from "./support/upstream.mjs";
import { rejection, within } from "./support/waiting.mjs";

let playground, sidecar, client, orders, open;
before(async () => {
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  client = new Client({ socketPath: sidecar.socketPath });
  orders = createDispatcher({ client, resource: "orders" });
  open = createDispatcher({ client, resource: "open" });
});
after(async () => {
  await client.close();
  await sidecar.stop();
  await playground.stop();
});

const url = (path) => `${playground.baseUrl}/${path}`;

test("the platform's fetch gets its token from the sidecar", async () => {
  const response = await fetch(url("resource/orders"), { dispatcher: orders });
  assert.deepEqual([response.status, response.statusText], [200, "OK"]);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal((await response.json()).orders.length, 2);
  assert.equal((await fetch(url("resource/orders"))).status, 401, "without the dispatcher there is no token");
});

test("bodies of every kind, methods, queries and headers arrive", async () => {
  for (const [body, type] of [
    ["text", "text/plain;charset=UTF-8"],
    [new URLSearchParams({ a: "b" }), "application/x-www-form-urlencoded;charset=UTF-8"],
    [new Blob(["blob"], { type: "text/x" }), "text/x"],
    [Readable.toWeb(Readable.from([Buffer.from("stream")])), null],
  ]) {
    const expected = body instanceof ReadableStream ? "stream" : await new Response(body).text();
    const options = { method: "PUT", body, duplex: "half", headers: { "X-Own": "1" }, dispatcher: open };
    const echo = await (await fetch(url("open/echo?q=1"), options)).json();
    assert.deepEqual([echo.method, echo.query, echo.body], ["PUT", "q=1", expected]);
    const headers = new Map(Object.entries(echo.headers).map(([name, value]) => [name.toLowerCase(), [value].flat()[0]]));
    assert.equal(headers.get("x-own"), "1");
    if (type) assert.equal(headers.get("content-type"), type);
  }
});

test("a user's fetch names the session, and without one the cause is LoginRequired", async () => {
  const { session } = await signOn(client, playground, "shop");
  const mine = createDispatcher({ client, resource: "mine", session: () => session });
  assert.equal((await fetch(url("resource/orders"), { dispatcher: mine })).status, 200);
  const nobody = createDispatcher({ client, resource: "mine" });
  const error = await rejection(fetch(url("resource/orders"), { dispatcher: nobody }));
  assert.ok(error instanceof TypeError && error.cause instanceof LoginRequired, `${error.cause}`);
});

test("a URL that the resource does not allow is an error with its reason", async () => {
  const { cause } = await rejection(fetch("https://192.0.2.1/secret", { dispatcher: orders }));
  assert.equal(cause.reason, "origin_not_allowed");
});


test("a large body streams, no faster than it is read, and can be cancelled", async () => {
  const streaming = createDispatcher({ client, resource: "open", streaming: true });
  const response = await fetch(url("open/bytes/3000000"), { dispatcher: streaming });
  assert.equal((await response.arrayBuffer()).byteLength, 3_000_000);
  const abort = new AbortController();
  const long = await fetch(url("open/bytes/20000000"), { dispatcher: streaming, signal: abort.signal });
  const reader = long.body.getReader();
  await reader.read();
  abort.abort();
  assert.equal((await rejection((async () => { for (;;) if ((await reader.read()).done) return; })())).name, "AbortError");
});

test("a handler of undici 7 gets the response, and can pause and abort it", async () => {
  const calls = [];
  const dispatched = (options, react = () => {}) => new Promise((resolve) => {
    const streaming = createDispatcher({ client, resource: "open", streaming: true });
    let bytes = 0;
    streaming.dispatch({ origin: playground.baseUrl, method: "GET", headers: ["x-a", "1"], ...options }, {
      onRequestStart: () => calls.push("start"),
      onResponseStart: (_, status, headers) => calls.push([status, typeof headers["content-length"]]),
      onResponseData: (controller, piece) => {
        bytes += piece.length;
        react(controller);
      },
      onResponseEnd: () => resolve(bytes),
      onResponseError: (_, error) => resolve(error),
    });
  });
  let pauses = 0;
  const paused = (controller) => {
    controller.pause();
    pauses += 1;
    setTimeout(() => controller.resume(), 1);
  };
  assert.equal(await within(dispatched({ path: "/open/bytes/500000" }, paused)), 500_000);
  assert.deepEqual(calls, ["start", [200, "string"]]);
  assert.ok(pauses > 1);
  const reason = new Error("mine");
  assert.equal(await within(dispatched({ path: "/open/bytes/20000000" }, (controller) => controller.abort(reason))), reason);
  assert.equal(await within(dispatched({ path: "/open/echo", query: { a: "b" } })) > 0, true);
  assert.match(`${await within(dispatched({ path: "/", method: "CONNECT" }))}`, /no tunnels/);
});

test("close waits for what runs, and then nothing is dispatched", async () => {
  const own = createDispatcher({ socketPath: sidecar.socketPath, resource: "open" });
  const running = fetch(url("open/echo"), { dispatcher: own });
  await new Promise((resolve) => setImmediate(resolve));
  await within(own.close());
  assert.equal((await running).status, 200);
  assert.match((await rejection(fetch(url("open/echo"), { dispatcher: own }))).cause.message, /closed/);
});
