// Every program of the README and of the guide runs as it stands and prints what its comments say.
import assert from "node:assert/strict";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { Client } from "postern-auth";
import { makeConsumer, packageRoot, repositoryRoot, runNode } from "./support/consumer.mjs";
import { binary, Playground, Sidecar, signOn } from "./support/upstream.mjs";

const pages = [path.join(packageRoot, "README.md"), path.join(repositoryRoot, "proto-docs/node.md")];
const texts = await Promise.all(pages.map((page) => readFile(page, "utf8")));
const blocks = texts.flatMap((text) => [...text.matchAll(/^(<!-- not run:[^\n]*-->\n)?```js\n(.*?)^```$/gms)]);
const programs = blocks.filter(([, isNotRun]) => !isNotRun).map(([, , program]) => program);
// What the guide names, and a reader starts.
const shown = await readFile(path.join(repositoryRoot, "proto-docs/examples/postern.yaml"), "utf8");

let playground, sidecar, consumer, client;
before(async () => {
  playground = await Playground.start();
  const address = playground.baseUrl.replace("http://", "");
  sidecar = await Sidecar.startWith(
    (directory) => `${shown.replaceAll("127.0.0.1:8080", address)}\nlisten: { path: ${directory}/postern.sock }\n`,
  );
  consumer = await makeConsumer();
  // The commands, as they are on a PATH.
  const commands = path.join(consumer.directory, "bin");
  await mkdir(commands);
  for (const name of ["postern", "playground"]) await symlink(binary(name), path.join(commands, name));
  client = new Client({ socketPath: sidecar.socketPath });
});
after(async () => {
  await client?.close();
  await consumer?.remove();
  await sidecar?.stop();
  await playground?.stop();
});

/** What the pages leave to the reader. */
function readersPart(session) {
  return `
    import { callbackUrl } from ${JSON.stringify(new URL("support/upstream.mjs", import.meta.url).href)};
    const playground = { ask: (method, path, body) => fetch(${JSON.stringify(playground.baseUrl)} + path,
      { method, body: JSON.stringify(body) }) };
    globalThis.sendUserTo = async (url, cookie) =>
      ({ callbackUrl: await callbackUrl(playground, url), state: /=([^;]*)/.exec(cookie)[1] });
    globalThis.sessionOf = async () => ${JSON.stringify(session)};
    globalThis.askUser = async (callbacks) => {
      const answers = { PasswordCallback: "alice-password", ConfirmationCallback: 0 };
      for (const { type, input } of callbacks) if (type in answers) input[0].value = answers[type];
      return callbacks;
    };`;
}

test("there are as many programs as there were", () => assert.equal(programs.length, 15));

for (const [number, program] of programs.entries()) {
  const [name] = program.match(/(?<=await )[a-z.]+\w*/i);
  test(`program ${number + 1} (${name}) does what its comments say`, async () => {
    const { session } = await signOn(client, playground, "am");
    const file = path.join(consumer.directory, `program-${number}.mjs`);
    await writeFile(file, program);
    await writeFile(path.join(consumer.directory, "reader.mjs"), readersPart(session));
    await sidecar.configure(`${sidecar.configuration}limits: { batch: ${64 - number} }\n`);
    const { status, stdout, stderr } = await runNode(["--import", "./reader.mjs", file], {
      cwd: consumer.directory,
      env: {
        PATH: `${path.join(consumer.directory, "bin")}:${process.env.PATH}`,
        POSTERN_SOCKET: sidecar.socketPath,
        NODE_NO_WARNINGS: "1",
      },
    });
    assert.equal(status, 0, stderr);
    const said = [...program.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, comment]) => comment);
    if (said.length > 0) assert.deepEqual(stdout.trim().split("\n"), said);
    else assert.match(stdout, /pass [1-9]\d*$/m);
    await client.endSession({ session });
  });
}
