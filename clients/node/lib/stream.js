"use strict";

const { randomUUID } = require("node:crypto");
const { Channel } = require("./channel.js");
const { CancelledError, ConnectionError } = require("./errors.js");

// What the web stream takes ahead of its reader.
const AHEAD_BYTES = 256 * 1024;
// The sidecar closes a connection that takes no byte for 45 s; a task that is held back moves none and may wait.
const SUSPEND_MS = 10_000;
// What one that is held back may still send.
const MAX_HELD_BYTES = 4 * 1024 * 1024;

// Node 18 has the symbol under a registered name only.
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose");

/**
 * A streamed fetch: on a connection of its own, so that a slow reader slows this body down and nothing else, and that
 * cancelling is closing it.
 */
class StreamedFetch {
  #client;
  #channel;
  #controller;
  #begin;
  #expected = 0;
  #suspended = false;

  constructor(client, options, delegates, params, given = {}) {
    /** @type {{signal?: AbortSignal, suspendAfterMs?: number}} */
    const { signal, suspendAfterMs = SUSPEND_MS, ...callOptions } = given;
    this.task = params.task ?? `node-${randomUUID()}`;
    this.suspendAfterMs = suspendAfterMs;
    this.#client = client;
    this.#channel = new Channel(options, {
      onNotification: (_, method, chunk) => this.#notified(method, chunk),
      onRequest: (...request) => delegates.answer(...request),
      onConnected: (connection) => this.#connected(connection, delegates),
      onLost: (connection, error) => delegates.abandon(connection, error),
    });
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#goOn(),
        cancel: () => this.#leave(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
    );
    const request = { ...params, task: this.task, stream: true, streamHead: true };
    const answer = this.#channel.call("fetchResource", request, { signal, ...callOptions });
    this.result = answer.then(
      (result) => this.#finish(() => this.#controller.close(), result),
      (error) => {
        this.#finish(() => this.#controller.error(error));
        throw error;
      },
    );
    this.head = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.result.catch(reject);
    });
    // Who reads the body only learns of an error there.
    this.result.catch(() => {});
    this.head.catch(() => {});
  }

  /** Ends the task; a body that somebody reads ends with an error. */
  cancel() {
    this.#leave();
  }

  #leave() {
    const details = { reason: "request_cancelled", code: -32800, method: "fetchResource" };
    this.#channel.destroy(new CancelledError("cancelled by its reader", details));
  }

  #connected(connection, delegates) {
    this.connection = connection;
    const { methods } = delegates;
    if (methods.length > 0) this.#channel.callFirst(connection, "registerDelegate", { methods }).catch(() => {});
  }

  #notified(method, params) {
    if (params?.task !== this.task) return;
    if (method === "fetchResource.head") this.#begin(params);
    if (method === "fetchResource.chunk") this.#took(params);
  }

  #took({ sequence, dataBase64 }) {
    if (sequence !== this.#expected || typeof dataBase64 !== "string") {
      const details = { reason: "protocol_violation", data: { outcome: "unknown" } };
      return this.connection.destroy(new ConnectionError("a piece of the body is missing", details));
    }
    this.#expected += 1;
    this.#controller.enqueue(new Uint8Array(Buffer.from(dataBase64, "base64")));
    const { desiredSize } = this.#controller;
    if (desiredSize <= (this.#suspended ? -MAX_HELD_BYTES : 0)) this.#holdBack();
  }

  #holdBack() {
    this.connection.pause();
    if (this.#suspended) return;
    this.timer ??= setTimeout(() => this.#suspend(), this.suspendAfterMs).unref();
  }

  #suspend() {
    this.timer = undefined;
    this.#suspended = true;
    // What is on its way is taken still: the sidecar holds little.
    this.connection.resume();
    this.#client.suspendTask({ task: this.task }).catch(() => {});
  }

  #goOn() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.#suspended) {
      this.#suspended = false;
      this.#client.resumeTask({ task: this.task }).catch((error) => this.connection.destroy(error));
    }
    this.connection?.resume();
  }

  #finish(end, result) {
    clearTimeout(this.timer);
    try {
      end();
    } catch {
      // Cancelled meanwhile: there is no stream to end.
    }
    this.#channel.destroy();
    return result;
  }
}

function openStream(...given) {
  const fetch = new StreamedFetch(...given);
  const { body, head, result, task } = fetch;
  const dispose = async () => fetch.cancel();
  return { body, head, result, task, cancel: () => fetch.cancel(), [asyncDispose]: dispose };
}

module.exports = { openStream };
