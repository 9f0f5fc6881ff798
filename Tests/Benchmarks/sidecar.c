// The yardstick of a sidecar: `fetchResource` over a Unix socket as a careful C programmer would write it for speed
// alone, without tokens, limits or rules. One thread, one epoll for its peers and for libcurl, jansson for requests,
// easy handles and connections that are used again.
//
// What it saves, beyond the obvious: one write for each connection and pass of the loop; no `epoll_ctl` while a
// connection to the upstream goes from one transfer to the next; options of an easy handle are set only when they
// differ from those of its last transfer; results are written straight into the output buffer.

#define _GNU_SOURCE
#include <curl/curl.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"
#include "json_text.h"

enum { READ_CHUNK = 64 * 1024, MESSAGE_LIMIT = 16 * 1024 * 1024, EVENTS = 256, MOST_FIELDS = 64 };

enum kind { LISTENER, PEER, UPSTREAM };

// What an epoll event points at; the first member of what it belongs to.
struct source {
  enum kind kind;
  int fd;
};

struct connection {
  struct source source;
  struct buffer in, out;
  size_t scanned, written;
  unsigned under_way;       // transfers whose answer this connection gets
  uint32_t watched;         // events that epoll reports
  bool half_closed, closed; // closed: only its transfers still refer to it
  bool dirty;               // in the list of those with output
};

// A socket of libcurl's; it stays in the table when libcurl closes it, for the next one with the same number.
struct upstream {
  struct source source;
  int wanted;       // CURL_POLL_…; 0: no transfer uses it at the moment
  uint32_t watched; // 0: epoll does not know it
};

struct field {
  size_t name, value; // offsets into the text of the fields
  unsigned name_length, value_length;
  bool written;
};

struct transfer {
  CURL *easy;
  struct connection *connection;
  struct transfer *next; // in the queue, or among those that are free
  struct buffer url, id, body, field_text;
  struct field fields[MOST_FIELDS];
  unsigned field_count;
  size_t reason_length; // the reason phrase is at the start of field_text
  struct curl_slist *request_fields;
  bool special; // more than its URL differs from the next transfer's
  uint64_t accepted, started;
};

static const char *socket_path;
static struct buffer base_url;
static unsigned most_transfers = 64, running_transfers;
static struct transfer *free_transfers, *first_waiting, **last_waiting = &first_waiting;
static struct connection **dirty_connections;
static size_t dirty_count, dirty_capacity;
static struct upstream **upstreams; // by descriptor
static size_t upstream_count;
static CURLM *multi;
static int epoll;
static uint64_t timer = UINT64_MAX; // when libcurl wants to be called
static uint64_t awake;              // since when this pass of the loop runs
static uint64_t task_number;

static void on_termination(int signal_number) {
  (void)signal_number;
  unlink(socket_path);
  _exit(0);
}

