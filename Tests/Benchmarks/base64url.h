// base64url without padding (RFC 4648 section 5), strict: one byte string has exactly one accepted text.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const char base64url_symbols[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Writes the text of `count` bytes, which is (4 * count + 2) / 3 long, and returns its length; no NUL behind it.
static inline size_t base64url_encode(const unsigned char *bytes, size_t count, char *text) {
  char *out = text;
  for (; count >= 3; bytes += 3, count -= 3) {
    uint32_t word = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
    for (int shift = 18; shift >= 0; shift -= 6) *out++ = base64url_symbols[word >> shift & 63];
  }
  if (count == 0) return (size_t)(out - text);
  uint32_t word = (uint32_t)bytes[0] << 16 | (count == 2 ? (uint32_t)bytes[1] << 8 : 0);
  *out++ = base64url_symbols[word >> 18];
  *out++ = base64url_symbols[word >> 12 & 63];
  if (count == 2) *out++ = base64url_symbols[word >> 6 & 63];
  return (size_t)(out - text);
}

// Writes what `text` encodes, at most length / 4 * 3 + 2 bytes. False: a foreign character, padding, or a bit that
// should be zero.
static inline bool base64url_decode(const char *text, size_t length, unsigned char *bytes, size_t *count) {
  static unsigned char values[256];
  if (values[0] == 0) { // not filled yet: 0 itself is no symbol
    for (unsigned i = 0; i < 256; i++) values[i] = 0xff;
    for (unsigned i = 0; i < 64; i++) values[(unsigned char)base64url_symbols[i]] = (unsigned char)i;
  }
  unsigned char *out = bytes, seen = 0;
  const unsigned char *in = (const unsigned char *)text;
  for (; length >= 4; in += 4, length -= 4) {
    unsigned char a = values[in[0]], b = values[in[1]], c = values[in[2]], d = values[in[3]];
    seen |= a | b | c | d;
    *out++ = (unsigned char)(a << 2 | b >> 4);
    *out++ = (unsigned char)(b << 4 | c >> 2);
    *out++ = (unsigned char)(c << 6 | d);
  }
  if (length == 1) return false;
  if (length >= 2) {
    unsigned char a = values[in[0]], b = values[in[1]], c = length == 3 ? values[in[2]] : 0;
    seen |= a | b | c;
    *out++ = (unsigned char)(a << 2 | b >> 4);
    if (length == 3) *out++ = (unsigned char)(b << 4 | c >> 2);
    if ((length == 2 ? b & 15 : c & 3) != 0) return false;
  }
  *count = (size_t)(out - bytes);
  return seen <= 63;
}
