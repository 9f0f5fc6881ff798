"use strict";

const net = require("node:net");
const { ConnectionError, fromAnswer, notSent } = require("./errors.js");
const { Splitter } = require("./framing.js");

const MAX_PATH_BYTES = 107;

/**
 * One connection, from connecting to its end. Tells its owner what happens: `onReady`, `onAnswer`, `onNotification`,
 * `onRequest`, and exactly once `onEnd`. What the other side says that is no JSON-RPC ends it.
 */
class Connection {
  constructor({ path, maxMessageBytes, stallMs }, owner) {
    this.path = path;
    this.owner = owner;
    this.stallMs = stallMs;
    /** Calls that were sent and not answered, by id. */
    this.pending = new Map();
    this.isReady = false;
    this.hasEnded = false;
    this.lastId = 0;
    this.outgoing = "";
    this.splitter = new Splitter(maxMessageBytes, (text) => this.#message(text));
  }

  open() {
    if (Buffer.byteLength(this.path) > MAX_PATH_BYTES) {
      const cause = new RangeError(`a socket path of more than ${MAX_PATH_BYTES} bytes`);
      process.nextTick(() => this.#end(this.#unreachable(cause)));
      return;
    }
    const socket = net.createConnection({ path: this.path });
    this.socket = socket;
    socket.on("connect", () => {
      this.isReady = true;
      this.owner.onReady(this);
    });
    socket.on("data", (chunk) => this.#data(chunk));
    socket.on("error", (error) => (this.cause = error));
    socket.on("end", () => this.#end(this.#lost()));
    socket.on("close", () => this.#end(this.isReady ? this.#lost() : this.#unreachable(this.cause)));
  }

  /** Sends a whole message with its line feed; those of one turn of the event loop go out together. */
  send(text) {
    if (this.outgoing === "") process.nextTick(() => this.#flush());
    this.outgoing += text;
  }

  /** Ends now; `onEnd` gets the error, if it has not been called. */
  destroy(error) {
    this.#end(error);
  }

  pause() {
    this.isPaused = true;
    clearTimeout(this.stall);
    this.stall = undefined;
    this.socket?.pause();
  }

  resume() {
    this.isPaused = false;
    this.socket?.resume();
  }

  ref() {
    this.socket?.ref();
  }

  unref() {
    this.socket?.unref();
  }

  #flush() {
    const text = this.outgoing;
    this.outgoing = "";
    if (!this.hasEnded && text !== "") this.socket.write(text);
  }

  #data(chunk) {
    if (this.hasEnded) return;
    try {
      this.splitter.push(chunk);
    } catch (error) {
      if (!(error instanceof RangeError) || this.hasEnded) throw error;
      this.#violation(error.message);
    }
    this.#watchStall();
  }

  /** A message that has begun must go on, unless it is we who do not read. */
  #watchStall() {
    if (this.splitter.isPartial && !this.isPaused && !this.hasEnded) {
      if (this.stall) this.stall.refresh();
      else this.stall = setTimeout(() => this.#violation("a message stopped in the middle"), this.stallMs).unref();
    } else if (this.stall) {
      clearTimeout(this.stall);
      this.stall = undefined;
    }
  }

  #message(text) {
    if (this.hasEnded) return;
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return this.#violation("what is no JSON");
    }
    if (typeof message !== "object" || message === null || message.jsonrpc !== "2.0") {
      return this.#violation("what is no JSON-RPC 2.0");
    }
    const { id, method } = message;
    if (typeof method === "string") {
      if (id === undefined) this.owner.onNotification(this, method, message.params ?? {});
      else this.owner.onRequest(this, id, method, message.params ?? {});
      return;
    }
    if (("result" in message) === ("error" in message)) return this.#violation("an answer without one result or error");
    if (id === null && message.error) return this.#unattributed(message.error);
    const call = this.pending.get(id);
    if (call === undefined) {
      // Each answer comes once; an id that was never given is somebody else's protocol.
      return this.#violation("an answer to nothing");
    }
    this.pending.delete(id);
    this.owner.onAnswer(this, call, message);
  }

  /** An error about a message whose id the sidecar did not read. */
  #unattributed(error) {
    const { limitBytes } = error.data ?? {};
    if (error.code === -32007 && Number.isSafeInteger(limitBytes)) {
      for (const [id, call] of this.pending) {
        if (call.bytes <= limitBytes) continue;
        this.pending.delete(id);
        return this.owner.onAnswer(this, call, { error });
      }
    }
    this.#end(fromAnswer(error));
  }

  #violation(what) {
    const message = `the other side of ${this.path} sent ${what}`;
    this.#end(new ConnectionError(message, { reason: "protocol_violation", data: { outcome: "unknown" } }));
  }

  #lost() {
    const within = this.splitter.isPartial ? " in the middle of an answer" : "";
    const message = `the connection to ${this.path} was lost${within}`;
    const data = { outcome: "unknown", retryable: true };
    return new ConnectionError(message, { reason: "connection_lost", data, cause: this.cause });
  }

  #unreachable(cause) {
    const why = cause ? `: ${cause.message}` : "";
    const message = `no sidecar answers at ${this.path}${why}`;
    return notSent(ConnectionError, "connection_failed", message, { cause, retryable: true });
  }

  #end(error) {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.stall);
    this.socket?.destroy();
    this.owner.onEnd(this, error);
  }
}

module.exports = { Connection };
