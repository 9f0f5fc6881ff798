"use strict";

const { LoginRequired } = require("./errors.js");

const HEADER = "postern-session";
const ONLY = "only";

/**
 * The function that returns the session of each fetch; undefined if `createFetch` names none.
 * @returns {(() => unknown) | undefined}
 */
function sessionSource(session) {
  if (session === undefined || session === null || session === "") return undefined;
  if (typeof session === "string") return () => session;
  if (typeof session === "function") return async () => ofOneUser(textOf(await session()));
  if (typeof session.getStore === "function") return () => ofOneUser(textOf(session.getStore()));
  throw new TypeError("session must be a string, a function or an AsyncLocalStorage");
}

/** The name of a session; empty for no user. */
function textOf(session) {
  if (session === undefined || session === null) return "";
  if (typeof session === "string") return session;
  throw new TypeError("a session must be a string, its handle");
}

/** A value that is named for each fetch often comes from a browser, and `only` is not a user's own. */
function ofOneUser(session) {
  if (session !== ONLY) return session;
  throw new TypeError(`"${ONLY}" is for programs whose uid is the user: they pass it as session of createFetch`);
}

/**
 * The session that a fetch names; undefined if it names none, and the sidecar decides whether it needs one. Removes the
 * header `Postern-Session`.
 * @param {{session?: unknown}} init
 * @param {Headers} headers
 * @param {(() => unknown) | undefined} source
 */
async function sessionOf(init, headers, source) {
  const given = ofOneUser(textOf(init.session));
  const header = headers.get(HEADER);
  headers.delete(HEADER);
  // A header without a handle names nobody: over an endpoint with a session of its own it must not be that one's.
  if (header === "" && given === "" && source === undefined) throw loginRequired();
  if (given === "" && source === undefined) return header === null ? undefined : ofOneUser(header);
  // A fetch that names no user must not be made for another one.
  const named = "session" in init ? given : textOf(await source?.());
  // The header may come from a request that the program passes on: it must not choose the user.
  if (header !== null && header !== named) throw new TypeError("Postern-Session names another session than `session`");
  if (named === "") throw loginRequired();
  return named;
}

/** The sidecar's own error, for a user's fetch without a user. */
function loginRequired() {
  return new LoginRequired("`session` names no user: log the user in (not_authenticated)", {
    reason: "not_authenticated",
    code: 1001,
    method: "fetchResource",
    data: { outcome: "not_sent", retryable: false, detail: "session_missing" },
  });
}

module.exports = { sessionOf, sessionSource };
