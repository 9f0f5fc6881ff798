"use strict";

const { EventEmitter } = require("node:events");
const { hasContent, withBytes } = require("./body.js");
const { Channel } = require("./channel.js");
const { Delegates } = require("./delegates.js");
const { ClientClosed, ConnectionError } = require("./errors.js");
const { EventIterator } = require("./events.js");
const { HttpChannel, isAddress, needsSocket } = require("./http-channel.js");
const { METHODS, OWN_METHODS, PASS_METHODS } = require("./methods.js");
const { checkNames, withSuggestions } = require("./names.js");
const { keyFile, socketPath } = require("./socket-path.js");
const { openStream } = require("./stream.js");

const MiB = 1024 * 1024;
const DEFAULTS = {
  maxMessageBytes: 64 * MiB, // a body of the largest default size, 16 MiB, as base64 and three times over
  maxRequestBytes: 16 * MiB, // limits.messageBytes
  maxInFlight: 100, // limits.inFlightPerConnection is 128: the rest is for calls that end others
  maxQueued: 10_000,
  connectWaitMs: 0,
  reconnectWaitMs: 5000, // a restarting sidecar needs less
  stallMs: 30_000,
  delegateTimeoutMs: 180_000,
};

const OPTIONS = new Set([...Object.keys(DEFAULTS), "socketPath", "keyFile", "timeoutMs", "delegates"]);
const EVENT_OPTIONS = new Set(["signal", "maxBuffered"]);
const MAY_BE_ZERO = new Set(["connectWaitMs", "reconnectWaitMs"]);

// Node 18 has the symbol under a registered name only.
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose");

/** A client of the sidecar. Connects with the first call. Emits events, `reconnected`, `disconnected`, `refused`. */
class Client extends EventEmitter {
  #channel;
  #delegates;
  /** @type {Record<string, any>} */
  #options;
  #subscribed = new Set();
  #explicit = new Set();
  #registered = [];
  /** What `narrow` has given up, for connections to come. */
  #narrowings = [];
  #iterators = new Set();
  #hasConnected = false;
  #references = 0;
  /** What streams have found out about the sidecar; the next one may be a newer one. */
  #sidecar = { isOlder: false };

