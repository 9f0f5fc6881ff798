"use strict";

const { readFileSync } = require("node:fs");
const http = require("node:http");
const { MAX_LOSSES, SHUTTING_DOWN, closed, late, prepared, tooMany } = require("./calls.js");
const { fromAnswer, notSent } = require("./error-codes.js");
const { ConnectionFailed, ConnectionLost, ProtocolViolation, RequestError } = require("./errors.js");
const { requestText } = require("./message.js");
const { onAbort } = require("./signals.js");

const RETRY_PAUSE_MS = 100;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/;
const KEY = /^[\x21-\x7e]+$/;
/** What lasts as long as a connection, and an exchange over HTTP has none. */
const OF_A_CONNECTION = new Set(["subscribe", "unsubscribe", "registerDelegate", "narrow"]);

/** Whether a sidecar is named by an address, and not by the path of a socket. */
function isAddress(address) {
  return /^https?:/i.test(address);
}

/** Why an address cannot be used; undefined when it can. */
function faultOf(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return "it is not a URL";
  }
  if (url.protocol !== "http:") return "it has another scheme than http";
  if (!LOOPBACK.test(url.hostname)) return "its host is not a loopback address, and the key would be sent in clear";
  if (url.username !== "" || url.password !== "") {
    return "it has a user or a password: the key is in the file that POSTERN_KEY_FILE names";
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") return "it has more than a host and a port";
  return undefined;
}

/** The error for what needs a Unix socket. */
function needsSocket(what, address, method) {
  const limits = "is for development, without events, delegates, streams and narrowing";
  const message = `${what} needs the sidecar's Unix socket: ${withoutUser(address)} (POSTERN_SOCKET) ${limits}`;
  return notSent(RequestError, "invalid_request", message, { method, code: -32600 });
}

/**
 * Calls over `POST /rpc` of the gateway's address, for development on a machine without Unix sockets to the sidecar: each
 * call is an exchange of its own. It has the members of `Channel` that a client uses.
 */
class HttpChannel {
  /** @param {Record<string, any>} options */
  constructor(options) {
    this.options = options;
    this.address = options.path;
    this.fault = faultOf(options.path);
    // Not kept alive: a call on a connection that the other side closes at that moment would be lost.
    this.agent = new http.Agent({ keepAlive: false, maxSockets: options.maxInFlight });
    this.running = new Set();
    this.nextId = 1;
    this.wasThere = false;
    this.closing = false;
    this.hasEnded = false;
  }

  /**
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {{timeoutMs?: number, traceparent?: string, signal?: AbortSignal}} options
   * @returns {Promise<any>}
   */
  call(method, params = {}, options = {}) {
    return new Promise((resolve, reject) => {
      const { waitMs, tail, ...own } = prepared(method, params, options, this);
      if (OF_A_CONNECTION.has(method)) throw needsSocket(method, this.address, method);
      if (method === "createEndpoint" && (params.bindTo ?? "connection") === "connection") {
        throw needsSocket("an endpoint that is bound to this connection", this.address, method);
      }
      if (this.running.size >= this.options.maxInFlight + this.options.maxQueued) throw tooMany(this.running.size, method);
      const { signal } = options;
      const call = { ...own, text: requestText({ id: this.nextId++, tail }) };
      const settle = (act) => (value) => {
        if (!this.running.delete(entry)) return;
        clearTimeout(timer);
        stopListening?.();
        act(value);
        if (this.running.size === 0) this.onIdle?.();
      };
      const entry = { end: settle(reject), abort: new AbortController() };
      const leave = (error) => {
        entry.end(error);
        entry.abort.abort();
      };
      const timer = setTimeout(() => leave(late(call)), waitMs).unref();
      const stopListening = signal && onAbort(signal, () => leave(signal.reason));
      this.running.add(entry);
      this.#send(call, entry.abort.signal).then(settle(resolve), entry.end);
    });
  }

  /** An exchange needs no connection that stays. */
  keepConnected() {}

  /** Events keep a process alive, and here are none. */
  hold() {}

  /** For people. */
  get state() {
    if (this.hasEnded) return "closed";
    return this.closing ? "closing" : "for development, over HTTP";
  }

  /** Closes when all calls have their responses. */
  async close() {
    this.closing = true;
    if (this.running.size > 0) await new Promise((resolve) => (this.onIdle = () => resolve(undefined)));
    this.destroy();
  }

  /** Closes now. */
  destroy() {
    this.closing = true;
    this.hasEnded = true;
    for (const { end, abort } of [...this.running]) {
      end(closed());
      abort.abort();
    }
    this.agent.destroy();
  }