static void control(int operation, struct source *source, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = source};
  if (epoll_ctl(epoll, operation, source->fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
}

static void check(CURLMcode code) {
  if (code != CURLM_OK) die("%s", curl_multi_strerror(code));
}

// -- peers

static void mark_dirty(struct connection *c) {
  if (c->dirty) return;
  c->dirty = true;
  if (dirty_count == dirty_capacity) {
    dirty_capacity = dirty_capacity ? dirty_capacity * 2 : 64;
    dirty_connections = realloc(dirty_connections, dirty_capacity * sizeof(*dirty_connections));
    if (dirty_connections == NULL) die("out of memory");
  }
  dirty_connections[dirty_count++] = c;
}

static void free_connection(struct connection *c) {
  free(c->in.bytes);
  free(c->out.bytes);
  free(c);
}

// The connection ends; what it waits for is fetched to the end and dropped.
static void close_connection(struct connection *c) {
  if (!c->closed) close(c->source.fd);
  c->closed = true;
  c->written = c->out.length = 0;
  if (c->under_way == 0 && !c->dirty) free_connection(c);
}

static void watch(struct connection *c, uint32_t events) {
  if (c->watched == events) return;
  c->watched = events;
  control(EPOLL_CTL_MOD, &c->source, events);
}

static void flush(struct connection *c) {
  while (c->written < c->out.length) {
    ssize_t n = send(c->source.fd, c->out.bytes + c->written, c->out.length - c->written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      watch(c, EPOLLOUT); // while answers wait for the reader, nothing more is read from it
      return;
    }
    if (n < 0) {
      close_connection(c);
      return;
    }
    c->written += (size_t)n;
  }
  c->written = c->out.length = 0;
  if (c->half_closed && c->under_way == 0)
    close_connection(c);
  else
    watch(c, c->half_closed ? 0 : EPOLLIN);
}

static void flush_dirty(void) {
  for (size_t i = 0; i < dirty_count; i++) {
    struct connection *c = dirty_connections[i];
    c->dirty = false;
    if (c->closed)
      close_connection(c);
    else if (c->watched != EPOLLOUT)
      flush(c);
  }
  dirty_count = 0;
}

static void begin_answer(struct buffer *out, const struct buffer *id) {
  append_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
  buffer_append(out, id->bytes, id->length);
}

static void write_error(struct connection *c, const struct buffer *id, int code, const char *reason, const char *text) {
  static const struct buffer null = {.bytes = "null", .length = 4};
  begin_answer(&c->out, id != NULL && id->length > 0 ? id : &null);
  append_text(&c->out, ",\"error\":{\"code\":");
  append_number(&c->out, code);
  append_text(&c->out, ",\"message\":");
  append_string(&c->out, text, strlen(text));
  append_text(&c->out, ",\"data\":{\"reason\":\"");
  append_text(&c->out, reason);
  append_text(&c->out, "\"}}}\n");
  mark_dirty(c);
}

// -- what libcurl reports of a transfer

static size_t take_field(char *data, size_t size, size_t count, void *transfer) {
  struct transfer *t = transfer;
  size_t length = size * count;
  while (length > 0 && (data[length - 1] == '\n' || data[length - 1] == '\r')) length--;
  if (length > 5 && memcmp(data, "HTTP/", 5) == 0) { // also of the response after a redirect
    const char *space = memchr(data, ' ', length);
    size_t skipped = space == NULL ? length : (size_t)(space - data) + 5; // " 200 "
    t->field_count = 0;
    t->field_text.length = t->body.length = 0;
    t->reason_length = skipped < length ? length - skipped : 0;
    buffer_append(&t->field_text, data + (length - t->reason_length), t->reason_length);
    return size * count;
  }
  const char *colon = memchr(data, ':', length);
  if (colon == NULL || t->field_count == MOST_FIELDS) return size * count;
  const char *value = colon + 1, *end = data + length;
  while (value < end && (*value == ' ' || *value == '\t')) value++;
  struct field *field = &t->fields[t->field_count++];
  *field = (struct field){.name = t->field_text.length,
                          .name_length = (unsigned)(colon - data),
                          .value_length = (unsigned)(end - value)};
  field->value = field->name + field->name_length;
  buffer_reserve(&t->field_text, length);
  char *name = t->field_text.bytes + field->name;
  for (const char *p = data; p < colon; p++) *name++ = *p >= 'A' && *p <= 'Z' ? (char)(*p | 0x20) : *p;
  memcpy(name, value, field->value_length);
  t->field_text.length = field->value + field->value_length;
  return size * count;
}

static size_t take_body(char *data, size_t size, size_t count, void *transfer) {
  buffer_append(&((struct transfer *)transfer)->body, data, size * count);
  return size * count;
}

// -- transfers

static int close_upstream(void *unused, curl_socket_t fd) {
  (void)unused;
  if ((size_t)fd < upstream_count && upstreams[fd] != NULL) upstreams[fd]->watched = 0;
  return close(fd);
}

static void set_up(struct transfer *t) {
  curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
  curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, take_field);
  curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_CLOSESOCKETFUNCTION, close_upstream);
  curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, ""); // all that libcurl knows, as Postern negotiates it
  curl_easy_setopt(t->easy, CURLOPT_USERAGENT, "sidecar");
  curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
}

