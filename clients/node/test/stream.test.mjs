// Bodies as web streams: whole, no faster than they are read, ended by who reads.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Cancelled, Client, createFetch, FetchFailed } from "postern-auth";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { makeConsumer, runNode } from "./support/consumer.mjs";
import { answer, encoded, FakeSidecar, refuse, tell } from "./support/fake.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

let playground, sidecar, client;
before(async () => {
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  client = new Client({ socketPath: sidecar.socketPath });
});
after(async () => {
  await client.close();
  await sidecar.stop();
  await playground.stop();
});

const large = "bytes/20000000";
const stateOf = async (task) => (await client.getTask({ task }).catch(() => ({}))).state;

for (const size of [0, 1, 300_000, 5_000_000]) {
  test(`${size} bytes arrive as they were sent`, async () => {
    const { body, result, task } = client.stream({ resource: "open", path: `bytes/${size}` });
    let count = 0;
    for await (const piece of body) {
      assert.ok(piece instanceof Uint8Array);
      for (const byte of piece) if (byte !== count++ % 251) assert.fail(`byte ${count - 1} is ${byte}`);
    }
    assert.equal(count, size);
    const { status, body: none, task: name } = await result;
    assert.deepEqual([status, none, name], [200, undefined, task]);
  });
}

test("a reader that waits holds the task back, other calls go on, and nothing is lost", async () => {
  const { body, task } = client.stream({ resource: "open", path: large }, { suspendAfterMs: 100 });
  const reader = body.getReader();
  await within(reader.read());
  await eventually(async () => (await stateOf(task)) === "suspended");
  const { receivedBytes } = await client.getTask({ task });
  assert.ok(receivedBytes < 10_000_000, `${receivedBytes} bytes were read ahead`);
  let count = 0;
  for (let piece = await reader.read(); !piece.done; piece = await within(reader.read())) count += piece.value.length;
  assert.ok(count > 19_000_000);
  assert.equal(await stateOf(task), "completed");
});

test("fifty streams at once, each whole, beside other calls", async () => {
  const sizes = Array.from({ length: 50 }, (_, number) => 100_000 + number);
  const lengths = sizes.map(async (size) => {
    const { body } = client.stream({ resource: "open", path: `bytes/${size}` });
    return (await new Response(body).arrayBuffer()).byteLength;
  });
  assert.equal((await within(client.getInfo())).name, "postern");
  assert.deepEqual(await within(Promise.all(lengths), 60), sizes);
});

test("stream: true without client.stream is refused: nobody would take the pieces", async () => {
  assert.ok((await rejection(client.fetchResource({ resource: "open", stream: true }))) instanceof TypeError);
});

test("cancelling the body ends the task", async () => {
  const { body, task, result } = client.stream({ resource: "open", path: large });
  const reader = body.getReader();
  await within(reader.read());
  await reader.cancel();
  assert.ok((await rejection(result)) instanceof Cancelled);
  await eventually(async () => (await stateOf(task)) === "cancelled");
});

test("leaving the loop ends the task", async () => {
  const { body, task } = client.stream({ resource: "open", path: large });
  for await (const _ of body) break;
  await eventually(async () => (await stateOf(task)) === "cancelled");
});

test("cancel() and an aborted signal end the task and the reading of its body", async () => {
  const first = client.stream({ resource: "open", path: large });
  const reading = rejection(new Response(first.body).arrayBuffer());
  first.cancel();
  assert.ok((await reading) instanceof Cancelled);

  const abort = new AbortController();
  const second = client.stream({ resource: "open", path: large }, { signal: abort.signal });
  const reader = second.body.getReader();
  await within(reader.read());
  abort.abort(new Error("enough"));
  const readAll = async () => {
    while (!(await reader.read()).done);
  };
  assert.equal((await rejection(readAll())).message, "enough");
  await eventually(async () => (await stateOf(second.task)) === "cancelled");
});

