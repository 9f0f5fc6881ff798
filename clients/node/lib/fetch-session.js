"use strict";

const { LoginRequired } = require("./errors.js");

const HEADER = "postern-session";
const ONLY = "only";

/**
 * What names the session of each fetch, as a function; undefined where none is named for all of them.
 * @returns {(() => unknown) | undefined}
 */
function sessionSource(session) {
  if (session === undefined || session === null || session === "") return undefined;
  if (typeof session === "string") return () => session;
  if (typeof session === "function") return async () => ofOneUser(textOf(await session()));
  if (typeof session.getStore === "function") return () => ofOneUser(textOf(session.getStore()));
  throw new TypeError("session must be a string, a function or an AsyncLocalStorage");
}

/** The name of a session; empty for nobody. */
function textOf(session) {
  if (session === undefined || session === null) return "";
  if (typeof session === "string") return session;
  throw new TypeError("a session must be a string, its handle");
}

/** What is found out with each request is often a browser's text, and `only` is no user's own. */
function ofOneUser(session) {
  if (session !== ONLY) return session;
  throw new TypeError(`"${ONLY}" is for programs whose uid is the user: they pass session: "${ONLY}" itself`);
}

/**
 * The session that a fetch names; undefined where nothing names one, and the sidecar decides whether it needs one.
 * Takes the header `Postern-Session` off the headers.
 * @param {{session?: unknown}} init
 * @param {Headers} headers
 * @param {(() => unknown) | undefined} source
 */
async function sessionOf(init, headers, source) {
  const given = textOf(init.session);
  const header = headers.get(HEADER);
  headers.delete(HEADER);
  if (given === "" && source === undefined) return header ? ofOneUser(header) : undefined;
  // A fetch that names nobody is not made for the user of the others.
  const named = "session" in init ? given : textOf(await source?.());
  // A program that passes a request on has the header from there: it chooses nobody.
  if (header !== null && header !== named) throw new TypeError("Postern-Session names another session than `session`");
  if (named === "") throw nobody();
  return named;
}

/** The sidecar's own error, for a fetch that is a user's and has none. */
function nobody() {
  return new LoginRequired("`session` names nobody: no user is logged in (not_authenticated)", {
    reason: "not_authenticated",
    code: 1001,
    method: "fetchResource",
    data: { outcome: "not_sent", retryable: false, detail: "session_missing" },
  });
}

module.exports = { sessionOf, sessionSource };
