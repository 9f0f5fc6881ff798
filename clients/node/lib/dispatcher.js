"use strict";

const { EventEmitter } = require("node:events");
const { stringify } = require("node:querystring");
const { createFetch, FetchFailed } = require("./fetch.js");

/**
 * A dispatcher of undici, by its interface: Node does not export the class. Each request that it gets is a fetch of the
 * sidecar's.
 */
class PosternDispatcher extends EventEmitter {
  #fetch;
  #ownsClient;
  #running = new Set();
  #isClosed = false;

  /** @param {Record<string, any>} options those of `createFetch` */
  constructor(options = {}) {
    super();
    this.#fetch = createFetch(options);
    this.#ownsClient = options.client === undefined;
  }

  get client() {
    return this.#fetch.client;
  }

  /**
   * @param {Record<string, any>} options
   * @param {Record<string, any>} handler that of undici 5 and 6 (`onHeaders`), or of 7 and later (`onResponseStart`)
   */
  dispatch(options, handler) {
    const receiver = typeof handler.onRequestStart === "function" ? new Receiver(handler) : new EarlierReceiver(handler);
    const run = this.#run(options, receiver).catch((error) => receiver.fail(error instanceof FetchFailed ? error.cause : error));
    this.#running.add(run);
    run.finally(() => this.#running.delete(run));
    return true;
  }

  /** Ends when all requests have; closes the client that it made itself. */
  close(callback) {
    this.#isClosed = true;
    const closed = Promise.allSettled([...this.#running]).then(() => (this.#ownsClient ? this.client.close() : undefined));
    if (typeof callback !== "function") return closed;
    closed.then(() => callback(null, null));
  }

  /** Ends now: requests of the client that it made itself fail. */
  destroy(...given) {
    this.#isClosed = true;
    if (this.#ownsClient) this.client.destroy();
    const callback = given.at(-1);
    if (typeof callback !== "function") return Promise.resolve();
    process.nextTick(() => callback(null, null));
  }

  async #run(options, receiver) {
    const abort = new AbortController();
    receiver.start((reason) => abort.abort(reason ?? new DOMException("This operation was aborted", "AbortError")));
    if (this.#isClosed) throw new TypeError("the dispatcher is closed");
    const { method = "GET", headers, body } = options;
    if (options.upgrade || method === "CONNECT") throw new TypeError("the sidecar makes requests, and no tunnels or upgrades");
    const init = { method, headers: headersOf(headers), body, redirect: "manual", signal: abort.signal };
    const response = await this.#fetch(urlOf(options), init);
    receiver.head(response);
    if (response.body !== null) {
      for await (const piece of /** @type {any} */ (response.body)) {
        receiver.piece(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
        await receiver.mayGoOn;
        if (abort.signal.aborted) throw abort.signal.reason;
      }
    }
    receiver.end();
  }
}

/** Hands a response to a handler of undici 7 or later, no faster than it takes it. */
class Receiver {
  /** @param {Record<string, any>} handler */
  constructor(handler) {
    this.handler = handler;
    /** @type {Promise<void> | undefined} */
    this.mayGoOn = undefined;
    this.goOn = () => {};
  }

  start(abort) {
    const receiver = this;
    this.controller = {
      paused: false,
      aborted: false,
      /** @type {unknown} */
      reason: null,
      pause: () => this.pause(),
      resume: () => this.resume(),
      abort(reason) {
        if (this.aborted) return;
        [this.aborted, this.reason] = [true, reason];
        abort(reason);
        receiver.resume();
      },
    };
    this.begin();
  }

  begin() {
    this.handler.onRequestStart(this.controller, {});
  }

  pause() {
    this.controller.paused = true;
    this.mayGoOn ??= new Promise((resolve) => (this.goOn = () => resolve(undefined)));
  }

  resume() {
    this.controller.paused = false;
    this.mayGoOn = undefined;
    this.goOn();
  }

  head({ status, statusText, headers }) {
    /** @type {Record<string, string | string[]>} */
    const fields = Object.fromEntries(headers);
    const cookies = headers.getSetCookie?.() ?? []; // Node 18 has it since 18.14
    if (cookies.length > 0) fields["set-cookie"] = cookies;
    this.handler.onResponseStart?.(this.controller, status, fields, statusText);
  }

  piece(bytes) {
    this.handler.onResponseData?.(this.controller, bytes);
  }

  end() {
    this.handler.onResponseEnd?.(this.controller, {});
  }

  fail(error) {
    this.handler.onResponseError?.(this.controller, error);
  }
}

/** The same for a handler of undici 5 or 6, as Node 18 to 22 have it. */
class EarlierReceiver extends Receiver {
  begin() {
    this.handler.onConnect?.((reason) => this.controller.abort(reason), {});
  }

  head({ status, statusText, headers }) {
    const lines = [...headers].flatMap((field) => field.map((text) => Buffer.from(text, "latin1")));
    if (this.handler.onHeaders(status, lines, () => this.resume(), statusText) === false) this.pause();
  }

  piece(bytes) {
    if (this.handler.onData(bytes) === false) this.pause();
  }

  end() {
    this.handler.onComplete([]);
  }

  fail(error) {
    this.handler.onError(error);
  }
}

function urlOf({ origin, path = "/", query }) {
  if (origin === undefined || origin === null) throw new TypeError("a dispatcher needs the origin of the request");
  const target = query === undefined || query === null ? path : `${path}?${stringify(query)}`;
  return new URL(target, origin).href;
}

/** Headers in each of undici's forms: a flat list, pairs, an object. */
function headersOf(given) {
  const headers = new Headers();
  if (Array.isArray(given) && !Array.isArray(given[0])) {
    for (let index = 0; index + 1 < given.length; index += 2) add(headers, String(given[index]), given[index + 1]);
    return headers;
  }
  const pairs = typeof given?.[Symbol.iterator] === "function" ? given : Object.entries(given ?? {});
  for (const [name, value] of pairs) add(headers, name, value);
  return headers;
}

function add(headers, name, value) {
  for (const one of [value].flat()) if (one !== undefined && one !== null) headers.append(name, String(one));
}

/**
 * A dispatcher for `fetch(url, { dispatcher })`, and for libraries that take one: its requests are fetches of the sidecar.
 * Takes the options of `createFetch`.
 */
function createDispatcher(options) {
  return new PosternDispatcher(options);
}

module.exports = { createDispatcher };