test("an error before the body, and one within it, end the stream with that error", async (t) => {
  const early = client.stream({ resource: "open", path: "../x" });
  assert.equal((await rejection(new Response(early.body).text())).reason, "invalid_url");
  assert.equal((await rejection(early.result)).reason, "invalid_url");
  const cut = await Sidecar.start(playground, {
    resources: { bad: { baseUrl: `${playground.misbehaving}/`, auth: "none" } },
  });
  t.after(() => cut.stop());
  const other = new Client({ socketPath: cut.socketPath });
  const late = other.stream({ resource: "bad", path: "closeBody" });
  assert.equal((await rejection(new Response(late.body).text())).code, (await rejection(late.result)).code);
  await other.close();
});

test("a result that nobody asks for is no unhandled rejection", async () => {
  const { body } = client.stream({ resource: "open", path: "../x" });
  await rejection(new Response(body).text());
  await new Promise(setImmediate);
});

test("a body that was read in part and then forgotten ends with its task, and keeps no program", async () => {
  const source = `
    import { Client, createFetch } from "postern-auth";
    import { setTimeout as pause } from "node:timers/promises";
    const client = new Client();
    const fetch = createFetch({ client, resource: "open", streaming: true });
    const peek = async (path) => {
      const response = await fetch(path);
      await response.body.getReader().read();
      return response.postern.task;
    };
    const task = await peek("bytes/50000000");
    const isOver = async () => (await client.getTask({ task })).state === "cancelled";
    for (let count = 0; count < 200 && !(await isOver()); count++) {
      gc();
      await pause(10);
    }
    console.log(await isOver());
    await peek("bytes/50000000");`;
  const consumer = await makeConsumer();
  try {
    await writeFile(`${consumer.directory}/forget.mjs`, source);
    const options = { cwd: consumer.directory, env: { POSTERN_SOCKET: sidecar.socketPath }, seconds: 15 };
    const { status, stdout, stderr } = await runNode(["--expose-gc", "forget.mjs"], options);
    assert.deepEqual([status, stdout], [0, "true\n"], stderr);
  } finally {
    await consumer.remove();
  }
});

test("a stream that somebody waits for is not forgotten", async () => {
  setFlagsFromString("--expose_gc");
  const gc = runInNewContext("gc");
  const collected = async () => {
    for (let count = 0; count < 5; count++) {
      gc();
      await new Promise(setImmediate);
    }
  };
  const send = [];
  const fake = await FakeSidecar.start({
    onRequest: ({ id, method: asked, params }, socket) => {
      if (asked !== "fetchResource") return answer(socket, id, { url: "http://u/" });
      const notify = (method, more) => {
        tell(socket, { method, params: { task: params.task, ...more } });
      };
      send.push(() => notify("fetchResource.head", { status: 200, url: "http://u/", headers: {} }));
      send.push(() => notify("fetchResource.chunk", { sequence: 0, dataBase64: "eA==" }));
      send.push(() => answer(socket, id, { status: 200 }));
    },
  });
  const fetch = createFetch({ socketPath: fake.socketPath, resource: "r", streaming: true });
  const got = [];
  const read = async () => {
    const response = await fetch("x");
    got.push(response.status);
    for await (const piece of response.body) got.push(piece.length);
    got.push("end");
  };
  const reading = read();
  await eventually(() => send.length === 3);
  for (const [index, one] of send.entries()) {
    await collected();
    one();
    await eventually(() => got.length === index + 1);
  }
  await within(reading);
  assert.deepEqual(got, [200, 1, "end"]);
  await fake.stop();
});

test("close() of the client leaves a stream that is held back alone", async () => {
  const other = new Client({ socketPath: sidecar.socketPath });
  const { body, task } = other.stream({ resource: "open", path: "bytes/5000000" }, { suspendAfterMs: 50 });
  const reader = body.getReader();
  let count = (await within(reader.read())).value.length;
  await eventually(async () => (await stateOf(task)) === "suspended");
  await other.close();
  for (let piece = await reader.read(); !piece.done; piece = await within(reader.read())) count += piece.value.length;
  assert.equal(count, 5_000_000);
});

