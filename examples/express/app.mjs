// A web application: its users log in, it fetches for them, and it has no token. The browser has a cookie with a random
// id; the session's handle stays in this process, the tokens in the sidecar.
import { randomBytes } from "node:crypto";
import express from "express";
import { AdviceRequired, Client, createFetch, FetchFailed, NotAuthenticated, PosternError } from "postern-auth";

const port = Number(process.env.PORT ?? 3000);
// How browsers reach the application. Never from the `Host` header, which is the sender's.
const origin = process.env.ORIGIN ?? `http://127.0.0.1:${port}`;
const client = new Client({ connectWaitMs: 10_000 });

// Browsers by the id in their cookie. With several processes: a store that they share, such as Redis.
const browsers = new Map();
const COOKIE = origin.startsWith("https:") ? "__Host-id" : "id";
const MAX_BROWSERS = 10_000;
const MAX_AGE_MS = 8 * 60 * 60 * 1000;
// Reasons of errors about a session that is over.
const HAS_ENDED = ["session_not_found", "session_expired"];

/** A new id for each login: one that was known before it is worth nothing after it. */
function addBrowser(response, browser) {
  // The oldest goes: usually a login that was started and never completed.
  if (browsers.size >= MAX_BROWSERS) browsers.delete(browsers.keys().next().value);
  const id = randomBytes(32).toString("base64url");
  browsers.set(id, { ...browser, id, expiresAt: Date.now() + MAX_AGE_MS });
  const secure = COOKIE.startsWith("__Host-");
  response.cookie(COOKIE, id, { httpOnly: true, sameSite: "lax", secure, path: "/", maxAge: MAX_AGE_MS });
}

/** The sidecar revokes the tokens, and ends the login at the issuer. */
async function removeBrowser(browser) {
  browsers.delete(browser?.id);
  if (browser?.session === undefined) return;
  await client.endSession({ session: browser.session }).catch((error) => {
    if (!HAS_ENDED.includes(error.reason)) throw error;
  });
}

function browserOf(request) {
  const cookies = (request.headers.cookie ?? "").split(";").map((cookie) => cookie.trim());
  const id = cookies.find((cookie) => cookie.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
  const browser = browsers.get(id);
  if (browser === undefined || browser.expiresAt > Date.now()) return browser;
  browsers.delete(id);
  return undefined;
}

const app = express();
app.disable("x-powered-by");
app.use((request, response, next) => {
  request.browser = browserOf(request);
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

app.get("/login", handled(async (request, response) => {
  const { authorizationUrl, state } = await client.beginAuthorization({
    issuer: "corp",
    redirectUri: `${origin}/callback`,
  });
  // The callback must come to the browser that started the login, and not to one that an attacker sends it to.
  if (request.browser === undefined) addBrowser(response, { state });
  else request.browser.state = state;
  response.redirect(authorizationUrl);
}));

app.get("/callback", handled(async (request, response) => {
  const { browser } = request;
  const callbackUrl = origin + request.originalUrl;
  const isLogin = browser?.state !== undefined && browser.state === request.query.state;
  if (!isLogin && browser?.stepUp !== undefined) return completeStepUp(browser, callbackUrl, response);
  if (!isLogin) return response.status(400).send(page("No login was started here", '<a href="/login">Log in</a>'));
  browser.state = undefined;
  const { session, subject } = await client.completeAuthorization({ callbackUrl });
  await removeBrowser(browser);
  addBrowser(response, { session, subject, fetch: createFetch({ client, resource: "mine", session }) });
  response.redirect("/");
}));

// By POST, which another site cannot send with a cookie that is SameSite=Lax.
app.post("/logout", handled(async ({ browser }, response) => {
  response.clearCookie(COOKIE, { path: "/", secure: COOKIE.startsWith("__Host-") });
  await removeBrowser(browser);
  response.redirect(303, "/");
}));

// MARK: what users come for

app.get("/data", loggedIn, handled(async ({ browser }, response) => show(response, await browser.fetch("orders"))));

app.get("/sensitive", loggedIn, handled(async ({ browser }, response) => show(response, await browser.fetch("vault"))));

function loggedIn(request, response, next) {
  if (request.browser?.session === undefined) return response.redirect("/login");
  next();
}

// A 403 of the resource server is a response like any other.
async function show(response, fetched) {
  response.status(fetched.status).send(page("From the resource server", `<pre>${escaped(await fetched.text())}</pre>`));
}

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
    browsers.delete(browser?.id);
    return response.redirect("/login");
  }
  // The log has what an operator needs, the page what a user may see.
  console.error(`${request.method} ${request.path}: ${error.name}: ${error.message}, trace ${error.traceId}`);
  const status = error.reason === "authorization_failed" ? 403 : error.retryable ? 503 : 502;
  response.status(status).send(page("That did not work", escaped(error.reason)));
});

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
