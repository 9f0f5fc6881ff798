// What a program that installs the package gets: both module systems, the types, the command.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFile, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { after, test } from "node:test";
import { makeConsumer, packageRoot, packedFiles, repositoryRoot, runNode, typescriptPath } from "./support/consumer.mjs";
import { FakePostern } from "postern-auth/testing";
import { FakeSidecar, answer } from "./support/fake.mjs";

const consumer = await makeConsumer();
after(() => consumer.remove());

async function run(name, source, options) {
  await writeFile(path.join(consumer.directory, name), source);
  const { status, stdout, stderr } = await runNode([name], { cwd: consumer.directory, ...options });
  assert.equal(status, 0, stderr);
  return stdout.trim();
}

test("import and require give the same names and the same classes", async () => {
  const source = (module) => `
    import * as esm from "${module}";
    import { createRequire } from "node:module";
    const cjs = createRequire(import.meta.url)("${module}");
    const names = Object.keys(cjs).sort();
    if (names.join() !== Object.keys(esm).sort().join()) throw new Error("other names");
    for (const name of names) if (cjs[name] !== esm[name]) throw new Error(name);
    console.log(names.length);`;
  assert.ok(Number(await run("both.mjs", source("postern-auth"))) >= 17);
  assert.equal(Number(await run("express.mjs", source("postern-auth/express"))), 1);
  assert.equal(Number(await run("testing.mjs", source("postern-auth/testing"))), 4);
  assert.equal(await run("one.cjs", 'console.log(typeof require("postern-auth").createFetch)'), "function");
});

test("nothing beside the exports can be loaded, and nothing else is needed", async () => {
  const source = 'try { require("postern-auth/lib/channel.js") } catch (error) { console.log(error.code) }';
  assert.equal(await run("inside.cjs", source), "ERR_PACKAGE_PATH_NOT_EXPORTED");
  const description = JSON.parse(await readFile(path.join(packageRoot, "package.json"), "utf8"));
  assert.deepEqual([description.dependencies, description.engines.node], [undefined, ">=18"]);
});

test("the package has its license, what a registry shows, and no file that users do not need", async () => {
  const read = (...names) => readFile(path.join(...names), "utf8");
  const packed = await packedFiles();
  assert.deepEqual([...new Set(packed.map((file) => file.replace(/\/.*/, "/")))], [
    ...["LICENSE", "README.md", "bin/", "express.d.mts", "express.d.ts", "express.mjs"],
    ...["index.d.mts", "index.d.ts", "index.mjs", "lib/", "package.json"],
    ...["testing.d.mts", "testing.d.ts", "testing.mjs", "types/"],
  ]);
  assert.equal(await read(packageRoot, "LICENSE"), await read(repositoryRoot, "LICENSE"), "LICENSE is another text");
  const description = JSON.parse(await read(packageRoot, "package.json"));
  assert.equal(description.name, "postern-auth");
  for (const name of ["description", "keywords", "homepage", "repository", "bugs", "license", "engines"]) {
    assert.ok(description[name], `package.json lacks ${name}`);
  }
});

// Debian's nodejs comes without npm, whose package has hundreds of others with it: the rule above is its rule.
test("npm packs these files", { skip: spawnSync("npm", ["--version"]).error && "npm is not installed" }, async () => {
  const env = { ...process.env, npm_config_cache: `${consumer.directory}/npm`, npm_config_update_notifier: "false" };
  const { status, stdout, stderr } = spawnSync("npm", ["pack", "--dry-run", "--json"], { cwd: packageRoot, env });
  assert.equal(status, 0, `${stderr}`);
  const [{ name, files }] = JSON.parse(stdout);
  assert.equal(name, "postern-auth");
  assert.deepEqual(files.map((file) => file.path).sort(), await packedFiles());
});

