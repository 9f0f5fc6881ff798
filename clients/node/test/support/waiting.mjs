import { setTimeout as pause } from "node:timers/promises";

/** Asks until the answer is truthy, for a bounded time. */
export async function eventually(condition, seconds = 10) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${condition}`);
    await pause(5);
  }
}

/** The promise's value, or an error when it takes too long: nothing may hang. */
export async function within(promise, seconds = 10) {
  const limit = new AbortController();
  const late = pause(seconds * 1000, undefined, { signal: limit.signal }).then(() => {
    throw new Error(`not within ${seconds} s`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    limit.abort();
  }
}

/** What the promise rejects with. */
export async function rejection(promise, seconds) {
  try {
    await within(promise, seconds);
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
}
