// The upstream of the fetch benchmark: an HTTP/1.1 server on 127.0.0.1 that is never the slow part. One thread, epoll,
// keep-alive, pipelining; every answer but /stats is made once at start.
//
//   GET  /open/1k  /open/1m            a JSON body of 1,024 or 1,048,576 bytes
//   GET  /resource/1k  /resource/1m    the same; with --require-bearer only for the token that /token gave
//   POST /token                        client credentials, refresh_token, token exchange; the client by Basic or form
//   GET  /.well-known/openid-configuration  /.well-known/oauth-authorization-server
//   GET  /jwks                         the key set of --jwks
//   POST /access/v1/evaluations        AuthZEN: a permit for each resource of the body, 1000 at most
//   /adobe/…                           Adobe Pass, as far as a login and `pass.authorize` need it: registration, token,
//                                      the profile of any device, and a permit with a media token for "news"
//   GET  /stats                        {requests, tokenRequests, unauthorized, connections, evaluations}

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum { MOST_RESOURCES = 1000, READ_CHUNK = 64 * 1024, HEAD_LIMIT = 16 * 1024, BODY_LIMIT = 1024 * 1024, EVENTS = 256, QUEUE = 64 };

// One answer as it goes out: `bytes` up to `head` without the body.
struct answer {
  char *bytes;
  size_t head, length;
};

struct connection {
  int fd;
  struct buffer in;
  struct iovec queue[QUEUE]; // answers not yet written, in the order of their requests
  unsigned queued;
  char *owned; // the one answer in the queue that was made for this connection
  bool closing, watching_output;
  bool sent_continue; // for the request under way
};

struct request {
  const char *method, *path, *authorization, *body;
  size_t method_length, path_length, authorization_length, body_length;
  bool close, expects_continue;
};

static struct {
  struct answer small, large, discovery, token, exchanged, keys, unauthorized, invalid_client, bad_grant, not_found, bad_request,
      not_allowed, accepted, client, profile, permit;
} answers;

static char bearer[96]; // "Bearer " and the token
static bool require_bearer;
static const char *keys_path; // what /jwks answers; NULL: a set of its own
static uint64_t requests, token_requests, unauthorized_requests, connections_accepted, evaluations;
static struct answer permits[MOST_RESOURCES + 1]; // by the number of resources, made when first needed
static int epoll, listener;

static struct answer make_answer(const char *status, const char *extra, const char *body, size_t length) {
  struct answer answer;
  char *head;
  int n = asprintf(
      &head,
      "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n%s\r\n",
      status, length, extra);
  if (n < 0) die("out of memory");
  answer.head = (size_t)n;
  answer.length = answer.head + length;
  answer.bytes = checked_calloc(1, answer.length + 1);
  memcpy(answer.bytes, head, answer.head);
  memcpy(answer.bytes + answer.head, body, length);
  free(head);
  return answer;
}

static struct answer make_error(const char *status, const char *extra, const char *error) {
  char body[128];
  int n = snprintf(body, sizeof body, "{\"error\":\"%s\"}", error);
  return make_answer(status, extra, body, (size_t)n);
}

// An array of records, padded with blanks to exactly `size` bytes.
static struct answer make_document(size_t size) {
  char *body = checked_calloc(1, size + 256);
  size_t length = (size_t)sprintf(body, "[");
  for (unsigned i = 0; length + 160 < size; i++)
    length += (size_t)sprintf(body + length,
                              "%s{\"id\":%u,\"name\":\"order %u\",\"amount\":%u.%02u,\"currency\":\"EUR\",\"open\":%s}",
                              i ? "," : "", 100000 + i, i, i % 997, i % 100, i % 3 ? "true" : "false");
  memset(body + length, ' ', size - length);
  body[size - 1] = ']';
  struct answer answer = make_answer("200 OK", "", body, size);
  free(body);
  return answer;
}

