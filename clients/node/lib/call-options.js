"use strict";

const { checkNames } = require("./names.js");

const OPTIONS = new Set(["timeoutMs", "signal", "traceparent"]);
// The sidecar's own answer to `meta.timeoutMs` knows more than a timer here.
const GRACE_MS = 250;

/** @param {{signal?: AbortSignal}} options */
function checkOptions(options) {
  checkNames("a call", options, OPTIONS);
  const { signal } = options;
  if (signal === undefined || typeof signal?.addEventListener === "function") return;
  throw new TypeError("signal must be an AbortSignal");
}

function checkedTimeout(timeoutMs) {
  if (timeoutMs === undefined) return undefined;
  if (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs < 2 ** 31 - GRACE_MS) return timeoutMs;
  throw new RangeError("timeoutMs must be a whole number of milliseconds, at least 1");
}

/**
 * The params with what the options add to `meta`.
 * @param {Record<string, any>} params
 * @param {{traceparent?: string}} options
 * @param {number | undefined} timeoutMs
 */
function withMeta(params, { traceparent }, timeoutMs) {
  if (traceparent === undefined && timeoutMs === undefined) return params;
  const meta = { ...params.meta };
  if (traceparent !== undefined) meta.traceparent = traceparent;
  if (timeoutMs !== undefined) meta.timeoutMs ??= timeoutMs;
  return { ...params, meta };
}

module.exports = { GRACE_MS, checkOptions, checkedTimeout, withMeta };
