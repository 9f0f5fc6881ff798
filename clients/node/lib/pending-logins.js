"use strict";

const { createHash } = require("node:crypto");

const LIFETIME_SECONDS = 600; // the sidecar's own, for a login that is under way
const MOST = 4; // in so many tabs: a browser sends their cookies with each request
const MARK_LETTERS = 8;

/**
 * A `login` with its state, a `stepUp` with its continuation, or `done`, a step-up that was completed before.
 * @typedef {{kind: "login" | "stepUp" | "done", secret: string, target: string, begun?: number}} Pending
 */

/**
 * What a browser has begun, each in a cookie of its own, so that responses in several tabs replace none. A callback
 * completes nothing that another browser began.
 */
class PendingLogins {
  constructor(cookies, name) {
    this.cookies = cookies;
    this.prefix = `${name}-`;
  }

  /** @returns {Pending[]} the newest last; what the browser has, so nothing that is trusted for another one */
  of(req) {
    const found = this.cookies.startingWith(req, this.prefix);
    const read = found.map(([mark, value]) => [mark, entryOf(value)]);
    const own = read.filter(([mark, entry]) => entry !== undefined && mark === markOf(entry));
    return own.map(([, entry]) => entry).sort((one, other) => one.begun - other.begun);
  }

  /**
   * Sets the cookie of an entry, and removes those of the oldest others that would be too many.
   * @param {Pending} entry
   * @param {Pending[]} others
   */
  add(res, entry, others) {
    const { kind, secret, target, begun = Date.now() } = entry;
    const text = Buffer.from(JSON.stringify([kind, secret, target, begun])).toString("base64url");
    this.cookies.set(res, this.prefix + markOf(entry), text, LIFETIME_SECONDS);
    const kept = others.filter((other) => markOf(other) !== markOf(entry));
    this.remove(res, kept.slice(0, Math.max(0, kept.length - MOST + 1)));
  }

  /** @param {Pending[]} entries */
  remove(res, entries) {
    for (const entry of entries) this.cookies.clear(res, this.prefix + markOf(entry));
  }
}

/** The end of the name of an entry's cookie: of a login it follows from the state that a callback brings. */
function markOf({ secret, target }) {
  return createHash("sha256").update(secret || target).digest("base64url").slice(0, MARK_LETTERS);
}

/** @returns {Pending | undefined} */
function entryOf(value) {
  try {
    const [kind, secret, target, begun] = JSON.parse(Buffer.from(value, "base64url").toString());
    const isRight = [kind, secret, target].every((text) => typeof text === "string") && Number.isFinite(begun);
    return isRight ? { kind, secret, target, begun } : undefined;
  } catch {
    return undefined;
  }
}

module.exports = { PendingLogins };