// Adobe Pass: everything lasts for a day from the start on.
static void make_adobe_answers(void) {
  unsigned long long now = (unsigned long long)time(NULL) * 1000, end = now + 86400000;
  char body[768];
  int n = snprintf(body, sizeof body,
                   "{\"client_id\":\"bench\",\"client_secret\":\"bench-secret\",\"grant_types\":[\"client_credentials\"],"
                   "\"scopes\":[\"api:client:v2\"]}");
  answers.client = make_answer("201 Created", "", body, (size_t)n);
  n = snprintf(body, sizeof body,
               "{\"profiles\":{\"Cablevision\":{\"notBefore\":%llu,\"notAfter\":%llu,\"issuer\":\"Cablevision\","
               "\"type\":\"regular\",\"attributes\":{\"userID\":{\"value\":\"alice\",\"state\":\"plain\"}}}}}",
               now, end);
  answers.profile = make_answer("200 OK", "", body, (size_t)n);
  n = snprintf(body, sizeof body,
               "{\"decisions\":[{\"resource\":\"news\",\"serviceProvider\":\"REF30\",\"mvpd\":\"Cablevision\","
               "\"authorized\":true,\"source\":\"mvpd\",\"notBefore\":%llu,\"notAfter\":%llu,\"token\":{\"notBefore\":%llu,"
               "\"notAfter\":%llu,\"serializedToken\":\"PG1lZGlhPm5ld3MgMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY8L21lZGlhPg==\"}}]}",
               now, end, now, end);
  answers.permit = make_answer("200 OK", "", body, (size_t)n);
}

static void make_answers(const char *base) {
  unsigned char random[24];
  if (getrandom(random, sizeof random, 0) != sizeof random) die("getrandom: %s", strerror(errno));
  strcpy(bearer, "Bearer ");
  for (size_t i = 0; i < sizeof random; i++) sprintf(bearer + 7 + 2 * i, "%02x", random[i]);

  char *text;
  int n = asprintf(&text,
                   "{\"issuer\":\"%s\",\"token_endpoint\":\"%s/token\",\"jwks_uri\":\"%s/jwks\","
                   "\"authorization_endpoint\":\"%s/authorize\",\"response_types_supported\":[\"code\"],"
                   "\"scopes_supported\":[\"openid\",\"bench\"],"
                   "\"grant_types_supported\":[\"client_credentials\",\"refresh_token\","
                   "\"urn:ietf:params:oauth:grant-type:token-exchange\"],"
                   "\"subject_types_supported\":[\"public\"],"
                   "\"id_token_signing_alg_values_supported\":[\"ES256\"],"
                   "\"token_endpoint_auth_methods_supported\":[\"client_secret_basic\",\"client_secret_post\"]}",
                   base, base, base, base);
  if (n < 0) die("out of memory");
  answers.discovery = make_answer("200 OK", "", text, (size_t)n);
  free(text);
  n = asprintf(&text, "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":3600}", bearer + 7);
  if (n < 0) die("out of memory");
  answers.token = make_answer("200 OK", "", text, (size_t)n);
  free(text);
  n = asprintf(&text,
               "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":3600,"
               "\"issued_token_type\":\"urn:ietf:params:oauth:token-type:access_token\"}",
               bearer + 7);
  if (n < 0) die("out of memory");
  answers.exchanged = make_answer("200 OK", "", text, (size_t)n);
  free(text);
  // The public key of RFC 7517, appendix A.1: where nothing is signed, a key set still is not empty.
  static const char own_keys[] =
      "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"1\",\"use\":\"sig\",\"alg\":\"ES256\","
      "\"x\":\"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4\","
      "\"y\":\"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM\"}]}";
  struct buffer keys = {0};
  if (keys_path == NULL) buffer_append(&keys, own_keys, sizeof own_keys - 1);
  if (keys_path != NULL) read_file(keys_path, &keys);
  answers.keys = make_answer("200 OK", "", keys.bytes, keys.length);
  free(keys.bytes);
  answers.small = make_document(1024);
  answers.large = make_document(1024 * 1024);
  answers.unauthorized = make_error(
      "401 Unauthorized", "WWW-Authenticate: Bearer realm=\"bench\", error=\"invalid_token\"\r\n", "invalid_token");
  answers.invalid_client =
      make_error("401 Unauthorized", "WWW-Authenticate: Basic realm=\"bench\"\r\n", "invalid_client");
  answers.bad_grant = make_error("400 Bad Request", "", "unsupported_grant_type");
  answers.not_found = make_error("404 Not Found", "", "not_found");
  answers.not_allowed = make_error("405 Method Not Allowed", "Allow: GET, HEAD, POST\r\n", "method_not_allowed");
  answers.bad_request = make_error("400 Bad Request", "Connection: close\r\n", "bad_request");
  answers.accepted = (struct answer){strdup("HTTP/1.1 100 Continue\r\n\r\n"), 25, 25};
  make_adobe_answers();
}

