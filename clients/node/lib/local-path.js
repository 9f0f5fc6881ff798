"use strict";

const MAX_LENGTH = 1024; // percent-encoded: a cookie has it
const MAX_DECODINGS = 4;
// Spaces and controls, backslashes, halves of characters.
const UNSAFE = /[\x00-\x20\x7f-\x9f\\]|[\ud800-\udfff]/u;
const UNSAFE_DECODED = /[\x00-\x1f\x7f\\]|^\/\/|\/\.{1,2}(\/|$)/;

/** As a server does that knows no encoding: each byte is a character. */
function decoded(path) {
  return path.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/**
 * `text` as the path of a redirect that stays at its origin in every browser; undefined where that is not certain.
 * Browsers take a backslash for a slash, leave out tabs and line ends, and resolve dots. Proxies and frameworks decode
 * more than they do, so each decoding of the path must be harmless, too.
 * @returns {string | undefined}
 */
function localPath(text) {
  if (typeof text !== "string" || text.length > MAX_LENGTH) return undefined;
  if (!text.startsWith("/") || UNSAFE.test(text)) return undefined;
  let path = text.split(/[?#]/, 1)[0];
  for (let count = 0; count < MAX_DECODINGS; count++) {
    if (UNSAFE_DECODED.test(path)) return undefined;
    const next = decoded(path);
    if (next === path) {
      const encoded = text.replace(/[^\x21-\x7e]/gu, encodeURIComponent);
      return encoded.length > MAX_LENGTH ? undefined : encoded;
    }
    path = next;
  }
  return undefined;
}

module.exports = { decoded, localPath };
