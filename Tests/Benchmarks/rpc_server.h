// The frame of the yardsticks that answer JSON-RPC 2.0 on a Unix socket: epoll and jansson, one or more event loops.
//
// Each request is parsed by jansson and checked; all complete texts of one read are answered with one write. There are
// N event loops on N threads; the first one accepts and deals the connections out in turn. The program that includes
// this defines `answer_call`.
#pragma once

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"
#include "framer.h"

enum { READ_CHUNK = 64 * 1024, MESSAGE_LIMIT = 16 * 1024 * 1024, EVENTS = 64 };

struct connection {
  int fd, epoll;
  struct framer framer;
  struct buffer in, out;
  size_t written;
  bool half_closed, watching_output;
};

struct event_loop {
  int epoll;
  pthread_t thread;
};

static const char *socket_path;
static struct event_loop *loops;
static unsigned loop_count = 1;
static int listener = -1;

static void on_termination(int signal_number) {
  (void)signal_number;
  unlink(socket_path);
  _exit(0);
}

static int append_to_buffer(const char *bytes, size_t count, void *buffer) {
  buffer_append(buffer, bytes, count);
  return 0;
}

// Dumps `answer` as one line and gives it up.
static void write_answer(struct connection *c, json_t *answer) {
  if (answer == NULL || json_dump_callback(answer, append_to_buffer, &c->out, JSON_COMPACT) != 0) die("out of memory");
  buffer_append(&c->out, "\n", 1);
  json_decref(answer);
}

static void write_error(struct connection *c, json_t *id, int code, const char *message, const char *reason) {
  write_answer(c, json_pack("{s:s, s:O?, s:{s:i, s:s, s:{s:s}}}", "jsonrpc", "2.0", "id", id ? id : json_null(),
                            "error", "code", code, "message", message, "data", "reason", reason));
}

// Answers one request with `write_answer` or `write_error`; may be called by several threads at once.
static void answer_call(struct connection *c, json_t *id, const char *method, json_t *params);

static void answer_text(struct connection *c, const char *text, size_t length) {
  json_error_t problem;
  json_t *request = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
  if (request == NULL) {
    write_error(c, NULL, -32700, problem.text, "parse_error");
    return;
  }
  const char *version = json_string_value(json_object_get(request, "jsonrpc"));
  const char *method = json_string_value(json_object_get(request, "method"));
  json_t *id = json_object_get(request, "id");
  json_t *params = json_object_get(request, "params");
  bool usable_id = json_is_string(id) || json_is_integer(id);
  if (version == NULL || strcmp(version, "2.0") != 0 || method == NULL || (id != NULL && !usable_id))
    write_error(c, usable_id ? id : NULL, -32600, "not a JSON-RPC request", "invalid_request");
  else if (id == NULL)
    ; // a notification is never answered
  else if (params != NULL && !json_is_null(params) && !json_is_object(params))
    write_error(c, id, -32602, "params must be an object", "invalid_params");
  else
    answer_call(c, id, method, params);
  json_decref(request);
}

// Answers every complete text that has arrived; false: the peer sends something that cannot be framed.
static bool answer_texts(struct connection *c) {
  size_t done = 0;
  enum framer_verdict verdict;
  while ((verdict = framer_next(&c->framer, c->in.bytes, c->in.length)) == FRAMER_TEXT) {
    answer_text(c, c->in.bytes + c->framer.start, c->framer.offset - c->framer.start);
    done = c->framer.offset;
  }
  if (verdict == FRAMER_NOT_JSON) write_error(c, NULL, -32700, "a message begins with {", "parse_error");
  if (c->framer.depth == 0) done = c->framer.offset; // blanks between two texts
  buffer_consume(&c->in, done);
  c->framer.offset -= done;
  if (c->framer.depth > 0) c->framer.start -= done;
  return verdict != FRAMER_NOT_JSON;
}

static void close_connection(struct connection *c) {
  close(c->fd);
  free(c->in.bytes);
  free(c->out.bytes);
  free(c);
}

static void watch(struct connection *c, bool output) {
  if (c->watching_output == output) return;
  c->watching_output = output;
  // While an answer waits for the reader, nothing more is read from it.
  struct epoll_event event = {.events = output ? EPOLLOUT : EPOLLIN, .data.ptr = c};
  if (epoll_ctl(c->epoll, EPOLL_CTL_MOD, c->fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
}

// False: the connection is over.
static bool flush(struct connection *c) {
  while (c->written < c->out.length) {
    ssize_t n = send(c->fd, c->out.bytes + c->written, c->out.length - c->written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      watch(c, true);
      return true;
    }
    if (n < 0) return false;
    c->written += (size_t)n;
  }
  c->written = c->out.length = 0;
  watch(c, false);
  return !c->half_closed;
}

// False: the connection is over.
static bool receive(struct connection *c) {
  buffer_reserve(&c->in, READ_CHUNK);
  ssize_t n = recv(c->fd, c->in.bytes + c->in.length, c->in.capacity - c->in.length, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) {
    if (c->framer.depth > 0) write_error(c, NULL, -32700, "the text ends in its middle", "parse_error");
    c->half_closed = true;
    return flush(c);
  }
  c->in.length += (size_t)n;
  if (!answer_texts(c) || c->in.length > MESSAGE_LIMIT) c->half_closed = true;
  return flush(c);
}

static void accept_connections(void) {
  static unsigned next;
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    struct connection *c = checked_calloc(1, sizeof *c);
    c->fd = fd;
    c->epoll = loops[next++ % loop_count].epoll;
    // Once added, the connection belongs to the thread of that loop alone.
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
  }
}

static void *run_loop(void *argument) {
  struct event_loop *loop = argument;
  struct epoll_event events[EVENTS];
  for (;;) {
    int count = epoll_wait(loop->epoll, events, EVENTS, -1);
    if (count < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
      struct connection *c = events[i].data.ptr;
      if (c == NULL) {
        accept_connections();
        continue;
      }
      bool alive = events[i].events & EPOLLOUT ? flush(c) : receive(c);
      if (!alive) close_connection(c);
    }
  }
  return NULL;
}

static void listen_on_socket(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(socket_path) >= sizeof address.sun_path) die("the socket path is too long: %s", socket_path);
  strcpy(address.sun_path, socket_path);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 512) != 0)
    die("%s: %s", socket_path, strerror(errno));
}

// Serves for ever. Call it once all that the answers need is there.
__attribute__((noreturn)) static void serve_socket(void) {
  struct sigaction action = {.sa_handler = on_termination};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);

  loops = checked_calloc(loop_count, sizeof *loops);
  for (unsigned i = 0; i < loop_count; i++)
    if ((loops[i].epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1: %s", strerror(errno));
  listen_on_socket();
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(loops[0].epoll, EPOLL_CTL_ADD, listener, &event) != 0) die("epoll_ctl: %s", strerror(errno));
  for (unsigned i = 1; i < loop_count; i++)
    if (pthread_create(&loops[i].thread, NULL, run_loop, &loops[i]) != 0) die("no thread can be made");
  run_loop(&loops[0]);
  abort();
}