const DOM = ["dom", "dom.iterable"];
for (const [what, sources, lib] of [
  ["with lib dom", ["usage.ts", "without-dom.ts", "web.ts"], DOM],
  ["without lib dom", ["without-dom.ts", "web.ts"], []],
  ["with the types of a Node program", ["without-dom.ts", "with-node.ts", "node-globals.d.ts"], []],
]) {
  test(`the types describe it to programs of both kinds, strictly, ${what}`, async () => {
    const copies = sources.flatMap((source) =>
      source.endsWith(".d.ts") ? [[source, source]] : [".mts", ".cts"].map((end) => [source, source.replace(".ts", end)]),
    );
    const support = path.join(packageRoot, "test/support");
    for (const [source, name] of copies) await copyFile(path.join(support, source), path.join(consumer.directory, name));
    const compilerOptions = {
      strict: true,
      noEmit: true,
      noUncheckedIndexedAccess: true,
      target: "es2022",
      lib: ["es2022", ...lib],
      module: "node16",
      moduleResolution: "node16",
      types: [],
    };
    const configuration = JSON.stringify({ compilerOptions, files: copies.map(([, name]) => name) });
    await writeFile(path.join(consumer.directory, "tsconfig.json"), configuration);
    const tsc = path.join(path.dirname(typescriptPath), "tsc.js");
    const { status, stdout } = await runNode([tsc, "-p", "."], { cwd: consumer.directory, seconds: 120 });
    assert.equal(status, 0, stdout);
  });
}

test("a program with users, uploads and tests compiles strictly, and its tests pass", async () => {
  await copyFile(path.join(packageRoot, "test/support/program.mts"), path.join(consumer.directory, "program.mts"));
  const tsc = path.join(path.dirname(typescriptPath), "tsc.js");
  const options = ["--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--lib", "es2022,dom,dom.iterable"];
  const modules = ["--module", "node16", "--moduleResolution", "node16"];
  const { status, stdout } = await runNode([tsc, ...options, ...modules, "program.mts"], { cwd: consumer.directory, seconds: 120 });
  assert.equal(status, 0, stdout);
  const done = await runNode(["program.mjs"], { cwd: consumer.directory });
  assert.equal(done.status, 0, done.stderr);
});

test("the example with uploads compiles strictly with the types of Express, and its tests pass", async () => {
  const example = path.join(repositoryRoot, "examples/expressuploads");
  const files = ["app.mjs", "receipts.mjs", "receipts.test.mjs"];
  for (const name of files) await copyFile(path.join(example, name), path.join(consumer.directory, name));
  await copyFile(path.join(packageRoot, "test/support/express.d.ts"), path.join(consumer.directory, "express.d.ts"));
  await symlink("/usr/share/nodejs/express", path.join(consumer.directory, "node_modules/express"));
  const compilerOptions = {
    ...{ strict: true, noUncheckedIndexedAccess: true, allowJs: true, noEmit: true, target: "es2022" },
    ...{ module: "node16", moduleResolution: "node16", lib: ["es2022", "dom", "dom.iterable"], types: [] },
  };
  const configuration = JSON.stringify({ compilerOptions, files: [...files, "express.d.ts"] });
  await writeFile(path.join(consumer.directory, "tsconfig.json"), configuration);
  const tsc = path.join(path.dirname(typescriptPath), "tsc.js");
  const { status, stdout } = await runNode([tsc, "-p", "."], { cwd: consumer.directory, seconds: 120 });
  assert.equal(status, 0, stdout);
  const env = { NODE_PATH: "/usr/share/nodejs" };
  const done = await runNode(["--test", "receipts.test.mjs"], { cwd: consumer.directory, env });
  assert.equal(done.status, 0, done.stdout);
});

test("the sources keep to the types that they state", async () => {
  const tsc = path.join(path.dirname(typescriptPath), "tsc.js");
  const { status, stdout } = await runNode([tsc, "-p", "jsconfig.json"], { cwd: packageRoot, seconds: 120 });
  assert.equal(status, 0, stdout);
});

