// Bodies as frames, without JSON and base64, from every sidecar that sends them.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { after, before, test } from "node:test";
import { Cancelled, Client } from "postern-auth";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { answer, FakeSidecar, refuse, tell, tellPiece } from "./support/fake.mjs";
import { eventually, rejection, within } from "./support/waiting.mjs";

const { frame, FrameSplitter } = createRequire(import.meta.url)("../lib/framing.js");

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

const bytesOf = async ({ body }) => Buffer.from(await new Response(body).arrayBuffer());
const pattern = (size) => Buffer.from(Uint8Array.from({ length: size }, (_, index) => index % 251));

function split(input, step, limit = 1000) {
  const found = [];
  const splitter = new FrameSplitter(limit, (text) => found.push(text), (task, bytes) => found.push([task, ...bytes]));
  for (let start = 0; start < input.length; start += step) splitter.push(input.subarray(start, start + step));
  return { found, splitter };
}

test("frames arrive in any pieces", () => {
  const piece = (task, text) => `Content-Length: ${text.length}\r\nPostern-Task: ${task}\r\n\r\n${text}`;
  const text = '{"ö":1}';
  const inverse = "postern-task: b%C3%B6\r\nContent-Length: 3\r\n\r\n\r\n\n";
  const input = Buffer.from(`${piece("a", "\r\n\r\nC")}${frame(`${text}\n`)}${inverse}${piece("%25", "")}`);
  for (const step of [1, 2, 3, 5, 7, 64, 1000]) {
    const { found, splitter } = split(input, step);
    assert.deepEqual(found, [["a", 13, 10, 13, 10, 67], text, ["bö", 13, 10, 10], ["%"]]);
    assert.equal(splitter.isPartial, false);
  }
  assert.equal(split(input.subarray(0, -1), 10).splitter.isPartial, true);
});

test("frames that are none", () => {
  for (const bad of [
    "Content-Length: x\r\n\r\n",
    "Content-Length: -1\r\n\r\n",
    "Content-Length: 1001\r\n\r\n",
    "Content-Length: 9999999999999\r\n\r\n",
    "Content-Type: x\r\n\r\n",
    "\r\n\r\n",
    "x".repeat(5000),
    "Content-Length: 1\r\nPostern-Task: %FF\r\n\r\nx",
  ]) {
    for (const step of [1, bad.length]) assert.throws(() => split(Buffer.from(bad), step), RangeError, bad);
  }
});

test("a body costs its bytes on the socket, whatever its task is called", async (t) => {
  let count = 0;
  const path = `${sidecar.directory}/proxy`;
  const server = net.createServer((near) => {
    const far = net.createConnection({ path: sidecar.socketPath });
    far.on("data", (data) => (count += data.length));
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on("error", () => {});
  });
  await new Promise((resolve) => server.listen(path, resolve));
  t.after(() => server.close());
  const through = new Client({ socketPath: path });
  for (const task of ["plain", "with a space", "100%", "%41", "Öl\r\nContent-Length: 1", "a:b", "x".repeat(128)]) {
    count = 0;
    const stream = through.stream({ resource: "open", path: "bytes/200000?chunked=true", task });
    assert.ok((await within(bytesOf(stream))).equals(pattern(200_000)), task);
    assert.ok(count < 210_000, `${count} bytes`);
  }
  await through.close();
});

test("streams at once do not mix, and who stops early disturbs nobody", async () => {
  const sizes = Array.from({ length: 12 }, (_, number) => 300_000 + 1000 * number);
  const streams = sizes.map((size) => client.stream({ resource: "open", path: `bytes/${size}` }));
  const left = client.stream({ resource: "open", path: "bytes/100000000" });
  for await (const _ of left.body) break;
  const cancelled = client.stream({ resource: "open", path: "bytes/100000000" });
  const reading = rejection(bytesOf(cancelled));
  await within(cancelled.head);
  await client.cancelTask({ task: cancelled.task });
  assert.ok((await reading) instanceof Cancelled);
  for (const [number, stream] of streams.entries()) {
    assert.ok((await within(bytesOf(stream), 30)).equals(pattern(sizes[number])));
  }
});

test("no descriptor is left", async () => {
  const count = () => readdirSync("/proc/self/fd").length;
  await bytesOf(client.stream({ resource: "open", path: "bytes/1000" }));
  await client.getInfo();
  const beforehand = count();
  for (let number = 0; number < 5; number++) {
    await bytesOf(client.stream({ resource: "open", path: "bytes/300000" }));
    client.stream({ resource: "open", path: "bytes/100000000" }).cancel();
  }
  await eventually(() => count() <= beforehand);
});

test("pieces of another task, and empty ones, are not the body's", async () => {
  const fake = await FakeSidecar.start({
    onRequest: ({ id, params }, socket) => {
      assert.equal(params.bodyAs, "frames");
      tellPiece(socket, "another", Buffer.from("not this one's"));
      tellPiece(socket, params.task, Buffer.alloc(0));
      tellPiece(socket, params.task, Buffer.from("a piece"));
      answer(socket, id, { status: 200 });
    },
  });
  const other = new Client({ socketPath: fake.socketPath });
  assert.equal(String(await bytesOf(other.stream({ resource: "r", path: "p" }))), "a piece");
  await other.close();
  await fake.stop();
});

test("an older sidecar is asked for frames once, until it may be a newer one", async () => {
  const asked = [];
  const onRequest = ({ id, method, params }, socket) => {
    if (method !== "fetchResource") return answer(socket, id);
    asked.push(Object.keys(params)[0]);
    if (params.bodyAs) return refuse(socket, id, -32602, { reason: "invalid_params", path: "/bodyAs" });
    tell(socket, { method: "fetchResource.head", params: { task: params.task, status: 200 } });
    tell(socket, { method: "fetchResource.chunk", params: { task: params.task, sequence: 0, dataBase64: "eA==" } });
    answer(socket, id, { status: 200 });
  };
  const fake = await FakeSidecar.start({ onRequest });
  const other = new Client({ socketPath: fake.socketPath });
  for (let number = 0; number < 2; number++) {
    const stream = other.stream({ resource: "r", path: "p" });
    assert.equal((await within(stream.head)).status, 200);
    assert.equal(String(await bytesOf(stream)), "x");
  }
  assert.deepEqual(asked, ["bodyAs", "resource", "resource"]);
  await other.getInfo(); // its own connection is a new one
  assert.equal(String(await bytesOf(other.stream({ resource: "r", path: "p" }))), "x");
  assert.deepEqual(asked.slice(3), ["bodyAs", "resource"]);
  await other.close();
  await fake.stop();
});

test("another error is not taken for an older sidecar", async () => {
  const fake = await FakeSidecar.start({
    onRequest: ({ id }, socket) => refuse(socket, id, -32602, { reason: "invalid_params", path: "/resource" }),
  });
  const other = new Client({ socketPath: fake.socketPath });
  assert.equal((await rejection(other.stream({ resource: "r", path: "p" }).result)).path, "/resource");
  assert.equal(fake.requests.length, 1);
  await other.close();
  await fake.stop();
});
