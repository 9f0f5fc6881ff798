"use strict";

/** The value of a cookie; undefined where the request has none of that name, or two: one may be another site's. */
function cookieOf(req, name) {
  const pairs = (req.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
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
    get: (req, name) => cookieOf(req, nameOf(name)),
    clear: (res, name) => set(res, name, "", 0),
  };
}

module.exports = { cookiesFor };
