"use strict";

const { MAX_LOSSES, SHUTTING_DOWN, closed, late, prepared, tooMany } = require("./calls.js");
const { Connection } = require("./connection.js");
const { fromAnswer } = require("./error-codes.js");
const { ConnectionError } = require("./errors.js");
const { requestTail, requestText, sizeOf } = require("./message.js");
const { URGENT } = require("./methods.js");
const { onAbort } = require("./signals.js");

const MAX_BACKOFF_MS = 2000;

/** Sends calls over one connection at a time: pipelined, bounded, and retried by the rule of wire.md. */
class Channel {
  /** @param owner `onNotification`, `onPiece`, `onRequest`, `onConnected` (first on each connection), `onLost` */
  constructor(options, owner) {
    this.options = options;
    this.owner = owner;
    this.queue = new Set();
    this.draining = new Set();
    this.nextId = 1;
    this.live = 0;
    this.backoffMs = 0;
    // One timer for all calls, set for the one that expires first: one for each would cost more than its text.
    this.expiry = Infinity;
    /** @type {Promise<void> | undefined} */
    this.closed = undefined;
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {{timeoutMs?: number, traceparent?: string, signal?: AbortSignal}} options
   * @returns {Promise<any>}
   */
  call(method, params = {}, options = {}) {
    return new Promise((resolve, reject) => {
      const urgent = URGENT.has(method);
      /** @type {Record<string, any>} */
      const call = { ...prepared(method, params, options, this), urgent, resolve, reject };
      if (!urgent && this.queue.size >= this.options.maxQueued) throw tooMany(this.queue.size, method);
      const { signal } = options;
      this.#live(1);
      if (signal) call.stopListening = onAbort(signal, () => this.#abandon(call, signal.reason));
      this.#watch(call, call.waitMs);
      const mayGo = this.connection?.isReady && !this.connection.isWaiting && (urgent || this.queue.size === 0);
      if (mayGo && this.#hasSlot(call)) this.#send(this.connection, call);
      else this.#enqueue(call);
    });
  }

  /** A call on this connection only, before all waiting calls. */
  callFirst(connection, method, params) {
    return new Promise((resolve, reject) => {
      const tail = requestTail(method, params, this.options.maxRequestBytes);
      this.#live(1);
      const call = { method, tail, resolve, reject, sends: 0, losses: 0, reads: false, urgent: true, isBound: true };
      this.#watch(call, this.options.stallMs);
      this.#send(connection, call);
    });
  }

  /** A notification; dropped when there is no connection. */
  notify(method, params, connection = this.connection) {
    if (connection?.isReady && !connection.isWaiting) connection.send(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
  }

  /** Connects, and connects again when the connection is lost, even without calls. */
  keepConnected(wanted) {
    this.standing = wanted;
    if (wanted) this.#connect();
  }

  /** Keeps the process alive while the sum is positive, like a waiting call. */
  hold(difference) {
    this.#live(difference);
  }

  /** For people. */
  get state() {
    if (this.hasEnded) return "closed";
    if (this.closing) return "closing";
    if (this.connection === undefined) return "not connected";
    return this.connection.isReady ? "connected" : "connecting";
  }

  /** Closes when all calls have their responses. */
  close() {
    this.closing = true;
    this.closed ??= new Promise((resolve) => (this.onIdle = resolve));
    this.#live(0);
    return this.closed;
  }

  /** Closes now. */
  destroy(error = closed()) {
    this.closing = true;
    this.hasEnded = true;
    clearTimeout(this.retry);
    clearTimeout(this.timer);
    for (const connection of this.#connections()) connection.destroy(error);
    this.#failQueue((call) => own(error, call));
    this.onIdle?.();
  }

  // Called by the connection

  onReady(connection) {
    this.giveUpAt = undefined;
    this.wasThere = true;
    this.#updateReference(connection);
    const { narrowings = [] } = this.options;
    if (narrowings.length === 0) return this.#begin(connection);
    // Not one call more than was left: they wait until the sidecar has confirmed that.
    connection.isWaiting = true;
    const calls = narrowings.map((params) => this.callFirst(connection, "narrow", params));
    Promise.all(calls).then(
      () => this.#begin(connection),
      (error) => {
        if (!(error instanceof ConnectionError) && error.reason !== "shutting_down") this.#failQueue((call) => own(error, call));
        connection.destroy(error);
      },
    );
  }

  #begin(connection) {
    connection.isWaiting = false;
    this.owner.onConnected(connection);
    this.#pump(true);
  }

  onAnswer(connection, call, message) {
    const isLeaving = message.error?.code === SHUTTING_DOWN;
    if (isLeaving) this.#retire(connection);
    else this.backoffMs = 0;
    if (isLeaving && this.#mayAskSuccessor(call, message.error)) {
      call.rejection = fromAnswer(message.error, call.method);
      this.queue = new Set([call, ...this.queue]);
    } else if ("result" in message) {
      this.#settle(call) && call.resolve(message.result);
    } else {
      this.#settle(call) && call.reject(fromAnswer(message.error, call.method));
    }
    if (isLeaving && !this.connection && !this.retry && !this.hasEnded) this.#reconnect();
    if (this.queue.size > 0) this.#pump();
    if (connection !== this.connection && connection.pending.size === 0) connection.destroy(closed());
  }

  onNotification(connection, method, params) {
    this.owner.onNotification(connection, method, params);
  }

  onPiece(task, bytes) {
    this.owner.onPiece(task, bytes);
  }

  onRequest(connection, id, method, params) {
    this.owner.onRequest(connection, id, method, params);
  }

  onEnd(connection, error) {
    const calls = [...connection.pending.values()];
    connection.pending.clear();
    this.draining.delete(connection);
    const wasCurrent = connection === this.connection;
    if (wasCurrent) this.connection = undefined;
    const isLoss = error.reason === "connection_lost" && !this.hasEnded;
    const again = [];
    for (const call of calls) {
      // No byte of it was written; or the connection itself was rejected, and nothing on it was read.
      const isUnsent = call.batch === connection.batch || error.reason === "overloaded";
      if (isUnsent) call.sends -= 1;
      if (isLoss && mayGoAgain(call, isUnsent)) again.push(call);
      else this.#settle(call) && call.reject(own(error, call));
    }
    // Calls that were sent earlier are sent first.
    if (again.length > 0) this.queue = new Set([...again, ...this.queue]);
    if (connection.isReady) this.owner.onLost(connection, error, wasCurrent);
    if (this.hasEnded) return;
    const failed = wasCurrent && !connection.isReady;
    if (failed && (!error.retryable || !this.#mayStillCome())) this.#failQueue((call) => call.rejection ?? own(error, call));
    if (!this.connection && !this.retry) this.#reconnect();
  }

  // Private

  #connect() {
    if (this.connection || this.hasEnded) return;
    clearTimeout(this.retry);
    this.retry = undefined;
    this.connection = new Connection(this.options, this);
    this.connection.open();
    this.#updateReference(this.connection);
  }

  /** Whether a call that a draining sidecar rejected, or did not complete, is sent to its successor. */
  #mayAskSuccessor(call, error) {
    if (call.done || call.isBound || this.hasEnded) return false;
    call.rejectedAt ??= Date.now();
    if (Date.now() - call.rejectedAt > this.options.reconnectWaitMs) return false;
    if (error.data?.outcome !== "not_sent") return mayGoAgain(call, false);
    call.sends -= 1;
    return true;
  }

  /** Whether calls still wait for a missing sidecar; one that was connected before may be restarting. */
  #mayStillCome() {
    const { connectWaitMs, reconnectWaitMs } = this.options;
    this.giveUpAt ??= Date.now() + (this.wasThere ? Math.max(connectWaitMs, reconnectWaitMs) : connectWaitMs);
    if (Date.now() < this.giveUpAt) return true;
    this.giveUpAt = undefined;
    return false;
  }

  #reconnect() {
    if (this.queue.size === 0 && !this.standing) return;
    // Even the first attempt waits a little: a stopping sidecar may still accept connections, and drop them.
    this.backoffMs = Math.min(this.backoffMs * 2 || 20, MAX_BACKOFF_MS);
    this.retry = setTimeout(() => {
      this.retry = undefined;
      this.#connect();
    }, this.backoffMs);
    if (this.live === 0) this.retry.unref();
  }

  #retire(connection) {
    if (connection !== this.connection) return;
    this.connection = undefined;
    this.draining.add(connection);
  }

  #hasSlot(call) {
    return call.urgent || this.connection.pending.size < this.options.maxInFlight;
  }

