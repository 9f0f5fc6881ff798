"use strict";

const { GRACE_MS, checkOptions, checkedTimeout, withMeta } = require("./call-options.js");
const { notSent } = require("./error-codes.js");
const { ClientClosed, DeadlineExceeded, Unavailable } = require("./errors.js");
const { requestTail } = require("./message.js");
const { onlyReads } = require("./methods.js");

// The sidecar ends every call by itself, a fetch after ten minutes at most. This timeout is for one that does not.
const BACKSTOP_MS = 11 * 60 * 1000;
const SHUTTING_DOWN = -32021;
// How often a call that may have been executed, or whose connection was lost, is retried.
const MAX_LOSSES = 2;

/**
 * A call before it is sent, of either channel. `waitMs` bounds it here.
 * @param {string} method
 * @param {Record<string, any>} params
 * @param {{timeoutMs?: number, traceparent?: string, signal?: AbortSignal}} options
 * @param {{closing?: boolean, options: Record<string, any>}} channel
 */
function prepared(method, params, options, channel) {
  if (channel.closing) throw closed(method);
  checkOptions(options);
  if (options.signal?.aborted) throw options.signal.reason;
  const timeoutMs = checkedTimeout(options.timeoutMs ?? channel.options.timeoutMs);
  const tail = requestTail(method, withMeta(params, options, timeoutMs), channel.options.maxRequestBytes);
  const waitMs = timeoutMs === undefined ? BACKSTOP_MS : timeoutMs + GRACE_MS;
  return { method, tail, waitMs, sends: 0, losses: 0, reads: onlyReads(method, params) };
}

function closed(method) {
  return notSent(ClientClosed, "client_closed", "the client is closed", { method });
}

function late({ method, sends }) {
  const data = { outcome: sends > 0 ? "unknown" : "not_sent", retryable: true };
  return new DeadlineExceeded(`no response to ${method} in time`, { reason: "deadline_exceeded", code: -32022, data, method });
}

function tooMany(waiting, method) {
  return notSent(Unavailable, "overloaded", `${waiting} calls are waiting already`, { method, retryable: true });
}

module.exports = { MAX_LOSSES, SHUTTING_DOWN, closed, late, prepared, tooMany };
