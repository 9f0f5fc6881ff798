// Finds the end of each JSON text of a stream by one scan that keeps its state across reads.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum framer_verdict { FRAMER_NEEDS_MORE, FRAMER_TEXT, FRAMER_NOT_JSON };

struct framer {
  size_t offset;  // first byte not looked at yet
  size_t start;   // first byte of the text under way
  unsigned depth; // open braces and brackets; 0: between texts
  bool in_string, escaped;
};

// Goes on over bytes[0..<length]. On FRAMER_TEXT the text is bytes[start..<offset]. On FRAMER_NOT_JSON the byte at
// `offset` can begin no message.
static inline enum framer_verdict framer_next(struct framer *f, const char *bytes, size_t length) {
  size_t i = f->offset;
  unsigned depth = f->depth;
  bool in_string = f->in_string, escaped = f->escaped;
  enum framer_verdict verdict = FRAMER_NEEDS_MORE;
  for (; i < length && verdict == FRAMER_NEEDS_MORE; i++) {
    char c = bytes[i];
    if (in_string) {
      if (escaped)
        escaped = false;
      else if (c == '\\')
        escaped = true;
      else if (c == '"')
        in_string = false;
    } else if (c == '"' && depth > 0) {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (depth++ == 0) f->start = i;
    } else if (depth > 0) {
      if ((c == '}' || c == ']') && --depth == 0) verdict = FRAMER_TEXT;
    } else if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
      verdict = FRAMER_NOT_JSON;
      break;
    }
  }
  f->offset = i;
  f->depth = depth;
  f->in_string = in_string;
  f->escaped = escaped;
  return verdict;
}
