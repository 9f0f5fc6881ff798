"use strict";

const { checkNames } = require("./names.js");
const { baseOf, targetOf } = require("./public-url.js");

const METHOD = "validateRequest";
const TIMEOUT_MS = 10_000; // the request waits for it
const DPOP = ["optional", "required", "forbidden"];
const OPTIONS = new Set([
  ...["issuer", "audience", "publicUrl", "requiredScopes", "dpop", "maxAge", "acrValues", "resourceMetadata"],
  ...["timeoutMs", "onError"],
]);
const OWN_HEADERS = new Set(["content-type", "content-length", "transfer-encoding", "connection"]);

/** Lets requests through whose access token the sidecar accepts, with its claims in `req.postern`. */
function protect(client, options = {}) {
  checkNames("protect", options, OPTIONS);
  const { issuer, audience, publicUrl, requiredScopes, dpop, maxAge, acrValues } = options;
  const { resourceMetadata, timeoutMs = TIMEOUT_MS, onError } = options;
  // Without both, a token would be judged by a host that its sender has chosen.
  if (!audience && !publicUrl) throw new TypeError("protect needs audience or publicUrl: a token must be for this API");
  if (dpop !== undefined && !DPOP.includes(dpop)) throw new TypeError(`dpop must be one of ${DPOP.join(", ")}`);
  for (const [name, list] of Object.entries({ requiredScopes, acrValues })) {
    if (list !== undefined && !Array.isArray(list)) throw new TypeError(`${name} must be an array of strings`);
  }
  // The sidecar would reject each request's call, and clients would get 503 for ever.
  if (maxAge !== undefined && !(Number.isInteger(maxAge) && maxAge >= 0)) {
    throw new TypeError("maxAge must be a whole number of seconds");
  }
  if (!(Number.isFinite(timeoutMs) && timeoutMs > 0)) throw new TypeError("timeoutMs must be a number over 0");
  const base = publicUrl === undefined ? undefined : baseOf(publicUrl);

  /** @returns {Promise<{accepted: object} | {status: number, headers: [string, string][], body: string}>} */
  async function verdict(req) {
    const lines = linesOf(req.rawHeaders);
    const url = urlOf(req, base, lines);
    if (url === undefined) return { status: 400, headers: [NO_STORE], body: JSON.stringify({ error: "invalid_request" }) };
    const headers = Object.fromEntries([...lines].filter(([name]) => !name.startsWith(":")));
    const request = { method: req.method, url, headers, clientCertificate: certificateOf(req) };
    const params = { issuer, ...request, audience, requiredScopes, dpop, maxAge, acrValues, resourceMetadata };
    try {
      return judged(await client.call(METHOD, params, { timeoutMs }));
    } catch (error) {
      onError?.(error);
      return undecided(error?.retryAfterMs);
    }
  }

  return async function protectedBy(req, res, next) {
    delete req.postern;
    const found = await verdict(req);
    if ("accepted" in found) {
      req.postern = found.accepted;
      return next();
    }
    res.statusCode = found.status;
    for (const [name, value] of found.headers) res.setHeader(name, value);
    if (found.body) res.setHeader("Content-Type", "application/json");
    res.setHeader("Content-Length", Buffer.byteLength(found.body));
    res.end(found.body);
  };
}

/** @type {[string, string]} */
const NO_STORE = ["Cache-Control", "no-store"];

/** The verdict of the sidecar. What is no verdict lets nothing pass. */
function judged(result) {
  const { claims, tokenType, confirmation = {} } = /** @type {any} */ (result ?? {});
  if (result?.valid === true && isObject(claims) && typeof tokenType === "string") {
    return { accepted: { claims, tokenType, confirmation } };
  }
  const response = result?.response;
  const { status, headers: given } = /** @type {any} */ (isObject(response) ? response : {});
  if (result?.valid !== false || !Number.isInteger(status) || status < 400 || status > 499) {
    throw new TypeError(`the sidecar's answer to ${METHOD} is no verdict`);
  }
  /** @type {[string, string][]} */
  const headers = Object.entries(given ?? {})
    .filter(([name]) => !OWN_HEADERS.has(name.toLowerCase()))
    .map(([name, value]) => [name, String(value)]);
  if (!headers.some(([name]) => name.toLowerCase() === "cache-control")) headers.push(NO_STORE);
  return { status, headers, body: bodyOf(headers) };
}

/** 503, never a challenge: clients would give up a good token. */
function undecided(retryAfterMs) {
  const seconds = Number.isFinite(retryAfterMs) ? Math.max(1, Math.ceil(retryAfterMs / 1000)) : 1;
  /** @type {[string, string][]} */
  const headers = [["Retry-After", String(seconds)], NO_STORE];
  return { status: 503, headers, body: "" };
}

/** The error of the challenge as JSON; empty where the request had no token at all. */
function bodyOf(headers) {
  const [, challenge = ""] = headers.find(([name]) => name.toLowerCase() === "www-authenticate") ?? [];
  const found = [...challenge.matchAll(/\b(error|error_description)="([^"\\]*)"/g)];
  const members = Object.fromEntries(found.map(([, name, value]) => [name, value]));
  return "error" in members ? JSON.stringify(members) : "";
}

/** Name to the values of its lines, in their order; `req.headers` has one of them only, or joins them. */
function linesOf(raw) {
  /** @type {Map<string, string[]>} */
  const lines = new Map();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at].toLowerCase();
    lines.set(name, [...(lines.get(name) ?? []), raw[at + 1]]);
  }
  return lines;
}

/** The URL that the client used; undefined where the request does not name exactly one host, or no path. */
function urlOf(req, base, lines) {
  const target = targetOf(req);
  if (!target.startsWith("/")) return undefined;
  if (base !== undefined) return base + target;
  const hosts = lines.get(":authority") ?? lines.get("host") ?? [];
  if (hosts.length !== 1 || !/^[A-Za-z0-9.:_[\]-]+$/.test(hosts[0])) return undefined;
  return `${req.socket?.encrypted ? "https" : "http"}://${hosts[0]}${target}`;
}

/** The client's certificate in PEM, where the server has requested one; the sidecar compares it with the token's. */
function certificateOf(req) {
  const der = req.socket?.getPeerCertificate?.()?.raw;
  if (der === undefined) return undefined;
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

module.exports = { protect };
