// Reads the notifications of a streamed answer, and keeps account of the streams of one connection: the pieces of each
// task count from 0 without a gap. Their bytes are counted by the length of the base64, which costs next to nothing.
#pragma once

#include "answer.h"

static const char chunk_method[] = "\"fetchResource.chunk\"";

struct text {
  const char *bytes;
  size_t length; // 0: there is none
};

// The value of the first member `name` (given with its quotes) of the compact object that begins at `object`.
static inline struct text find_member(struct text object, const char *name) {
  static const struct text none = {NULL, 0};
  const char *p = object.bytes, *end = p + object.length;
  size_t name_length = strlen(name);
  if (object.length < 2 || *p != '{') return none;
  do {
    const char *begin = ++p;
    if (p == end || *p != '"' || (p = skip_string(p, end)) == NULL || p == end || *p != ':') return none;
    bool found = (size_t)(p - begin) == name_length && memcmp(begin, name, name_length) == 0;
    const char *value = ++p;
    if ((p = skip_value(p, end)) == NULL || p == end) return none;
    if (found) return (struct text){value, (size_t)(p - value)};
  } while (*p == ',');
  return none;
}

static inline bool is_chunk(const char *line, size_t length) {
  struct text method = find_member((struct text){line, length}, "\"method\"");
  return method.length == sizeof chunk_method - 1 && memcmp(method.bytes, chunk_method, method.length) == 0;
}

// How many bytes a JSON string of standard base64 with padding stands for; 0 where it cannot be one.
static inline uint64_t decoded_length(struct text data) {
  if (data.length < 6 || *data.bytes != '"' || (data.length - 2) % 4 != 0) return 0;
  const char *last = data.bytes + data.length - 2;
  return (data.length - 2) / 4 * 3 - (*last == '=') - (*last == '=' && last[-1] == '=');
}

struct stream {
  char task[80]; // "": not in use
  uint64_t next, bytes;
};

// The stream of `task` (a JSON string), or NULL.
static inline struct stream *find_stream(struct stream *streams, unsigned count, struct text task) {
  for (unsigned i = 0; i < count; i++)
    if (task.length > 0 && strlen(streams[i].task) == task.length &&
        memcmp(streams[i].task, task.bytes, task.length) == 0)
      return &streams[i];
  return NULL;
}

// Accounts for one chunk; the bytes in it, or 0 when it is not the next one of a stream. The first chunk of a task
// opens its stream, and no more than `count` are open at once.
static inline uint64_t take_piece(struct stream *streams, unsigned count, const char *line, size_t length) {
  struct text params = find_member((struct text){line, length}, "\"params\"");
  struct text task = find_member(params, "\"task\""), sequence = find_member(params, "\"sequence\"");
  uint64_t bytes = decoded_length(find_member(params, "\"dataBase64\"")), number = 0;
  if (task.length < 3 || *task.bytes != '"' || task.length >= sizeof streams->task) return 0;
  if (sequence.length == 0 || sequence.length > 18) return 0;
  for (size_t i = 0; i < sequence.length; i++) {
    if (sequence.bytes[i] < '0' || sequence.bytes[i] > '9') return 0;
    number = number * 10 + (uint64_t)(sequence.bytes[i] - '0');
  }
  struct stream *stream = find_stream(streams, count, task);
  for (unsigned i = 0; stream == NULL && i < count; i++) {
    if (streams[i].task[0] != '\0') continue;
    stream = &streams[i];
    *stream = (struct stream){0};
    memcpy(stream->task, task.bytes, task.length);
  }
  if (stream == NULL || number != stream->next) return 0;
  stream->next++;
  stream->bytes += bytes;
  return bytes;
}

// Closes the stream of the result in `line`; the bytes that came, 0 when nothing did.
static inline uint64_t close_stream(struct stream *streams, unsigned count, const char *line, size_t length) {
  struct text result = find_member((struct text){line, length}, "\"result\"");
  struct stream *stream = find_stream(streams, count, find_member(result, "\"task\""));
  if (stream == NULL) return 0;
  stream->task[0] = '\0';
  return stream->bytes;
}
