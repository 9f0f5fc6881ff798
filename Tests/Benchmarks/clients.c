// A load client of callers that wait for each answer: N clients with one request in flight each, over a connection for
// each request (as oidc-agent has it) or over one that is kept. One thread, epoll. Prints one line of JSON.
//
// The request is sent as the file has it; an answer is one JSON object and counts only when it holds the expected text.
// Latency runs from before socket() or, on a kept connection, send() to behind the recv() that completes the answer.

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"
#include "framer.h"
#include "histogram.h"

enum { READ_CHUNK = 16 * 1024, ANSWER_LIMIT = 16 * 1024 * 1024, EVENTS = 256 };

static struct {
  const char *socket_path, *request_path, *expected;
  unsigned clients;
  double seconds, warm_up, stall;
  bool keep;
} option = {.clients = 1, .seconds = 3, .warm_up = 0.5, .stall = 10};

struct client {
  int fd; // -1: not connected
  struct buffer in;
  struct framer framer;
  uint64_t started;
};

static struct {
  uint64_t total, bytes, unexpected;
  char sample[512]; // the first bad answer
} count;

static struct buffer request;
static struct histogram latency;
static uint64_t measure_from, measure_until;
static unsigned in_flight;
static int epoll;

static void read_request(void) {
  FILE *file = fopen(option.request_path, "r");
  if (file == NULL) die("%s: %s", option.request_path, strerror(errno));
  for (size_t n = 1; n > 0; request.length += n) {
    buffer_reserve(&request, READ_CHUNK);
    n = fread(request.bytes + request.length, 1, request.capacity - request.length, file);
  }
  if (ferror(file) || request.length == 0) die("%s: cannot be read, or is empty", option.request_path);
  fclose(file);
}

static void open_connection(struct client *c) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, option.socket_path);
  c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // Blocking: a full backlog makes connect() wait, as it does for any caller.
  if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
    die("%s: %s", option.socket_path, strerror(errno));
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
}

static void ask(struct client *c) {
  c->started = now_ns();
  c->framer = (struct framer){0};
  if (c->fd < 0) open_connection(c);
  // A request is smaller than the socket's buffer and the only one in flight: it goes out whole.
  ssize_t n = send(c->fd, request.bytes, request.length, MSG_NOSIGNAL);
  if (n != (ssize_t)request.length) die("send: %s", n < 0 ? strerror(errno) : "cut short");
  in_flight++;
}

static void check_answer(const char *text, size_t length) {
  count.total++;
  if (memmem(text, length, option.expected, strlen(option.expected)) != NULL) return;
  if (count.unexpected++ == 0)
    snprintf(count.sample, sizeof count.sample, "%.*s", (int)(length < 500 ? length : 500), text);
}

static void finish(struct client *c) {
  uint64_t now = now_ns();
  in_flight--;
  if (now >= measure_from && now < measure_until) histogram_record(&latency, now - c->started);
  check_answer(c->in.bytes + c->framer.start, c->framer.offset - c->framer.start);
  if (option.keep) {
    buffer_consume(&c->in, c->framer.offset);
  } else {
    close(c->fd);
    c->fd = -1;
    c->in.length = 0;
  }
  if (now < measure_until) ask(c);
}

static void receive(struct client *c) {
  buffer_reserve(&c->in, READ_CHUNK);
  ssize_t n = recv(c->fd, c->in.bytes + c->in.length, c->in.capacity - c->in.length, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) die("recv: %s", strerror(errno));
  if (n == 0) die("the server closed the connection instead of answering");
  c->in.length += (size_t)n;
  count.bytes += (uint64_t)n;
  switch (framer_next(&c->framer, c->in.bytes, c->in.length)) {
    case FRAMER_TEXT: finish(c); break;
    case FRAMER_NOT_JSON: die("no JSON: %.*s", (int)(c->in.length < 200 ? c->in.length : 200), c->in.bytes);
    case FRAMER_NEEDS_MORE:
      if (c->in.length > ANSWER_LIMIT) die("an answer without end");
  }
}

static void run(void) {
  struct epoll_event events[EVENTS];
  while (in_flight > 0) {
    int ready = epoll_wait(epoll, events, EVENTS, (int)(option.stall * 1e3) + 1);
    if (ready < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    if (ready == 0) die("no answer for %g s, %u requests in flight", option.stall, in_flight);
    for (int i = 0; i < ready; i++) receive(events[i].data.ptr);
  }
}

static void report(void) {
  json_t *line = json_pack(
      "{s:i, s:b, s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f}, s:{s:I}, s:I, s:f}", "clients", (int)option.clients,
      "keep", (int)option.keep, "requests", (json_int_t)latency.total, "totalRequests", (json_int_t)count.total,
      "seconds", option.seconds, "requestsPerSecond", (double)latency.total / option.seconds, "latencyUs", "p50",
      histogram_quantile_us(&latency, 0.5), "p90", histogram_quantile_us(&latency, 0.9), "p99",
      histogram_quantile_us(&latency, 0.99), "max", (double)latency.max / 1e3, "errors", "unexpected",
      (json_int_t)count.unexpected, "bytesReceived", (json_int_t)count.bytes, "cpuSeconds", cpu_seconds());
  if (line == NULL) die("out of memory");
  if (count.sample[0] != '\0') json_object_set_new(line, "firstBadAnswer", json_string(count.sample));
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(line);
}

static const char usage[] =
    "usage: clients --socket PATH --request FILE --expect TEXT [--clients N] [--keep] [--seconds S] [--warm-up S]\n"
    "               [--stall S]\n"
    "FILE is sent as it is; each answer is one JSON object and must hold TEXT. --keep: one connection for each client\n"
    "instead of one for each request.";

static void read_options(int argc, char **argv) {
  static const struct option names[] = {
      {"socket", required_argument, NULL, 's'},  {"clients", required_argument, NULL, 'c'},
      {"seconds", required_argument, NULL, 'd'}, {"warm-up", required_argument, NULL, 'w'},
      {"request", required_argument, NULL, 'r'}, {"stall", required_argument, NULL, 'S'},
      {"expect", required_argument, NULL, 'e'},  {"keep", no_argument, NULL, 'k'},
      {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 's': option.socket_path = optarg; break;
      case 'c': option.clients = (unsigned)parse_whole("--clients", optarg, 1, 1000); break;
      case 'd': option.seconds = parse_seconds("--seconds", optarg); break;
      case 'w': option.warm_up = parse_seconds("--warm-up", optarg); break;
      case 'r': option.request_path = optarg; break;
      case 'e': option.expected = optarg; break;
      case 'S': option.stall = parse_seconds("--stall", optarg); break;
      case 'k': option.keep = true; break;
      default: die("%s", usage);
    }
  bool complete = option.socket_path != NULL && option.request_path != NULL && option.expected != NULL;
  if (!complete || optind != argc || option.seconds == 0) die("%s", usage);
  if (strlen(option.socket_path) >= sizeof((struct sockaddr_un *)NULL)->sun_path) die("the socket path is too long");
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  read_request();
  measure_from = now_ns() + (uint64_t)(option.warm_up * 1e9);
  measure_until = measure_from + (uint64_t)(option.seconds * 1e9);
  if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1: %s", strerror(errno));
  struct client *clients = checked_calloc(option.clients, sizeof *clients);
  for (unsigned i = 0; i < option.clients; i++) clients[i].fd = -1;
  for (unsigned i = 0; i < option.clients; i++) ask(&clients[i]);
  run();
  report();
  for (unsigned i = 0; i < option.clients; i++) free(clients[i].in.bytes);
  free(clients);
  return 0;
}
