"use strict";

const { didYouMean } = require("./names.js");

/** What each of them returns. */
const SHAPES = {
  onPolicyAdviceReceived: "{ satisfied: boolean, session?: string }",
  evaluateAuthorizationPolicy: "{ advices: [...] }",
  updateRequest: "{ url?, headers? }",
  evaluateTokenRefresh: "{ refresh: boolean }",
  approveCall: '{ answer: "once" | "always" | "no" }',
};
const NAMES = Object.keys(SHAPES);
const PREFIX = "delegate.";
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;
// The sidecar sends at most one for each running fetch of a connection.
const MAX_RUNNING = 1024;

/** Answers the sidecar's requests with the caller's functions. If a function fails, the default applies. */
class Delegates {
  constructor(timeoutMs) {
    this.timeoutMs = timeoutMs;
    this.handlers = new Map();
    this.running = new Map();
  }

  get methods() {
    return [...this.handlers.keys()];
  }

  set(functions) {
    const handlers = new Map();
    for (const [name, handler] of Object.entries(functions)) {
      if (handler === undefined) continue;
      if (!NAMES.includes(name)) throw new TypeError(`no delegate is called ${name}${didYouMean(name, NAMES)}`);
      if (typeof handler !== "function") throw new TypeError(`the delegate ${name} must be a function`);
      handlers.set(PREFIX + name, handler);
    }
    this.handlers = handlers;
  }

  async answer(connection, id, method, params) {
    const handler = this.handlers.get(method);
    if (handler === undefined || this.running.size >= MAX_RUNNING) {
      return reply(connection, id, { error: { code: METHOD_NOT_FOUND, message: "no such delegate" } });
    }
    const abort = new AbortController();
    const key = { name: method.slice(PREFIX.length) };
    this.running.set(key, { abort, connection });
    try {
      const result = await this.#within(abort, handler, params);
      const text = JSON.stringify(result);
      if (text === undefined || typeof result !== "object") {
        // A function that returns nothing leaves it to the default; one that returns "once" or true means an answer.
        if (result !== undefined) process.emitWarning(`${key.name} must return ${SHAPES[key.name]}: the default applies`);
        throw new TypeError("a delegate must return an object");
      }
      reply(connection, id, { result });
    } catch {
      // Its message may contain data that is not for the sidecar.
      reply(connection, id, { error: { code: INTERNAL_ERROR, message: "the delegate failed" } });
    } finally {
      this.running.delete(key);
    }
  }

  /** Aborts the functions that still run for a lost connection. */
  abandon(connection, reason) {
    for (const run of this.running.values()) if (run.connection === connection) run.abort.abort(reason);
  }

  #within(abort, handler, params) {
    return new Promise((resolve, reject) => {
      const { signal } = abort;
      const timer = setTimeout(() => {
        abort.abort(new DOMException("the delegate took too long", "TimeoutError"));
      }, this.timeoutMs).unref();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      const done = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      Promise.resolve()
        .then(() => handler(params, { signal }))
        .then(done(resolve), done(reject));
    });
  }
}

function reply(connection, id, body) {
  connection.answer(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
}

module.exports = { Delegates };
