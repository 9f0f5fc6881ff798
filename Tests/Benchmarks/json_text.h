// Writes JSON straight into a buffer.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common.h"

static inline void append_byte(struct buffer *out, char byte) {
  buffer_reserve(out, 1);
  out->bytes[out->length++] = byte;
}

static inline void append_text(struct buffer *out, const char *text) { buffer_append(out, text, strlen(text)); }

static inline void append_number(struct buffer *out, long long number) {
  char digits[24], *first = digits + sizeof digits;
  unsigned long long rest = number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number;
  do *--first = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (number < 0) *--first = '-';
  buffer_append(out, first, (size_t)(digits + sizeof digits - first));
}

// How many of eight bytes stand for themselves in a JSON string: up to a control character, a quote
// or a backslash. Of the bits that the subtractions set only the lowest is exact, and no other is used.
static inline size_t plain_bytes(uint64_t word) {
  const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
  uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
  uint64_t control = (word - ones * 0x20) & ~word;
  uint64_t marks = (control | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & high;
  return marks == 0 ? 8 : (size_t)__builtin_ctzll(marks) / 8;
}

static inline char *escape_byte(char *to, unsigned char byte) {
  static const char hexadecimal[] = "0123456789abcdef";
  *to++ = '\\';
  switch (byte) {
    case '\n': *to++ = 'n'; break;
    case '\r': *to++ = 'r'; break;
    case '\t': *to++ = 't'; break;
    case '"':
    case '\\': *to++ = (char)byte; break;
    default:
      memcpy(to, "u00", 3);
      to[3] = hexadecimal[byte >> 4];
      to[4] = hexadecimal[byte & 15];
      to += 5;
  }
  return to;
}

// A string of UTF-8 with its quotes. Little-endian machines only.
static inline void append_string(struct buffer *out, const char *text, size_t length) {
  buffer_reserve(out, length * 6 + 2); // each byte may become \u00XX
  char *to = out->bytes + out->length;
  const char *end = text + length;
  *to++ = '"';
  while (end - text >= 8) {
    uint64_t word;
    memcpy(&word, text, 8);
    memcpy(to, &word, 8);
    size_t plain = plain_bytes(word);
    text += plain, to += plain;
    if (plain < 8) to = escape_byte(to, (unsigned char)*text++);
  }
  for (; text < end; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte >= 0x20 && byte != '"' && byte != '\\')
      *to++ = (char)byte;
    else
      to = escape_byte(to, byte);
  }
  *to++ = '"';
  out->length = (size_t)(to - out->bytes);
}

// How many bytes the well-formed UTF-8 sequence at `p` has, after RFC 3629; 0: it is none.
static inline size_t utf8_sequence(const unsigned char *p, const unsigned char *end) {
  if (p[0] < 0x80) return 1;
  if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
  size_t length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
  if ((size_t)(end - p) < length) return 0;
  unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
  unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
  if (p[1] < low || p[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  return length;
}

static inline bool is_utf8(const char *text, size_t length) {
  const unsigned char *p = (const unsigned char *)text, *end = p + length;
  while (p < end) {
    uint64_t word;
    while (end - p >= 8 && (memcpy(&word, p, 8), (word & 0x8080808080808080) == 0)) p += 8;
    if (p == end) break;
    size_t sequence = utf8_sequence(p, end);
    if (sequence == 0) return false;
    p += sequence;
  }
  return true;
}

static inline void append_base64(struct buffer *out, const char *bytes, size_t length) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  buffer_reserve(out, length / 3 * 4 + 4);
  const unsigned char *p = (const unsigned char *)bytes;
  char *to = out->bytes + out->length;
  for (; length >= 3; p += 3, length -= 3, to += 4) {
    to[0] = alphabet[p[0] >> 2];
    to[1] = alphabet[(p[0] & 3) << 4 | p[1] >> 4];
    to[2] = alphabet[(p[1] & 15) << 2 | p[2] >> 6];
    to[3] = alphabet[p[2] & 63];
  }
  if (length > 0) {
    unsigned char second = length == 2 ? p[1] : 0;
    to[0] = alphabet[p[0] >> 2];
    to[1] = alphabet[(p[0] & 3) << 4 | second >> 4];
    to[2] = length == 2 ? alphabet[(second & 15) << 2] : '=';
    to[3] = '=';
    to += 4;
  }
  out->length = (size_t)(to - out->bytes);
}
