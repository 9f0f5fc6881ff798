// The login of a web application: with a server of node:http, browsers that send what they like, and a fake sidecar.
// With the real one: express.test.mjs.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { createRequire } from "node:module";
import net from "node:net";
import { after, afterEach, beforeEach, test } from "node:test";
import { AdviceRequired, Client, createFetch, LoginRequired } from "postern-auth";
import { createLogin } from "postern-auth/express";
import { FakePostern, FetchResult, failure } from "postern-auth/testing";

const { localPath } = createRequire(import.meta.url)("../lib/local-path.js");
const { fromAnswer } = createRequire(import.meta.url)("../lib/error-codes.js");

const ALICE = "A".repeat(43);
const BOB = "B".repeat(43);
const NEW = "N".repeat(43);
const FORM = "application/x-www-form-urlencoded";

let begun;
const session = (handle, more = {}) =>
  ({ session: handle, issuer: "corp", kind: "user", scope: "", subject: handle[0], createdAt: new Date().toISOString(), ...more });
const standard = {
  getSession: ({ session: handle }) => ([ALICE, BOB, NEW].includes(handle) ? session(handle) : failure("session_not_found")),
  beginAuthorization: () => {
    const state = `state-${(begun += 1)}`;
    const authorizationUrl = `https://idp.example/authorize?state=${state}`;
    return { state, authorizationUrl, cookie: "c=1", expiresAt: new Date().toISOString() };
  },
  completeAuthorization: ({ callbackUrl, state }) =>
    new URL(callbackUrl).searchParams.get("state") === state
      ? session(NEW)
      : failure("authorization_failed", { detail: "state_mismatch" }),
  endSession: () => ({ ended: true, upstream: "ended" }),
};
const fake = await FakePostern.start();
const { client } = fake;
after(() => fake.stop());
const asUsual = (method) => fake.when(method).returns(standard[method]);
beforeEach(() => {
  fake.reset();
  begun = 0;
  for (const method of Object.keys(standard)) asUsual(method);
});
afterEach(() => fake.verify());

const asked = () => fake.calls.map(({ method, params: { meta, ...params } }) => [method, params]);
const calls = (method) => asked().filter(([name]) => name === method).map(([, params]) => params);
const publicUrl = "https://shop.example";