static struct transfer *take_transfer(void) {
  struct transfer *t = free_transfers;
  if (t != NULL) {
    free_transfers = t->next;
    return t;
  }
  t = checked_calloc(1, sizeof *t);
  if ((t->easy = curl_easy_init()) == NULL) die("out of memory");
  set_up(t);
  return t;
}

static void release_transfer(struct transfer *t) {
  if (t->special) {
    curl_easy_reset(t->easy);
    set_up(t);
    curl_slist_free_all(t->request_fields);
    t->request_fields = NULL;
    t->special = false;
    t->url.length = 0;
  }
  t->next = free_transfers;
  free_transfers = t;
}

static void begin_transfer(struct transfer *t) {
  t->body.length = t->field_text.length = t->reason_length = t->field_count = 0;
  t->started = awake;
  running_transfers++;
  check(curl_multi_add_handle(multi, t->easy));
}

static void start(struct transfer *t) {
  t->accepted = awake;
  t->connection->under_way++;
  if (running_transfers < most_transfers) {
    begin_transfer(t);
    return;
  }
  t->next = NULL;
  *last_waiting = t;
  last_waiting = &t->next;
}

static void start_waiting(void) {
  while (first_waiting != NULL && running_transfers < most_transfers) {
    struct transfer *t = first_waiting;
    if ((first_waiting = t->next) == NULL) last_waiting = &first_waiting;
    begin_transfer(t);
  }
}

static void write_fields(struct buffer *out, struct transfer *t) {
  const char *text = t->field_text.bytes;
  char separator = '{';
  for (unsigned i = 0; i < t->field_count; i++) {
    const struct field *first = &t->fields[i];
    if (first->written) continue;
    append_byte(out, separator);
    separator = ',';
    append_string(out, text + first->name, first->name_length);
    append_text(out, ":[");
    append_string(out, text + first->value, first->value_length);
    for (unsigned k = i + 1; k < t->field_count; k++) {
      struct field *other = &t->fields[k];
      if (other->name_length != first->name_length ||
          memcmp(text + other->name, text + first->name, first->name_length) != 0)
        continue;
      other->written = true;
      append_byte(out, ',');
      append_string(out, text + other->value, other->value_length);
    }
    append_byte(out, ']');
  }
  append_text(out, t->field_count == 0 ? "{}" : "}");
}

static void write_result(struct transfer *t, uint64_t now) {
  struct buffer *out = &t->connection->out;
  long status = 0, redirects = 0;
  const char *url = "";
  curl_off_t connect = 0, first_byte = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_COUNT, &redirects);
  curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &url);
  curl_easy_getinfo(t->easy, CURLINFO_CONNECT_TIME_T, &connect);
  curl_easy_getinfo(t->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
  buffer_reserve(out, t->body.length + t->field_text.length + 1024);
  begin_answer(out, &t->id);
  append_text(out, ",\"result\":{\"task\":\"task-");
  append_number(out, (long long)++task_number);
  append_text(out, "\",\"status\":");
  append_number(out, status);
  if (t->reason_length > 0) {
    append_text(out, ",\"reason\":");
    append_string(out, t->field_text.bytes, t->reason_length);
  }
  append_text(out, ",\"url\":");
  append_string(out, url, strlen(url));
  append_text(out, ",\"headers\":");
  write_fields(out, t);
  if (is_utf8(t->body.bytes, t->body.length)) {
    append_text(out, ",\"body\":");
    append_string(out, t->body.bytes, t->body.length);
  } else {
    append_text(out, ",\"bodyBase64\":\"");
    append_base64(out, t->body.bytes, t->body.length);
    append_byte(out, '"');
  }
  append_text(out, ",\"attempts\":1,\"tokenRefreshed\":false,\"advicesSatisfied\":[],\"timing\":{\"totalMs\":");
  append_number(out, (long long)((now - t->accepted) / 1000000));
  append_text(out, ",\"queueMs\":");
  append_number(out, (long long)((t->started - t->accepted) / 1000000));
  append_text(out, ",\"connectMs\":");
  append_number(out, (long long)(connect / 1000));
  append_text(out, ",\"firstByteMs\":");
  append_number(out, (long long)(first_byte / 1000));
  append_text(out, "}}}\n");
  mark_dirty(t->connection);
}