/** A stream of a few pieces; suspending and resuming is refused by these reasons, in order. */
async function steered(refusals) {
  const heard = [];
  let first;
  const chunk = (socket, task, sequence, size) => {
    const params = { task, sequence, dataBase64: Buffer.alloc(size).toString("base64") };
    return encoded(socket, { method: "fetchResource.chunk", params });
  };
  const fake = await FakeSidecar.start({
    onRequest: ({ id, method, params }, socket) => {
      if (method === "fetchResource") {
        first = { id, task: params.task };
        for (let sequence = 0; sequence < 10; sequence++) socket.write(chunk(socket, params.task, sequence, 50_000));
        return;
      }
      heard.push(method);
      const reason = refusals[method]?.shift();
      if (reason) return refuse(socket, id, -32009, { reason });
      answer(socket, id);
      if (method === "resumeTask") answer(socket, first.id, { status: 200 });
    },
  });
  const other = new Client({ socketPath: fake.socketPath });
  const { body } = other.stream({ resource: "r", path: "p" }, { suspendAfterMs: 10 });
  const end = async () => {
    other.destroy();
    await fake.stop();
  };
  return {
    heard,
    end,
    reader: body.getReader(),
    finish: () => fake.sockets.forEach((socket) => answer(socket, first.id)),
    breakOff: () => fake.sockets.forEach((socket) => socket.destroy()),
  };
}

async function rest(reader) {
  let count = 0;
  for (let piece = await reader.read(); !piece.done; piece = await within(reader.read())) count += piece.value.length;
  return count;
}

test("a resumption that is refused is asked for again; one that is forbidden ends the stream", async () => {
  const crowded = await steered({ resumeTask: ["overloaded", "overloaded"] });
  await eventually(() => crowded.heard.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(await within(rest(crowded.reader)), 500_000);
  assert.deepEqual(crowded.heard, ["suspendTask", "resumeTask", "resumeTask", "resumeTask"]);
  await crowded.end();
  const forbidden = await steered({ resumeTask: ["peer_forbidden"] });
  await eventually(() => forbidden.heard.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal((await rejection(rest(forbidden.reader))).reason, "peer_forbidden");
  await forbidden.end();
});

test("what came before the connection broke can still be read", async () => {
  const broken = await steered({ suspendTask: Array(1000).fill("overloaded") });
  await eventually(() => broken.heard.length >= 1);
  broken.breakOff();
  let count = 0;
  const error = await rejection(
    (async () => {
      for (;;) count += (await broken.reader.read()).value.length;
    })(),
  );
  assert.equal(error.reason, "connection_lost");
  assert.ok(count >= 250_000, `${count} bytes`);
  await broken.end();
});

test("a suspension that is refused leaves the stream whole: it is held back by not being read", async () => {
  const refused = await steered({ suspendTask: Array(1000).fill("peer_forbidden") });
  await eventually(() => refused.heard.length >= 2);
  refused.finish();
  assert.equal(await within(rest(refused.reader)), 500_000);
  await refused.end();
});

test("createFetch({ streaming }): a body that breaks ends with a FetchFailed; HEAD has none", async (t) => {
  const broken = await Sidecar.start(playground, {
    resources: { bad: { baseUrl: `${playground.misbehaving}/`, auth: "none" } },
  });
  t.after(() => broken.stop());
  const fetch = createFetch({ socketPath: broken.socketPath, resource: "bad", streaming: true });
  const error = await rejection(fetch("closeBody").then((response) => response.text()));
  assert.ok(error instanceof TypeError && error instanceof FetchFailed);
  assert.equal(error.outcome, error.cause.outcome);
  for (const streaming of [true, false]) {
    const head = await createFetch({ client, resource: "open", streaming })("bytes/1000", { method: "HEAD" });
    assert.deepEqual([head.status, head.body, await head.text()], [200, null, ""]);
  }
});
