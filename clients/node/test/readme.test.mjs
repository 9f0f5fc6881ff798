// Every program of the README runs as it stands and prints what its comments say.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@postern/client";
import { makeConsumer, packageRoot, runNode } from "./support/consumer.mjs";
import { Playground, Sidecar, signOn } from "./support/upstream.mjs";

const readme = await readFile(path.join(packageRoot, "README.md"), "utf8");
const programs = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program);

let playground, sidecar, consumer, client;
before(async () => {
  playground = await Playground.start();
  sidecar = await Sidecar.start(playground);
  consumer = await makeConsumer();
  client = new Client({ socketPath: sidecar.socketPath });
});
after(async () => {
  await client?.close();
  await consumer?.remove();
  await sidecar?.stop();
  await playground?.stop();
});

/** What the README leaves to the reader. */
function readersPart(session) {
  return `
    import { callbackUrl } from ${JSON.stringify(new URL("support/upstream.mjs", import.meta.url).href)};
    const playground = { ask: (method, path, body) => fetch(${JSON.stringify(playground.baseUrl)} + path,
      { method, body: JSON.stringify(body) }) };
    globalThis.sendUserTo = (url) => callbackUrl(playground, url);
    globalThis.sessionOf = async () => ${JSON.stringify(session)};
    globalThis.askUser = async (callbacks) => {
      const answers = { PasswordCallback: "alice-password", ConfirmationCallback: 0 };
      for (const { type, input } of callbacks) if (type in answers) input[0].value = answers[type];
      return callbacks;
    };`;
}

test("there are as many programs as there were", () => assert.equal(programs.length, 7));

for (const [number, program] of programs.entries()) {
  const [name] = program.match(/(?<=await )[a-z.]+\w*/i);
  test(`program ${number + 1} (${name}) does what its comments say`, async () => {
    const { session } = await signOn(client, playground);
    const file = path.join(consumer.directory, `program-${number}.mjs`);
    await writeFile(file, program);
    await writeFile(path.join(consumer.directory, "reader.mjs"), readersPart(session));
    await sidecar.configure({ ...sidecar.configuration, limits: { batch: 64 - number } });
    const { status, stdout, stderr } = await runNode(["--import", "./reader.mjs", file], {
      cwd: consumer.directory,
      env: { POSTERN_SOCKET: sidecar.socketPath, NODE_NO_WARNINGS: "1" },
    });
    assert.equal(status, 0, stderr);
    const said = [...program.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, comment]) => comment);
    assert.deepEqual(stdout.trim().split("\n"), said);
    await client.endSession({ session });
  });
}
