"use strict";

const { bodyParams } = require("./body.js");
const { Client } = require("./client.js");
const { LoginRequired, PosternError } = require("./errors.js");
const { checkInit } = require("./fetch-init.js");
const { sessionOf, sessionSource } = require("./fetch-session.js");
const { checkNames } = require("./names.js");
const { RedirectReporter } = require("./redirects.js");
const { toResponse } = require("./response.js");
const { BODY_ERROR } = require("./stream.js");
const { openResponse } = require("./streamed-response.js");

// Headers that a fetch sets itself: dropped as browsers do. `Authorization` is not dropped, but an error.
const OWN_HEADERS = new Set([
  ...["accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer"],
  ...["transfer-encoding", "upgrade", "user-agent"],
]);
const MAX_BODY_BYTES = 11 * 1024 * 1024; // in base64, a message of less than 16 MiB
const OPTIONS = new Set([
  ...["client", "socketPath", "resource", "session", "auth", "onBehalfOf", "timeoutMs", "maxBodyBytes", "streaming"],
]);
const REDIRECTS = ["follow", "manual", "error"];

/** The error of `fetch`: a `TypeError` as with every fetch; `cause` is the error of the sidecar. */
class FetchFailed extends TypeError {
  /** @param {PosternError} cause */
  constructor(cause) {
    super(`fetch failed: ${cause.message}`, { cause });
  }

  /** @returns {PosternError} */
  get #error() {
    return /** @type {any} */ (this.cause);
  }

  get name() {
    return "FetchFailed";
  }

  get reason() {
    return this.#error.reason;
  }

  get code() {
    return this.#error.code;
  }

  get retryable() {
    return this.#error.retryable;
  }

  get outcome() {
    return this.#error.outcome;
  }

  get data() {
    return this.#error.data;
  }
}

/** A function like `fetch` that uses the sidecar. Paths are relative to the resource; it must allow URLs. */
function createFetch(options = {}) {
  const { client: given, socketPath, resource, session, auth, onBehalfOf, timeoutMs } = options;
  const { maxBodyBytes = MAX_BODY_BYTES, streaming = false } = options;
  checkNames("createFetch", options, OPTIONS);
  const client = given ?? new Client({ socketPath });
  const redirects = new RedirectReporter(client);
  const source = sessionSource(session);

  async function fetch(input, given) {
    if (input === undefined) throw new TypeError("fetch needs a path or a URL");
    const init = given ?? {};
    checkInit(init);
    const request = typeof input === "object" && input !== null && !(input instanceof URL) ? input : undefined;
    const path = encoded((request ? request.url : String(input)).split("#", 1)[0]);
    const method = String(init.method ?? request?.method ?? "GET").toUpperCase();
    const redirect = init.redirect ?? request?.redirect ?? "follow";
    const signal = init.signal === null ? undefined : (init.signal ?? request?.signal);
    const body = init.body === undefined ? request?.body : init.body;
    if (!REDIRECTS.includes(redirect)) throw new TypeError(`redirect must be one of ${REDIRECTS.join(", ")}`);
    if (body !== null && body !== undefined && (method === "GET" || method === "HEAD")) {
      throw new TypeError(`a request with ${method} cannot have a body`);
    }
    if (request?.integrity) checkInit({ integrity: request.integrity });
    if (signal?.aborted) throw signal.reason;
    try {
      const sent = new Headers(init.headers ?? request?.headers);
      const user = { auth, session: await sessionOf(init, sent, source), onBehalfOf };
      const content = await bodyParams(body, maxBodyBytes, signal);
      const headers = headersOf(sent, content.type);
      const followRedirects = redirect === "follow";
      const params = { resource, ...user, path, method, timeoutMs, headers, followRedirects, ...content.params };
      const options = { signal, [BODY_ERROR]: wrapped };
      return await (streaming ? openResponse : wholeResponse)(client, params, options, async (result) => {
        if (redirect === "error" && isRedirect(result)) throw new TypeError("fetch failed: unexpected redirect");
        return followRedirects && redirects.happened(path, result);
      });
    } catch (error) {
      throw wrapped(error);
    }
  }

  return Object.defineProperty(fetch, "client", { value: client });
}

async function wholeResponse(client, params, options, judge) {
  const result = await client.fetchResource(params, options);
  return toResponse(params, result, await judge(result));
}

/** The signal's own reason is not wrapped, and `LoginRequired` neither: a program catches that by one class. */
function wrapped(error) {
  return error instanceof PosternError && !(error instanceof LoginRequired) ? new FetchFailed(error) : error;
}

/** @param {Headers} headers */
function headersOf(headers, type) {
  if (type && !headers.has("content-type")) headers.set("content-type", type);
  return Object.fromEntries([...headers].filter(([name]) => !OWN_HEADERS.has(name)));
}

/** Percent-encodes characters as every fetch does. Dot segments stay; the sidecar rejects them. */
function encoded(path) {
  return path.replace(/[^\x21-\x7e]/gu, (character) => {
    return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  });
}

function isRedirect({ status, headers }) {
  return [301, 302, 303, 307, 308].includes(status) && headers.location !== undefined;
}

module.exports = { createFetch, FetchFailed };
