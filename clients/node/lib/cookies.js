"use strict";

const { stripped } = require("./white-space.js");

/**
 * The cookies of a request, by their names byte for byte. Without those that are there twice: one may be another site's.
 * @returns {Map<string, string>}
 */
function cookiesOf(req) {
  /** @type {Map<string, string>} */
  const found = new Map();
  /** @type {Set<string>} */
  const twice = new Set();
  for (const pair of (req.headers.cookie ?? "").split(";")) {
    const sign = pair.indexOf("=");
    if (sign < 0) continue;
    const name = stripped(pair.slice(0, sign));
    if (found.has(name)) twice.add(name);
    found.set(name, stripped(pair.slice(sign + 1)));
  }
  for (const name of twice) found.delete(name);
  return found;
}

/**
 * Cookies of an application: not for scripts and other sites' forms, and with https not for other hosts either, by the
 * prefix of their names (RFC 6265bis section 4.1.3.2).
 * @param {boolean} isSecure
 */
function cookiesFor(isSecure) {
  const nameOf = (name) => (isSecure ? `__Host-${name}` : name);
  const attributes = `; HttpOnly${isSecure ? "; Secure" : ""}; SameSite=Lax`;

  /** @param {number} [maxAge] in seconds; until the browser is closed where there is none */
  function set(res, name, value, maxAge) {
    const age = maxAge === undefined ? "" : `; Max-Age=${maxAge}`;
    const cookie = `${nameOf(name)}=${value}; Path=/${age}${attributes}`;
    res.setHeader("Set-Cookie", [...[res.getHeader("Set-Cookie") ?? []].flat(), cookie]);
  }

  return {
    set,
    get: (req, name) => cookiesOf(req).get(nameOf(name)),
    /** Those whose names begin with `start`: pairs of the rest of the name and the value. */
    startingWith: (req, start) => {
      const own = [...cookiesOf(req)].filter(([name]) => name.startsWith(nameOf(start)));
      return own.map(([name, value]) => [name.slice(nameOf(start).length), value]);
    },
    clear: (res, name) => set(res, name, "", 0),
  };
}

module.exports = { cookiesFor };
