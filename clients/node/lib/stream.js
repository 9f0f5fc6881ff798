"use strict";

const { randomUUID } = require("node:crypto");
const { Channel } = require("./channel.js");
const { CancelledError, ConnectionError, PosternError } = require("./errors.js");

// What is taken ahead of the reader.
const AHEAD_BYTES = 256 * 1024;
// The sidecar closes a connection that takes no byte for 45 s; a task that is held back moves none and may wait.
const SUSPEND_MS = 10_000;
// What one that is held back may still send.
const MAX_HELD_BYTES = 4 * 1024 * 1024;
// Pauses before a resumption that was refused is asked for again; then the stream is given up.
const RESUME_PAUSES_MS = [50, 100, 200, 500, 1000, 2000, 2000, 2000];

// Node 18 has the symbol under a registered name only.
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose");

/** Option of a stream, for this package only: makes what its body ends with of an error. */
const BODY_ERROR = Symbol("bodyError");

// A body that was read and then forgotten takes its task along.
const forgotten = new FinalizationRegistry(leave);

/**
 * A streamed fetch: on a connection of its own, so that a slow reader slows this body down and nothing else, and that
 * cancelling is closing it.
 *
 * Its connection holds it weakly between two reads, so that one which nobody can read any more is collected; while
 * somebody waits, for its head or a piece, the connection holds it for them.
 */
class StreamedFetch {
  #channel;
  #hold;
  #controller;
  #begin;
  #bodyError;
  #expected = 0;
  #pieces = [];
  #heldBytes = 0;
  #hasHead = false;
  #wasRead = false;
  #isAwaited = false;
  #isSuspended = false;
  #isIdle = false;
  #hasEnded = false;
  #isClosed = false;
  /** @type {unknown} */
  #error;

