"use strict";

const { checkNames } = require("./names.js");

const NAMES = new Set(["method", "headers", "body", "redirect", "signal", "duplex", "session"]);

const CONNECTIONS = "the sidecar has the connections";
const NO_PAGE = "it is for the pages of a browser";

/** Members of other fetches that have no effect here, with the reason, and the value that changes nothing. */
/** @type {Record<string, {why: string, same?: unknown}>} */
const NOT_SUPPORTED = {
  agent: { why: CONNECTIONS },
  attributionReporting: { why: NO_PAGE },
  browsingTopics: { why: NO_PAGE },
  cache: { why: "nothing is cached", same: "no-store" },
  credentials: { why: "`session` names the user, and the resource's configuration decides about tokens and cookies" },
  dispatcher: { why: CONNECTIONS },
  integrity: { why: "check the body instead", same: "" },
  keepalive: { why: CONNECTIONS, same: false },
  mode: { why: NO_PAGE },
  priority: { why: CONNECTIONS, same: "auto" },
  privateToken: { why: NO_PAGE },
  referrer: { why: "set the header Referer" },
  referrerPolicy: { why: "no Referer is sent that the headers do not have", same: "no-referrer" },
  targetAddressSpace: { why: NO_PAGE },
  timeout: { why: "use AbortSignal.timeout as signal, or timeoutMs of createFetch" },
  window: { why: NO_PAGE, same: null },
};

/**
 * Rejects members of the second argument of a fetch that would have no effect.
 * @param {Record<string, unknown>} init
 */
function checkInit(init) {
  for (const [name, value] of Object.entries(init)) {
    if (value === undefined || !Object.hasOwn(NOT_SUPPORTED, name)) continue;
    const { why, same } = NOT_SUPPORTED[name];
    if (value !== same) throw new TypeError(`fetch does not support ${name}: ${why}`);
  }
  checkNames("fetch", init, NAMES, NOT_SUPPORTED);
}

module.exports = { checkInit };
