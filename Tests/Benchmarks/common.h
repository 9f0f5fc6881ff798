// What every program of the benchmark shares: the clock, fatal errors and the growing byte buffer.
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

__attribute__((noreturn, format(printf, 1, 2))) static inline void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", program_invocation_short_name);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static inline uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// User and system time of this process in seconds.
static inline double cpu_seconds(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static inline void *checked_calloc(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory == NULL) die("out of memory");
  return memory;
}

struct buffer {
  char *bytes;
  size_t length, capacity;
};

// Reserves `extra` more bytes behind the length.
static inline void buffer_reserve(struct buffer *b, size_t extra) {
  if (b->capacity - b->length >= extra) return;
  size_t capacity = b->capacity ? b->capacity : 4096;
  while (capacity - b->length < extra) capacity *= 2;
  b->bytes = realloc(b->bytes, capacity);
  if (b->bytes == NULL) die("out of memory");
  b->capacity = capacity;
}

static inline void buffer_append(struct buffer *b, const void *bytes, size_t count) {
  buffer_reserve(b, count);
  memcpy(b->bytes + b->length, bytes, count);
  b->length += count;
}

// Drops the first `count` bytes.
static inline void buffer_consume(struct buffer *b, size_t count) {
  if (count == 0) return;
  memmove(b->bytes, b->bytes + count, b->length - count);
  b->length -= count;
}

// A whole number of the command line within [low, high]; anything else is an error and exits.
static inline uint64_t parse_whole(const char *name, const char *text, uint64_t low, uint64_t high) {
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || value < low || value > high)
    die("%s: a whole number from %llu to %llu is needed, not '%s'", name, (unsigned long long)low,
        (unsigned long long)high, text);
  return value;
}

// Seconds of the command line, fractions allowed.
static inline double parse_seconds(const char *name, const char *text) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0 && value <= 86400))
    die("%s: seconds are needed, not '%s'", name, text);
  return value;
}

// Appends what a file holds.
static inline void read_file(const char *path, struct buffer *content) {
  FILE *file = fopen(path, "r");
  if (file == NULL) die("%s: %s", path, strerror(errno));
  for (size_t n = 1; n > 0; content->length += n) {
    buffer_reserve(content, 64 * 1024);
    n = fread(content->bytes + content->length, 1, content->capacity - content->length, file);
  }
  if (ferror(file)) die("%s: %s", path, strerror(errno));
  fclose(file);
}
