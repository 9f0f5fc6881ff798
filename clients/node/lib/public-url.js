"use strict";

/** The base of an application's URLs as its clients use them, without a slash at its end. */
function baseOf(publicUrl) {
  const { protocol, search, hash } = new URL(publicUrl);
  if ((protocol !== "https:" && protocol !== "http:") || search || hash) {
    throw new TypeError("publicUrl is the URL as clients use it, without a query");
  }
  return publicUrl.replace(/\/+$/, "");
}

/** The path and the query of a request. Express takes the prefix of a router off `url`. */
function targetOf(req) {
  return (req.originalUrl ?? req.url).split("#", 1)[0];
}

module.exports = { baseOf, targetOf };