  constructor(options = {}) {
    super();
    const path = socketPath(options.socketPath);
    this.#options = { path, keyFile: keyFile(options.keyFile), ...checked(options), narrowings: this.#narrowings };
    this.#delegates = new Delegates(this.#options.delegateTimeoutMs);
    if (isAddress(path)) {
      if (options.delegates) throw this.#needsSocket("a delegate");
      this.#channel = new HttpChannel(this.#options);
      return;
    }
    this.#channel = new Channel(this.#options, {
      onNotification: (_, method, params) => this.#notified(method, params),
      onRequest: (...request) => this.#delegates.answer(...request),
      onConnected: (connection) => this.#connected(connection),
      onLost: (connection, error, wasCurrent) => this.#lost(connection, error, wasCurrent),
    });
    if (options.delegates) this.#delegates.set(options.delegates);
    this.#registered = this.#delegates.methods;
  }

  get socketPath() {
    return this.#options.path;
  }

  /** The methods of Adobe Pass: `client.pass.createSession({ provider })`. */
  get pass() {
    const calls = Object.entries(PASS_METHODS).map(([name, [method]]) => [
      name,
      (/** @type {object} */ params, /** @type {object} */ options) => this.call(method, params, options),
    ]);
    return Object.fromEntries(calls);
  }

  /** A call by the method's name on the wire. */
  call(method, params, options) {
    if (method === "fetchResource" && params?.stream) return Promise.reject(new TypeError("streams: client.stream"));
    if (method === "fetchResource" && hasContent(params)) return this.#upload(params, options);
    return this.#channel.call(method, params, options);
  }

  /** A fetch whose body is read first. */
  async #upload(params, options) {
    return this.#channel.call("fetchResource", await withBytes(params, this.#options.maxRequestBytes, options?.signal), options);
  }

  /** `registerDelegate` with these functions, replacing earlier ones; repeated on every new connection. */
  async setDelegates(functions) {
    if (isAddress(this.socketPath)) throw this.#needsSocket("a delegate");
    this.#delegates.set(functions);
    return this.registerDelegate({ methods: this.#delegates.methods });
  }

  async registerDelegate(params, options) {
    const result = await this.call("registerDelegate", params, options);
    this.#registered = result.registered;
    this.#keepConnected();
    return result;
  }

  /** Gives up a part of what this client can do, for good: on this connection, and on all that come later. */
  async narrow(params, options) {
    const result = await this.call("narrow", params, options);
    this.#narrowings.push({ ...params, meta: undefined });
    return result;
  }

  /** A socket for one child, until it is revoked; it ends with this connection unless `bindTo` is another. */
  async endpoint(params = {}, options) {
    if (/** @type {any} */ (params).descriptor) throw new TypeError("Node receives no descriptors: the endpoint has a path");
    const { endpoint, ...made } = await this.call("createEndpoint", { bindTo: "connection", ...params }, options);
    const revoke = async () => {
      await this.call("revokeEndpoint", { endpoint });
    };
    const dispose = () => revoke().catch(() => {}); // it has ended, or ends with the connection
    const environment = { POSTERN_SOCKET: made.path, POSTERN_HTTP_SOCKET: made.http?.path };
    const variables = Object.entries(environment).filter(([, value]) => value !== undefined);
    return { endpoint, ...made, environment: Object.fromEntries(variables), revoke, [asyncDispose]: dispose };
  }

  async subscribe(params, options) {
    const result = await this.#changeSubscription("subscribe", params, options);
    for (const name of params.events) this.#explicit.add(name);
    return result;
  }

  async unsubscribe(params, options) {
    const result = await this.#changeSubscription("unsubscribe", params, options);
    for (const name of params.events) this.#explicit.delete(name);
    return result;
  }

  /** Subscribes, and yields the events as `{event, params}`. */
  async *events(names, options = {}) {
    /** @type {{signal?: AbortSignal, maxBuffered?: number}} */
    const { signal, maxBuffered = 1000 } = options;
    checkNames("events", options, EVENT_OPTIONS);
    const events = [...names];
    if (signal?.aborted) throw signal.reason;
    const iterator = new EventIterator({
      maxBuffered,
      signal,
      names: events,
      onWaiting: (difference) => this.#channel.hold(difference),
      onEnd: () => this.#iterators.delete(iterator),
    });
    this.#iterators.add(iterator);
    try {
      await this.#changeSubscription("subscribe", { events }, { signal });
      yield* iterator;
    } finally {
      await iterator.return();
      this.#unsubscribeUnused(events);
    }
  }

  /** All sessions of this user, the oldest first: `listSessions` in pages, each when it is needed. */
  sessions(params, options) {
    return this.#pages("listSessions", "sessions", params, options);
  }

  /** All tasks of this user, first those that run: `listTasks` in pages, each when it is needed. */
  tasks(params, options) {
    return this.#pages("listTasks", "tasks", params, options);
  }

  async *#pages(method, member, params = {}, options = {}) {
    let { cursor } = params;
    do {
      const page = await this.call(method, { ...params, cursor }, options);
      yield* page[member];
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  /** `fetchResource` with its body as a stream, on a connection of its own. */
  stream(params, options) {
    if (isAddress(this.socketPath)) throw this.#needsSocket("a stream");
    return openStream(this.#options, this.#delegates, this.#sidecar, params, options);
  }

  #needsSocket(what) {
    return needsSocket(what, this.socketPath);
  }

  ref() {
    if (this.#references === 0) this.#channel.hold(1);
    this.#references = 1;
    return this;
  }

  unref() {
    if (this.#references === 1) this.#channel.hold(-1);
    this.#references = 0;
    return this;
  }

  /** Accepts no more calls and closes when those in progress are complete. */
  close() {
    this.unref();
    for (const iterator of [...this.#iterators]) iterator.end();
    return this.#channel.close();
  }

  /** Closes now; calls in progress reject. */
  destroy() {
    for (const iterator of [...this.#iterators]) iterator.end();
    this.#channel.destroy();
  }

  /** What `console.log` prints: the socket and the connection, and nothing of what passes through them. */
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const { socketPath } = this;
    return `${this.constructor.name} ${inspect({ socketPath, state: this.#channel.state }, options)}`;
  }

  async #changeSubscription(method, params, options) {
    const result = await this.call(method, params, options);
    this.#subscribed = new Set(result.subscribed);
    this.#keepConnected();
    return result;
  }

  #keepConnected() {
    this.#channel.keepConnected(this.#subscribed.size > 0 || this.#registered.length > 0);
  }

  #connected(connection) {
    this.#sidecar = { isOlder: false };
    const again = [];
    if (this.#registered.length > 0) again.push(["registerDelegate", { methods: this.#registered }]);
    if (this.#subscribed.size > 0) again.push(["subscribe", { events: [...this.#subscribed] }]);
    const channel = /** @type {Channel} */ (this.#channel);
    const calls = again.map(([method, params]) => channel.callFirst(connection, method, params));
    const isFirst = !this.#hasConnected;
    this.#hasConnected = true;
    if (isFirst && calls.length > 0) this.#channel.keepConnected(true);
    Promise.all(calls).then(
      () => isFirst || this.#emit("reconnected"),
      // A connection that is lost meanwhile emits its own event.
      (error) => error instanceof ConnectionError || isLeaving(error) || this.#emit("refused", error),
    );
  }

  #lost(connection, error, wasCurrent) {
    this.#delegates.abandon(connection, error);
    if (wasCurrent && !(error instanceof ClientClosed)) this.#emit("disconnected", error);
  }

  #notified(method, params) {
    if (!method.startsWith("event.")) return;
    for (const iterator of this.#iterators) {
      if (iterator.names.has(method)) iterator.push({ event: method, params });
    }
    this.#emit(method, params);
  }

  /** An error in a listener belongs to the program, and does not close the connection. */
  #emit(name, ...values) {
    try {
      this.emit(name, ...values);
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  }

  #unsubscribeUnused(events) {
    const others = [...this.#iterators];
    const unused = events.filter((name) => !this.#explicit.has(name) && !others.some((one) => one.names.has(name)));
    if (unused.length > 0) this.#changeSubscription("unsubscribe", { events: unused }).catch(() => {});
  }
}

for (const [name, [method]] of Object.entries(METHODS)) {
  /** @type {(this: any, params?: object, options?: object) => Promise<any>} */
  const call = { [name](params, options) { return /** @type {any} */ (this).call(method, params, options); } }[name];
  Object.defineProperty(Client.prototype, name, { value: call, writable: true, configurable: true });
}

Object.setPrototypeOf(Client.prototype, withSuggestions(EventEmitter.prototype, [...Object.keys(METHODS), ...OWN_METHODS]));

Object.defineProperty(Client.prototype, asyncDispose, { value: Client.prototype.close });

/** Errors of a draining sidecar: its successor gets the rejected registration. */
function isLeaving(error) {
  return error.reason === "shutting_down";
}

/** @returns {Record<string, any>} */
function checked(given) {
  checkNames("Client", given, OPTIONS);
  /** @type {Record<string, any>} */
  const options = { timeoutMs: given.timeoutMs };
  for (const [name, fallback] of Object.entries(DEFAULTS)) {
    const value = given[name] ?? fallback;
    if (!Number.isInteger(value) || value < (MAY_BE_ZERO.has(name) ? 0 : 1)) {
      throw new RangeError(`${name} must be a whole number, at least 1`);
    }
    options[name] = value;
  }
  return options;
}

module.exports = { Client };
