"use strict";

const { notSent } = require("./error-codes.js");
const { RequestError } = require("./errors.js");
const { onAbort } = require("./signals.js");

/** @type {{params: {body?: string, bodyBase64?: string}, type?: string | null}} */
const NULL_BODY = Object.freeze({ params: {} });

/** The error for a body that no message can hold, with what can. */
function tooLarge(maxBytes) {
  const message =
    `a body of more than ${maxBytes} bytes does not fit into a message: send it to the gateway ` +
    "(gateway.listen in the configuration), which takes bodies of any size over HTTP";
  return notSent(RequestError, "message_too_large", message, { method: "fetchResource", code: -32007 });
}

/** The size of a body that knows it before it is read. */
function sizeOf(body) {
  if (body instanceof Blob) return body.size;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
  if (!(body instanceof FormData)) return 0;
  return [...body.values()].reduce((sum, value) => sum + (typeof value === "string" ? value.length : value.size), 0);
}

/** The bytes of a stream, at most so many. */
async function readAll(stream, maxBytes, signal) {
  const reader = stream.getReader();
  const stop = signal && onAbort(signal, () => reader.cancel(signal.reason).catch(() => {}));
  const pieces = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await nextPiece(reader);
      if (signal?.aborted) throw signal.reason;
      if (done) return Buffer.concat(pieces, size);
      if (!(value instanceof Uint8Array)) throw new TypeError("a request body must consist of bytes");
      size += value.byteLength;
      if (size > maxBytes) {
        reader.cancel().catch(() => {});
        throw tooLarge(maxBytes);
      }
      pieces.push(value);
    }
  } finally {
    stop?.();
  }
}

/** Any other fetch sends such a body as "[object Object]", which is never what was meant. */
function isWithoutText(body) {
  if (typeof body !== "object") return false;
  const prototype = Object.getPrototypeOf(body);
  const isPlain = prototype === null || prototype === Object.prototype || Array.isArray(body) || body instanceof Map;
  return isPlain && typeof body[Symbol.asyncIterator] !== "function";
}

/** The next piece. An error of the program's stream is a failed fetch, as with every fetch. */
async function nextPiece(reader) {
  try {
    return await reader.read();
  } catch (cause) {
    throw new TypeError("fetch failed: the request's body cannot be read", { cause });
  }
}

/**
 * What `fetch` takes as a body, as params of `fetchResource`, and the media type it implies.
 * @returns {Promise<typeof NULL_BODY>}
 */
async function bodyParams(body, maxBytes, signal) {
  if (body === null || body === undefined) return NULL_BODY;
  if (typeof body === "string" || body instanceof URLSearchParams) {
    const media = typeof body === "string" ? "text/plain" : "application/x-www-form-urlencoded";
    // Half of a surrogate pair becomes U+FFFD, as in every fetch.
    return { params: { body: Buffer.from(String(body)).toString() }, type: `${media};charset=UTF-8` };
  }
  if (isWithoutText(body)) {
    throw new TypeError("a body cannot be an array or a plain object: JSON.stringify makes it a string");
  }
  if (sizeOf(body) > maxBytes) throw tooLarge(maxBytes);
  const carrier = new Response(body);
  const bytes = await readAll(carrier.body, maxBytes, signal);
  return { params: { bodyBase64: bytes.toString("base64") }, type: carrier.headers.get("content-type") };
}

/** Whether params have a body that has to be read first: everything but a string. */
function hasContent(params) {
  return typeof params?.body === "object" && params.body !== null;
}

/**
 * The params of `fetchResource` with the bytes of their body, and the media type that it implies.
 * @param {Record<string, any>} params
 */
async function withBytes({ body, ...params }, maxMessageBytes, signal) {
  const content = await bodyParams(body, Math.floor((maxMessageBytes * 3) / 4), signal);
  const isTyped = Object.keys(params.headers ?? {}).some((name) => name.toLowerCase() === "content-type");
  const headers = isTyped || !content.type ? params.headers : { ...params.headers, "content-type": content.type };
  return { ...params, ...content.params, ...(headers === undefined ? {} : { headers }) };
}

module.exports = { bodyParams, hasContent, withBytes };