  #enqueue(call) {
    this.queue.add(call);
    if (!this.connection && !this.retry) this.#connect();
  }

  #pump(urgentToo = false) {
    const { connection } = this;
    if (!connection?.isReady || connection.isWaiting) return;
    for (const call of this.queue) {
      if (this.#hasSlot(call)) {
        this.queue.delete(call);
        this.#send(connection, call);
      } else if (!urgentToo) {
        return;
      }
    }
  }

  #send(connection, call) {
    call.id = this.nextId++;
    call.sends += 1;
    call.connection = connection;
    call.batch = connection.batch;
    connection.pending.set(call.id, call);
    connection.send(requestText(call));
  }

  #watch(call, waitMs) {
    call.expiresAt = performance.now() + waitMs;
    if (call.expiresAt < this.expiry) this.#setTimer(call.expiresAt);
  }

  #setTimer(expiry) {
    clearTimeout(this.timer);
    this.expiry = expiry;
    if (expiry === Infinity) return;
    this.timer = setTimeout(() => this.#expireDue(), expiry - performance.now()).unref();
  }

  #expireDue() {
    const calls = [...this.queue, ...this.#connections().flatMap(({ pending }) => [...pending.values()])];
    const now = performance.now();
    for (const call of calls) if (call.expiresAt <= now) this.#expire(call);
    this.#setTimer(calls.reduce((first, call) => (call.done ? first : Math.min(first, call.expiresAt)), Infinity));
  }

  #connections() {
    return [this.connection, ...this.draining].filter((connection) => connection !== undefined);
  }

  #expire(call) {
    this.#abandon(call, late(call));
  }

  /** The caller leaves; the call is cancelled, and its response still frees a slot for the next call. */
  #abandon(call, reason) {
    if (call.done) return;
    call.bytes = sizeOf(call); // its text goes now
    this.#settle(call);
    if (!this.queue.delete(call)) this.notify("$/cancelRequest", { id: call.id }, call.connection);
    call.reject(reason);
  }

  #settle(call) {
    if (call.done) return false;
    call.done = true;
    call.stopListening?.();
    call.tail = undefined;
    this.#live(-1);
    return true;
  }

  #failQueue(errorOf) {
    const calls = [...this.queue];
    this.queue.clear();
    for (const call of calls) this.#settle(call) && call.reject(errorOf(call));
  }

  #live(difference) {
    const before = this.live;
    this.live += difference;
    if (before > 0 !== this.live > 0) {
      this.#updateReference(this.connection);
      if (this.live > 0) this.retry?.ref();
      else this.retry?.unref();
    }
    if (this.live === 0 && this.onIdle && !this.hasEnded) this.destroy();
  }

  #updateReference(connection) {
    if (this.live > 0) connection?.ref();
    else connection?.unref();
  }
}

/** The rule of wire.md, section 3: a call that was certainly not sent, or reads, is retried, but not for ever. */
function mayGoAgain(call, isUnsent) {
  call.losses += 1;
  return !call.done && !call.isBound && (isUnsent || call.reads) && call.losses <= MAX_LOSSES;
}

/** A separate error for each call of a lost connection. */
function own(error, call) {
  const { reason, code, cause } = error;
  const data = { ...error.data, outcome: call.sends > 0 ? "unknown" : "not_sent" };
  return new error.constructor(error.message, { reason, code, cause, data, method: call.method });
}

module.exports = { Channel };