static void finish(struct transfer *t, CURLcode code, uint64_t now) {
  struct connection *c = t->connection;
  check(curl_multi_remove_handle(multi, t->easy));
  running_transfers--;
  c->under_way--;
  if (c->closed)
    close_connection(c);
  else if (code == CURLE_OK)
    write_result(t, now);
  else
    write_error(c, &t->id, 1009, "server_unreachable", curl_easy_strerror(code));
  release_transfer(t);
}

static void finish_transfers(void) {
  int left;
  uint64_t now = 0;
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
    if (message->msg != CURLMSG_DONE) continue;
    if (now == 0) now = now_ns();
    struct transfer *t;
    CURLcode code = message->data.result;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
    finish(t, code, now);
  }
  start_waiting();
}

static int on_timer(CURLM *unused, long milliseconds, void *also_unused) {
  (void)unused, (void)also_unused;
  timer = milliseconds < 0 ? UINT64_MAX : milliseconds == 0 ? 0 : now_ns() + (uint64_t)milliseconds * 1000000;
  return 0;
}

static struct upstream *upstream_of(int fd) {
  if ((size_t)fd >= upstream_count) {
    size_t count = (size_t)fd * 2 + 64;
    upstreams = realloc(upstreams, count * sizeof(*upstreams));
    if (upstreams == NULL) die("out of memory");
    memset(upstreams + upstream_count, 0, (count - upstream_count) * sizeof(*upstreams));
    upstream_count = count;
  }
  if (upstreams[fd] == NULL) {
    upstreams[fd] = checked_calloc(1, sizeof(**upstreams));
    upstreams[fd]->source = (struct source){.kind = UPSTREAM, .fd = fd};
  }
  return upstreams[fd];
}

// A connection without a transfer stays registered: most go to the next transfer before anything happens on them.
static int on_socket(CURL *unused, curl_socket_t fd, int what, void *also_unused, void *neither) {
  (void)unused, (void)also_unused, (void)neither;
  struct upstream *u = upstream_of(fd);
  u->wanted = what == CURL_POLL_REMOVE ? 0 : what;
  uint32_t events = (what & CURL_POLL_IN && what != CURL_POLL_REMOVE ? EPOLLIN : 0u) |
                    (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE ? EPOLLOUT : 0u);
  if (events == 0 || events == u->watched) return 0;
  control(u->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, &u->source, events);
  u->watched = events;
  return 0;
}

