"use strict";

const { STATUS_CODES } = require("node:http");
const { REASONS } = require("../error-codes.js");
const { checkNames, didYouMean } = require("../names.js");

const NAMES = new Set(["json", "text", "body", "headers", "reason", "url", "attempts", "tokenRefreshed", "advicesSatisfied", "retryAfterMs"]);
const BODIES = ["json", "text", "body"];
/** The URL of a result that names none: the fake replaces it with one made of the request. */
const NO_URL = "https://resource.invalid/";

let tasks = 0;

/** Makes results of `fetchResource`. */
const FetchResult = Object.freeze({
  /**
   * The result of a fetch with this status.
   * @param {number} status
   * @param {Record<string, any>} [given]
   */
  of(status, given = {}) {
    if (!Number.isInteger(status) || status < 100 || status > 599) throw new RangeError("a status is a whole number from 100 to 599");
    checkNames("FetchResult.of", given, NAMES);
    const named = BODIES.filter((name) => given[name] !== undefined);
    if (named.length > 1) throw new TypeError(`a response has one body: ${named.join(" and ")} were given`);
    const { reason = STATUS_CODES[status], url = NO_URL, attempts = 1, tokenRefreshed = false, advicesSatisfied = [] } = given;
    const bytes = bytesOf(given);
    const headers = headerLists(given.headers);
    if (given.json !== undefined) headers["content-type"] ??= ["application/json"];
    if (given.text !== undefined) headers["content-type"] ??= ["text/plain; charset=utf-8"];
    headers["content-length"] ??= [`${bytes.length}`];
    return {
      task: `task-${++tasks}`,
      status,
      ...(reason === undefined ? {} : { reason }),
      url,
      headers,
      ...bodyMembers(bytes),
      attempts,
      tokenRefreshed,
      advicesSatisfied,
      timing: { totalMs: 0, queueMs: 0, connectMs: 0, firstByteMs: 0 },
      ...(given.retryAfterMs === undefined ? {} : { retryAfterMs: given.retryAfterMs }),
    };
  },
});

/** @param {Record<string, any>} given */
function bytesOf({ json, text, body }) {
  if (json !== undefined) return Buffer.from(JSON.stringify(json));
  const content = text ?? body ?? "";
  if (typeof content === "string") return Buffer.from(content);
  if (content instanceof Uint8Array) return Buffer.from(content);
  throw new TypeError("a body is a string or bytes; `json` takes other values");
}

/** As in a result of the sidecar: text where the bytes are text, else base64. */
function bodyMembers(bytes) {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? { body: text } : { bodyBase64: bytes.toString("base64") };
}

/** @returns {Record<string, string[]>} */
function headerLists(headers = {}) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().map(String)]));
}

/** An error to answer with. Made by `failure`. */
class Failure {
  /**
   * @param {string} reason
   * @param {Record<string, any>} data
   */
  constructor(reason, data) {
    this.reason = reason;
    this.data = data;
  }
}

/**
 * An error with this reason, for `returns`.
 * @param {string} reason
 * @param {Record<string, any>} [data] more members of the error's `data`
 */
function failure(reason, data = {}) {
  const reasons = REASONS.map(([, one]) => one);
  if (!reasons.includes(reason)) throw new TypeError(`there is no reason ${reason}${didYouMean(reason, new Set(reasons))}`);
  return new Failure(reason, data);
}

/** A fetch that waits for the user. Made by `adviceRequired`. */
class AdviceFirst {
  /**
   * @param {Record<string, any>} advice
   * @param {any} then
   */
  constructor(advice, then) {
    this.advice = advice;
    this.after = then;
  }
}

/**
 * The fetch requires this advice first; once it is satisfied, the fetch has the second answer.
 * @param {Record<string, any>} advice
 * @param {any} then
 */
function adviceRequired(advice, then) {
  if (typeof advice?.type !== "string") throw new TypeError("an advice is an object with `type`, such as { type: \"AuthenticateToService\" }");
  return new AdviceFirst(advice, then);
}

module.exports = { AdviceFirst, adviceRequired, Failure, failure, FetchResult, NO_URL };
