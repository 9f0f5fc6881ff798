// The fetches of curl_multi through Node's own `fetch`, in one process: the same options and the same line of JSON.
// With --stream bodies are counted as they come, not kept. Authorities in addition to Node's own: NODE_EXTRA_CA_CERTS.
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";

const TIMEOUT = 30e3;
// How long the first answer to every worker is waited for.
const PATIENCE = 5e3;

const { values: option } = parseArgs({
  options: {
    url: { type: "string" },
    "in-flight": { type: "string", default: "1" },
    seconds: { type: "string", default: "3" },
    "warm-up": { type: "string", default: "0.5" },
    "expect-bytes": { type: "string" },
    stream: { type: "boolean", default: false },
  },
});
const inFlight = Number(option["in-flight"]);
const expectedBytes = Number(option["expect-bytes"]);

const latencies = [];
const answered = Array(inFlight).fill(0);
let total = 0;
let counted = 0;
let received = 0; // bytes, those of bodies that are not complete, too
let stopping = false;
let failure;

async function bodySize(answer) {
  if (!option.stream) return (await answer.arrayBuffer()).byteLength;
  let size = 0;
  for await (const piece of answer.body) {
    size += piece.byteLength;
    received += piece.byteLength;
  }
  return size;
}

async function work(number) {
  while (!stopping) {
    const started = performance.now();
    try {
      const answer = await fetch(option.url, { signal: AbortSignal.timeout(TIMEOUT) });
      const size = await bodySize(answer);
      if (answer.status !== 200 || size !== expectedBytes) throw new Error(`status ${answer.status}, ${size} bytes`);
    } catch (problem) {
      failure ??= `${problem.message} ${problem.cause ?? ""}`.trim();
      stopping = true;
      return;
    }
    latencies.push((performance.now() - started) * 1e3);
    answered[number] += 1;
    counted += 1;
    total += 1;
  }
}

async function until(reached) {
  const limit = performance.now() + PATIENCE;
  while (!reached() && !stopping && performance.now() < limit) await sleep(10);
}

answered.forEach((_, number) => work(number));
await sleep(Number(option["warm-up"]) * 1e3);
await until(() => answered.every((count) => count > 0));
latencies.length = 0;
counted = received = 0;
const begin = performance.now();
const cpu = process.cpuUsage();
await sleep(Number(option.seconds) * 1e3);
await until(() => counted > 0);
const requests = counted;
// Large bodies that share a link end at once, and how many ends fall into the measurement is chance.
const fetched = option.stream ? received / expectedBytes : requests;
const used = process.cpuUsage(cpu);
const seconds = (performance.now() - begin) / 1e3;

// What is still in flight does not count, and is not waited for.
latencies.sort((a, b) => a - b);
const quantile = (share) => latencies[Math.min(Math.floor(latencies.length * share), latencies.length - 1)] ?? 0;
console.log(
  JSON.stringify({
    inFlight,
    requests,
    totalRequests: total,
    seconds,
    requestsPerSecond: fetched / seconds,
    latencyUs: { p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99), max: latencies.at(-1) ?? 0 },
    failed: failure === undefined ? 0 : 1,
    bodyBytes: requests * expectedBytes,
    cpuSeconds: (used.user + used.system) / 1e6,
    httpVersion: "HTTP/1.1", // all that Node's own fetch speaks unless undici is installed, too
    version: `fetch of Node ${process.version}`,
    ...(failure === undefined ? {} : { firstFailure: failure }),
  }),
);
process.exit(0);
