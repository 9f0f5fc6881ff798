// The example with Express, as its one command starts it, used as a browser uses it: over HTTP, with cookies and forms.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
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

/** A browser's cookies by origin; it follows redirects, and shows the page at their end. */
class Browser {
  cookies = new Map();

  async open(url, { method = "GET", form } = {}) {
    const at = new URL(url, this.url ?? origin);
    const headers = { cookie: [...(this.cookies.get(at.origin) ?? [])].map((pair) => pair.join("=")).join("; ") };
    const body = form && new URLSearchParams(form);
    const response = await fetch(at, { method, headers, body, redirect: "manual" });
    this.#store(at.origin, response.headers.getSetCookie());
    this.url = at.href;
    const location = response.headers.get("location");
    if (location !== null) return this.open(location);
    return { status: response.status, headers: response.headers, text: await response.text(), url: this.url };
  }

  #store(origin, setCookies) {
    const own = this.cookies.get(origin) ?? new Map();
    for (const text of setCookies) {
      const [, name, value] = text.match(/^([^=]+)=([^;]*)/);
      if (/Expires=Thu, 01 Jan 1970/.test(text)) own.delete(name);
      else own.set(name, value);
    }
    this.cookies.set(origin, own);
  }

  /** Sends the provider's form. */
  async signIn({ text, url }, user = "alice") {
    assert.ok(url.startsWith(provider), url);
    const [, transaction] = text.match(/name="transaction" value="([^"]+)"/);
    return this.open("/oidc/login", { method: "POST", form: { transaction, username: user, password: `${user}-password` } });
  }

  async loggedIn(user) {
    const page = await this.signIn(await this.open(`${origin}/login`), user);
    assert.equal(page.status, 200, page.text);
    return page;
  }
}

test("a user logs in, sees their orders, and the browser has nothing but an opaque id", async () => {
  const browser = new Browser();
  assert.match((await browser.open("/")).text, /href="\/login"/);
  const home = await browser.loggedIn();
  assert.equal(home.url, `${origin}/`);
  assert.match(home.text, /Welcome, user-1001/);
  const orders = await browser.open("/data");
  assert.equal(orders.status, 200);
  assert.match(orders.text, /&#34;orders&#34;/);
  assert.equal(orders.headers.get("cache-control"), "no-store");
  const [[name, id], ...others] = [...browser.cookies.get(origin)];
  assert.deepEqual([name, others.length], ["id", 0]);
  assert.match(id, /^[\w-]{43}$/);
  const { sessions } = await client.listSessions();
  assert.equal(sessions.length, 1);
  for (const shown of [id, home.text, orders.text]) assert.ok(!shown.includes(sessions[0].session), "the handle left");
});

test("the id is new with each login, and no cookie is for scripts and other sites", async () => {
  const browser = new Browser();
  browser.cookies.set(origin, new Map([["id", "chosen"]]));
  await browser.loggedIn();
  assert.match(browser.cookies.get(origin).get("id"), /^[\w-]{43}$/);
  const old = new Browser();
  old.cookies.set(origin, new Map([["id", "chosen"]]));
  assert.ok((await old.open(`${origin}/data`)).url.startsWith(provider), "the id from before the login is logged in");
  const { headers } = await fetch(`${origin}/login`, { redirect: "manual" });
  assert.match(headers.getSetCookie()[0], /^login=.*HttpOnly; SameSite=Lax/);
});

test("a login that nobody completes is in the browser only: many of them log nobody out", async () => {
  const browser = new Browser();
  await browser.open(`${origin}/login`);
  assert.deepEqual([...browser.cookies.get(origin).keys()], ["login"]);
  const { headers } = await fetch(`${origin}/login`, { redirect: "manual" });
  assert.match(headers.getSetCookie().join(), /Max-Age=600/);
});

test("when the time of a browser is over, its session ends in the sidecar, too", async () => {
  const port = Number(new URL(origin).port);
  await stop(example);
  try {
    example = await startExample(port, { MAX_AGE_SECONDS: "2" });
    const browser = new Browser();
    assert.match((await browser.loggedIn()).text, /Welcome, /);
    await eventually(async () => (await client.listSessions()).sessions.length === 0);
    assert.doesNotMatch((await browser.open("/")).text, /Welcome, /);
  } finally {
    await stop(example);
    example = await startExample(port);
  }
});

test("without a login the way is to the provider, and with an invented cookie as well", async () => {
  const browser = new Browser();
  assert.ok((await browser.open("/data")).url.startsWith(`${provider}/oidc/authorize`));
  const inventive = new Browser();
  inventive.cookies.set(origin, new Map([["id", "a".repeat(43)]]));
  assert.ok((await inventive.open("/sensitive")).url.startsWith(`${provider}/oidc/authorize`));
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

test("step-up by another user is an error, and the session stays as it was", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const page = await browser.signIn(await browser.open("/sensitive"), "bob");
  assert.deepEqual([page.status, page.url.startsWith(`${origin}/callback`)], [403, true]);
  assert.match(page.text, /authorization_failed/);
  assert.match((await browser.open("/")).text, /user-1001/);
  assert.equal((await browser.open("/data")).status, 200);
});

test("logout ends the session in the sidecar, the cookie, and the id that somebody has kept", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const kept = new Map(browser.cookies.get(origin));
  const page = await browser.open("/logout", { method: "POST" });
  assert.match(page.text, /Log in/);
  assert.equal(browser.cookies.get(origin).size, 0);
  assert.deepEqual((await client.listSessions()).sessions, []);
  browser.cookies.set(origin, kept);
  assert.doesNotMatch((await browser.open("/")).text, /user-1001/);
  assert.equal((await browser.open("/logout")).status, 404, "a link can log a user out");
});

test("who is logged in needs no second login", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  assert.equal((await browser.open("/login")).url, `${origin}/`);
  assert.equal((await client.listSessions()).sessions.length, 1);
});

test("a session that has ended at the sidecar: the user logs in again", async () => {
  const browser = new Browser();
  await browser.loggedIn();
  const { sessions: [{ session }] } = await client.listSessions();
  await client.endSession({ session });
  assert.ok((await browser.open("/data")).url.startsWith(`${provider}/oidc/authorize`));
  await browser.loggedIn();
  const { sessions: [again] } = await client.listSessions();
  await client.endSession({ session: again.session });
  assert.match((await browser.open(`${origin}/logout`, { method: "POST" })).text, /href="\/login"/);
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
