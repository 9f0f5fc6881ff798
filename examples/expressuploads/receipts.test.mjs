// @ts-check
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { FakePostern, FetchResult } from "postern-auth/testing";
import { createApp } from "./receipts.mjs";

const fake = await FakePostern.start();
const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
assert(address !== null && typeof address === "object");
const publicUrl = `http://127.0.0.1:${address.port}`;
server.on("request", createApp(fake.client, publicUrl));
after(async () => {
  server.close();
  await fake.stop();
});

const body = new FormData();
body.set("file", new Blob(["%PDF"], { type: "application/pdf" }), "lunch.pdf");

test("a user uploads a receipt", async () => {
  fake.when("fetchResource", { resource: "receipts" }).returns(FetchResult.of(201));
  const { session } = fake.login({ subject: "alice" });
  const headers = { cookie: `postern-session=${session}` };
  const { status } = await fetch(`${publicUrl}/receipts`, { method: "POST", body, headers, redirect: "manual" });
  assert.equal(status, 303);
  const [call] = fake.callsTo("fetchResource");
  assert.equal(call?.session, session);
  assert.match(String(call?.headers?.["content-type"]), /^multipart\/form-data; boundary=/);
  fake.verify();
});

test("nobody uploads without a login", async () => {
  fake.reset();
  assert.equal((await fetch(`${publicUrl}/receipts`, { method: "POST", body })).status, 401);
  assert.deepEqual(fake.calls, []);
});
