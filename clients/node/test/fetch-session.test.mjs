// Whose fetch it is: what names the session, what names nobody, and what nothing may choose.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { after, beforeEach, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Client, createFetch, FetchError, LoginRequired } from "postern-auth";
import { FakePostern, FetchResult } from "postern-auth/testing";
import { Playground, Sidecar, login } from "./support/upstream.mjs";
import { rejection } from "./support/waiting.mjs";

const fake = await FakePostern.start();
const { client } = fake;
fake.when("fetchResource").returns(({ session }) => FetchResult.of(200, { text: session ?? "nobody" }));
fake.when("fetchResource", ({ session, resource }) => session === undefined && resource === "users").fails("not_authenticated");
const [alice, bob] = ["alice", "bob"].map((subject) => fake.login({ subject }).session);
const open = createFetch({ client });
const users = createFetch({ client, resource: "users" });
after(() => fake.stop());
beforeEach(() => (fake.calls.length = 0));

const fetched = () => fake.callsTo("fetchResource");
const header = (session) => ({ headers: { "Postern-Session": session, "X-Own": "1" } });

test("a fetch is for the session of its own init, and of nobody where it names nobody, in whatever way", async () => {
  assert.equal(await (await users("x", { session: alice })).text(), alice);
  for (const init of [undefined, {}, { session: undefined }, { session: null }, { session: "" }]) {
    const error = await rejection(users("x", init));
    assert.ok(error instanceof LoginRequired && error instanceof FetchError, error.stack);
    assert.deepEqual([error.code, error.reason], [1001, "not_authenticated"]);
    assert.equal(await (await open("x", init)).text(), "nobody", "a resource without users needs no session");
  }
  assert.equal(fetched().filter((params) => "session" in params).length, 1);
});

test("the header Postern-Session names the session, and goes no further", async () => {
  assert.equal(await (await users("x", header(alice))).text(), alice);
  assert.equal(await (await users(new Request("https://api.example/x", header(bob)))).text(), bob);
  for (const { headers } of fetched()) assert.deepEqual([headers["postern-session"], headers["x-own"]], [undefined, "1"]);
  assert.equal(await (await users("x", { ...header(alice), session: alice })).text(), alice);
  const mine = createFetch({ client, resource: "users", session: alice });
  const asked = createFetch({ client, resource: "users", session: () => undefined });
  fake.calls.length = 0;
  for (const [fetch, init] of [[users, { ...header(bob), session: alice }], [mine, header(bob)], [mine, header("")], [asked, header(bob)]]) {
    assert.match((await rejection(fetch("x", init))).message, /Postern-Session names another session/);
  }
  assert.deepEqual(fetched(), [], "nothing is sent");
});

test("a fetch with a session of its own is for nobody else: a call that names nobody is nobody's", async () => {
  const mine = createFetch({ client, resource: "users", session: alice });
  assert.equal(await (await mine("x")).text(), alice);
  assert.equal(await (await mine("x", { session: bob })).text(), bob);
  for (const session of [undefined, null, ""]) assert.ok((await rejection(mine("x", { session }))) instanceof LoginRequired);
});

const storage = new AsyncLocalStorage();
const sources = [
  ["a function", () => storage.getStore()],
  ["an asynchronous function", async () => pause(1, storage.getStore())],
  ["an AsyncLocalStorage", storage],
];
for (const [what, session] of sources) {
  test(`${what} is asked for each fetch, and two users at a time are two`, async () => {
    const fetch = createFetch({ client, resource: "users", session });
    const names = Array.from({ length: 100 }, (_, number) => fake.login({ subject: `user-${number}` }).session);
    const texts = names.map((name) => storage.run(name, async () => {
      await pause(Math.random() * 5);
      return (await fetch("x")).text();
    }));
    assert.deepEqual(await Promise.all(texts), names);
  });

  test(`${what} that has nothing means nobody, though others are logged in`, async () => {
    const fetch = createFetch({ client, resource: "users", session });
    const hers = storage.run(alice, () => fetch("x"));
    for (const nothing of [undefined, null, ""]) {
      const error = await storage.run(nothing, () => rejection(fetch("x")));
      assert.ok(error instanceof LoginRequired, error.stack);
      assert.deepEqual([error.code, error.outcome, error.data.detail], [1001, "not_sent", "session_missing"]);
    }
    assert.equal(await (await hers).text(), alice);
    assert.equal(fetched().length, 1, "nothing is sent for nobody");
  });

  test(`${what} with another value is an error of the program, and "only" is nobody's own`, async () => {
    const fetch = createFetch({ client, resource: "users", session });
    for (const wrong of [{ session: alice }, 1, true]) {
      assert.match((await storage.run(wrong, () => rejection(fetch("x")))).message, /a session must be a string/);
    }
    assert.match((await storage.run("only", () => rejection(fetch("x")))).message, /whose uid is the user/);
    assert.deepEqual(fetched(), []);
  });
}

