// Request bodies that are not strings: read by the client, sent in the message, or refused with what takes them.
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { Client, createFetch, RequestError } from "postern-auth";
import { FakePostern, FetchResult } from "postern-auth/testing";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { rejection } from "./support/waiting.mjs";

let playground, sidecar, client, fake, directory;
before(async () => {
  directory = await mkdtemp("/tmp/postern-upload-");
  await writeFile(`${directory}/file.txt`, "of a file");
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  client = new Client({ socketPath: sidecar.socketPath });
  fake = await FakePostern.start();
});
after(async () => {
  await client.close();
  await fake.stop();
  await sidecar.stop();
  await playground.stop();
  await rm(directory, { recursive: true });
});

const echoOf = (result) => {
  const { headers, ...echo } = JSON.parse(result.body);
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  return { ...echo, type: [type].flat()[0] };
};
const form = () => {
  const fields = new FormData();
  fields.set("title", "ä");
  fields.set("file", new Blob(["of a file"], { type: "text/x" }), "name.txt");
  return fields;
};

for (const [what, body, expected, type] of [
  ["bytes", () => new TextEncoder().encode("bytes"), "bytes", undefined],
  ["a Blob", () => new Blob(["blob"], { type: "text/x" }), "blob", "text/x"],
  ["URLSearchParams", () => new URLSearchParams({ a: "b c" }), "a=b+c", "application/x-www-form-urlencoded;charset=UTF-8"],
  ["a ReadableStream", () => new Blob(["web"]).stream(), "web", undefined],
  ["a file's stream", () => createReadStream(`${directory}/file.txt`), "of a file", undefined],
]) {
  test(`${what} arrives as the body, with its type`, async () => {
    const params = { resource: "open", path: "echo", method: "POST" };
    const echo = echoOf(await client.fetchResource({ ...params, body: body() }));
    assert.equal(echo.body, expected);
    if (type !== undefined) assert.equal(echo.type, type);
    const streamed = await new Response(client.stream({ ...params, body: body() }).body).json();
    assert.equal(streamed.body, expected);
    const own = echoOf(await client.fetchResource({ ...params, body: body(), headers: { "Content-Type": "text/own" } }));
    assert.equal(own.type, "text/own");
  });
}

test("FormData is multipart/form-data, through the client and through fetch", async () => {
  const fetch = createFetch({ client, resource: "open" });
  const direct = echoOf(await client.fetchResource({ resource: "open", path: "echo", method: "POST", body: form() }));
  const fetched = echoOf({ body: await (await fetch("echo", { method: "POST", body: form() })).text() });
  for (const { body, type } of [direct, fetched]) {
    const parsed = await new Response(body, { headers: { "content-type": type } }).formData();
    assert.deepEqual([parsed.get("title"), parsed.get("file").name, await parsed.get("file").text()], ["ä", "name.txt", "of a file"]);
  }
});

test("a body beyond a message is refused before it is read, and the error names the gateway", async () => {
  fake.when("fetchResource").returns(FetchResult.of(200));
  const fetch = createFetch({ client: fake.client, resource: "open" });
  const large = new Uint8Array(13 * 1024 * 1024);
  const fields = new FormData();
  fields.set("file", new Blob([large]));
  let wasRead = 0;
  const endless = () => new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array((wasRead += 1) && 1_000_000)) });
  for (const body of [() => large, () => new Blob([large]), () => fields, endless]) {
    const direct = await rejection(fake.client.fetchResource({ resource: "open", method: "POST", body: body() }));
    const fetched = (await rejection(fetch("echo", { method: "POST", body: body(), duplex: "half" }))).cause;
    for (const error of [direct, fetched]) {
      assert.ok(error instanceof RequestError, `${error}`);
      assert.deepEqual([error.reason, error.outcome], ["message_too_large", "not_sent"]);
      assert.match(error.message, /gateway\.listen/);
    }
  }
  assert.ok(wasRead < 40, "no more is read than a message may hold");
  assert.equal(fake.calls.length, 0);
  const fits = new Uint8Array(11 * 1024 * 1024);
  assert.equal((await fake.client.fetchResource({ resource: "open", method: "POST", body: fits })).status, 200);
});

test("a plain object is refused, and a signal ends the reading", async () => {
  const object = await rejection(client.fetchResource({ resource: "open", method: "POST", body: { a: 1 } }));
  assert.match(object.message, /JSON\.stringify/);
  const abort = new AbortController();
  const reason = new Error("mine");
  const silent = new ReadableStream({ pull: () => new Promise(() => {}) });
  const running = rejection(client.fetchResource({ resource: "open", method: "POST", body: silent }, { signal: abort.signal }));
  setTimeout(() => abort.abort(reason), 20);
  assert.equal(await running, reason);
});
