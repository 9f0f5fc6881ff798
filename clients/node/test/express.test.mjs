// The example with Express, as its one command starts it, used as a browser uses it: over HTTP, with cookies and forms.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";
import { Client } from "postern-auth";
import { repositoryRoot } from "./support/consumer.mjs";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { eventually } from "./support/waiting.mjs";

let sidecar, playground, example, origin, provider, client;

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The application at a port, with the sidecar of these tests. */
async function startExample(port, environment = {}) {
  const env = {
    PATH: [path.dirname(process.execPath), process.env.PATH].join(":"),
    PORT: `${port}`,
    POSTERN_SOCKET: sidecar.socketPath,
    ...environment,
  };
  const command = [path.join(repositoryRoot, "examples/run"), ["express"]];
  const child = spawn(...command, { env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stderr.on("data", (data) => (log += data));
  const ended = once(child, "exit").then(([status]) => assert.fail(`the example ended with ${status}: ${log}`));
  ended.catch(() => {});
  const [line] = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
  assert.equal(line, `Open http://127.0.0.1:${port}`);
  return child;
}

async function stop(child) {
  if (child === undefined || child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill();
  await ended;
}

before(async () => {
  playground = await Playground.start();
  provider = playground.baseUrl;
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  // The example's own configuration, at other addresses.
  const shown = await readFile(path.join(repositoryRoot, "examples/express/postern.yaml"), "utf8");
  const text = shown.replaceAll("http://127.0.0.1:8080", provider).replace("http://127.0.0.1:8000", origin);
  sidecar = await Sidecar.startWith((directory) => `${text}\nlisten: { path: ${directory}/postern.sock }\n`);
  example = await startExample(port);
  client = new Client({ socketPath: sidecar.socketPath, connectWaitMs: 10_000 });
});
after(async () => {
  await client?.close();
  await stop(example);
  await sidecar?.stop();
  await playground?.stop();
});
beforeEach(async () => {
  for await (const { session } of client.sessions()) await client.endSession({ session });
});

/** A request for a page. `fetch` says in its headers that it is a script's. */
async function page(url, method, given, form = new URLSearchParams()) {
  const type = method === "POST" && { "content-type": "application/x-www-form-urlencoded" };
  const request = http.request(url, { method, headers: { ...given, ...type }, agent: false }).end(`${form}`);
  const [response] = await once(request, "response");
  let text = "";
  for await (const piece of response.setEncoding("utf8")) text += piece;
  const { "set-cookie": setCookies = [], ...headers } = response.headers;
  return { status: response.statusCode, headers: new Headers(headers), setCookies, text };
}

/** A browser's cookies by origin; it follows redirects, and shows the page at their end. */
class Browser {
  cookies = new Map();

  async open(url, { method = "GET", form, from } = {}) {
    const at = new URL(url, this.url ?? origin);
    const cookie = [...(this.cookies.get(at.origin) ?? [])].map((pair) => pair.join("=")).join("; ");
    const headers = { accept: "text/html", cookie, ...(method === "POST" && { origin: from ?? at.origin }) };
    const body = form && new URLSearchParams(form);
    const response = await page(at, method, headers, body);
    this.#store(at.origin, response.setCookies);
    this.url = at.href;
    const location = response.headers.get("location");
    if (location !== null) return this.open(location);
    return { ...response, url: this.url };
  }

  #store(origin, setCookies) {
    const own = this.cookies.get(origin) ?? new Map();
    for (const text of setCookies) {
      const [, name, value] = text.match(/^([^=]+)=([^;]*)/);
      if (/; Max-Age=0;|Expires=Thu, 01 Jan 1970/.test(text)) own.delete(name);
      else own.set(name, value);
    }
    this.cookies.set(origin, own);
  }

  /** Sends the provider's form. */
  async signIn({ text, url }, user = "alice", more = {}) {
    assert.ok(url.startsWith(provider), url);
    const [, transaction] = text.match(/name="transaction" value="([^"]+)"/);
    const form = { transaction, username: user, password: `${user}-password`, ...more };
    return this.open(`${provider}/oidc/login`, { method: "POST", form });
  }

  async loggedIn(user) {
    const page = await this.signIn(await this.open(`${origin}/login`), user);
    assert.equal(page.status, 200, page.text);
    return page;
  }
}

const cookiesOf = (browser) => browser.cookies.get(origin);

test("a user logs in, sees their orders, and the browser has a handle that no page shows, and no token", async () => {
  const browser = new Browser();
  assert.match((await browser.open("/")).text, /href="\/login"/);
  const home = await browser.loggedIn();
  assert.equal(home.url, `${origin}/`);
  assert.match(home.text, /Hello user-1001/);
  const orders = await browser.open("/data");
  assert.equal(orders.status, 200);
  assert.match(orders.text, /&#34;orders&#34;/);
  assert.equal(orders.headers.get("cache-control"), "no-store");
  assert.deepEqual([...cookiesOf(browser).keys()], ["postern-session"]);
  const handle = cookiesOf(browser).get("postern-session");
  const { sessions } = await client.listSessions();
  assert.deepEqual(sessions.map(({ session }) => session), [handle]);
  for (const { text } of [home, orders]) assert.ok(!text.includes(handle), "a page shows the handle");
});

test("the session is new with each login, and no cookie is for scripts and other sites", async () => {
  const browser = new Browser();
  browser.cookies.set(origin, new Map([["postern-session", "chosen"]]));
  await browser.loggedIn();
  assert.match(cookiesOf(browser).get("postern-session"), /^[\w-]{43}$/);
  const { setCookies } = await page(new URL("/login", origin), "GET", {});
  assert.match(setCookies[0], /^postern-login-[\w-]{8}=.*; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
});

test("nobody is whoever is logged in: not without a cookie, and not with the word for the only session", async () => {
  await new Browser().loggedIn();
  for (const value of ["only", "", "undefined", "A".repeat(43)]) {
    const other = new Browser();
    other.cookies.set(origin, new Map([["postern-session", value]]));
    assert.match((await other.open(`${origin}/`)).text, /Not logged in/);
    for (const path of ["/data", "/sensitive"]) assert.equal((await other.open(path)).status, 401, value);
  }
  assert.ok((await new Browser().open(`${origin}/data`)).url.startsWith(`${provider}/oidc/authorize`));
});

test("two users at a time see their own names", async () => {
  const [alice, bob] = [new Browser(), new Browser()];
  await alice.loggedIn("alice");
  await bob.loggedIn("bob");
  const pages = await Promise.all(Array.from({ length: 20 }, (_, number) => [alice, bob][number % 2].open(`${origin}/`)));
  const isAlice = pages.map(({ text }) => /Hello ([\w-]+)/.exec(text)[1] === "user-1001");
  assert.deepEqual(isAlice, pages.map((_, number) => number % 2 === 0));
});

test("a login leads back to the page that needed it, in each of two tabs, and to no other site", async () => {
  const browser = new Browser();
  const first = await browser.open(`${origin}/data`);
  const second = await browser.open(`${origin}/login?next=//evil.example/`);
  assert.equal((await browser.signIn(first)).url, `${origin}/data`);
  assert.equal((await browser.signIn(second)).url, `${origin}/`);
  assert.deepEqual([...cookiesOf(browser).keys()], ["postern-session"]);
});

test("who cancels at the provider gets a page to begin again", async () => {
  const browser = new Browser();
  const page = await browser.open(`${origin}/login`);
  const [, transaction] = page.text.match(/name="transaction" value="([^"]+)"/);
  const cancelled = await browser.open("/oidc/login", { method: "POST", form: { transaction, action: "cancel" } });
  assert.deepEqual([cancelled.status, cancelled.url.startsWith(`${origin}/callback?`)], [403, true], cancelled.text);
  assert.match(cancelled.text, /The login was cancelled.*href="\/login"/);
  assert.equal(cookiesOf(browser).size, 0);
});

test("a callback that another browser started logs nobody in", async () => {
  const attacker = new Browser();
  const page = await attacker.open(`${origin}/login`);
  const [, transaction] = page.text.match(/name="transaction" value="([^"]+)"/);
  const body = new URLSearchParams({ transaction, username: "bob", password: "bob-password" });
  const response = await fetch(`${provider}/oidc/login`, { method: "POST", body, redirect: "manual" });
  const callback = response.headers.get("location");
  assert.ok(callback.startsWith(`${origin}/callback`), callback);
  const victim = new Browser();
  assert.equal((await victim.open(callback)).status, 400);
  await victim.open(`${origin}/login`);
  assert.equal((await victim.open(callback)).status, 400);
  assert.equal((await attacker.open(callback)).status, 200);
});

test("step-up: the vault sends the user to the provider for a second factor, and comes back with what is in it", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const { sessions: [before] } = await client.listSessions();
  assert.equal(before.acr, "pwd");
  const page = await browser.open("/sensitive");
  const vault = await browser.signIn(page);
  assert.deepEqual([vault.status, vault.url], [200, `${origin}/sensitive`]);
  const { sessions: [now] } = await client.listSessions();
  assert.deepEqual([now.session, now.acr], [before.session, "mfa"]);
  assert.equal((await browser.open("/sensitive")).url, `${origin}/sensitive`, "once is enough");
});

