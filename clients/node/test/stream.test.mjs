// Bodies as web streams: whole, no faster than they are read, ended by who reads.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CancelledError, Client } from "@postern/client";
import { Playground, Sidecar } from "./support/upstream.mjs";
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
  assert.ok((await rejection(result)) instanceof CancelledError);
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
  assert.ok((await reading) instanceof CancelledError);

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
