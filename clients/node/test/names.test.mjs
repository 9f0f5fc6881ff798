// Misspelt names of methods and options, and what the console shows of a client.
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { createRequire } from "node:module";
import { test } from "node:test";
import { inspect } from "node:util";
import { Client, createFetch } from "postern-auth";
import { FakePostern } from "postern-auth/testing";
import { rejection } from "./support/waiting.mjs";

const { METHODS, OWN_METHODS } = createRequire(import.meta.url)("../lib/methods.js");
const methods = [...Object.keys(METHODS), ...OWN_METHODS];

const slips = [
  ["fetchResorce", "fetchResource"],
  ["fetch_resource", "fetchResource"],
  ["fetchresource", "fetchResource"],
  ["completeAuthorisation", "completeAuthorization"],
  ["getAcecssToken", "getAccessToken"],
  ["listSession", "listSessions"],
];
for (const [typed, meant] of slips) {
  test(`client.${typed}: did you mean ${meant}?`, () => {
    const client = new Client();
    assert.throws(() => client[typed]({}), new TypeError(`client.${typed} is no method; did you mean ${meant}?`));
  });
}

test("every method with any letter left out, doubled or swapped has a suggestion, and none is found as it is", () => {
  const client = new Client();
  for (const method of methods.filter((name) => name.length > 7)) {
    assert.equal(typeof client[method], "function");
    for (let at = 1; at < method.length - 1; at += 1) {
      const [before, letter, next, after] = [method.slice(0, at), method[at], method[at + 1], method.slice(at + 2)];
      for (const typed of [before + next + after, before + letter + letter + next + after, before + next + letter + after]) {
        if (typed in client) continue;
        assert.throws(() => client[typed], /did you mean/, typed);
      }
    }
  }
});

test("members that a program or its tools look for are not there, and no error", async () => {
  const client = new Client();
  assert.ok(client instanceof EventEmitter);
  const looked = ["then", "toJSON", "inspect", "asymmetricMatch", "nodeType", "session", "task", "metric", "fetchOptions"];
  for (const name of looked) assert.equal(client[name], undefined, name);
  assert.equal(await client, client);
  client.sessionOfUser = "s";
  assert.equal(client.sessionOfUser, "s");
  client.on("reconnected", () => {}).removeAllListeners();
});

test("an option that is misspelt is an error that has the right one", async () => {
  const client = new Client({ socketPath: "/tmp/no-such-directory/s" });
  const cases = [
    [() => new Client({ timeout: 5 }), "Client has no option timeout; did you mean timeoutMs?"],
    [() => new Client({ socket_path: "/s" }), "Client has no option socket_path; did you mean socketPath?"],
    [() => createFetch({ client, sesion: "s" }), "createFetch has no option sesion; did you mean session?"],
    [
      () => new Client({ delegates: { onPolicyAdviceRecieved: () => {} } }),
      "no delegate is called onPolicyAdviceRecieved; did you mean onPolicyAdviceReceived?",
    ],
  ];
  for (const [act, message] of cases) assert.throws(act, new TypeError(message));
  assert.throws(() => createFetch({ client, agent: 1 }), /createFetch has no option agent; there are client, /);
  const misspelt = "a call has no option timeout; did you mean timeoutMs?";
  assert.equal((await rejection(client.getInfo({}, { timeout: 5 }))).message, misspelt);
  assert.equal((await rejection(client.stream({ path: "x" }, { timeout: 5 }).result)).message, misspelt);
  const events = client.events(["event.sessionEnded"], { singal: AbortSignal.abort() });
  assert.equal((await rejection(events.next())).message, "events has no option singal; did you mean signal?");
});

test("console.log of a client shows its socket and state, and nothing that passes through it", async (t) => {
  const fake = await FakePostern.start();
  t.after(() => fake.stop());
  fake.login({ subject: "secret" });
  fake.when("introspectToken").returns(() => new Promise(() => {}));
  const { socketPath } = fake;
  const client = new Client({ socketPath, delegates: { updateRequest: () => ({ headers: { a: "secret" } }) } });
  const shown = () => inspect(client, { depth: 9, showHidden: true }).replace(/\s+/g, " ");
  const inState = (state) => `Client { socketPath: '${socketPath}', state: '${state}' }`;
  assert.equal(shown(), inState("not connected"));
  const call = client.listSessions();
  assert.equal(shown(), inState("connecting"));
  await call;
  const waiting = rejection(client.introspectToken({ token: "secret", issuer: "corp" }));
  assert.equal(shown(), inState("connected"));
  const closed = client.close();
  assert.equal(shown(), inState("closing"));
  client.destroy();
  await closed;
  assert.equal((await waiting).reason, "client_closed");
  assert.equal(shown(), inState("closed"));
});