test("the socket is where wire.md says", () => {
  const { socketPath } = createRequire(import.meta.url)("../lib/socket-path.js");
  const all = { POSTERN_SOCKET: "/a", XDG_RUNTIME_DIR: "/run/user/1" };
  const { POSTERN_SOCKET, ...withoutOwn } = all;
  assert.equal(socketPath("/given", all), "/given");
  assert.equal(socketPath(undefined, all), POSTERN_SOCKET);
  assert.equal(socketPath(undefined, withoutOwn), "/run/user/1/postern.sock");
  assert.equal(socketPath(undefined, {}), "/run/postern/postern.sock");
});

test("a program that is done ends, though its client is not closed", async (t) => {
  const fake = await FakePostern.start();
  t.after(() => fake.stop());
  const source = `
    const { Client } = require("postern-auth");
    const client = new Client();
    client.on("event.sessionEnded", () => {});
    client.subscribe({ events: ["event.sessionEnded"] }, { timeoutMs: 60000 }).then(() => console.log("done"));`;
  const started = Date.now();
  assert.equal(await run("idle.cjs", source, { env: { POSTERN_SOCKET: fake.socketPath } }), "done");
  assert.ok(Date.now() - started < 20_000);
});

test("a program that waits for an event stays until it comes", async (t) => {
  const event = { jsonrpc: "2.0", method: "event.configReloaded", params: { at: "now", changed: [] } };
  const fake = await FakeSidecar.start({
    onRequest: ({ id, method }, socket) => {
      answer(socket, id, { subscribed: method === "subscribe" ? ["event.configReloaded"] : [] });
      if (method === "subscribe") setTimeout(() => socket.write(`${JSON.stringify(event)}\n`), 200);
    },
  });
  t.after(() => fake.stop());
  const source = `
    import { Client } from "postern-auth";
    for await (const { event, params } of new Client().events(["event.configReloaded"])) {
      console.log(event, params.at);
      break;
    }`;
  const output = await run("events.mjs", source, { env: { POSTERN_SOCKET: fake.socketPath } });
  assert.equal(output, "event.configReloaded now");
});

test("what a listener throws is the program's, and ends neither the connection nor other calls", async (t) => {
  const event = { jsonrpc: "2.0", method: "event.configReloaded", params: { at: "now", changed: [] } };
  const fake = await FakeSidecar.start({
    onRequest: ({ id }, socket) => {
      socket.write(`${JSON.stringify(event)}\n`);
      answer(socket, id, { subscribed: [] });
    },
  });
  t.after(() => fake.stop());
  const source = `
    import { Client } from "postern-auth";
    process.on("uncaughtException", ({ message }) => console.log(message));
    const client = new Client();
    client.on("event.configReloaded", () => { throw new Error("from the listener"); });
    await client.getInfo();
    console.log("answered");`;
  const output = await run("throws.mjs", source, { env: { POSTERN_SOCKET: fake.socketPath } });
  assert.deepEqual(output.split("\n").sort(), ["answered", "from the listener"]);
  assert.equal(fake.connections, 1);
});

test("postern-call prints results, and exits with 1 for an error, 2 without a sidecar, 64 when misused", async (t) => {
  const fake = await FakePostern.start();
  t.after(() => fake.stop());
  const { session } = fake.login();
  fake.when("health").fails("peer_forbidden");
  const call = (args, socket = fake.socketPath) =>
    runNode([path.join(packageRoot, "bin/postern-call.mjs"), ...args], { env: { POSTERN_SOCKET: socket } });
  const good = await call(["getSession", JSON.stringify({ session })]);
  assert.equal(good.status, 0, good.stderr);
  assert.equal(JSON.parse(good.stdout).subject, "user-1");
  const refused = await call(["health"]);
  assert.deepEqual([refused.status, JSON.parse(refused.stderr).data.reason], [1, "peer_forbidden"]);
  assert.equal((await call(["health"], "/tmp/no-such-socket")).status, 2);
  assert.equal((await call([])).status, 64);
  assert.equal((await call(["health", "{"])).status, 64);
});
