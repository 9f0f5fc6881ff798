"use strict";

const WITHOUT_BODY = new Set([204, 205, 304]);

/** A byte string, as `Headers` and `statusText` require it. */
function bytes(text) {
  return /^[\x00-\xff]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}

function bodyOf(method, { status, body, bodyBase64 }, stream) {
  if (WITHOUT_BODY.has(status) || method === "HEAD") return null;
  if (stream !== undefined) return stream;
  if (body !== undefined) return Buffer.from(body);
  return Buffer.from(bodyBase64 ?? "", "base64");
}

/** A `Response` like a native one; `postern` has the sidecar's information, `stream` a body that is still to come. */
function toResponse({ method }, result, redirected, stream) {
  const headers = new Headers();
  for (const [name, values] of Object.entries(result.headers)) {
    for (const value of values) headers.append(name, bytes(value));
  }
  const { status, reason, url, body, bodyBase64, headers: _, ...postern } = result;
  const response = new Response(bodyOf(method, result, stream), { status, statusText: bytes(reason ?? ""), headers });
  return decorate(response, {
    type: "basic",
    url: withoutFragment(url),
    redirected,
    postern: Object.freeze(postern),
  });
}

function decorate(response, values) {
  for (const [name, value] of Object.entries(values)) Object.defineProperty(response, name, { value });
  // A native clone would lose the URL.
  const clone = () => decorate(Response.prototype.clone.call(response), values);
  return Object.defineProperty(response, "clone", { value: clone });
}

function withoutFragment(url) {
  return url.split("#", 1)[0];
}

module.exports = { toResponse };