static bool is(const char *text, size_t length, const char *word) {
  return length == strlen(word) && memcmp(text, word, length) == 0;
}

static bool is_name(const char *text, size_t length, const char *name) {
  return length == strlen(name) && strncasecmp(text, name, length) == 0;
}

static bool body_has(const struct request *r, const char *word) {
  return memmem(r->body, r->body_length, word, strlen(word)) != NULL;
}

static const struct answer *answer_token_request(const struct request *r) {
  token_requests++;
  bool basic = r->authorization_length > 6 && strncasecmp(r->authorization, "Basic ", 6) == 0;
  if (!basic && !body_has(r, "client_secret=")) return &answers.invalid_client;
  if (body_has(r, "grant-type%3Atoken-exchange")) return &answers.exchanged;
  bool known = body_has(r, "grant_type=client_credentials") || body_has(r, "grant_type=refresh_token");
  return known ? &answers.token : &answers.bad_grant;
}

// Counts the resources without reading the JSON: the decision point of a benchmark is never the slow part.
static const struct answer *answer_evaluations(const struct request *r) {
  static const char mark[] = "{\"resource\":", one[] = "{\"decision\":true},";
  const char *end = r->body + r->body_length;
  size_t count = 0;
  for (const char *p = r->body; (p = memmem(p, (size_t)(end - p), mark, sizeof mark - 1)) != NULL; count++)
    p += sizeof mark - 1;
  if (count == 0 || count > MOST_RESOURCES) return &answers.bad_request;
  evaluations++;
  if (permits[count].bytes == NULL) {
    struct buffer body = {0};
    buffer_append(&body, "{\"evaluations\":[", 16);
    for (size_t i = 0; i < count; i++) buffer_append(&body, one, sizeof one - 1);
    body.length--; // the last comma
    buffer_append(&body, "]}", 2);
    permits[count] = make_answer("200 OK", "", body.bytes, body.length);
    free(body.bytes);
  }
  return &permits[count];
}

static const struct answer *answer_statistics(struct connection *c) {
  static struct answer answer;
  char body[256];
  int n = snprintf(body, sizeof body,
                   "{\"requests\":%llu,\"tokenRequests\":%llu,\"unauthorized\":%llu,\"connections\":%llu,"
                   "\"evaluations\":%llu}",
                   (unsigned long long)requests, (unsigned long long)token_requests,
                   (unsigned long long)unauthorized_requests, (unsigned long long)connections_accepted,
                   (unsigned long long)evaluations);
  answer = make_answer("200 OK", "", body, (size_t)n);
  c->owned = answer.bytes;
  return &answer;
}

// `path` is what comes after "/adobe".
static const struct answer *answer_adobe(const struct request *r, bool post, const char *path, size_t length) {
  if (is(path, length, "/o/client/register")) return post ? &answers.client : &answers.not_allowed;
  if (is(path, length, "/o/client/token")) return post ? answer_token_request(r) : &answers.not_allowed;
  if (!is(r->authorization, r->authorization_length, bearer)) {
    unauthorized_requests++;
    return &answers.unauthorized;
  }
  if (memmem(path, length, "/profiles/", 10) != NULL) return post ? &answers.not_allowed : &answers.profile;
  if (memmem(path, length, "/decisions/authorize/", 21) == NULL) return &answers.not_found;
  if (!post) return &answers.not_allowed;
  return body_has(r, "[\"news\"]") ? &answers.permit : &answers.bad_request;
}