test("\"only\" is an option of createFetch, and not a call's or a request's", async () => {
  const fetch = createFetch({ client, resource: "users", session: "only" });
  assert.equal(await (await fetch("x")).text(), "only");
  fake.calls.length = 0;
  const mine = createFetch({ client, resource: "users", session: alice });
  for (const each of [users, fetch, mine, createFetch({ client, resource: "users", streaming: true })]) {
    for (const init of [{ session: "only" }, { ...header("only"), session: "only" }]) {
      assert.match((await rejection(each("x", init))).message, /whose uid is the user/);
    }
  }
  assert.match((await rejection(users("x", header("only")))).message, /whose uid is the user/);
  assert.deepEqual(fetched(), [], "nothing is sent");
});

test("a header without a handle names nobody, also where a session would be the endpoint's own", async () => {
  for (const fetch of [users, open]) {
    for (const init of [header(""), header(" \t"), { ...header(""), session: undefined }]) {
      const error = await rejection(fetch("x", init));
      assert.ok(error instanceof LoginRequired, error.stack);
      assert.deepEqual([error.code, error.outcome, error.data.detail], [1001, "not_sent", "session_missing"]);
    }
  }
  assert.deepEqual(fetched(), []);
});

test("a function that throws is the program's error; another kind of session is refused at once", async () => {
  const mine = new Error("no context");
  const fetch = createFetch({ client, session: () => { throw mine; } });
  assert.equal(await rejection(fetch("x")), mine);
  for (const session of [1, true, {}, []]) assert.throws(() => createFetch({ client, session }), TypeError);
  for (const session of [undefined, null, ""]) assert.equal(typeof createFetch({ client, session }), "function");
});

test("an init member that does not exist is an error with the nearest name, and nothing is sent", async () => {
  for (const [init, message] of [
    [{ sesion: "alice" }, "fetch has no option sesion; did you mean session?"],
    [{ Session: "alice" }, "fetch has no option Session; did you mean session?"],
    [{ header: {} }, "fetch has no option header; did you mean headers?"],
    [{ methode: "PUT" }, "fetch has no option methode; did you mean method?"],
    [{ sesion: undefined }, "fetch has no option sesion; did you mean session?"],
    [{ user: "alice" }, "fetch has no option user; there are method, headers, body, redirect, signal, duplex, session"],
  ]) {
    const error = await rejection(users("x", init));
    assert.deepEqual([error.constructor, error.message], [TypeError, message]);
  }
  assert.deepEqual(fetched(), []);
});

test("a member of every fetch that would have no effect is said so; one that asks for nothing is not", async () => {
  const values = {
    ...{ credentials: "include", mode: "cors", cache: "force-cache", integrity: "sha256-x", keepalive: true, priority: "high" },
    ...{ referrer: "https://a.example/", referrerPolicy: "origin", window: {}, dispatcher: {}, agent: {}, timeout: 1 },
  };
  for (const [name, value] of Object.entries(values)) {
    const error = await rejection(open("x", { [name]: value }));
    assert.equal(error.constructor, TypeError);
    assert.ok(error.message.startsWith(`fetch does not support ${name}: `), error.message);
  }
  const none = { credentials: undefined, cache: "no-store", keepalive: false, integrity: "", window: null, priority: "auto" };
  assert.equal((await open("x", none)).status, 200);
  assert.equal((await open("x", new Request("https://api.example/"))).status, 200);
});

test("with the real sidecar: without a session nobody is logged in, however many sessions there are", async (t) => {
  const playground = await Playground.start();
  t.after(() => playground.stop());
  const sidecar = await Sidecar.start(playground);
  t.after(() => sidecar.stop());
  const own = new Client({ socketPath: sidecar.socketPath });
  t.after(() => own.close());
  const mine = createFetch({ client: own, resource: "mine" });
  const calls = (session) => [
    () => mine("orders", { session }),
    () => own.fetchResource({ resource: "mine", path: "orders", session }),
    () => own.stream({ resource: "mine", path: "orders", session }).head,
    () => createFetch({ client: own, resource: "mine", streaming: true })("orders", { session }),
  ];
  const only = () => own.fetchResource({ resource: "mine", path: "orders", session: "only" });
  assert.ok((await rejection(only())) instanceof LoginRequired);
  for (let count = 0; count < 3; count++) {
    for (const session of [undefined, null, ""]) {
      for (const call of calls(session)) {
        const error = await rejection(call());
        assert.ok(error instanceof LoginRequired, error.stack);
        assert.deepEqual([error.code, error.outcome, error.data.detail], [1001, "not_sent", "session_missing"]);
      }
    }
    if (count === 1) assert.equal((await only()).status, 200);
    if (count === 2) assert.equal((await rejection(only())).path, "/session");
    const { session } = await login(own, playground);
    for (const call of calls(session)) assert.equal((await call()).status, 200);
  }
  const [{ session }] = (await own.listSessions()).sessions;
  await own.endSession({ session });
  for (const call of calls(session)) assert.ok((await rejection(call())) instanceof LoginRequired);
  assert.ok((await rejection(own.getSession({ session }))) instanceof LoginRequired);
});