static void serve_upstream(struct upstream *u, uint32_t events) {
  if (u->watched == 0) return; // closed earlier in this pass
  if (u->wanted == 0) {        // the upstream ends an idle connection; libcurl notices when it looks for one
    control(EPOLL_CTL_DEL, &u->source, 0);
    u->watched = 0;
    return;
  }
  int running, ready = (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                       (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
  check(curl_multi_socket_action(multi, u->source.fd, ready, &running));
}

// -- requests

static void set_url(struct transfer *t, const char *path, size_t length) {
  if (length > 0 && path[0] == '/') path++, length--;
  bool same_length = t->url.length == base_url.length + length + 1;
  if (same_length && memcmp(t->url.bytes + base_url.length, path, length) == 0) return;
  t->url.length = 0;
  buffer_append(&t->url, base_url.bytes, base_url.length);
  buffer_append(&t->url, path, length);
  append_byte(&t->url, '\0');
  curl_easy_setopt(t->easy, CURLOPT_URL, t->url.bytes);
}

static bool set_headers(struct transfer *t, json_t *headers) {
  const char *name;
  json_t *value;
  if (!json_is_object(headers)) return false;
  json_object_foreach(headers, name, value) {
    char *line;
    if (!json_is_string(value) || asprintf(&line, "%s: %s", name, json_string_value(value)) < 0) return false;
    t->request_fields = curl_slist_append(t->request_fields, line);
    free(line);
  }
  curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->request_fields);
  return true;
}

static bool set_method(struct transfer *t, json_t *value) {
  const char *method = json_string_value(value);
  if (method == NULL) return false;
  if (strcmp(method, "GET") == 0) return true;
  t->special = true;
  curl_easy_setopt(t->easy, strcmp(method, "HEAD") == 0 ? CURLOPT_NOBODY : CURLOPT_POST, 1L);
  return strcmp(method, "HEAD") == 0 || curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
}

static bool set_body(struct transfer *t, json_t *value) {
  if (!json_is_string(value)) return false;
  t->special = true;
  curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE, (long)json_string_length(value));
  curl_easy_setopt(t->easy, CURLOPT_COPYPOSTFIELDS, json_string_value(value));
  return true;
}

// False: a member that this server does not know, or not with this value.
static bool set_params(struct transfer *t, json_t *params) {
  const char *name;
  json_t *value, *path = NULL, *body = NULL, *method = NULL;
  json_object_foreach(params, name, value) {
    if (strcmp(name, "path") == 0) {
      path = value;
    } else if (strcmp(name, "method") == 0) {
      method = value;
    } else if (strcmp(name, "body") == 0) {
      body = value;
    } else if (strcmp(name, "headers") == 0) {
      t->special = true;
      if (!set_headers(t, value)) return false;
    } else if (strcmp(name, "resource") != 0) { // there is only one
      return false;
    }
  }
  if (path != NULL && !json_is_string(path)) return false;
  set_url(t, json_string_value(path), json_string_length(path));
  return (body == NULL || set_body(t, body)) && (method == NULL || set_method(t, method));
}

static void set_id(struct buffer *id, json_t *value) {
  id->length = 0;
  if (json_is_integer(value)) append_number(id, json_integer_value(value));
  if (json_is_string(value)) append_string(id, json_string_value(value), json_string_length(value));
}

static void take_request(struct connection *c, const char *line, size_t length) {
  json_error_t problem;
  json_t *request = json_loadb(line, length, 0, &problem);
  if (request == NULL) {
    write_error(c, NULL, -32700, "parse_error", problem.text);
    return;
  }
  const char *method = json_string_value(json_object_get(request, "method"));
  json_t *id = json_object_get(request, "id");
  struct transfer *t = take_transfer();
  t->connection = c;
  set_id(&t->id, id);
  if (method == NULL) {
    write_error(c, &t->id, -32600, "invalid_request", "not a JSON-RPC request");
  } else if (t->id.length == 0) {
    ; // a notification is never answered
  } else if (strcmp(method, "fetchResource") != 0) {
    write_error(c, &t->id, -32601, "method_not_found", "no such method");
  } else if (!set_params(t, json_object_get(request, "params"))) {
    t->special = true; // some may be set
    write_error(c, &t->id, -32602, "invalid_params", "only resource, path, method, headers and body");
  } else {
    start(t);
    t = NULL;
  }
  if (t != NULL) release_transfer(t);
  json_decref(request);
}

