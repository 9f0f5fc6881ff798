"use strict";

const { isDisturbed } = require("node:stream");
const { RequestError } = require("./errors.js");
const { toResponse } = require("./response.js");

// An unread body is cancelled when its response is garbage-collected, as with every fetch.
const abandoned = new FinalizationRegistry(({ body, cancel }) => {
  const stream = body.deref();
  if (stream === undefined || !(stream.locked || isDisturbed(stream))) cancel();
});

/**
 * A fetch that resolves when the response's head has come, before its body. `judge` returns whether it was redirected,
 * or throws.
 */
async function openResponse(client, params, options, judge) {
  const stream = client.stream(params, options);
  try {
    const head = await stream.head;
    const redirected = await judge(head);
    const response = toResponse(params, { ...head, result: stream.result }, redirected, stream.body);
    if (response.body === null) await drained(stream);
    else abandoned.register(response, { body: new WeakRef(response.body), cancel: stream.cancel });
    return response;
  } catch (error) {
    stream.cancel();
    // Encrypted responses can only be authenticated at their end, and are returned complete.
    const isWholeOnly = error instanceof RequestError && error.path === "/stream";
    if (!isWholeOnly) throw error;
    const result = await client.fetchResource(params, options);
    return toResponse(params, result, await judge(result));
  }
}

/** Discards bytes that a server sends although there is no body. */
async function drained({ body, result }) {
  for await (const piece of body) void piece;
  await result;
}

module.exports = { openResponse };
