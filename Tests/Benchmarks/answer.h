// Reads what a load client must know of an answer (whose it is, and whether it is a result) without building a tree:
// the client must stay cheaper than the servers it measures.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum answer_kind { ANSWER_MALFORMED, ANSWER_RESULT, ANSWER_ERROR };

struct answer {
  enum answer_kind kind;
  bool has_id; // an id that is a whole number
  uint64_t id;
};

// The byte behind the string that begins at p (a quote), or NULL.
static inline const char *skip_string(const char *p, const char *end) {
  for (p++; (p = memchr(p, '"', (size_t)(end - p))) != NULL; p++) {
    const char *before = p;
    while (before[-1] == '\\') before--; // stops at the opening quote at the latest
    if ((p - before) % 2 == 0) return p + 1;
  }
  return NULL;
}

// The byte behind the value that begins at p, or NULL.
static inline const char *skip_value(const char *p, const char *end) {
  unsigned depth = 0;
  while (p < end) {
    switch (*p) {
      case '"':
        if ((p = skip_string(p, end)) == NULL) return NULL;
        if (depth == 0) return p;
        continue;
      case '{':
      case '[': depth++; break;
      case '}':
      case ']':
        if (depth == 0) return p; // the end of the object this value is a member of
        if (--depth == 0) return p + 1;
        break;
      case ',':
        if (depth == 0) return p;
        break;
      default: break;
    }
    p++;
  }
  return NULL;
}

// One line as the wire contract writes it: a compact object.
static inline struct answer read_answer(const char *line, size_t length) {
  static const struct answer malformed = {ANSWER_MALFORMED, false, 0};
  struct answer answer = malformed;
  const char *p = line, *end = line + length;
  if (length < 2 || *p != '{') return malformed;
  bool version = false, result = false, error = false;
  do {
    const char *name = ++p;
    if (p == end || *p != '"' || (p = skip_string(p, end)) == NULL || p == end || *p != ':') return malformed;
    size_t name_length = (size_t)(p - name);
    const char *value = ++p;
    if ((p = skip_value(p, end)) == NULL || p == end || p == value) return malformed;
    if (name_length == 4 && memcmp(name, "\"id\"", 4) == 0) {
      answer.has_id = true;
      for (const char *digit = value; digit < p; digit++) {
        if (*digit < '0' || *digit > '9' || digit - value > 18) answer.has_id = false;
        answer.id = answer.id * 10 + (uint64_t)(*digit - '0');
      }
    } else if (name_length == 8 && memcmp(name, "\"result\"", 8) == 0) {
      result = true;
    } else if (name_length == 7 && memcmp(name, "\"error\"", 7) == 0) {
      error = true;
    } else if (name_length == 9 && memcmp(name, "\"jsonrpc\"", 9) == 0) {
      version = p - value == 5 && memcmp(value, "\"2.0\"", 5) == 0;
    }
  } while (*p == ',');
  if (*p != '}' || p + 1 != end || !version || result == error) return malformed;
  answer.kind = result ? ANSWER_RESULT : ANSWER_ERROR;
  return answer;
}
