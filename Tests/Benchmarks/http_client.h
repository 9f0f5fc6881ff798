// What the HTTP clients of the benchmark share: a connection to a server on loopback or on a Unix socket, and an
// HTTP/1.1 response that is read piece by piece.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"

enum { HEAD_LIMIT = 32 * 1024 };

enum phase { HEAD, LENGTH, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, DONE };

struct response {
  enum phase phase;
  int status;
  uint64_t left, body; // of the body, or of its chunk; bytes of the body so far
  bool closes;         // the server ends the connection behind this response
};

// Blocks until connected: a full backlog makes it wait, as it would any caller.
static int connect_to(const char *unix_path, unsigned port) {
  struct sockaddr_un path = {.sun_family = AF_UNIX};
  struct sockaddr_in loopback = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  bool local = unix_path != NULL;
  if (local && strlen(unix_path) >= sizeof path.sun_path) die("the socket path is too long");
  if (local) strcpy(path.sun_path, unix_path);
  int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  int result = local ? connect(fd, (struct sockaddr *)&path, sizeof path)
                     : connect(fd, (struct sockaddr *)&loopback, sizeof loopback);
  if (fd < 0 || result != 0) die("connect: %s", strerror(errno));
  if (!local) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

static bool is_name(const char *text, size_t length, const char *name) {
  return length == strlen(name) && strncasecmp(text, name, length) == 0;
}

// Reads the status and what matters of the fields; false: no such response.
static bool parse_head(struct response *r, const char *p, const char *end) {
  bool chunked = false, known = false;
  if (end - p < 14 || memcmp(p, "HTTP/1.", 7) != 0 || p[8] != ' ') return false;
  r->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
  if (r->status < 200 || r->status > 599) return false;
  r->closes = p[7] == '0';
  for (p = (const char *)memmem(p, (size_t)(end - p), "\r\n", 2) + 2; p < end;) {
    const char *line_end = memmem(p, (size_t)(end - p), "\r\n", 2), *colon = memchr(p, ':', (size_t)(line_end - p));
    if (colon == NULL) return false;
    const char *value = colon + 1;
    while (value < line_end && *value == ' ') value++;
    size_t name_length = (size_t)(colon - p), value_length = (size_t)(line_end - value);
    if (is_name(p, name_length, "content-length")) {
      r->left = strtoull(value, NULL, 10);
      known = true;
    } else if (is_name(p, name_length, "transfer-encoding")) {
      chunked = is_name(value, value_length, "chunked");
    } else if (is_name(p, name_length, "connection")) {
      r->closes = is_name(value, value_length, "close") || (r->closes && !is_name(value, value_length, "keep-alive"));
    }
    p = line_end + 2;
  }
  r->phase = r->status == 204 || r->status == 304 ? DONE : chunked ? CHUNK_SIZE : LENGTH;
  return chunked || known || r->phase == DONE; // no body until the end of the connection: nothing measured sends one
}

// Takes in what has come of the response, and appends its body to `body` where that is not NULL. What is wrong with it,
// or NULL.
static const char *advance(struct response *r, struct buffer *in, struct buffer *body) {
  size_t done = 0;
  const char *problem = NULL;
  while (r->phase != DONE && problem == NULL) {
    const char *text = in->bytes + done;
    size_t available = in->length - done, taken;
    const char *end;
    switch (r->phase) {
      case HEAD:
        end = available < 4 ? NULL : memmem(text, available, "\r\n\r\n", 4);
        if (end == NULL && available < HEAD_LIMIT) goto wait;
        if (end == NULL || !parse_head(r, text, end + 2)) problem = "no HTTP response";
        else done += (size_t)(end + 4 - text);
        if (r->phase == LENGTH && r->left == 0) r->phase = DONE;
        break;
      case LENGTH:
      case CHUNK:
        if (available == 0) goto wait;
        taken = available < r->left ? available : (size_t)r->left;
        r->left -= taken;
        r->body += taken;
        if (body != NULL) buffer_append(body, text, taken);
        done += taken;
        if (r->left == 0) r->phase = r->phase == LENGTH ? DONE : CHUNK_END;
        break;
      case CHUNK_END:
        if (available < 2) goto wait;
        if (memcmp(text, "\r\n", 2) != 0) problem = "no end of a chunk";
        done += 2;
        r->phase = CHUNK_SIZE;
        break;
      case CHUNK_SIZE:
      case TRAILER:
        end = available < 2 ? NULL : memmem(text, available, "\r\n", 2);
        if (end == NULL) goto wait;
        done += (size_t)(end + 2 - text);
        if (r->phase == TRAILER) {
          if (end == text) r->phase = DONE;
          break;
        }
        if (end == text) problem = "no size of a chunk";
        r->left = strtoull(text, NULL, 16);
        r->phase = r->left == 0 ? TRAILER : CHUNK;
        break;
      case DONE: break;
    }
  }
wait:
  buffer_consume(in, done);
  return problem;
}
