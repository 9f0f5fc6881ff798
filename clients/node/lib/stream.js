"use strict";

const { randomUUID } = require("node:crypto");
const { hasContent, withBytes } = require("./body.js");
const { Channel } = require("./channel.js");
const { Cancelled, PosternError, ProtocolViolation, RequestError } = require("./errors.js");

// The bytes that are buffered for the reader.
const AHEAD_BYTES = 256 * 1024;
// The sidecar closes a connection that reads no byte for 45 s; a suspended task sends none and may wait.
const SUSPEND_MS = 10_000;
// The bytes that a suspended task may still send.
const MAX_EXCESS_BYTES = 4 * 1024 * 1024;
// Pauses before a rejected resumption is retried; then the stream fails.
const RESUME_PAUSES_MS = [50, 100, 200, 500, 1000, 2000, 2000, 2000];

// Node 18 has the symbol under a registered name only.
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose");

/** Option of a stream, for this package only: converts an error to the one that the body ends with. */
const BODY_ERROR = Symbol("bodyError");

// When a body that was partly read is garbage-collected, its task is cancelled.
const forgotten = new FinalizationRegistry(leave);

/**
 * A streamed fetch: on a connection of its own, so that a slow reader slows this body down and nothing else, and that
 * cancelling is closing it.
 *
 * Its connection has a weak reference to it between two reads, so that an unreachable one is garbage-collected; while
 * its head or a piece is awaited, the connection has a strong reference.
 */
class StreamedFetch {
  #channel;
  #hold;
  #controller;
  #begin;
  #bodyError;
  #expected = 0;
  #pieces = [];
  #bufferedBytes = 0;
  #hasHead = false;
  #wasRead = false;
  #isAwaited = false;
  #isSuspended = false;
  #isIdle = false;
  #hasEnded = false;
  #isClosed = false;
  /** @type {unknown} */
  #error;

  constructor(options, delegates, sidecar, params, given = {}) {
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
      // The buffer is here: with a high-water mark of 0, a pull means that the reader waits.
      { highWaterMark: 0 },
    );
    const request = { ...params, task: this.task, stream: true, streamHead: true };
    this.result = resultOf(this.#hold, channel, answerOf(channel, sidecar, request, { signal, ...callOptions }));
    this.head = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.result.catch(reject);
    });
    // A reader of the body gets the error there.
    this.result.catch(ignore);
    this.head.catch(ignore);
  }

  /** Cancels the task; a body that is being read ends with an error. */
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
      return this.connection.destroy(new ProtocolViolation("a piece of the body is missing", details));
    }
    this.#expected += 1;
    this.#add(new Uint8Array(Buffer.from(dataBase64, "base64")));
  }

  /** Pieces that come as frames are in order. */
  onPiece(task, piece) {
    if (task === this.task && piece.byteLength > 0) this.#add(piece);
  }

  /** @param {Uint8Array} piece */
  #add(piece) {
    if (this.#isAwaited) {
      this.#isAwaited = false;
      this.#controller.enqueue(piece);
      this.#updateHold();
      return;
    }
    this.#pieces.push(piece);
    this.#bufferedBytes += piece.byteLength;
    if (this.#bufferedBytes >= AHEAD_BYTES + (this.#isSuspended ? MAX_EXCESS_BYTES : 0)) this.#pauseReading();
  }

  /** The reader waits for a piece. */
  #pull() {
    this.#wasRead = true;
    const piece = this.#pieces.shift();
    if (piece === undefined) {
      this.#isAwaited = !this.#hasEnded;
    } else {
      this.#bufferedBytes -= piece.byteLength;
      this.#controller.enqueue(piece);
    }
    if (this.#hasEnded) this.#closeWhenTaken();
    else if (this.#bufferedBytes < AHEAD_BYTES) this.#continue();
    this.#updateHold();
  }

  #pauseReading() {
    this.connection.pause();
    // Nothing more can happen before the next read, so the process is not kept alive.
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
    // Pieces in transit are still accepted: the sidecar buffers little.
    this.connection.resume();
    this.#steer("suspendTask", (fetch, error) => {
      if (!fetch.#isSuspended || error.reason === "task_not_found") return;
      // Then the connection is not read, as long as the sidecar tolerates that.
      fetch.#isSuspended = false;
      if (fetch.#bufferedBytes >= AHEAD_BYTES) fetch.#pauseReading();
    });
  }

  #continue() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.#setIdle(false);
    this.connection?.resume();
    if (!this.#isSuspended) return;
    this.#isSuspended = false;
    this.#resume(0);
  }

  #resume(rejections) {
    this.#steer("resumeTask", (fetch, error) => {
      if (fetch.#isSuspended || error.reason === "task_not_found") return;
      const pause = RESUME_PAUSES_MS[rejections];
      if (pause === undefined || error.reason === "peer_forbidden") fetch.connection.destroy(error);
      else setTimeout(() => fetch.#isSuspended || fetch.#hasEnded || fetch.#resume(rejections + 1), pause);
    });
  }

  /** Calls on the stream's own connection, independent of the client's. */
  #steer(method, onRejection) {
    const weak = new WeakRef(this);
    const { task, connection } = this;
    this.#channel.callFirst(connection, method, { task }).catch((error) => {
      const fetch = weak.deref();
      if (fetch && !fetch.#hasEnded && !connection.hasEnded) onRejection(fetch, error);
    });
  }

  /** The result has come; unread pieces remain for the reader. */
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
      // Cancelled meanwhile: there is no stream to close.
    }
  }

  /** Pieces before the error can still be read, unless the reader has cancelled the stream. */
  onError(error) {
    this.#end();
    this.#error = this.#bodyError(error);
    if (!(error instanceof PosternError) || error instanceof Cancelled) this.#pieces = [];
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

// The connection's callbacks are created here: a closure in the constructor would keep the object alive.

function channelOf(hold, options, delegates) {
  return new Channel({ ...options, isFramed: true }, {
    onPiece: (task, bytes) => fetchOf(hold)?.onPiece(task, bytes),
    onNotification: (_, method, params) => fetchOf(hold)?.onNotification(method, params),
    onRequest: (...request) => delegates.answer(...request),
    onConnected: (connection) => fetchOf(hold)?.onConnected(connection, delegates),
    onLost: (connection, error) => delegates.abandon(connection, error),
  });
}

/**
 * The response to a streamed fetch whose pieces come as frames, or in JSON from a sidecar that does not know frames: it
 * rejects the first member that it does not know, and does nothing.
 * @param {{isOlder: boolean}} sidecar What is known about it; found out once.
 */
async function answerOf(channel, sidecar, given, options) {
  const request = hasContent(given) ? await withBytes(given, channel.options.maxRequestBytes, options.signal) : given;
  if (sidecar.isOlder) return channel.call("fetchResource", request, options);
  try {
    return await channel.call("fetchResource", { bodyAs: "frames", ...request }, options);
  } catch (error) {
    const isUnknown = error instanceof RequestError && error.reason === "invalid_params" && error.path === "/bodyAs";
    if (!isUnknown) throw error;
    sidecar.isOlder = true;
    return channel.call("fetchResource", request, options);
  }
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
  channel.destroy(new Cancelled("cancelled by its reader", details));
}

function openStream(options, delegates, sidecar, params, given) {
  const fetch = new StreamedFetch(options, delegates, sidecar, params, given);
  const { body, head, result, task } = fetch;
  const dispose = async () => fetch.cancel();
  return { body, head, result, task, cancel: () => fetch.cancel(), [asyncDispose]: dispose };
}

module.exports = { BODY_ERROR, openStream };
