// A sidecar that is replaced under a client's calls: two real ones, and an origin that counts what reaches it.
import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { once } from "node:events";
import { afterEach, test } from "node:test";
import { Client } from "postern-auth";
import { Sidecar } from "./support/upstream.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

const cleanUps = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Resource and token endpoint. Holds each answer until it is released, and counts requests by method and path. */
async function startOrigin() {
  const seen = {};
  let release;
  const released = new Promise((resolve) => (release = resolve));
  // A refresh token is good once: who sends it a second time loses the session.
  const token = { access_token: "a", token_type: "Bearer", expires_in: 600, refresh_token: "b" };
  const server = http.createServer(async (request, response) => {
    request.resume();
    const name = `${request.method} ${request.url}`;
    seen[name] = (seen[name] ?? 0) + 1;
    await released;
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(token));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUps.push(() => (server.closeAllConnections(), server.close()));
  return { seen, release, base: `http://127.0.0.1:${server.address().port}` };
}

async function startSidecar({ base, release }, drain) {
  const issuer = { issuer: base, clientId: "c", clientSecret: "s", endpoints: { token: `${base}/token` } };
  const sidecar = await Sidecar.start({ baseUrl: base, issuer: base }, {
    issuers: { slow: issuer },
    resources: { slow: { baseUrl: `${base}/`, auth: "none" } },
  });
  sidecar.configuration.listen.drain = drain;
  await sidecar.kill();
  await sidecar.configure(sidecar.configuration);
  await sidecar.run();
  const client = new Client({ socketPath: sidecar.socketPath, timeoutMs: 30_000 });
  cleanUps.push(() => sidecar.stop(), () => client.destroy(), release);
  return { sidecar, client };
}

/** The old one drains, and another one listens at the same path. */
async function replace(sidecar, drain = "30s") {
  const old = { child: sidecar.child, exited: sidecar.exited };
  cleanUps.push(() => old.child.kill("SIGKILL"));
  old.child.kill("SIGTERM");
  sidecar.configuration.listen.drain = drain;
  await sidecar.configure(sidecar.configuration);
  await sidecar.isAway();
  await sidecar.run();
  return old;
}

/**
 * Connections without requests: a draining sidecar closes them. Until then, a moment after its socket is gone, it
 * responds to requests on its connections.
 */
function idleConnections(socketPath, count = 4) {
  const connections = Array.from({ length: count }, () => net.createConnection({ path: socketPath }).resume());
  cleanUps.push(() => connections.forEach((connection) => connection.destroy()));
  return Promise.all(connections.map((connection) => once(connection, "connect"))).then(() => connections);
}

const session = { issuer: "slow", grant: { type: "refresh_token", refreshToken: "good once" } };
const fetched = (path, method = "GET") => ({ resource: "slow", path, method });

// Catches a second payment, and a session lost to a refresh token sent twice.
test("what is cut off, because the old sidecar's time ran out, reaches the origin once", async () => {
  const origin = await startOrigin();
  const { sidecar, client } = await startSidecar(origin, "300ms");
  const once = [
    client.fetchResource(fetched("pay", "POST")),
    client.fetchResource(fetched("put", "PUT")),
    client.createSession(session),
  ].map((call) => rejection(call, 30));
  const stream = client.stream(fetched("streamed", "POST"));
  once.push(rejection(stream.result, 30));
  const read = client.fetchResource(fetched("read"));
  await eventually(() => Object.keys(origin.seen).length === 5);
  await replace(sidecar);
  for (const error of await Promise.all(once)) {
    assert.deepEqual([error.reason, error.outcome], ["shutting_down", "sent_no_reply"]);
  }
  // What only reads is its successor's.
  await eventually(() => origin.seen["GET /read"] === 2);
  origin.release();
  assert.equal((await within(read, 20)).status, 200);
  const expected = { "POST /pay": 1, "PUT /put": 1, "POST /token": 1, "POST /streamed": 1, "GET /read": 2 };
  assert.deepEqual(origin.seen, expected);
});

// Catches a call that is lost though nothing of it was done, and one that is done by both sidecars.
test("what a draining sidecar refuses its successor does, once", async () => {
  const origin = await startOrigin();
  const { sidecar, client } = await startSidecar(origin, "30s");
  const held = client.fetchResource(fetched("held", "POST"));
  await eventually(() => origin.seen["POST /held"] === 1);
  const idle = await idleConnections(sidecar.socketPath);
  const drained = Promise.all(idle.map((connection) => once(connection, "close")));
  await replace(sidecar);
  await within(drained, 20);
  // On the connection that the held call keeps open.
  const posted = client.fetchResource(fetched("pay", "POST"));
  const created = client.createSession(session);
  await eventually(() => Object.keys(origin.seen).length === 3);
  assert.equal((await within(client.getInfo())).pid, sidecar.child.pid);
  origin.release();
  assert.deepEqual([(await within(held)).status, (await within(posted)).status], [200, 200]);
  assert.ok((await within(created)).session);
  assert.deepEqual(origin.seen, { "POST /held": 1, "POST /pay": 1, "POST /token": 1 });
});

// Catches the same where nobody says anything: the connection is lost behind the request.
test("a sidecar that is killed: what was sent reaches the origin once", async () => {
  const origin = await startOrigin();
  const { sidecar, client } = await startSidecar(origin, "30s");
  const calls = [client.fetchResource(fetched("pay", "POST")), client.createSession(session)];
  const errors = calls.map((call) => rejection(call, 30));
  await eventually(() => Object.keys(origin.seen).length === 2);
  await sidecar.kill("SIGKILL");
  await sidecar.run();
  for (const error of await Promise.all(errors)) {
    assert.deepEqual([error.reason, error.outcome], ["connection_lost", "unknown"]);
  }
  assert.equal((await within(client.getInfo())).name, "postern");
  assert.deepEqual(origin.seen, { "POST /pay": 1, "POST /token": 1 });
});
