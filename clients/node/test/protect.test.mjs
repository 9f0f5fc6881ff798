// The middleware that checks who calls an API: with a server of node:http, real connections, and a fake sidecar.
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { after, beforeEach, test } from "node:test";
import { Client, protect } from "postern-auth";
import { FakePostern } from "postern-auth/testing";
import { Playground, Sidecar } from "./support/upstream.mjs";

const audience = "https://orders.example.com";
const valid = { valid: true, claims: { sub: "alice" }, tokenType: "Bearer", cached: false };
const challenge = 'Bearer realm="corp", error="invalid_token", error_description="expired", DPoP algs="ES256"';
const rejected = {
  valid: false,
  error: { code: "token_expired", message: "expired" },
  response: { status: 401, headers: { "WWW-Authenticate": challenge, "DPoP-Nonce": "n1" } },
};

let reached;
const fake = await FakePostern.start();
const { client } = fake;
after(() => fake.stop());
beforeEach(() => {
  fake.reset();
  fake.when("validateRequest").returns(valid);
  reached = undefined;
});
const asked = () => fake.callsTo("validateRequest");

/** A server whose handler is behind the middleware; `change` is what a framework does to a request before. */
async function serve(t, options = {}, change = () => {}, sidecar = client) {
  const check = protect(sidecar, { issuer: "corp", audience, ...options });
  const server = http.createServer((req, res) => {
    change(req);
    void check(req, res, () => {
      reached = req.postern;
      res.end("inside");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return server.address().port;
}

/** The response to exactly these bytes. */
async function send(port, text) {
  const socket = net.connect(port, "127.0.0.1");
  socket.write(text, "latin1");
  const pieces = [];
  for await (const piece of socket) pieces.push(piece);
  const [head, ...body] = Buffer.concat(pieces).toString("latin1").split("\r\n\r\n");
  const [line, ...lines] = head.split("\r\n");
  const headers = lines.map((one) => [one.slice(0, one.indexOf(":")).toLowerCase(), one.slice(one.indexOf(":") + 2)]);
  return { status: Number(line.split(" ")[1]), headers, body: body.join("\r\n\r\n") };
}

const request = (line = "GET /orders HTTP/1.1", ...lines) =>
  [line, "Host: api.example.com", "Connection: close", ...lines, "", ""].join("\r\n");
const value = ({ headers }, name) => headers.filter(([one]) => one === name).map(([, text]) => text);

test("a valid token reaches the handler with its claims, and the sidecar saw the request as it was", async (t) => {
  const port = await serve(t, { requiredScopes: ["orders:read"] });
  const found = await send(port, request("POST /a%2Fb?q=%2F&r HTTP/1.1", "Authorization: Bearer t", "X-Name: J\xf6rg"));
  assert.deepEqual([found.status, found.body.includes("inside")], [200, true]);
  assert.deepEqual(reached, { claims: { sub: "alice" }, tokenType: "Bearer", confirmation: {} });
  const [{ headers, meta: _, ...rest }] = asked();
  assert.deepEqual([headers.authorization, headers["x-name"]], [["Bearer t"], ["J\xf6rg"]]);
  const own = { issuer: "corp", audience, requiredScopes: ["orders:read"] };
  assert.deepEqual(rest, { ...own, method: "POST", url: "http://api.example.com/a%2Fb?q=%2F&r" });
});

for (const method of ["GET", "HEAD", "POST"]) {
  test(`a rejection is passed on as it is: ${method}`, async (t) => {
    fake.when("validateRequest").returns(rejected);
    const found = await send(await serve(t), request(`${method} /orders HTTP/1.1`));
    assert.deepEqual([found.status, reached], [401, undefined]);
    assert.deepEqual(value(found, "www-authenticate"), [challenge]);
    assert.deepEqual([value(found, "dpop-nonce"), value(found, "cache-control")], [["n1"], ["no-store"]]);
    const body = JSON.stringify({ error: "invalid_token", error_description: "expired" });
    assert.deepEqual([value(found, "content-length"), value(found, "content-type")], [[`${body.length}`], ["application/json"]]);
    assert.equal(found.body, method === "HEAD" ? "" : body);
  });
}

test("a request without a token gets the bare challenges, and no body", async (t) => {
  const response = { status: 401, headers: { "WWW-Authenticate": "Bearer, DPoP" } };
  fake.when("validateRequest").returns({ ...rejected, response });
  const found = await send(await serve(t), request());
  assert.deepEqual([value(found, "www-authenticate"), found.body], [["Bearer, DPoP"], ""]);
});

const noVerdicts = [
  ...[{}, null, [], { valid: true }, { valid: true, claims: [], tokenType: "Bearer" }, { ...valid, valid: 1 }],
  ...[{ valid: false }, { valid: false, response: { status: 200, headers: {} } }, { ...rejected, valid: "false" }],
];
// A fake gives no answer that the sidecar never gives.
const wrong = (answer) => ({ call: async () => answer });
for (const [what, after, sidecar] of [
  ["jwks_fetch_failed", "3", client],
  ["store_unavailable", "1", client],
  ["invalid_params", "1", client],
  ...noVerdicts.map((one) => [JSON.stringify(one), "1", wrong(one)]),
]) {
  test(`what is no verdict lets nothing through, and is no challenge: ${what}`, async (t) => {
    if (sidecar === client) fake.when("validateRequest").fails(what, after === "3" ? { retryAfterMs: 2500 } : {});
    const errors = [];
    const options = { onError: (error) => errors.push(error) };
    const found = await send(await serve(t, options, undefined, sidecar), request(undefined, "Authorization: Bearer t"));
    assert.deepEqual([found.status, value(found, "retry-after"), value(found, "www-authenticate")], [503, [after], []]);
    assert.deepEqual([found.body, reached, errors.length], ["", undefined, 1]);
  });
}

test("without a sidecar nothing gets through", async (t) => {
  const nowhere = new Client({ socketPath: "/tmp/no-such-directory/s" });
  const check = protect(nowhere, { audience });
  const server = http.createServer((req, res) => void check(req, res, () => res.end("inside"))).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  assert.equal((await send(server.address().port, request())).status, 503);
});

test("two lines of one name stay two: node:http itself would drop the second", async (t) => {
  await send(await serve(t), request(undefined, "Authorization: Bearer a", "Authorization: Bearer b"));
  assert.deepEqual(asked()[0].headers.authorization, ["Bearer a", "Bearer b"]);
});

test("the public URL takes precedence over the host, and the original URL over a router's", async (t) => {
  const change = (req) => Object.assign(req, { originalUrl: req.url, url: "/7" });
  const options = { audience: undefined, publicUrl: "https://api.example.com/shop/", dpop: "required", maxAge: 60 };
  await send(await serve(t, options, change), request("GET /orders/7?x HTTP/1.1", "X-Forwarded-Host: evil.example"));
  const [params] = asked();
  assert.equal(params.url, "https://api.example.com/shop/orders/7?x");
  assert.deepEqual([params.dpop, params.maxAge, "audience" in params], ["required", 60, false]);
});

test("a request without one host, or with another form of target, is 400 before anything is sent", async (t) => {
  const port = await serve(t);
  for (const text of [
    "GET /orders HTTP/1.0\r\n\r\n",
    request(undefined, "Host: other.example"),
    request().replace("api.example.com", "a@b/c?d"),
    request("GET http://api.example.com/orders HTTP/1.1"),
    request("OPTIONS * HTTP/1.1"),
  ]) {
    assert.equal((await send(port, text)).status, 400, text);
  }
  assert.deepEqual([asked().length, reached], [0, undefined]);
});

test("the certificate of the client's connection goes along, and no field that looks like one", async () => {
  const der = Buffer.alloc(100, 7);
  const check = protect(client, { audience });
  const socket = { encrypted: true, getPeerCertificate: () => ({ raw: der }) };
  const req = { method: "GET", url: "/", rawHeaders: ["Host", "a.example", "X-Client-Cert", "mine"], socket };
  await check(req, {}, () => {});
  const [{ url, clientCertificate }] = asked();
  const [first, ...lines] = clientCertificate.trim().split("\n");
  assert.deepEqual([url, first, lines.pop()], ["https://a.example/", "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"]);
  assert.deepEqual([Buffer.from(lines.join(""), "base64"), lines[0].length], [der, 64]);
  await check({ ...req, socket: { encrypted: true, getPeerCertificate: () => ({}) } }, {}, () => {});
  assert.equal("clientCertificate" in asked()[1], false);
});

test("claims that a request brings along do not count", async (t) => {
  fake.when("validateRequest").returns(rejected);
  const change = (req) => Object.assign(req, { postern: { claims: { sub: "root" } } });
  let left;
  const check = protect(client, { audience });
  const req = { method: "GET", url: "/", rawHeaders: ["Host", "a.example"] };
  change(req);
  await check(req, { setHeader() {}, end: () => (left = req.postern) }, assert.fail);
  assert.equal(left, undefined);
});

test("a middleware that would accept any audience, or has a misspelt option, is not made", () => {
  assert.throws(() => protect(client), /audience or publicUrl/);
  assert.throws(() => protect(client, { issuer: "corp" }), /audience or publicUrl/);
  assert.throws(() => protect(client, { audience, requiredScope: [] }), /did you mean requiredScopes/);
  assert.throws(() => protect(client, { audience, requiredScopes: "orders:read" }), /array/);
  assert.throws(() => protect(client, { audience, dpop: "maybe" }), /one of/);
  for (const maxAge of ["60", -1, 0.5, null]) assert.throws(() => protect(client, { audience, maxAge }), /maxAge/);
  for (const timeoutMs of ["5", 0, NaN]) assert.throws(() => protect(client, { audience, timeoutMs }), /timeoutMs/);
  assert.throws(() => protect(client, { publicUrl: "orders.example.com" }), TypeError);
  assert.throws(() => protect(client, { publicUrl: "https://a.example/?q" }), TypeError);
});

test("tokens of an issuer, by the real sidecar: a difference between it and the double", async (t) => {
  const playground = await Playground.start();
  t.after(() => playground.stop());
  const sidecar = await Sidecar.start(playground, { tokens: { leaveTheSidecar: true } });
  t.after(() => sidecar.stop());
  const real = new Client({ socketPath: sidecar.socketPath });
  t.after(() => real.close());
  const { accessToken } = await real.getAccessToken({ resource: "orders" });
  const own = { issuer: "play", audience: `${playground.baseUrl}/resource` };
  const line = `Authorization: Bearer ${accessToken}`;
  const ask = async (options, ...lines) => send(await serve(t, { ...own, ...options }, undefined, real), request(undefined, ...lines));
  const found = await ask({ requiredScopes: ["orders"] }, line);
  assert.deepEqual([found.status, reached.claims.sub, reached.tokenType], [200, "svc", "Bearer"]);
  for (const [options, lines, status, error] of [
    [{}, [], 401, undefined],
    [{}, [`${line}x`], 401, "invalid_token"],
    [{}, [line, line], 400, "invalid_request"],
    [{ audience: "https://other.example.com" }, [line], 401, "invalid_token"],
    [{ requiredScopes: ["orders", "admin"] }, [line], 403, "insufficient_scope"],
    [{ issuer: "none" }, [line], 503, undefined],
  ]) {
    reached = undefined;
    const answered = await ask(options, ...lines);
    assert.deepEqual([answered.status, reached], [status, undefined], JSON.stringify(options));
    assert.equal(answered.body === "" ? undefined : JSON.parse(answered.body).error, error);
    assert.equal(value(answered, "www-authenticate").length, status === 503 ? 0 : 1);
  }
});
