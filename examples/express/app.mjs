// A web application: its users log in, it fetches for them, and it has no token of theirs. The browser has a cookie
// with a random id; the session's handle stays in this process, the tokens in the sidecar.
import { randomBytes, timingSafeEqual } from "node:crypto";
import express from "express";
import { AdviceRequired, Client, createFetch, FetchFailed, NotAuthenticated, PosternError, protect } from "postern-auth";

const port = Number(process.env.PORT ?? 8000);
// How browsers reach the application. Never from the `Host` header, which is the sender's.
const origin = process.env.ORIGIN ?? `http://127.0.0.1:${port}`;
const client = new Client({ connectWaitMs: 10_000 });

// Browsers whose users have logged in, by the id in their cookie. With several processes: a store that they share, such
// as Redis.
const browsers = new Map();
const prefix = origin.startsWith("https:") ? "__Host-" : "";
const COOKIE = `${prefix}id`;
const LOGIN_COOKIE = `${prefix}login`;
const LOGIN_AGE_MS = 10 * 60 * 1000;
const MAX_AGE_MS = Number(process.env.MAX_AGE_SECONDS ?? 8 * 60 * 60) * 1000;
// Reasons of errors about a session that is over.
const HAS_ENDED = ["session_not_found", "session_expired"];

/** A new id for each login: one that was known before it is worth nothing after it. */
function addBrowser(response, browser) {
  const id = randomBytes(32).toString("base64url");
  const expiry = setTimeout(() => endSession(added).catch((error) => log(`expiry: ${error.message}`, error)), MAX_AGE_MS);
  const added = { ...browser, id, expiry: expiry.unref() };
  browsers.set(id, added);
  setCookie(response, COOKIE, id, MAX_AGE_MS);
}

function removeBrowser(browser) {
  clearTimeout(browser?.expiry);
  browsers.delete(browser?.id);
}

/** The sidecar revokes the tokens, and ends the login at the issuer. */
async function endSession(browser) {
  removeBrowser(browser);
  if (browser === undefined) return;
  await client.endSession({ session: browser.session }).catch((error) => {
    if (!HAS_ENDED.includes(error.reason)) throw error;
  });
}

function setCookie(response, name, value, maxAge) {
  response.cookie(name, value, { httpOnly: true, sameSite: "lax", secure: prefix !== "", path: "/", maxAge });
}

function clearCookie(response, name) {
  response.clearCookie(name, { path: "/", secure: prefix !== "" });
}

