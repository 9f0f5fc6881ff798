// A server that answers, refuses, drops, cuts and babbles at random: every call settles once, and nothing stays behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, PosternError } from "postern-auth";
import { FakeSidecar, answer, refuse } from "./support/fake.mjs";
import { within } from "./support/waiting.mjs";

/** Numbers from 0 to 1, the same ones for the same seed. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const METHODS = ["getInfo", "fetchResource", "endSession", "health", "createSession"];

for (const seed of [1, 2, 3, 4]) {
  test(`2000 calls, seed ${seed}`, async (t) => {
    const random = randomNumbers(seed);
    const executed = new Map();
    const fake = await FakeSidecar.start({
      onRequest: ({ id, method, params }, socket) => {
        if (id === undefined || socket.destroyed) return;
        const { number } = params.parameters;
        const luck = random();
        const isRefused = luck >= 0.004 && luck < 0.006;
        if (!isRefused) executed.set(number, (executed.get(number) ?? 0) + 1);
        if (luck < 0.002 || number === 2000) socket.destroy();
        else if (luck < 0.003) socket.end(`{"jsonrpc":"2.0","id":${id},"resu`);
        else if (luck < 0.004) socket.write("babble\n");
        else if (isRefused) refuse(socket, id, -32021, { reason: "shutting_down", outcome: "not_sent" });
        else if (luck < 0.05) refuse(socket, id, 1009, { reason: "server_unreachable" });
        else if (luck < 0.2) setTimeout(() => socket.destroyed || answer(socket, id, { number, method }), random() * 20);
        else answer(socket, id, { number, method });
      },
    });
    t.after(() => fake.stop());
    const client = new Client({ socketPath: fake.socketPath, connectWaitMs: 5000 });
    const outcomes = { answered: 0, refused: 0, aborted: 0, lost: 0 };
    const calls = Array.from({ length: 2000 }, async (_, number) => {
      await new Promise((resolve) => setTimeout(resolve, random() * 500));
      const method = METHODS[Math.floor(random() * METHODS.length)];
      const signal = random() < 0.1 ? AbortSignal.timeout(Math.ceil(random() * 20)) : undefined;
      try {
        const result = await client.call(method, { parameters: { number } }, { signal });
        assert.deepEqual(result, { number, method }, "somebody else's answer");
        outcomes.answered += 1;
      } catch (error) {
        if (error?.name === "TimeoutError") outcomes.aborted += 1;
        else if (!(error instanceof PosternError)) throw error;
        else if (["connection_lost", "protocol_violation"].includes(error.reason)) outcomes.lost += 1;
        else outcomes.refused += 1;
      }
      const isOnce = ["endSession", "createSession"].includes(method);
      if (isOnce) assert.ok((executed.get(number) ?? 0) <= 1, `${method} was sent ${executed.get(number)} times`);
    });
    await within(Promise.all(calls), 60);
    assert.equal(outcomes.answered + outcomes.refused + outcomes.aborted + outcomes.lost, 2000);
    assert.ok(outcomes.answered > 100, JSON.stringify(outcomes));
    // Whether one of those was lost is luck; this one is.
    const last = client.call("endSession", { parameters: { number: 2000 } });
    await assert.rejects(within(last), { reason: "connection_lost", outcome: "unknown" });
    assert.ok(fake.connections > 1);
    await within(client.close());
  });
}
