// A web application: its users log in, it fetches for them, and no token of theirs enters it.
import express from "express";
import { Client, createFetch, protect } from "postern-auth";
import { createLogin } from "postern-auth/express";

const port = Number(process.env.PORT ?? 8000);
const publicUrl = process.env.PUBLIC_URL ?? `http://127.0.0.1:${port}`; // how browsers reach the application
const client = new Client({ connectWaitMs: 10_000 });
const login = createLogin(client, { issuer: "corp", publicUrl, onError: log }); // its name in postern.yaml
const fetchOrders = createFetch({ client, resource: "orders" });
const app = express().disable("x-powered-by");

// For other programs, which send an access token of their own. Cookies count for nothing here.
const api = { issuer: "corp", audience: "https://shop.example/api", publicUrl, requiredScopes: ["orders"], onError: log };
app.use("/api", protect(client, api));
app.get("/api/orders/:id", ({ params, postern: { claims } }, response) => {
  response.json({ client: claims.client_id, order: params.id, subject: claims.sub });
});

app.use(login.routes, login.currentSession);

app.get("/", ({ posternSession }, response) => {
  if (posternSession === undefined) return response.send(page("Not logged in", '<a href="/login">Log in</a>'));
  const links = '<a href="/data">My orders</a> · <a href="/sensitive">The vault</a> (requires a stronger login)';
  const logout = '<form method="post" action="/logout"><button>Log out</button></form>';
  response.send(page(`Hello ${posternSession.subject}`, links + logout));
});

app.get("/data", (request, response, next) => show("orders", request, response).catch(next));
app.get("/sensitive", (request, response, next) => show("vault", request, response).catch(next));

/** What the resource server has for this browser's user; any status is a response. */
async function show(path, { posternSession }, response) {
  const fetched = await fetchOrders(path, { session: posternSession?.session });
  const body = `<pre>${escaped(await fetched.text())}</pre><a href="/">Back</a>`;
  response.status(fetched.ok ? 200 : 502).send(page(fetched.status, body));
}

// LoginRequired leads to the login, AdviceRequired to a stronger one. For other errors, the log has what an operator
// needs, and the page what a user may see.
app.use(login.handleErrors, (error, request, response, _) => {
  log(error, request);
  response.status(error.retryable ? 503 : 502).send(page(error.reason ?? "failed", ""));
});

function log({ name, message, data }, request) {
  console.error(`${request?.method ?? "API"} ${request?.path ?? ""}: ${name}: ${message}, trace ${data?.traceId}`);
}

function page(title, body) {
  return `<!doctype html><html lang="en"><title>Shop</title><h1>${escaped(`${title}`)}</h1>${body}</html>`;
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

const server = app.listen(port, "127.0.0.1", () => console.log(`Open ${publicUrl}`));
process.on("SIGTERM", () => {
  server.close(() => client.close());
  server.closeIdleConnections();
});