static void receive(struct connection *c) {
  buffer_reserve(&c->in, READ_CHUNK);
  ssize_t n = recv(c->source.fd, c->in.bytes + c->in.length, c->in.capacity - c->in.length, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) {
    close_connection(c);
    return;
  }
  if (n == 0) {
    c->half_closed = true;
    mark_dirty(c);
    return;
  }
  c->in.length += (size_t)n;
  size_t begin = 0;
  for (char *feed; (feed = memchr(c->in.bytes + c->scanned, '\n', c->in.length - c->scanned)) != NULL;) {
    size_t length = (size_t)(feed - c->in.bytes) - begin;
    if (length > 0) take_request(c, c->in.bytes + begin, length);
    begin = c->scanned = (size_t)(feed - c->in.bytes) + 1;
  }
  buffer_consume(&c->in, begin);
  c->scanned = c->in.length;
  if (c->in.length > MESSAGE_LIMIT) close_connection(c);
}

static void serve_peer(struct connection *c, uint32_t events) {
  if (events & EPOLLIN)
    receive(c);
  else if (events & EPOLLOUT)
    flush(c);
  else
    close_connection(c); // it has gone altogether
}

static void accept_connections(int listener) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    struct connection *c = checked_calloc(1, sizeof *c);
    c->source = (struct source){.kind = PEER, .fd = fd};
    c->watched = EPOLLIN;
    control(EPOLL_CTL_ADD, &c->source, EPOLLIN);
  }
}

// -- the loop

static int milliseconds_to_wait(void) {
  if (timer == UINT64_MAX) return -1;
  uint64_t now = now_ns();
  return now >= timer ? 0 : (int)((timer - now + 999999) / 1000000);
}

static void run(void) {
  struct epoll_event events[EVENTS];
  for (;;) {
    int running, count = epoll_wait(epoll, events, EVENTS, milliseconds_to_wait());
    if (count < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    awake = now_ns();
    for (int i = 0; i < count; i++) {
      struct source *source = events[i].data.ptr;
      switch (source->kind) {
        case LISTENER: accept_connections(source->fd); break;
        case PEER: serve_peer((struct connection *)source, events[i].events); break;
        case UPSTREAM: serve_upstream((struct upstream *)source, events[i].events); break;
      }
    }
    finish_transfers();
    // Requests are sent in the pass that read them: what was just added has a timer of 0.
    while (timer <= awake) {
      timer = UINT64_MAX;
      check(curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running));
      finish_transfers();
    }
    flush_dirty();
  }
}

static int listen_on_socket(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(socket_path) >= sizeof address.sun_path) die("the socket path is too long: %s", socket_path);
  strcpy(address.sun_path, socket_path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 512) != 0)
    die("%s: %s", socket_path, strerror(errno));
  return fd;
}

static const char usage[] = "usage: sidecar --base-url URL --socket PATH [--transfers N] | --version\n"
                            "URL ends in a slash; a request's `path` is appended to it. At most N at once (64).";

int main(int argc, char **argv) {
  static const struct option options[] = {{"base-url", required_argument, NULL, 'b'},
                                          {"socket", required_argument, NULL, 's'},
                                          {"transfers", required_argument, NULL, 't'},
                                          {"version", no_argument, NULL, 'V'},
                                          {0}};
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
      case 'b': append_text(&base_url, optarg); break;
      case 's': socket_path = optarg; break;
      case 't': most_transfers = (unsigned)parse_whole("--transfers", optarg, 1, 10000); break;
      case 'V': printf("jansson %s, %s\n", jansson_version_str(), curl_version()); return 0;
      default: die("%s", usage);
    }
  if (socket_path == NULL || base_url.length == 0 || optind != argc) die("%s", usage);

  struct sigaction action = {.sa_handler = on_termination};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  if ((multi = curl_multi_init()) == NULL) die("out of memory");
  check(curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket));
  check(curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer));
  check(curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING));
  check(curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)most_transfers)); // kept between transfers
  if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1: %s", strerror(errno));
  struct source listener = {.kind = LISTENER, .fd = listen_on_socket()};
  control(EPOLL_CTL_ADD, &listener, EPOLLIN);
  run();
}
