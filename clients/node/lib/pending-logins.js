"use strict";

const LIFETIME_SECONDS = 600; // the sidecar's own, for a login that is under way
const MOST = 4; // in so many tabs
const MAX_LENGTH = 3600; // browsers drop cookies of more than 4096 bytes

/**
 * An entry of the cookie: a `login` with its state, a `stepUp` with its continuation, or `done`, a step-up that was
 * completed before.
 * @typedef {{kind: "login" | "stepUp" | "done", secret: string, target: string}} Pending
 */

/** What a browser has begun, in a cookie of that browser. A callback completes nothing that another browser began. */
class PendingLogins {
  constructor(cookies, name) {
    this.cookies = cookies;
    this.name = name;
  }

  /** @returns {Pending[]} the latest last; what the browser has, so nothing that is trusted for another one */
  of(req) {
    try {
      const text = Buffer.from(this.cookies.get(req, this.name) ?? "", "base64url").toString();
      const entries = JSON.parse(text).map(([kind, secret, target]) => ({ kind, secret, target }));
      const isText = (entry) => Object.values(entry).every((value) => typeof value === "string");
      return entries.filter(isText).slice(-MOST);
    } catch {
      return [];
    }
  }

  /**
   * Keeps the latest entries that fit into the cookie.
   * @param {Pending[]} entries
   */
  set(res, entries) {
    for (let kept = entries.slice(-MOST); kept.length > 0; kept = kept.slice(1)) {
      const json = JSON.stringify(kept.map(({ kind, secret, target }) => [kind, secret, target]));
      const text = Buffer.from(json).toString("base64url");
      if (text.length <= MAX_LENGTH) return this.cookies.set(res, this.name, text, LIFETIME_SECONDS);
    }
    this.cookies.clear(res, this.name);
  }
}

module.exports = { PendingLogins };