/** A server with the middlewares, and a page that `handler` answers, or throws. */
async function serve(t, { options = {}, handler = () => {}, sidecar = client } = {}) {
  const errors = [];
  const own = { issuer: "corp", publicUrl, onError: (error) => errors.push(error), ...options };
  const login = createLogin(sidecar, own);
  const server = http.createServer((req, res) => {
    const failed = (error) => {
      res.statusCode = 500;
      res.end(`not handled: ${error.name}`);
    };
    const page = (error) => {
      if (error !== undefined) return failed(error);
      Promise.resolve(handler(req, res))
        .then((body) => res.writableEnded || res.end(body ?? req.posternSession?.subject ?? "nobody"))
        .catch((error) => login.handleErrors(error, req, res, failed));
    };
    const here = () => login.currentSession(req, res, page);
    login.routes(req, res, (error) => (error === undefined ? here() : failed(error)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { port: server.address().port, login, errors };
}

/** A request as it stands, without what a client of HTTP would add. */
function send({ port }, target, { method = "GET", cookies = {}, headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const cookie = Object.entries(cookies).map((pair) => pair.join("=")).join("; ");
    const fields = { accept: "text/html", ...(cookie && { cookie }), ...headers };
    const request = http.request({ port, host: "127.0.0.1", method, path: target, headers: fields, agent: false });
    request.on("error", reject).on("response", async (response) => {
      let text = "";
      for await (const piece of response.setEncoding("utf8")) text += piece;
      resolve({ status: response.statusCode, headers: response.headers, text, set: cookiesIn(response.headers) });
    });
    request.end(body);
  });
}

function cookiesIn(headers) {
  return Object.fromEntries((headers["set-cookie"] ?? []).map((text) => [text.split("=", 1)[0], text]));
}

const value = (field) => /^[^=]+=([^;]*)/.exec(field)[1];
const SESSION = "__Host-postern-session";
const LOGIN = "__Host-postern-login";
const markOf = (secret) => createHash("sha256").update(secret).digest("base64url").slice(0, 8);
/** The name of the cookie of a login with that state, or of a step-up with that continuation. */
const begunCookie = (secret) => `${LOGIN}-${markOf(secret)}`;
/** Its value. */
const encoded = (entry) => Buffer.from(JSON.stringify(entry)).toString("base64url");
/** The cookies that a response sets of what the browser has begun, and the names of those that it removes. */
const loginsIn = ({ set }) => {
  const own = Object.entries(set).filter(([name]) => name.startsWith(LOGIN));
  return Object.fromEntries(own.map(([name, field]) => [name, value(field)]).filter(([, text]) => text !== ""));
};
const removedIn = ({ set }) =>
  Object.entries(set).filter(([name, field]) => name.startsWith(LOGIN) && / Max-Age=0;/.test(field)).map(([name]) => name);
const HOST_ONLY = /; Path=\/;.* HttpOnly; Secure; SameSite=Lax$/;
const sameOrigin = { "sec-fetch-site": "same-origin" };

/** A login that this browser has begun, in addition to `cookies`: all of its cookies. */
async function beginLogin(server, next = "", cookies = {}) {
  const found = await send(server, `/login${next && `?next=${encodeURIComponent(next)}`}`, { cookies });
  assert.equal(found.status, 303);
  const all = { ...cookies, ...loginsIn(found) };
  for (const name of removedIn(found)) delete all[name];
  return all;
}

test("a login: the browser gets a cookie for the login, then one with the new session, and comes back to the page", async (t) => {
  const server = await serve(t);
  const started = await send(server, "/login?next=%2Forders%3Fpage%3D2");
  assert.deepEqual([started.status, started.headers.location], [303, "https://idp.example/authorize?state=state-1"]);
  const name = begunCookie("state-1");
  assert.match(started.set[name], HOST_ONLY);
  assert.match(started.set[name], /; Max-Age=600;/);
  assert.deepEqual(calls("beginAuthorization"), [{ issuer: "corp", redirectUri: `${publicUrl}/callback` }]);
  const done = await send(server, "/callback?code=c&state=state-1", { cookies: loginsIn(started) });
  assert.deepEqual([done.status, done.headers.location], [303, "/orders?page=2"]);
  const callbackUrl = `${publicUrl}/callback?code=c&state=state-1`;
  assert.deepEqual(calls("completeAuthorization"), [{ callbackUrl, state: "state-1" }]);
  assert.match(done.set[SESSION], new RegExp(`^${SESSION}=${NEW}${HOST_ONLY.source}`));
  assert.match(done.set[name], /=; Path=\/; Max-Age=0;/);
  for (const { headers } of [started, done]) {
    assert.deepEqual([headers["cache-control"], headers["referrer-policy"]], ["no-store", "no-referrer"]);
  }
});

test("with http the cookies have no prefix and no Secure, and only loopback may have it", async (t) => {
  const { set } = await send(await serve(t, { options: { publicUrl: "http://127.0.0.1:8000" } }), "/login");
  assert.match(set[`postern-login-${markOf("state-1")}`], /; HttpOnly; SameSite=Lax$/);
  assert.throws(() => createLogin(client, { issuer: "corp", publicUrl: "http://shop.example" }), /https, or http on loopback/);
});

test("a callback that another browser has begun logs nobody in, with and without a login of its own", async (t) => {
  const server = await serve(t);
  const attacker = await beginLogin(server);
  const victim = await beginLogin(server);
  const [[name, text]] = Object.entries(attacker);
  const [own] = Object.keys(victim);
  for (const cookies of [
    ...[{}, victim, { [own]: text }, { [LOGIN]: text }, { [`${LOGIN}-`]: text }],
    ...["", "!", "W10", "WzFd", text.slice(0, -4)].map((wrong) => ({ [name]: wrong })),
    ...[["login", "state-1x", "/", 1], ["login", "state-1", "/"], ["login", "state-1", 1, 1]].map((entry) => ({ [name]: encoded(entry) })),
  ]) {
    const found = await send(server, "/callback?code=c&state=state-1", { cookies });
    assert.deepEqual([found.status, found.set[SESSION]], [400, undefined]);
    assert.match(found.text, /Please log in again/);
    assert.deepEqual(Object.keys(found.set), [], "the victim's own login goes on");
  }
  assert.deepEqual(calls("completeAuthorization"), []);
  assert.equal((await send(server, "/callback?code=c&state=state-1", { cookies: attacker })).status, 303);
  assert.equal((await send(server, "/callback?code=c&state=state-2", { cookies: victim })).status, 303);
  for (const query of ["", "?state=", "?code=c", "?state=%C3%A4", "?state=state-1&state=state-2"]) {
    assert.ok([303, 400].includes((await send(server, `/callback${query}`, { cookies: victim })).status), query);
  }
});

test("what the sidecar finds about the state is a page, too, and leaves the login", async (t) => {
  const server = await serve(t);
  fake.when("completeAuthorization").fails("authorization_failed", { detail: "state_mismatch" });
  const found = await send(server, "/callback?state=state-1", { cookies: await beginLogin(server) });
  assert.deepEqual([found.status, found.set[SESSION]], [400, undefined]);
  assert.match(found.text, /Please log in again.*href="\/login"/);
});

test("two tabs: each login is completed in its own order, and leads to its own page", async (t) => {
  const server = await serve(t);
  const cookies = await beginLogin(server, "/two", await beginLogin(server, "/one"));
  const one = await send(server, "/callback?state=state-1", { cookies });
  assert.deepEqual([one.headers.location, removedIn(one)], ["/one", [begunCookie("state-1")]]);
  const two = await send(server, "/callback?state=state-2", { cookies });
  assert.deepEqual([two.headers.location, removedIn(two)], ["/two", [begunCookie("state-2")]]);
});

test("tabs that begin and come back at the same time: no response takes away what another one has set", async (t) => {
  const server = await serve(t);
  const begun = await Promise.all(["/a", "/b", "/c"].map((next) => beginLogin(server, next)));
  const cookies = Object.assign({}, ...begun);
  assert.equal(Object.keys(cookies).length, 3);
  const done = await Promise.all([1, 2, 3].map((number) => send(server, `/callback?state=state-${number}`, { cookies })));
  assert.deepEqual(done.map(({ headers }) => headers.location).sort(), ["/a", "/b", "/c"]);
});

test("many tabs: four logins are kept, the oldest go, and a browser can store their cookies", async (t) => {
  const server = await serve(t);
  let many = {};
  for (let tab = 0; tab < 20; tab++) many = await beginLogin(server, `/${"x".repeat(1023)}`, many);
  assert.deepEqual(Object.keys(many).sort(), [17, 18, 19, 20].map((number) => begunCookie(`state-${number}`)).sort());
  assert.ok(Object.entries(many).flat().join("").length < 6500, "a server would reject the request");
  // As a browser sends them that sorts otherwise.
  const old = [3, 1, 4, 2].map((begun) => [begunCookie(`old-${begun}`), encoded(["login", `old-${begun}`, "/", begun])]);
  const kept = await beginLogin(server, "", Object.fromEntries(old));
  assert.deepEqual(Object.keys(kept).sort(), ["old-2", "old-3", "old-4", "state-21"].map(begunCookie).sort());
});

test("an unknown callback leads a user home, and changes nothing; without a live session it is an error", async (t) => {
  const server = await serve(t);
  const unknown = (cookies) => send(server, "/callback?code=c&state=state-9", { cookies });
  const home = await unknown({ [SESSION]: ALICE });
  assert.deepEqual([home.status, home.headers.location, home.set], [303, "/", {}]);
  for (const cookies of [{}, { [SESSION]: "only" }, { [SESSION]: "C".repeat(43) }]) assert.equal((await unknown(cookies)).status, 400);
  fake.when("getSession").returns((params) => ({ ...standard.getSession(params), issuer: "other" }));
  assert.equal((await unknown({ [SESSION]: ALICE })).status, 400);
  fake.when("getSession").fails("store_unavailable", { retryable: true });
  assert.equal((await unknown({ [SESSION]: ALICE })).status, 503);
  asUsual("getSession");
  // Sent twice by the browser, whose second request is the one that it shows.
  fake.when("completeAuthorization").fails("state_unknown");
  const cookies = { [SESSION]: ALICE, ...(await beginLogin(server, "/orders")) };
  const twice = await send(server, "/callback?state=state-1", { cookies });
  assert.deepEqual([twice.status, twice.headers.location, removedIn(twice)], [303, "/orders", [begunCookie("state-1")]]);
});

test("an upgrade that a page of another origin requests has nobody's session", async (t) => {
  const server = await serve(t);
  for (const name of ["upgrade", "sec-websocket-key"]) {
    for (const [origin, user] of [[publicUrl, "A"], ["https://evil.shop.example", "nobody"], ["null", "nobody"], [undefined, "nobody"]]) {
      const headers = { [name]: "websocket", ...(origin && { origin }) };
      const found = await send(server, "/", { cookies: { [SESSION]: ALICE }, headers });
      assert.equal(found.text, user, `${name} ${origin}`);
    }
  }
});

// What a browser does not remove from a name, and text functions do; what they leave out altogether; other letters.
for (const around of ["\xa0", "\x85", "\xc2\xa0", "\xe2\x80\x80", "\xef\xbb\xbf", "\xad", "x", '"']) {
  test(`a cookie whose name has ${JSON.stringify(around)} is another one, and not in the way of the own`, async (t) => {
    const { port } = await serve(t);
    const [[name, text]] = Object.entries(await beginLogin({ port }));
    const raw = async (target, cookie) => {
      const socket = net.connect(port, "127.0.0.1");
      const head = `GET ${target} HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nConnection: close\r\nCookie: ${cookie}\r\n\r\n`;
      socket.write(Buffer.from(head, "latin1"));
      let response = "";
      for await (const piece of socket) response += piece;
      return [response.split(" ")[1], response.split("\r\n\r\n")[1]];
    };
    for (const cookie of [`${around}${name}=${text}`, `${name}${around}=${text}`]) {
      assert.equal((await raw("/callback?state=state-1", cookie))[0], "400");
    }
    const planted = [`${around}${SESSION}=${BOB}`, `a=b; ${around}${SESSION}=${BOB}`, `${SESSION}${around}=${BOB}`, `${SESSION}=${around}${BOB}`];
    for (const cookie of planted) assert.deepEqual(await raw("/", cookie), ["200", "nobody"]);
    const both = `${SESSION}=${ALICE}; ${around}${SESSION}=${BOB}; ${SESSION}${around}=x; ${SESSION}`;
    assert.deepEqual(await raw("/", both), ["200", "A"]);
    assert.deepEqual(await raw("/", `a=b;\t${SESSION} = ${ALICE}\t;c`), ["200", "A"], "spaces and tabs count for nothing");
  });
}

for (const [what, error, status, title] of [
  ["access_denied", ["authorization_failed", { upstream: { code: "access_denied" } }], 403, /login was cancelled/],
  ["another error", ["authorization_failed", { upstream: { code: "invalid_scope" } }], 403, /did not succeed/],
  ["a login that was used", ["state_unknown"], 400, /Please log in again/],
  ["a code that the issuer rejects", ["token_endpoint_error", { retryable: false }], 502, /does not work/],
]) {
  test(`${what} at the provider is a page without details, and the login is over`, async (t) => {
    const server = await serve(t);
    fake.when("completeAuthorization").fails(...error);
    const found = await send(server, "/callback?error=x&state=state-1", { cookies: await beginLogin(server, "/orders") });
    assert.deepEqual([found.status, found.set[SESSION], removedIn(found)], [status, undefined, [begunCookie("state-1")]]);
    assert.match(found.text, title);
    assert.match(found.text, /href="\/login\?next=%2Forders"/);
    assert.deepEqual(server.errors.map(({ reason }) => reason), [error[0]]);
    assert.match(found.headers["content-security-policy"], /default-src 'none'/);
  });
}

test("an issuer that does not answer leaves the login: the page can be loaded again", async (t) => {
  const server = await serve(t);
  fake.when("completeAuthorization").fails("token_endpoint_unreachable", { retryable: true });
  const cookies = await beginLogin(server);
  const found = await send(server, "/callback?state=state-1", { cookies });
  assert.deepEqual([found.status, found.set], [503, {}]);
  asUsual("completeAuthorization");
  assert.equal((await send(server, "/callback?state=state-1", { cookies })).status, 303);
});

const OWN = ["/", "/orders", "/orders?a=//b#c", "/a%20b", "/ä", "/a/b.c/..d", "/x?next=https://evil.example"];
const FOREIGN = [
  ...["//evil.example", "/\\evil.example", "\\\\evil.example", "\\/evil.example", "https://evil.example", "evil.example"],
  ...["/\t/evil.example", "/\n/evil.example", "/\r\n/evil.example", " /orders", "/ orders", "\u0000/", "/a\u0000", "/a\u007f"],
  ...["/.//evil.example", "/a/..//evil.example", "/..//evil.example", "/%2e//evil.example", "/%2F/evil.example"],
  ...["/%5cevil.example", "/%09/evil.example", "/%252Fevil.example/..", "javascript:alert(1)", "", "///evil.example"],
  ...["/%25252f%25252fevil.example/%2525252e", "/a\ud800", `/${"a".repeat(1024)}`, undefined, null, 1, ["/"]],
];
for (const text of OWN) {
  test(`${JSON.stringify(text)} is a path to come back to`, () => {
    assert.equal(localPath(text), text.replace("ä", "%C3%A4"));
    assert.equal(new URL(localPath(text), publicUrl).origin, publicUrl);
  });
}
for (const text of FOREIGN) {
  test(`${JSON.stringify(text)?.slice(0, 40)} leads nowhere else, before and after the login`, async (t) => {
    assert.equal(localPath(text), undefined);
    if (typeof text !== "string") return;
    const server = await serve(t);
    const target = `/login?next=${encodeURIComponent(text.replace("\ud800", ""))}`;
    if (text.includes("\ud800")) return;
    const cookies = loginsIn(await send(server, target));
    assert.equal((await send(server, "/callback?state=state-1", { cookies })).headers.location, "/");
    // A cookie that somebody else has set is judged as well.
    const planted = { [begunCookie("state-9")]: encoded(["login", "state-9", text, 1]) };
    assert.equal((await send(server, "/callback?state=state-9", { cookies: planted })).headers.location, "/");
  });
}

test("a login does not lead back to itself, and in a prefix neither", async (t) => {
  const server = await serve(t, { options: { publicUrl: "https://a.example/shop", prefix: "/auth" } });
  const leadsTo = async (next) => {
    const begun = await send(server, `/auth/login?next=${encodeURIComponent(next)}`);
    const state = new URL(begun.headers.location).searchParams.get("state");
    const cookies = loginsIn(begun);
    return (await send(server, `/auth/callback?state=${state}`, { cookies })).headers.location;
  };
  const routes = ["/shop/auth/login", "/shop/auth/logout?x", "/shop/auth/callback#y", "/shop/auth/%6cogin/"];
  for (const next of routes) assert.equal(await leadsTo(next), "/shop/", next);
  for (const next of ["/shop/x", "/shop", "/shop?a=/b", "/shop/#c"]) assert.equal(await leadsTo(next), next);
  // A page of another application at the same host, which looks like this one's.
  const others = ["/", "/other", "/~mallory/phish", "/shopping", "/shop;/x", "/shop%2fx", "/Shop/x", "/%73hop/x", "/?/shop/", "/#/shop/"];
  for (const next of others) assert.equal(await leadsTo(next), "/shop/", next);
  assert.equal((await send(server, "/shop/auth/login")).status, 303, "a front that leaves the path of publicUrl");
  const out = await send(server, "/shop/auth/logout", { method: "POST", headers: sameOrigin });
  assert.deepEqual([out.status, out.headers.location], [303, "/shop/"]);
  assert.equal(calls("beginAuthorization")[0].redirectUri, "https://a.example/shop/auth/callback");
  assert.equal((await send(server, "/login")).status, 200, "another path is the application's");
});

test("a path is measured as it is stored: one that grows when it is encoded erases no login", async (t) => {
  const server = await serve(t);
  for (const letter of ["\u4e2d", "\u00e9", "\u{1f600}"]) {
    const fits = `/${letter.repeat(Math.floor(1023 / encodeURIComponent(letter).length))}`;
    assert.ok(localPath(fits).length <= 1024);
    assert.equal(localPath(fits + letter), undefined);
  }
  const cookies = await beginLogin(server, `/${"\u4e2d".repeat(500)}`, await beginLogin(server));
  assert.ok(Object.values(cookies).every((text) => text.length < 2000), "a browser would drop the cookie");
  assert.equal((await send(server, "/callback?state=state-1", { cookies })).status, 303);
});

test("the session before a login is worth nothing after it, though it is live: the sidecar replaces it", async (t) => {
  const server = await serve(t);
  assert.equal((await send(server, "/login", { cookies: { [SESSION]: BOB } })).headers.location, "https://idp.example/authorize?state=state-1");
  for (const [earlier, named] of [
    [{ [SESSION]: BOB }, { replaces: BOB }],
    [{}, {}],
    ...["only", "", "null", `${BOB}x`].map((text) => [{ [SESSION]: text }, {}]),
  ]) {
    begun = 0;
    const cookies = { ...(await beginLogin(server)), ...earlier };
    fake.calls.length = 0;
    const done = await send(server, "/callback?code=c&state=state-1", { cookies });
    assert.deepEqual([done.status, value(done.set[SESSION])], [303, NEW]);
    const callbackUrl = `${publicUrl}/callback?code=c&state=state-1`;
    assert.deepEqual(asked(), [["completeAuthorization", { callbackUrl, state: "state-1", ...named }]], "and nothing else is asked");
  }
});

test("each browser is its own user, and what is no live session of this issuer is nobody", async (t) => {
  const server = await serve(t);
  const who = async (cookie) => (await send(server, "/", { headers: { cookie } })).text;
  assert.deepEqual(await Promise.all([ALICE, BOB].map((handle) => who(`${SESSION}=${handle}`))), ["A", "B"]);
  const count = fake.calls.length;
  for (const cookie of [
    ...["only", "", "null", "undefined", `${ALICE}x`, `"${ALICE}"`, "A B"].map((text) => `${SESSION}=${text}`),
    ...[`${SESSION}=${ALICE}; ${SESSION}=${BOB}`, `postern-session=${ALICE}`, `x${SESSION}=${ALICE}`, SESSION],
  ]) {
    assert.equal(await who(cookie), "nobody", cookie);
  }
  assert.equal(fake.calls.length, count, "and the sidecar is not asked");
  assert.equal(await who(`${SESSION}=${"C".repeat(43)}`), "nobody");
  for (const change of [{ issuer: "other" }, { kind: "implicit" }]) {
    fake.when("getSession").returns((params) => ({ ...standard.getSession(params), ...change }));
    assert.equal(await who(`${SESSION}=${ALICE}`), "nobody");
  }
});

for (const [what, seconds, isLive] of [
  ...[["without an end", undefined, true], ["that ends later", 60, true], ["that ends now", 0, false]],
  ...[["that has just ended", -0.001, false], ["that ended yesterday", -86_400, false], ["whose expiresAt cannot be read", NaN, false]],
]) {
  test(`a session ${what} ${isLive ? "has" : "no longer has"} its user, though the sidecar shows it`, async (t) => {
    const handler = async ({ url, posternSession }) => {
      if (url === "/orders") throw nobody();
      return posternSession?.subject;
    };
    const server = await serve(t, { handler });
    const expiresAt = () => (Number.isNaN(seconds) ? "soon" : new Date(Date.now() + seconds * 1000).toISOString());
    fake.when("getSession").returns((params) => ({ ...standard.getSession(params), ...(seconds !== undefined && { expiresAt: expiresAt() }) }));
    const cookies = { [SESSION]: ALICE };
    const page = await send(server, "/", { cookies });
    assert.deepEqual([page.text, page.headers["cache-control"]], isLive ? ["A", "no-store"] : ["nobody", undefined]);
    const unknown = await send(server, "/callback?code=c&state=state-9", { cookies });
    assert.equal(unknown.status, isLive ? 303 : 400);
    // What a page of it raises leads to the login.
    const failed = await send(server, "/orders", { cookies });
    assert.equal(failed.status, isLive ? 500 : 401);
    if (!isLive) assert.match(failed.text, /Your login has ended.*href="\/login\?next=%2Forders"/);
    const script = await send(server, "/orders", { cookies, headers: { "sec-fetch-mode": "cors" } });
    assert.equal(script.status, isLive ? 500 : 401);
    const reached = [];
    const req = { method: "GET", url: "/x", headers: { cookie: `${SESSION}=${ALICE}`, accept: "text/html" } };
    const res = { setHeader() {}, getHeader() {}, end() {} };
    await server.login.requireSession(req, res, (error) => reached.push(error?.name ?? req.posternSession.subject));
    assert.deepEqual([reached, res.statusCode], isLive ? [["A"], undefined] : [[], 401]);
    assert.deepEqual(calls("endSession"), [], "the login that follows replaces it");
  });
}

test("a page of a user is for no cache, and what a request brings along is no session", async (t) => {
  const { login } = await serve(t);
  const req = { url: "/", headers: {}, posternSession: { subject: "root" } };
  await login.currentSession(req, { setHeader: assert.fail }, () => {});
  assert.equal(req.posternSession, undefined);
  const server = await serve(t);
  assert.equal((await send(server, "/", { cookies: { [SESSION]: ALICE } })).headers["cache-control"], "no-store");
  assert.equal((await send(server, "/")).headers["cache-control"], undefined);
});

test("a session that is too old ends", async (t) => {
  const server = await serve(t, { options: { maxAgeSeconds: 60 } });
  const cookies = { [SESSION]: ALICE };
  assert.equal((await send(server, "/", { cookies })).text, "A");
  const createdAt = new Date(Date.now() - 61_000).toISOString();
  fake.when("getSession").returns((params) => ({ ...standard.getSession(params), createdAt }));
  assert.equal((await send(server, "/", { cookies })).text, "nobody");
  assert.deepEqual(calls("endSession"), [{ session: ALICE }]);
  const done = await send(server, "/callback?state=state-1", { cookies: await beginLogin(server) });
  assert.match(done.set[SESSION], /; Max-Age=60;/);
});

test("a logout is a POST of this application's page", async (t) => {
  const server = await serve(t);
  const cookies = { [SESSION]: ALICE };
  for (const headers of [
    ...["cross-site", "same-site", "none", "", "same-origin, cross-site"].map((site) => ({ "sec-fetch-site": site })),
    ...["https://evil.example", "https://shop.example.evil.example", "null", "http://shop.example", ""].map((origin) => ({ origin })),
    ...[{}, { "sec-fetch-site": "cross-site", origin: publicUrl }, { referer: `${publicUrl}/` }],
  ]) {
    const found = await send(server, "/logout", { method: "POST", cookies, headers });
    assert.deepEqual([found.status, found.set], [403, {}], JSON.stringify(headers));
    assert.match(found.text, /still logged in/);
  }
  const link = await send(server, "/logout", { cookies, headers: sameOrigin });
  assert.deepEqual([link.status, link.headers.allow], [405, "POST"]);
  assert.deepEqual(calls("endSession"), []);
  for (const headers of [sameOrigin, { origin: publicUrl }, { ...sameOrigin, origin: "null" }]) {
    const found = await send(server, "/logout", { method: "POST", cookies, headers });
    assert.deepEqual([found.status, found.headers.location], [303, "/"]);
    assert.match(found.set[SESSION], /^__Host-postern-session=; Path=\/; Max-Age=0; HttpOnly; Secure; SameSite=Lax$/);
  }
  assert.deepEqual(calls("endSession"), Array(3).fill({ session: ALICE }));
});

test("a logout clears the cookie whatever the sidecar answers, and without it", async (t) => {
  const logout = (server, cookies = { [SESSION]: ALICE }) => send(server, "/logout", { method: "POST", cookies, headers: sameOrigin });
  const nowhere = new Client({ socketPath: "/tmp/no-such-directory/s" });
  const away = await serve(t, { sidecar: nowhere });
  const found = await logout(away);
  assert.deepEqual([found.status, value(found.set[SESSION]), away.errors.length], [303, "", 1]);
  const server = await serve(t);
  for (const [reason, reported] of [["session_not_found", 0], ["store_unavailable", 1]]) {
    fake.when("endSession").fails(reason);
    server.errors.length = 0;
    assert.deepEqual([(await logout(server)).status, server.errors.length], [303, reported]);
  }
  fake.calls.length = 0;
  assert.equal((await logout(server, { [SESSION]: "only" })).status, 303);
  assert.deepEqual(asked(), [], "only would be whoever is logged in");
  // A page that needs a user is an error then, and no page of somebody.
  assert.equal((await send(away, "/", { cookies: { [SESSION]: ALICE } })).status, 500);
  assert.equal((await send(away, "/login")).status, 503);
});

test("back-channel logout: 200 for a valid token, 400 for what is none, 503 where nobody can judge, and nothing for a cache", async (t) => {
  const server = await serve(t);
  const post = (body, headers = { "content-type": FORM }) => send(server, "/backchannel-logout", { method: "POST", headers, body });
  fake.when("validateLogoutToken").returns(() => ({ valid: true, ended: 2 }));
  const good = await post("logout_token=a.b.c", { "content-type": `${FORM}; charset=utf-8` });
  assert.deepEqual([good.status, good.text, good.headers["cache-control"]], [200, "", "no-store"]);
  assert.deepEqual(calls("validateLogoutToken"), [{ issuer: "corp", logoutToken: "a.b.c", end: true }]);
  for (const [body, headers] of [
    ...[["", undefined], ["logout_token=", undefined], ["logout_token=a&logout_token=b", undefined], ["x=y", undefined]],
    ...[['{"logout_token":"a"}', { "content-type": "application/json" }], ["logout_token=a", {}]],
    [`logout_token=${"a".repeat(70_000)}`, undefined],
  ]) {
    const found = await post(body, headers);
    assert.deepEqual([found.status, found.headers["cache-control"], JSON.parse(found.text).error], [400, "no-store", "invalid_request"]);
  }
  assert.equal(calls("validateLogoutToken").length, 1);
  fake.when("validateLogoutToken").returns(() => ({ valid: false, error: { code: "jti_replayed", message: "used before" } }));
  assert.deepEqual(JSON.parse((await post("logout_token=a")).text), { error: "invalid_request", error_description: "used before" });
  fake.when("validateLogoutToken").fails("store_unavailable");
  const failed = await post("logout_token=a");
  assert.deepEqual([failed.status, JSON.parse(failed.text).error, server.errors.length], [503, "temporarily_unavailable", 1]);
  const away = await serve(t, { sidecar: new Client({ socketPath: "/tmp/no-such-directory/s" }) });
  const options = { method: "POST", headers: { "content-type": FORM }, body: "logout_token=a" };
  assert.equal((await send(away, "/backchannel-logout", options)).status, 503);
  assert.equal((await send(server, "/backchannel-logout")).status, 405);
});

test("a form that another middleware has read, and one that is too large or breaks off", async (t) => {
  fake.when("validateLogoutToken").returns(() => ({ valid: true, ended: 0 }));
  const { login, port } = await serve(t);
  const given = { method: "POST", url: "/backchannel-logout", headers: { "content-type": FORM }, readableEnded: true };
  for (const [body, status] of [[{ logout_token: "a" }, 200], [{ logout_token: ["a", "b"] }, 400], [{}, 400], [undefined, 400]]) {
    const res = { setHeader() {}, end() {} };
    await login.routes({ ...given, body }, res, assert.fail);
    assert.equal(res.statusCode, status);
  }
  const head = `POST /backchannel-logout HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\n`;
  const socket = net.connect(port, "127.0.0.1");
  socket.write(`${head}Content-Length: 10000000\r\n\r\n${"a".repeat(100_000)}`);
  const [data] = await once(socket, "data");
  assert.match(data.toString(), /^HTTP\/1\.1 400 .*Connection: close/s);
  socket.destroy();
  const broken = net.connect(port, "127.0.0.1").resume().end(`${head}Content-Length: 10\r\n\r\nabc`);
  await once(broken, "close");
});

const nobody = () => fromAnswer({ code: 1001, message: "m", data: { reason: "not_authenticated" } });

test("LoginRequired of a page leads to the login and back; scripts, and ended sessions, get no redirect", async (t) => {
  const server = await serve(t, { handler: () => Promise.reject(nobody()) });
  const page = await send(server, "/orders?a=b&c");
  assert.deepEqual([page.status, page.headers.location], [303, "/login?next=%2Forders%3Fa%3Db%26c"]);
  assert.equal((await send(server, "//evil.example/")).headers.location, "/login");
  assert.equal((await send(server, "/orders", { method: "POST" })).headers.location, "/login", "a form is not sent again");
  for (const headers of [{ "sec-fetch-mode": "cors" }, { accept: "application/json" }]) {
    const script = await send(server, "/orders", { headers });
    assert.deepEqual([script.status, JSON.parse(script.text)], [401, { error: "login_required" }]);
  }
  const ended = await send(server, "/orders", { cookies: { [SESSION]: "C".repeat(43) } });
  assert.deepEqual([ended.status, ended.headers.location], [401, undefined]);
  assert.match(ended.text, /Your login has ended.*href="\/login\?next=%2Forders"/);
  const live = await send(server, "/orders", { cookies: { [SESSION]: ALICE } });
  assert.deepEqual([live.status, live.text], [500, "not handled: LoginRequired"], "the program has forgotten to name it");
});

test("requireSession lets users through, with and without currentSession before it", async (t) => {
  const { login } = await serve(t);
  const reached = async (cookie) => {
    const req = { method: "GET", url: "/x", headers: { cookie, accept: "text/html" } };
    const res = { setHeader() {}, getHeader() {}, end() {} };
    let subject = "not reached";
    await login.requireSession(req, res, (error) => (subject = error?.name ?? req.posternSession.subject));
    return [subject, res.statusCode];
  };
  assert.deepEqual(await reached(`${SESSION}=${ALICE}`), ["A", undefined]);
  assert.deepEqual(await reached(""), ["not reached", 303]);
  fake.when("getSession").fails("store_unavailable");
  assert.deepEqual(await reached(`${SESSION}=${ALICE}`), ["SessionError", undefined]);
});

test("other errors of a page are the program's, and so is what comes after the head", async (t) => {
  const forbidden = fromAnswer({ code: -32020, message: "m", data: { reason: "peer_forbidden" } });
  assert.equal((await send(await serve(t, { handler: () => Promise.reject(forbidden) }), "/")).text, "not handled: Forbidden");
  const { login } = await serve(t);
  let given;
  await login.handleErrors(nobody(), { headers: {} }, { headersSent: true }, (error) => (given = error));
  assert.ok(given instanceof LoginRequired);
});

const advice = (continuation) =>
  fromAnswer({ code: 1017, message: "m", data: { reason: "advice_required", continuation } });
const redirectStep = (continuation, url) => ({
  state: "callbacks",
  continuation,
  callbacks: [{ type: "RedirectCallback", output: [{ name: "redirectUrl", value: url }], input: [{ name: "callbackUrl" }] }],
});

test("step-up: the browser goes to the issuer and back to its page; a login that is too weak is no endless chain", async (t) => {
  assert.ok(advice("c") instanceof AdviceRequired);
  const server = await serve(t, { handler: () => Promise.reject(advice("fetch-1")) });
  // With a pushed request the URL has no state.
  fake.when("authenticateWithAdvice").returns(() => redirectStep("step-1", "https://idp.example/authorize?request_uri=x"));
  const away = await send(server, "/vault?x", { cookies: { [SESSION]: ALICE } });
  assert.deepEqual([away.status, away.headers.location], [303, "https://idp.example/authorize?request_uri=x"]);
  const cookies = { [SESSION]: ALICE, ...loginsIn(away) };
  fake.when("authenticateWithAdvice").returns(({ answers: { RedirectCallback: url } }) =>
    url.endsWith("state=right") ? { state: "completed" } : failure("state_unknown"));
  const foreign = await send(server, "/callback?state=wrong", { cookies });
  assert.deepEqual([foreign.headers.location, foreign.set], ["/", {}], "the step-up goes on");
  const other = await send(server, "/callback?state=right", { cookies: { [SESSION]: BOB } });
  assert.equal(other.headers.location, "/", "another browser has not begun it");
  const back = await send(server, "/callback?state=right", { cookies });
  assert.deepEqual([back.status, back.headers.location, back.set[SESSION]], [303, "/vault?x", undefined]);
  const callbackUrl = `${publicUrl}/callback?state=right`;
  assert.deepEqual(asked().at(-1)[1], { continuation: "step-1", answers: { RedirectCallback: callbackUrl } });
  assert.deepEqual(removedIn(back), [begunCookie("step-1")]);
  const weak = await send(server, "/vault?x", { cookies: { [SESSION]: ALICE, ...loginsIn(back) } });
  assert.deepEqual([weak.status, removedIn(weak)], [403, Object.keys(loginsIn(back))]);
  assert.match(weak.text, /needs a stronger login.*href="\/vault\?x">Try again/);
});

test("step-up: another user, another kind of step, and a script", async (t) => {
  const server = await serve(t, { handler: () => Promise.reject(advice("fetch-1")) });
  const cookies = { [SESSION]: ALICE };
  const script = await send(server, "/vault", { cookies, headers: { "sec-fetch-mode": "cors" } });
  assert.deepEqual([script.status, JSON.parse(script.text)], [403, { error: "stronger_login_required" }]);
  fake.when("authenticateWithAdvice").returns(() => ({ state: "callbacks", callbacks: [{ type: "PasswordCallback" }], continuation: "c" }));
  assert.equal((await send(server, "/vault", { cookies })).status, 403);
  fake.when("authenticateWithAdvice").returns(() => redirectStep("step-1", "https://idp.example/authorize?state=s"));
  const away = await send(server, "/vault", { cookies });
  fake.when("authenticateWithAdvice").fails("authorization_failed", { upstream: { code: "other_user" } });
  const found = await send(server, "/callback?state=s", { cookies: { ...cookies, ...loginsIn(away) } });
  assert.deepEqual([found.status, removedIn(found), found.set[SESSION]], [403, [begunCookie("step-1")], undefined]);
});

test("a page of the application's own", async (t) => {
  const server = await serve(t, { options: { page: ({ kind, link }) => `${kind} ${link}` } });
  assert.equal((await send(server, "/callback")).text, "notBegunHere /login");
});

test("options that are not right are refused", () => {
  const good = { issuer: "corp", publicUrl };
  assert.equal(typeof createLogin(client, good).routes, "function");
  for (const [change, message] of [
    [{ issuer: undefined }, /issuer/],
    [{ publicUrl: undefined }, /publicUrl/],
    [{ publicUrl: "shop.example" }, /URL/],
    [{ publicUrl: "https://a:b@shop.example" }, /user/],
    [{ publicUrl: "https://shop.example/?q" }, /query/],
    [{ publicUrl: "ftp://shop.example" }, /URL/],
    [{ publicURL: publicUrl }, /did you mean publicUrl/],
    [{ prefix: "auth" }, /prefix/],
    [{ prefix: "/auth/" }, /prefix/],
    [{ home: "https://evil.example" }, /home/],
    [{ home: "/login" }, /home/],
    [{ publicUrl: `${publicUrl}/shop`, home: "/start" }, /home/],
    [{ cookie: "a b" }, /cookie/],
    [{ maxAgeSeconds: "60" }, /maxAgeSeconds/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ authorization: { acr_values: [] } }, /did you mean acrValues/],
  ]) {
    assert.throws(() => createLogin(client, { ...good, ...change }), message);
  }
});

test("two users at a time: a fetch with the session of its request is for nobody else", async (t) => {
  fake.reset(); // the fake's own sessions
  const [alice, bob] = ["alice", "bob"].map((subject) => fake.login({ subject }));
  fake.when("fetchResource").fails("not_authenticated", { detail: "session_missing" });
  for (const { session, subject } of [alice, bob]) {
    fake.when("fetchResource", { session }).returns(FetchResult.of(200, { text: `data of ${subject}` }));
  }
  const fetch = createFetch({ client });
  const handler = async ({ posternSession }) => (await fetch("x", { session: posternSession?.session })).text();
  const server = await serve(t, { handler });
  const users = Array.from({ length: 40 }, (_, number) => [alice, bob, undefined][number % 3]);
  const found = await Promise.all(users.map((one) => send(server, "/x", { cookies: one ? { [SESSION]: one.session } : {} })));
  found.forEach(({ status, text }, number) => {
    if (users[number] === undefined) assert.equal(status, 303);
    else assert.equal(text, `data of ${users[number].subject}`);
  });
});