static const struct answer *choose_answer(struct connection *c, const struct request *r) {
  const char *path = r->path;
  size_t length = r->path_length;
  bool post = is(r->method, r->method_length, "POST");
  if (length > 7 && memcmp(path, "/adobe/", 7) == 0) return answer_adobe(r, post, path + 6, length - 6);
  if (is(path, length, "/access/v1/evaluations")) return post ? answer_evaluations(r) : &answers.not_allowed;
  if (is(path, length, "/token")) return post ? answer_token_request(r) : &answers.not_allowed;
  if (!post && !is(r->method, r->method_length, "GET") && !is(r->method, r->method_length, "HEAD"))
    return &answers.not_allowed;
  if (length > 10 && memcmp(path, "/resource/", 10) == 0) {
    if (require_bearer && !is(r->authorization, r->authorization_length, bearer)) {
      unauthorized_requests++;
      return &answers.unauthorized;
    }
    path += 10, length -= 10;
  } else if (length > 6 && memcmp(path, "/open/", 6) == 0) {
    path += 6, length -= 6;
  } else {
    if (is(path, length, "/.well-known/openid-configuration")) return &answers.discovery;
    if (is(path, length, "/.well-known/oauth-authorization-server")) return &answers.discovery;
    if (is(path, length, "/jwks")) return &answers.keys;
    if (is(path, length, "/stats")) return answer_statistics(c);
    return &answers.not_found;
  }
  if (is(path, length, "1k")) return &answers.small;
  if (is(path, length, "1m")) return &answers.large;
  return &answers.not_found;
}

// Reads a request line and its fields; false: not HTTP/1.x as this server speaks it.
static bool parse_head(const char *p, const char *end, struct request *r) {
  const char *line_end = memmem(p, (size_t)(end - p), "\r\n", 2);
  const char *space = memchr(p, ' ', (size_t)(line_end - p));
  if (space == NULL || line_end - p < 14 || memcmp(line_end - 9, " HTTP/1.", 8) != 0) return false;
  r->method = p;
  r->method_length = (size_t)(space - p);
  r->path = space + 1;
  if (r->path > line_end - 9) return false;
  r->path_length = (size_t)(line_end - 9 - r->path);
  const char *query = memchr(r->path, '?', r->path_length);
  if (query != NULL) r->path_length = (size_t)(query - r->path);
  r->close = line_end[-1] == '0';
  for (p = line_end + 2; p < end; p = line_end + 2) {
    line_end = memmem(p, (size_t)(end - p), "\r\n", 2);
    const char *colon = memchr(p, ':', (size_t)(line_end - p));
    if (colon == NULL) return false;
    const char *value = colon + 1, *value_end = line_end;
    while (value < value_end && (*value == ' ' || *value == '\t')) value++;
    while (value_end > value && (value_end[-1] == ' ' || value_end[-1] == '\t')) value_end--;
    size_t name_length = (size_t)(colon - p), value_length = (size_t)(value_end - value);
    if (is_name(p, name_length, "content-length")) {
      if (value_length == 0 || value_length > 7) return false;
      r->body_length = 0;
      for (const char *digit = value; digit < value_end; digit++) {
        if (*digit < '0' || *digit > '9') return false;
        r->body_length = r->body_length * 10 + (size_t)(*digit - '0');
      }
    } else if (is_name(p, name_length, "authorization")) {
      r->authorization = value;
      r->authorization_length = value_length;
    } else if (is_name(p, name_length, "connection")) {
      if (is_name(value, value_length, "close")) r->close = true;
    } else if (is_name(p, name_length, "expect")) {
      r->expects_continue = is_name(value, value_length, "100-continue");
    } else if (is_name(p, name_length, "transfer-encoding")) {
      return false;
    }
  }
  return r->body_length <= BODY_LIMIT;
}

static void enqueue(struct connection *c, const struct answer *answer, bool head_only) {
  c->queue[c->queued++] = (struct iovec){answer->bytes, head_only ? answer->head : answer->length};
}

// Answers the complete requests in the input, as long as the queue is not full.
static void answer_requests(struct connection *c) {
  size_t done = 0;
  while (!c->closing && c->owned == NULL && c->queued + 2 <= QUEUE) {
    const char *text = c->in.bytes + done;
    size_t available = c->in.length - done;
    const char *blank = available < 4 ? NULL : memmem(text, available, "\r\n\r\n", 4);
    struct request r = {0};
    if (blank == NULL && available <= HEAD_LIMIT) break;
    if (blank == NULL || !parse_head(text, blank + 2, &r)) {
      enqueue(c, &answers.bad_request, false);
      c->closing = true;
      break;
    }
    r.body = blank + 4;
    size_t head_length = (size_t)(r.body - text);
    if (available - head_length < r.body_length) {
      if (r.expects_continue && !c->sent_continue) enqueue(c, &answers.accepted, false);
      c->sent_continue = r.expects_continue;
      break;
    }
    c->sent_continue = false;
    requests++;
    enqueue(c, choose_answer(c, &r), is(r.method, r.method_length, "HEAD"));
    c->closing = r.close;
    done += head_length + r.body_length;
  }
  buffer_consume(&c->in, done);
}