test("a second login that is as weak as the first is no step-up, and no endless chain", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const found = await browser.signIn(await browser.open("/sensitive"), "alice", { acr: "pwd" });
  assert.equal(found.status, 403, found.text);
  assert.equal((await client.listSessions()).sessions[0].acr, "pwd");
});

test("step-up by another user is an error, and the session stays as it was", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const page = await browser.signIn(await browser.open("/sensitive"), "bob");
  assert.deepEqual([page.status, page.url.startsWith(`${origin}/callback`)], [403, true]);
  assert.match(page.text, /did not succeed/);
  assert.match((await browser.open("/")).text, /user-1001/);
  assert.equal((await browser.open("/data")).status, 200);
});

test("logout ends the session in the sidecar, the cookie, and the handle that somebody has kept", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const kept = new Map(cookiesOf(browser));
  assert.equal((await browser.open("/logout", { method: "POST", from: "https://evil.example" })).status, 403);
  assert.equal((await browser.open("/logout")).status, 405, "a link can log a user out");
  assert.match((await browser.open(`${origin}/`)).text, /user-1001/);
  const page = await browser.open("/logout", { method: "POST" });
  assert.match(page.text, /Not logged in/);
  assert.equal(cookiesOf(browser).size, 0);
  assert.deepEqual((await client.listSessions()).sessions, []);
  browser.cookies.set(origin, kept);
  assert.doesNotMatch((await browser.open("/")).text, /user-1001/);
});