  constructor(options, delegates, params, given = {}) {
    /** @type {{signal?: AbortSignal, suspendAfterMs?: number, [key: symbol]: any}} */
    const { signal, suspendAfterMs = SUSPEND_MS, [BODY_ERROR]: bodyError, ...callOptions } = given;
    this.task = params.task ?? `node-${randomUUID()}`;
    this.suspendAfterMs = suspendAfterMs;
    this.#bodyError = bodyError ?? ((error) => error);
    this.#hold = { weak: new WeakRef(this), strong: this };
    const channel = channelOf(this.#hold, options, delegates);
    this.#channel = channel;
    forgotten.register(this, channel);
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: () => {
          this.#pieces = [];
          leave(channel);
        },
      },
      // What is taken ahead is held here: with a mark of 0 a pull means that somebody waits.
      { highWaterMark: 0 },
    );
    const request = { ...params, task: this.task, stream: true, streamHead: true };
    this.result = resultOf(this.#hold, channel, channel.call("fetchResource", request, { signal, ...callOptions }));
    this.head = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.result.catch(reject);
    });
    // Who reads the body only learns of an error there.
    this.result.catch(ignore);
    this.head.catch(ignore);
  }

  /** Ends the task; a body that somebody reads ends with an error. */
  cancel() {
    leave(this.#channel);
  }

  onConnected(connection, delegates) {
    this.connection = connection;
    const { methods } = delegates;
    if (methods.length > 0) this.#channel.callFirst(connection, "registerDelegate", { methods }).catch(ignore);
  }

  onNotification(method, params) {
    if (params?.task !== this.task) return;
    if (method === "fetchResource.head") {
      this.#hasHead = true;
      this.#begin(params);
      this.#updateHold();
    }
    if (method === "fetchResource.chunk") this.#took(params);
  }

  #took({ sequence, dataBase64 }) {
    if (sequence !== this.#expected || typeof dataBase64 !== "string") {
      const details = { reason: "protocol_violation", data: { outcome: "unknown" } };
      return this.connection.destroy(new ConnectionError("a piece of the body is missing", details));
    }
    this.#expected += 1;
    const piece = new Uint8Array(Buffer.from(dataBase64, "base64"));
    if (this.#isAwaited) {
      this.#isAwaited = false;
      this.#controller.enqueue(piece);
      this.#updateHold();
      return;
    }
    this.#pieces.push(piece);
    this.#heldBytes += piece.byteLength;
    if (this.#heldBytes >= AHEAD_BYTES + (this.#isSuspended ? MAX_HELD_BYTES : 0)) this.#holdBack();
  }

  /** Somebody waits for a piece. */
  #pull() {
    this.#wasRead = true;
    const piece = this.#pieces.shift();
    if (piece === undefined) {
      this.#isAwaited = !this.#hasEnded;
    } else {
      this.#heldBytes -= piece.byteLength;
      this.#controller.enqueue(piece);
    }
    if (this.#hasEnded) this.#closeWhenTaken();
    else if (this.#heldBytes < AHEAD_BYTES) this.#goOn();
    this.#updateHold();
  }

  #holdBack() {
    this.connection.pause();
    // Nothing more can happen before somebody reads, which is no reason to keep the process.
    this.#setIdle(true);
    if (!this.#isSuspended) this.#suspendLater();
  }

  #suspendLater() {
    const weak = new WeakRef(this);
    this.timer ??= setTimeout(() => weak.deref()?.suspend(), this.suspendAfterMs).unref();
  }

  suspend() {
    this.timer = undefined;
    this.#isSuspended = true;
    // What is on its way is taken still: the sidecar holds little.
    this.connection.resume();
    this.#steer("suspendTask", (fetch, error) => {
      if (!fetch.#isSuspended || error.reason === "task_not_found") return;
      // It is held back by not reading then, as long as the sidecar bears that.
      fetch.#isSuspended = false;
      if (fetch.#heldBytes >= AHEAD_BYTES) fetch.#holdBack();
    });
  }

  #goOn() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.#setIdle(false);
    this.connection?.resume();
    if (!this.#isSuspended) return;
    this.#isSuspended = false;
    this.#resume(0);
  }

  #resume(refusals) {
    this.#steer("resumeTask", (fetch, error) => {
      if (fetch.#isSuspended || error.reason === "task_not_found") return;
      const pause = RESUME_PAUSES_MS[refusals];
      if (pause === undefined || error.reason === "peer_forbidden") fetch.connection.destroy(error);
      else setTimeout(() => fetch.#isSuspended || fetch.#hasEnded || fetch.#resume(refusals + 1), pause);
    });
  }

  /** On the stream's own connection, whatever becomes of the client's. */
  #steer(method, refused) {
    const weak = new WeakRef(this);
    const { task, connection } = this;
    this.#channel.callFirst(connection, method, { task }).catch((error) => {
      const fetch = weak.deref();
      if (fetch && !fetch.#hasEnded && !connection.hasEnded) refused(fetch, error);
    });
  }

  /** The sidecar has said all; what was not taken still waits for its reader. */
  onResult() {
    this.#end();
    this.#closeWhenTaken();
  }

  #closeWhenTaken() {
    if (this.#pieces.length > 0 || this.#isClosed) return;
    this.#isClosed = true;
    try {
      if (this.#error === undefined) this.#controller.close();
      else this.#controller.error(this.#error);
    } catch {
      // Cancelled meanwhile: there is no stream to end.
    }
  }

  /** What came before the error can still be read, unless the reader himself has ended it. */
  onError(error) {
    this.#end();
    this.#error = this.#bodyError(error);
    if (!(error instanceof PosternError) || error instanceof CancelledError) this.#pieces = [];
    this.#closeWhenTaken();
  }

  #end() {
    clearTimeout(this.timer);
    this.#hasEnded = true;
    this.#setIdle(false);
    this.#hold.strong = undefined;
  }

  #setIdle(isIdle) {
    if (isIdle === this.#isIdle) return;
    this.#isIdle = isIdle;
    this.#channel.hold(isIdle ? -1 : 1);
  }

  #updateHold() {
    const isWaitedFor = !this.#hasEnded && (!this.#hasHead || !this.#wasRead || this.#isAwaited);
    this.#hold.strong = isWaitedFor ? this : undefined;
  }
}

// What a connection holds is made here: a function within the constructor would hold all that any other there does.

function channelOf(hold, options, delegates) {
  return new Channel(options, {
    onNotification: (_, method, params) => fetchOf(hold)?.onNotification(method, params),
    onRequest: (...request) => delegates.answer(...request),
    onConnected: (connection) => fetchOf(hold)?.onConnected(connection, delegates),
    onLost: (connection, error) => delegates.abandon(connection, error),
  });
}

function resultOf(hold, channel, answer) {
  return answer.then(
    (result) => {
      fetchOf(hold)?.onResult();
      channel.destroy();
      return result;
    },
    (error) => {
      fetchOf(hold)?.onError(error);
      channel.destroy();
      throw error;
    },
  );
}

/** @returns {StreamedFetch | undefined} */
function fetchOf({ strong, weak }) {
  return strong ?? weak.deref();
}

function ignore() {}

function leave(channel) {
  const details = { reason: "request_cancelled", code: -32800, method: "fetchResource" };
  channel.destroy(new CancelledError("cancelled by its reader", details));
}

function openStream(options, delegates, params, given) {
  const fetch = new StreamedFetch(options, delegates, params, given);
  const { body, head, result, task } = fetch;
  const dispose = async () => fetch.cancel();
  return { body, head, result, task, cancel: () => fetch.cancel(), [asyncDispose]: dispose };
}

module.exports = { BODY_ERROR, openStream };