function cookieOf(request, name) {
  const cookies = (request.headers.cookie ?? "").split(";").map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

const app = express();
app.disable("x-powered-by");
app.use((request, response, next) => {
  request.browser = browsers.get(cookieOf(request, COOKIE));
  response.set({ "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; form-action 'self'" });
  next();
});

app.get("/", (request, response) => {
  const subject = request.browser?.subject;
  if (subject === undefined) return response.send(page("Welcome", '<a href="/login">Log in</a>'));
  const links = '<a href="/data">Orders</a> <a href="/sensitive">Vault, which requires a second factor</a>';
  const logout = '<form method="post" action="/logout"><button>Log out</button></form>';
  response.send(page(`Welcome, ${subject}`, links + logout));
});

// MARK: login and logout

app.get("/login", handled(async ({ browser }, response) => {
  if (browser !== undefined) return response.redirect(303, "/");
  // Back to redirectUri of postern.yaml.
  const { authorizationUrl, state } = await client.beginAuthorization({ issuer: "corp" });
  // The callback must come to the browser that started the login, and not to one that an attacker sends it to. The
  // state is in that browser: a login that is never completed takes no memory here.
  setCookie(response, LOGIN_COOKIE, state, LOGIN_AGE_MS);
  response.redirect(303, authorizationUrl);
}));

app.get("/callback", handled(async (request, response) => {
  const { browser } = request;
  const callbackUrl = origin + request.originalUrl;
  const isLogin = isSame(request.query.state, cookieOf(request, LOGIN_COOKIE));
  if (!isLogin && browser?.stepUp !== undefined) return completeStepUp(browser, callbackUrl, response);
  if (!isLogin) return response.status(400).send(page("No login was started here", '<a href="/login">Log in</a>'));
  clearCookie(response, LOGIN_COOKIE);
  const { session, subject } = await client.completeAuthorization({ callbackUrl });
  addBrowser(response, { session, subject, fetch: createFetch({ client, resource: "orders", session }) });
  response.redirect(303, "/");
}));

function isSame(given, expected) {
  const [one, other] = [given, expected].map((text) => Buffer.from(typeof text === "string" ? text : ""));
  return one.length > 0 && one.length === other.length && timingSafeEqual(one, other);
}

// By POST, which another site cannot send with a cookie that is SameSite=Lax.
app.post("/logout", handled(async ({ browser }, response) => {
  clearCookie(response, COOKIE);
  await endSession(browser);
  response.redirect(303, "/");
}));

// MARK: what users come for

app.get("/data", loggedIn, handled(async ({ browser }, response) => show(response, await browser.fetch("orders"))));

app.get("/sensitive", loggedIn, handled(async ({ browser }, response) => show(response, await browser.fetch("vault"))));

function loggedIn(request, response, next) {
  if (request.browser === undefined) return response.redirect(303, "/login");
  next();
}

// A 403 of the resource server is a response like any other.
async function show(response, fetched) {
  response.status(fetched.status).send(page("From the resource server", `<pre>${escaped(await fetched.text())}</pre>`));
}

// MARK: an API for other programs

// They send an access token of their own. Cookies count for nothing here.
const api = express.Router();
const check = protect(client, {
  issuer: "corp",
  audience: "https://shop.example/api", // who the tokens must be for
  publicUrl: origin,
  requiredScopes: ["orders"],
  onError: (error) => log(`api: ${error.message}`, error),
});
app.use("/api", check, api);

api.get("/orders/:id", ({ params, postern: { claims } }, response) => {
  response.json({ client: claims.client_id, order: params.id, subject: claims.sub });
});

// MARK: step-up (RFC 9470)

/** The resource server requires a stronger login: the browser goes to the issuer, and comes back to /callback. */
async function startStepUp(browser, { continuation }, request, response) {
  const step = await client.authenticateWithAdvice({ continuation });
  const redirect = step.callbacks.find(({ type }) => type === "RedirectCallback");
  browser.stepUp = { step, redirect, returnTo: request.path };
  response.redirect(redirect.output.find(({ name }) => name === "redirectUrl").value);
}

async function completeStepUp(browser, callbackUrl, response) {
  const { step, redirect, returnTo } = browser.stepUp;
  browser.stepUp = undefined;
  redirect.input[0].value = callbackUrl;
  await client.authenticateWithAdvice({ continuation: step.continuation, callbacks: step.callbacks });
  // The session is upgraded, so the page fetches again. A POST would be continued: fetchResource({ continuation }).
  response.redirect(returnTo);
}

// MARK: errors

app.use((given, request, response, next) => {
  const { browser } = request;
  const error = given instanceof FetchFailed ? given.cause : given;
  if (!(error instanceof PosternError) || response.headersSent) return next(given);
  if (error instanceof AdviceRequired && error.continuation !== undefined) {
    return startStepUp(browser, error, request, response).catch(next);
  }
  if (error instanceof NotAuthenticated || HAS_ENDED.includes(error.reason)) {
    removeBrowser(browser);
    return response.redirect("/login");
  }
  // The log has what an operator needs, the page what a user may see.
  log(`${request.method} ${request.path}: ${error.name}: ${error.message}`, error);
  const status = error.reason === "authorization_failed" ? 403 : error.retryable ? 503 : 502;
  response.status(status).send(page("That did not work", escaped(error.reason)));
});

function log(text, { traceId }) {
  console.error(`${text}, trace ${traceId}`);
}

/** Express 4 does not look at what a handler returns. */
function handled(act) {
  return (request, response, next) => void act(request, response).catch(next);
}

function page(title, body) {
  return `<!doctype html><html lang="en"><title>${escaped(title)}</title><h1>${escaped(title)}</h1>${body}</html>`;
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

const server = app.listen(port, "127.0.0.1", () => console.log(`Open ${origin}`));
process.on("SIGTERM", () => server.close(() => client.close()).closeIdleConnections());