test("a user who logs in where another user's session was planted is the one who is logged in", async () => {
  const [bob, alice] = [new Browser(), new Browser()];
  await bob.loggedIn("bob");
  alice.cookies.set(origin, new Map(cookiesOf(bob)));
  assert.match((await alice.loggedIn("alice")).text, /Hello user-1001/);
  assert.notEqual(cookiesOf(alice).get("postern-session"), cookiesOf(bob).get("postern-session"));
  assert.doesNotMatch((await bob.open(`${origin}/`)).text, /user-1001/);
});

test("a session that has ended at the sidecar: the user learns it, and logs in again", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const { sessions: [{ session }] } = await client.listSessions();
  await client.endSession({ session });
  const ended = await browser.open("/data");
  assert.deepEqual([ended.status, ended.url], [401, `${origin}/data`]);
  const [, href] = /href="([^"]+)"/.exec(ended.text);
  assert.equal((await browser.signIn(await browser.open(href))).url, `${origin}/data`);
  const { sessions: [again] } = await client.listSessions();
  await client.endSession({ session: again.session });
  assert.match((await browser.open(`${origin}/logout`, { method: "POST" })).text, /href="\/login"/);
});

test("a logout at the provider ends the session of one user, and not of another", async () => {
  const [alice, bob] = [new Browser(), new Browser()];
  await alice.loggedIn("alice");
  await bob.loggedIn("bob");
  const asked = { clientId: "shop", user: "alice" };
  const { logout_token: token } = await playground.ask("POST", "/playground/logoutToken", asked);
  const post = (given) =>
    fetch(`${origin}/backchannel-logout`, { method: "POST", body: new URLSearchParams({ logout_token: given }) });
  const done = await post(token);
  assert.deepEqual([done.status, done.headers.get("cache-control")], [200, "no-store"]);
  assert.match((await alice.open(`${origin}/`)).text, /Not logged in/);
  assert.match((await bob.open(`${origin}/`)).text, /Hello/);
  for (const wrong of [token, "a.b.c", ""]) {
    const rejected = await post(wrong);
    assert.deepEqual([rejected.status, rejected.headers.get("cache-control")], [400, "no-store"], wrong);
  }
});

/** An access token of a program without users. */
async function token({ scope = "orders", audience = "https://shop.example/api" } = {}) {
  const body = new URLSearchParams({ grant_type: "client_credentials", scope, audience });
  const headers = { authorization: `Basic ${btoa("svc:svcsecret")}` };
  const response = await fetch(`${provider}/oidc/token`, { method: "POST", headers, body });
  return (await response.json()).access_token;
}

const callApi = (path, given) => fetch(`${origin}${path}`, { headers: given && { authorization: `Bearer ${given}` } });

test("the API for other programs gives its caller's claims to the handler", async () => {
  const response = await callApi("/api/orders/7", await token());
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { client: "svc", order: "7", subject: "svc" });
  assert.equal((await callApi("/api/other", await token())).status, 404);
  assert.equal((await callApi("/API/orders/7", await token())).status, 200, "Express ignores case");
});

test("no path of the API is open, and no user's cookie opens it", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  for (const path of ["/api/orders/7", "/API/orders/7", "/api", "/api/other"]) {
    const { status, headers, text } = await browser.open(origin + path);
    assert.deepEqual([status, text], [401, ""], path);
    assert.match(headers.get("www-authenticate"), /^Bearer/);
    assert.doesNotMatch(headers.get("www-authenticate"), /error/);
  }
});

test("tokens that are invalid, for another API or with other scopes get the challenge for that", async () => {
  const foreign = await token({ audience: `${provider}/resource` });
  for (const [given, status, error] of [
    ["wrong.wrong.wrong", 401, "invalid_token"],
    [foreign, 401, "invalid_token"],
    [await token({ scope: "profile" }), 403, "insufficient_scope"],
  ]) {
    const response = await callApi("/api/orders/7", given);
    assert.deepEqual([response.status, (await response.json()).error], [status, error]);
    assert.ok(response.headers.get("www-authenticate").includes(`error="${error}"`));
  }
});

test("the run ends with the application", async () => {
  const ended = once(example, "exit");
  example.kill();
  assert.deepEqual(await ended, [143, null]);
  await assert.rejects(fetch(origin), TypeError);
  assert.ok((await client.health()).status, "the sidecar is another's");
});