static void watch(struct connection *c, bool output) {
  if (c->watching_output == output) return;
  c->watching_output = output;
  struct epoll_event event = {.events = output ? EPOLLOUT : EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
}

// Writes what is queued. False: the connection is over.
static bool flush(struct connection *c) {
  while (c->queued > 0) {
    struct msghdr message = {.msg_iov = c->queue, .msg_iovlen = c->queued};
    ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      watch(c, true);
      return true;
    }
    if (n < 0) return false;
    unsigned whole = 0;
    size_t rest = (size_t)n;
    while (whole < c->queued && rest >= c->queue[whole].iov_len) rest -= c->queue[whole++].iov_len;
    c->queued -= whole;
    memmove(c->queue, c->queue + whole, c->queued * sizeof *c->queue);
    if (c->queued == 0) break;
    c->queue[0].iov_base = (char *)c->queue[0].iov_base + rest;
    c->queue[0].iov_len -= rest;
  }
  free(c->owned);
  c->owned = NULL;
  watch(c, false);
  return !c->closing;
}

// Answers and writes alternately until one of them has to wait.
static bool serve(struct connection *c) {
  for (;;) {
    if (!flush(c)) return false;
    if (c->watching_output) return true;
    answer_requests(c);
    if (c->queued == 0) return true;
  }
}

static bool receive(struct connection *c) {
  buffer_reserve(&c->in, READ_CHUNK);
  ssize_t n = recv(c->fd, c->in.bytes + c->in.length, c->in.capacity - c->in.length, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  c->in.length += (size_t)n;
  return serve(c);
}

static void close_connection(struct connection *c) {
  close(c->fd);
  free(c->in.bytes);
  free(c->owned);
  free(c);
}

static void accept_connections(void) {
  int fd, on = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *c = checked_calloc(1, sizeof *c);
    c->fd = fd;
    connections_accepted++;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
  }
}

static unsigned listen_on_loopback(unsigned port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int on = 1;
  listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 512) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0)
    die("127.0.0.1:%u: %s", port, strerror(errno));
  return ntohs(address.sin_port);
}

int main(int argc, char **argv) {
  static const struct option options[] = {{"port", required_argument, NULL, 'p'},
                                          {"base-url", required_argument, NULL, 'b'},
                                          {"require-bearer", no_argument, NULL, 'r'},
                                          {"jwks", required_argument, NULL, 'j'},
                                          {0}};
  unsigned port = 0;
  const char *given_base = NULL;
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
      case 'p': port = (unsigned)parse_whole("--port", optarg, 0, 65535); break;
      case 'b': given_base = optarg; break;
      case 'r': require_bearer = true; break;
      case 'j': keys_path = optarg; break;
      default: die("usage: upstream [--port N] [--base-url URL] [--require-bearer] [--jwks FILE]");
    }
  if (optind != argc) die("usage: upstream [--port N] [--base-url URL] [--require-bearer] [--jwks FILE]");

  port = listen_on_loopback(port);
  char base[64];
  snprintf(base, sizeof base, "http://127.0.0.1:%u", port);
  make_answers(given_base ? given_base : base);
  if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1: %s", strerror(errno));
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) die("epoll_ctl: %s", strerror(errno));
  // Connections are accepted from here on: the line reports that.
  printf("%s\n", base);
  fflush(stdout);

  struct epoll_event events[EVENTS];
  for (;;) {
    int count = epoll_wait(epoll, events, EVENTS, -1);
    if (count < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
      struct connection *c = events[i].data.ptr;
      if (c == NULL) {
        accept_connections();
        continue;
      }
      bool alive = events[i].events & EPOLLOUT ? serve(c) : receive(c);
      if (!alive) close_connection(c);
    }
  }
}
