"use strict";

const net = require("node:net");
const { fromAnswer, notSent } = require("./error-codes.js");
const { ConnectionFailed, ConnectionLost, ProtocolViolation } = require("./errors.js");
const { frame, FrameSplitter, Splitter } = require("./framing.js");
const { mostValues, sizeOf } = require("./message.js");

// `sun_path` has 108 bytes, with the NUL after the path.
const MAX_PATH_BYTES = 107;
// Responses to the other side's requests that may wait until it reads them.
const MAX_OWED_BYTES = 1024 * 1024;

/**
 * One connection, from connecting to its end. Notifies its owner: `onReady`, `onAnswer`, `onNotification`,
 * `onRequest`, and exactly once `onEnd`. A message that is no JSON-RPC ends it. With `isFramed` its messages have
 * headers, and pieces of bodies come as bytes: `onPiece`.
 */
class Connection {
  constructor({ path, maxMessageBytes, stallMs, isFramed = false }, owner) {
    this.path = path;
    this.owner = owner;
    this.stallMs = stallMs;
    /** Calls that were sent and have no response, by id. */
    this.pending = new Map();
    this.isReady = false;
    /** Whether calls wait until the channel has given up what was given up before. */
    this.isWaiting = false;
    this.hasEnded = false;
    this.outgoing = "";
    this.isWriting = false;
    /** Counts the batches passed to the system; the next message belongs to the batch of this number. */
    this.batch = 0;
    /** The length of the responses in `outgoing`. */
    this.owed = 0;
    this.isFramed = isFramed;
    const onMessage = (text) => this.#message(text);
    this.splitter = isFramed
      ? new FrameSplitter(maxMessageBytes, onMessage, (task, bytes) => this.hasEnded || owner.onPiece(task, bytes))
      : new Splitter(maxMessageBytes, onMessage);
  }

  open() {
    const fault = faultOf(this.path);
    if (fault !== undefined) {
      const message = `${JSON.stringify(this.path)} is no path of a socket: ${fault}`;
      process.nextTick(() => this.#end(notSent(ConnectionFailed, "connection_failed", message, {})));
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

  /**
   * Sends a complete message with its line feed. Messages of one iteration of the event loop are sent together, and
   * none before the system has accepted the previous ones: then no byte of the others was sent.
   */
  send(text) {
    if (this.outgoing === "" && !this.isWriting) process.nextTick(this.#flush);
    this.outgoing += this.isFramed ? frame(text) : text;
  }

  /** Responds to a request of the other side. If it reads no responses, the connection ends. */
  answer(text) {
    if (this.hasEnded) return;
    if (this.owed > MAX_OWED_BYTES) return this.#violation("requests, and does not read the responses");
    this.owed += text.length;
    this.send(text);
  }

  /** Closes now; `onEnd` gets the error, if it has not been called. */
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

  // Functions of the connection, because one is passed on with every message.
  #flush = () => {
    const text = this.outgoing;
    if (this.hasEnded || text === "") return;
    this.outgoing = "";
    this.owed = 0;
    this.batch += 1;
    this.isWriting = true;
    this.socket.write(text, this.#written);
  };

  #written = (error) => {
    this.isWriting = false;
    if (!error && !this.socket.destroyed) this.#flush();
  };

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

  /** An incomplete message must continue, unless this side does not read. */
  #watchStall() {
    if (this.splitter.isPartial && !this.isPaused && !this.hasEnded) {
      if (this.stall) this.stall.refresh();
      else this.stall = setTimeout(() => this.#violation("an incomplete message"), this.stallMs).unref();
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
      return this.#violation("a message that is no JSON");
    }
    if (typeof message !== "object" || message === null || message.jsonrpc !== "2.0") {
      return this.#violation("a message that is no JSON-RPC 2.0");
    }
    const { id, method } = message;
    if (typeof method === "string") {
      if (!["undefined", "string", "number"].includes(typeof id)) return this.#violation("a request with another id");
      if (id === undefined) this.owner.onNotification(this, method, message.params ?? {});
      else this.owner.onRequest(this, id, method, message.params ?? {});
      return;
    }
    if (("result" in message) === ("error" in message)) return this.#violation("a response without one result or error");
    if (id === null && message.error) return this.#unattributed(message.error);
    const call = this.pending.get(id);
    if (call === undefined) {
      // Each response comes once; an unknown id violates the protocol.
      return this.#violation("a response without a request");
    }
    this.pending.delete(id);
    this.owner.onAnswer(this, call, message);
  }

  /** An error about a message whose id the sidecar did not read. */
  #unattributed(error) {
    const [call] = this.#guilty(error);
    if (call === undefined) return this.#end(fromAnswer(error));
    this.pending.delete(call.id);
    this.owner.onAnswer(this, call, { error });
  }

  /** The call that it is about, if that is certain. */
  #guilty({ code, data }) {
    const { limitBytes, limitValues } = data ?? {};
    const sent = [...this.pending.values()];
    // If there are several, each is rejected, in order.
    if (code === -32007) return sent.filter((call) => (call.bytes ?? sizeOf(call)) > limitBytes).slice(0, 1);
    if (code !== -32025) return [];
    // Only the size of a cancelled call is known.
    const found = sent.filter(({ tail, bytes }) => (tail === undefined ? bytes : mostValues(tail)) > limitValues);
    return found.length === 1 ? found : [];
  }

  #violation(what) {
    const message = `the other side of ${this.path} sent ${what}`;
    this.#end(new ProtocolViolation(message, { reason: "protocol_violation", data: { outcome: "unknown" } }));
  }

  #lost() {
    const within = this.splitter.isPartial ? " within a response" : "";
    const message = `the connection to ${this.path} was lost${within}`;
    const data = { outcome: "unknown", retryable: true };
    return new ConnectionLost(message, { reason: "connection_lost", data, cause: this.cause });
  }

  #unreachable(cause) {
    const why = cause ? `: ${cause.message}` : "";
    const isAbsent = cause?.code === "ENOENT" || cause?.code === "ECONNREFUSED";
    const hint = isAbsent ? "; is the sidecar running, and is this its path ($POSTERN_SOCKET)?" : "";
    const message = `no sidecar responds at ${this.path}${why}${hint}`;
    return notSent(ConnectionFailed, "connection_failed", message, { cause, retryable: true });
  }

  #end(error) {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.stall);
    this.socket?.destroy();
    this.owner.onEnd(this, error);
  }
}

/** The reason why a text is no path of a socket. The system would cut it at a NUL, and connect to another socket. */
function faultOf(path) {
  if (path === "") return "it is empty";
  if (path.includes("\0")) return "it has a NUL";
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `it has more than ${MAX_PATH_BYTES} bytes`;
  return undefined;
}

module.exports = { Connection };
