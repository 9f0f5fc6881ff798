"use strict";

const { notSent } = require("./error-codes.js");
const { RequestError } = require("./errors.js");

// The sidecar's own limits (limits.depth; jansson's integers). Its error for a message that it cannot parse has no id,
// which would make all other calls of the connection uncertain: so such a message is rejected here.
const MAX_DEPTH = 120;
const MAX_INTEGER = 2 ** 63;
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

function check(given, depth, method) {
  const value = written(given);
  if (typeof value === "number") {
    const size = Math.abs(value); // from 1e21 on, JSON has an exponent, and it is no integer
    if (size >= MAX_INTEGER && size < 1e21) throw wrong(method, "an integer of more than 64 bits");
  } else if (typeof value === "object" && value !== null) {
    if (depth > MAX_DEPTH) throw wrong(method, `params nested deeper than ${MAX_DEPTH} levels`);
    for (const key in value) {
      if (key.includes("\0")) throw wrong(method, "U+0000 in the name of a member");
      check(value[key], depth + 1, method);
    }
  }
}

/** The text of JSON.stringify for it. */
function written(value) {
  const own = typeof value?.toJSON === "function" ? value.toJSON() : value;
  return own instanceof Number ? Number(own) : own;
}

/** An upper bound of the JSON values in a text: one follows each of these characters. */
function mostValues(text) {
  return 1 + (text.match(/[,:[{]/g)?.length ?? 0);
}

function wrong(method, message) {
  return notSent(RequestError, "invalid_params", message, { method, code: -32602 });
}

/** The text after the id of a request: `,"method":…,"params":…}` and a line feed. */
function requestTail(method, params, maxBytes) {
  if (typeof params !== "object" || params === null || Array.isArray(params)) {
    throw new TypeError(`the params of ${method} must be an object`);
  }
  check(params, 0, method);
  const text = JSON.stringify(params);
  if (text.includes("\\ud") && LONE_SURROGATE.test(text)) throw wrong(method, "half of a surrogate pair in a string");
  const tail = `,"method":${JSON.stringify(method)},"params":${text}}\n`;
  if (tail.length > maxBytes || (tail.length > maxBytes / 3 && Buffer.byteLength(tail) > maxBytes)) {
    const message = `a message of more than ${maxBytes} bytes`;
    throw notSent(RequestError, "message_too_large", message, { method, code: -32007 });
  }
  return tail;
}

/** The message of a call. */
function requestText({ id, tail }) {
  return `{"jsonrpc":"2.0","id":${id}${tail}`;
}

/** The bytes of a call's message: counted for an error without an id, and not for every call. */
function sizeOf(call) {
  return Buffer.byteLength(requestText(call));
}

module.exports = { mostValues, requestTail, requestText, sizeOf };