  /** The result of a call, which is sent again by the rule of wire.md, section 3. */
  async #send(call, signal) {
    const { connectWaitMs, reconnectWaitMs } = this.options;
    const giveUpAt = Date.now() + (this.wasThere ? Math.max(connectWaitMs, reconnectWaitMs) : connectWaitMs);
    for (;;) {
      try {
        const response = await this.#exchange(call, signal);
        this.wasThere = true;
        if (response.error === undefined) return response.result;
        throw fromAnswer(response.error, call.method);
      } catch (error) {
        const isAway = error.code === SHUTTING_DOWN || (error instanceof ConnectionFailed && error.retryable);
        const isUnsent = isAway && error.outcome === "not_sent";
        call.losses += isUnsent ? 0 : 1;
        const isLost = error.reason === "connection_lost" && call.reads && call.losses <= MAX_LOSSES;
        const mayGoAgain = (isUnsent && Date.now() < giveUpAt) || isLost;
        if (!mayGoAgain || signal.aborted || this.hasEnded) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
      }
    }
  }

  /** One request, and the JSON-RPC response in its body. */
  async #exchange(call, signal) {
    const key = this.#key(call.method);
    const { status, type, body } = await this.#post(call, key, signal);
    let message;
    try {
      message = JSON.parse(body);
    } catch {
      throw this.#violation(call, `status ${status} without JSON`);
    }
    if (status === 200 && message?.jsonrpc === "2.0" && ("result" in message) !== ("error" in message)) return message;
    if (typeof message?.reason !== "string" || !type.startsWith("application/problem+json")) {
      throw this.#violation(call, `status ${status} without a response of JSON-RPC`);
    }
    if (status === 401) {
      const text = `${this.address} does not accept the key in POSTERN_KEY_FILE: it must be that of gateway.listen.keyFile`;
      throw notSent(ConnectionFailed, "connection_failed", text, { method: call.method });
    }
    if (status === 404) throw this.#violation(call, "status 404 to POST /rpc: the sidecar is older than this client");
    const { code, detail, title, type: _, status: __, ...data } = message;
    throw fromAnswer({ code, message: detail ?? title, data }, call.method);
  }

  #post(call, key, signal) {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(call.text), "Postern-Key": key };
    const { maxMessageBytes, stallMs } = this.options;
    call.sends += 1;
    return new Promise((resolve, reject) => {
      const request = http.request(new URL("/rpc", this.address), { method: "POST", agent: this.agent, headers, signal });
      let wasConnected = false;
      request.on("socket", (socket) => {
        if (socket.connecting) socket.once("connect", () => (wasConnected = true));
        else wasConnected = true;
      });
      request.on("error", (cause) => reject(wasConnected ? this.#lost(call, cause) : this.#unreachable(call, cause)));
      request.on("response", (response) => {
        const pieces = [];
        let size = 0;
        response.setTimeout(stallMs, () => response.destroy(new Error("the response has stalled")));
        response.on("data", (piece) => {
          size += piece.length;
          if (size <= maxMessageBytes) return void pieces.push(piece);
          reject(this.#violation(call, `a message of more than ${maxMessageBytes} bytes`));
          response.destroy();
        });
        response.on("error", (cause) => reject(this.#lost(call, cause)));
        response.on("end", () => {
          const type = String(response.headers["content-type"] ?? "");
          resolve({ status: response.statusCode, type, body: Buffer.concat(pieces, size).toString("utf8") });
        });
      });
      request.end(call.text);
    });
  }

  /** The key of the gateway. Read for each call: the operator may replace it. */
  #key(method) {
    const failed = (message) => notSent(ConnectionFailed, "connection_failed", message, { method });
    if (this.fault !== undefined) {
      throw failed(`${JSON.stringify(withoutUser(this.address))} is not an address of a sidecar: ${this.fault}`);
    }
    const file = this.options.keyFile;
    if (!file) throw failed(`${this.address} needs a key: POSTERN_KEY_FILE is the path of gateway.listen.keyFile`);
    let key;
    try {
      key = readFileSync(file, "utf8").trim();
    } catch (error) {
      throw failed(`the key in ${JSON.stringify(file)} (POSTERN_KEY_FILE) cannot be read: ${error.code}`);
    }
    if (!KEY.test(key)) throw failed(`${JSON.stringify(file)} (POSTERN_KEY_FILE) has no key: one line of printable characters`);
    return key;
  }

  #violation({ method }, what) {
    const message = `the other side of ${this.address} sent ${what}`;
    return new ProtocolViolation(message, { reason: "protocol_violation", method, data: { outcome: "unknown" } });
  }

  #lost({ method }, cause) {
    const data = { outcome: "unknown", retryable: true };
    return new ConnectionLost(`the connection to ${this.address} was lost`, { reason: "connection_lost", method, cause, data });
  }

  #unreachable({ method }, cause) {
    const message = `no sidecar responds at ${this.address}: ${cause.message}; is it running, with gateway.listen.address?`;
    return notSent(ConnectionFailed, "connection_failed", message, { method, cause, retryable: true });
  }
}

function withoutUser(address) {
  return address.replace(/\/\/[^/]*@/, "//…@");
}

module.exports = { HttpChannel, isAddress, needsSocket };
