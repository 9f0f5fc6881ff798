// The cost of a call over the raw socket: sequential `getInfo`, alternating so that both have the same conditions.
// With --json the medians of the rounds are printed. POSTERN_SOCKET names a sidecar; without it the one in POSTERN_BIN
// (.build/release/postern) is started.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { Client } from "../index.mjs";

const CALLS = 2000;
const ROUNDS = 11;

/** One request and its answer's line, nothing else. */
async function rawCaller(path) {
  const socket = net.createConnection({ path });
  await once(socket, "connect");
  let resolve;
  socket.on("data", (data) => data[data.length - 1] === 10 && resolve());
  const request = '{"jsonrpc":"2.0","id":1,"method":"getInfo"}\n';
  const call = () =>
    new Promise((done) => {
      resolve = done;
      socket.write(request);
    });
  return { call, close: () => socket.destroy() };
}

async function round(call) {
  const times = new Float64Array(CALLS);
  for (let number = 0; number < CALLS; number += 1) {
    const start = process.hrtime.bigint();
    await call();
    times[number] = Number(process.hrtime.bigint() - start) / 1000;
  }
  times.sort();
  return [times[CALLS >> 1], times[Math.floor(CALLS * 0.99)]];
}

async function start() {
  const directory = await mkdtemp("/tmp/postern-bench-");
  const binary = process.env.POSTERN_BIN ?? fileURLToPath(new URL("../../../.build/release/postern", import.meta.url));
  const path = `${directory}/s`;
  await writeFile(`${directory}/postern.yaml`, JSON.stringify({ listen: { path }, store: { kind: "memory" } }));
  const child = spawn(binary, ["serve", "--config", `${directory}/postern.yaml`], { stdio: "ignore" });
  const client = new Client({ socketPath: path, connectWaitMs: 10_000 });
  await client.getInfo();
  await client.close();
  const stop = async () => {
    child.kill();
    await once(child, "exit");
    await rm(directory, { recursive: true });
  };
  return { path, stop };
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

const sidecar = process.env.POSTERN_SOCKET ? { path: process.env.POSTERN_SOCKET, stop() {} } : await start();
const raw = await rawCaller(sidecar.path);
const client = new Client({ socketPath: sidecar.path });
const rounds = { raw: [], client: [] };
for (let number = -2; number < ROUNDS; number += 1) {
  const one = { raw: await round(raw.call), client: await round(() => client.getInfo()) };
  if (number >= 0) for (const name of ["raw", "client"]) rounds[name].push(one[name]);
}
const at = (name, which) => median(rounds[name].map((pair) => pair[which]));
const overhead = median(rounds.client.map(([p50], number) => p50 - rounds.raw[number][0]));
if (process.argv.includes("--json")) {
  const medians = (name) => rounds[name].map(([p50]) => p50);
  console.log(JSON.stringify({ socket: medians("raw"), client: medians("client") }));
} else {
  console.log(`raw socket: p50 ${at("raw", 0).toFixed(1)} µs, p99 ${at("raw", 1).toFixed(1)} µs`);
  console.log(`client:     p50 ${at("client", 0).toFixed(1)} µs, p99 ${at("client", 1).toFixed(1)} µs`);
  console.log(`overhead:   p50 ${overhead.toFixed(1)} µs (target: 30 µs)`);
}
raw.close();
await client.close();
await sidecar.stop();
