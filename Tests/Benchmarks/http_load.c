// A closed-loop load client for HTTP/1.1 servers on loopback or on a Unix socket: N connections with one request in
// flight each; every response releases the next request. One thread, epoll, no library: it must cost less than the
// servers it measures. Prints one line of JSON.
//
// A response counts only when it has the expected status, the length it states itself, and that of --expect-bytes. A
// connection that the server closes, as announced, behind a response is replaced; "connections" counts them all.

#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <sys/epoll.h>

#include "histogram.h"
#include "http_client.h"

enum { READ_CHUNK = 64 * 1024, EVENTS = 256, MOST_FIELDS = 16 };
static const uint64_t PATIENCE_NS = 5000000000; // with the first answers

struct connection {
  int fd;
  bool in_flight;
  struct buffer in, out;
  size_t written;
  uint64_t started;
  struct response response; // the one under way
};

static struct {
  const char *unix_path, *target, *host, *fields[MOST_FIELDS], *fields_path;
  unsigned port, connections, status, field_count;
  double seconds, warm_up, stall;
  uint64_t requests, expected_bytes, first;
} option = {.target = "/", .host = "localhost", .connections = 1, .status = 200, .seconds = 3, .warm_up = 0.5, .stall = 10};

static struct histogram latency;
static uint64_t answered, total, issued, failed, opened, in_flight;
static char sample[512]; // the first failure
static struct buffer head, *varied; // the request without what differs; fields that alternate
static size_t varied_count, next_varied;
static struct connection *connections;
static bool issuing = true;
static int epoll;

static void read_varied(const char *path) {
  struct buffer text = {0};
  read_file(path, &text);
  buffer_append(&text, "", 1);
  size_t capacity = 0;
  char *rest = text.bytes;
  for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
    if (*line == '\0') continue;
    if (varied_count == capacity) varied = realloc(varied, (capacity = capacity ? capacity * 2 : 1024) * sizeof *varied);
    if (varied == NULL) die("out of memory");
    struct buffer *field = &varied[varied_count++];
    *field = (struct buffer){0};
    buffer_append(field, line, strlen(line));
    buffer_append(field, "\r\n\r\n", 4);
  }
  if (varied_count == 0) die("%s: no fields", path);
  next_varied = option.first % varied_count;
  free(text.bytes);
}

static void append_text(struct buffer *b, const char *text) { buffer_append(b, text, strlen(text)); }

static void make_request(void) {
  append_text(&head, "GET ");
  append_text(&head, option.target);
  append_text(&head, " HTTP/1.1\r\nHost: ");
  append_text(&head, option.host);
  append_text(&head, "\r\nUser-Agent: http_load\r\nAccept: */*\r\n");
  for (unsigned i = 0; i < option.field_count; i++) {
    append_text(&head, option.fields[i]);
    append_text(&head, "\r\n");
  }
  if (option.fields_path != NULL)
    read_varied(option.fields_path);
  else
    append_text(&head, "\r\n");
}

static void keep_sample(const char *what, const struct connection *c) {
  if (sample[0] != '\0') return;
  size_t length = c->in.length < 300 ? c->in.length : 300;
  snprintf(sample, sizeof sample, "%s; status %d, %llu bytes: %.*s", what, c->response.status, (unsigned long long)c->response.body,
           (int)length, length > 0 ? c->in.bytes : "");
}

static void open_connection(struct connection *c) {
  c->fd = connect_to(option.unix_path, option.port);
  if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0) die("fcntl: %s", strerror(errno));
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
  c->in.length = 0;
  opened++;
}

static void flush(struct connection *c) {
  while (c->written < c->out.length) {
    ssize_t n = send(c->fd, c->out.bytes + c->written, c->out.length - c->written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    // One request fits into any socket's buffer.
    if (n < 0) die("send: %s", strerror(errno));
    c->written += (size_t)n;
  }
}

static void issue(struct connection *c) {
  if (c->fd < 0) open_connection(c);
  c->out.length = c->written = 0;
  buffer_append(&c->out, head.bytes, head.length);
  if (varied_count > 0) {
    buffer_append(&c->out, varied[next_varied].bytes, varied[next_varied].length);
    if (++next_varied == varied_count) next_varied = 0;
  }
  c->response = (struct response){.phase = HEAD};
  c->in_flight = true;
  in_flight++;
  issued++;
  c->started = now_ns();
  flush(c);
}

static void close_connection(struct connection *c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
}

// The request under way ends; NULL: with a whole response.
static void finish(struct connection *c, const char *problem) {
  histogram_record(&latency, now_ns() - c->started);
  c->in_flight = false;
  in_flight--;
  answered++;
  total++;
  if (problem == NULL && c->response.status != (int)option.status) problem = "another status";
  if (problem == NULL && option.expected_bytes > 0 && c->response.body != option.expected_bytes) problem = "another length";
  if (problem == NULL && c->in.length > 0) problem = "bytes behind the response";
  if (problem != NULL) {
    failed++;
    keep_sample(problem, c);
  }
  if (problem != NULL || c->response.closes) close_connection(c);
  if (issuing && (option.requests == 0 || issued < option.requests)) issue(c);
}

static void receive(struct connection *c) {
  buffer_reserve(&c->in, READ_CHUNK);
  ssize_t n = recv(c->fd, c->in.bytes + c->in.length, c->in.capacity - c->in.length, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    close_connection(c);
    if (c->in_flight) finish(c, n == 0 ? "the connection ended" : strerror(errno));
    return;
  }
  c->in.length += (size_t)n;
  if (!c->in_flight) die("%zd bytes that answer nothing", n);
  const char *problem = advance(&c->response, &c->in, NULL);
  if (problem != NULL || c->response.phase == DONE) finish(c, problem);
}

// Serves events until `deadline` (0: none) or until nothing is in flight any more.
static void run_until(uint64_t deadline) {
  struct epoll_event events[EVENTS];
  uint64_t stall = (uint64_t)(option.stall * 1e9), last_event = now_ns();
  while (in_flight > 0) {
    uint64_t now = now_ns();
    if (deadline != 0 && now >= deadline) return;
    uint64_t wait_ns = deadline != 0 && deadline - now < stall ? deadline - now : stall;
    int ready = epoll_wait(epoll, events, EVENTS, (int)(wait_ns / 1000000) + 1);
    if (ready < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    if (ready > 0)
      last_event = now_ns();
    else if (now_ns() - last_event > stall)
      die("no response for %g s, %llu requests in flight; first failure: %s", option.stall,
          (unsigned long long)in_flight, sample);
    for (int i = 0; i < ready; i++) receive(events[i].data.ptr);
  }
}

static const char usage[] =
    "usage: http_load --unix PATH | --port PORT [--target TARGET] [--host NAME] [--field FIELD]...\n"
    "                 [--fields-from FILE [--first N]] [--connections N] [--seconds S | --requests N] [--warm-up S]\n"
    "                 [--expect-status N] [--expect-bytes N] [--stall S]\n"
    "--fields-from: one field a line, one after the other from line N (0) on, and from the first again after the last.";

static void read_options(int argc, char **argv) {
  static const struct option names[] = {
      {"unix", required_argument, NULL, 'u'},          {"port", required_argument, NULL, 'p'},
      {"target", required_argument, NULL, 't'},        {"host", required_argument, NULL, 'h'},
      {"field", required_argument, NULL, 'f'},         {"fields-from", required_argument, NULL, 'F'},
      {"connections", required_argument, NULL, 'c'},   {"seconds", required_argument, NULL, 'd'},
      {"requests", required_argument, NULL, 'n'},      {"warm-up", required_argument, NULL, 'w'},
      {"expect-status", required_argument, NULL, 's'}, {"expect-bytes", required_argument, NULL, 'e'},
      {"stall", required_argument, NULL, 'S'},         {"first", required_argument, NULL, 'i'},
      {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 'u': option.unix_path = optarg; break;
      case 'p': option.port = (unsigned)parse_whole("--port", optarg, 1, 65535); break;
      case 't': option.target = optarg; break;
      case 'h': option.host = optarg; break;
      case 'f':
        if (option.field_count == MOST_FIELDS) die("--field: too many");
        option.fields[option.field_count++] = optarg;
        break;
      case 'F': option.fields_path = optarg; break;
      case 'c': option.connections = (unsigned)parse_whole("--connections", optarg, 1, 10000); break;
      case 'd': option.seconds = parse_seconds("--seconds", optarg); break;
      case 'n': option.requests = parse_whole("--requests", optarg, 1, 1000000000000); break;
      case 'w': option.warm_up = parse_seconds("--warm-up", optarg); break;
      case 's': option.status = (unsigned)parse_whole("--expect-status", optarg, 200, 599); break;
      case 'e': option.expected_bytes = parse_whole("--expect-bytes", optarg, 1, 1000000000); break;
      case 'i': option.first = parse_whole("--first", optarg, 0, 1000000000000); break;
      case 'S': option.stall = parse_seconds("--stall", optarg); break;
      default: die("%s", usage);
    }
  if ((option.unix_path == NULL) == (option.port == 0) || optind != argc) die("%s", usage);
}

static void report(uint64_t measured, double seconds, double cpu) {
  json_t *line = json_pack("{s:i, s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f}, s:I, s:I, s:f}", "inFlight",
                           (int)option.connections, "requests", (json_int_t)measured, "totalRequests",
                           (json_int_t)total, "seconds", seconds, "requestsPerSecond", (double)measured / seconds,
                           "latencyUs", "p50", histogram_quantile_us(&latency, 0.5), "p90",
                           histogram_quantile_us(&latency, 0.9), "p99", histogram_quantile_us(&latency, 0.99), "max",
                           (double)latency.max / 1e3, "failed", (json_int_t)failed, "connections", (json_int_t)opened,
                           "cpuSeconds", cpu);
  if (line == NULL) die("out of memory");
  // The text may end in the middle of a character.
  json_t *text = sample[0] != '\0' ? json_string(sample) : NULL;
  if (sample[0] != '\0') json_object_set_new(line, "firstFailure", text ? text : json_string("not UTF-8"));
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(line);
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  make_request();
  if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1: %s", strerror(errno));
  connections = checked_calloc(option.connections, sizeof *connections);
  for (unsigned i = 0; i < option.connections; i++) open_connection(&connections[i]);

  // A run that is bounded by a number of requests has no warm-up: each of them counts.
  uint64_t begin = now_ns();
  double cpu = cpu_seconds();
  for (unsigned i = 0; i < option.connections; i++)
    if (option.requests == 0 || issued < option.requests) issue(&connections[i]);
  if (option.requests == 0 && option.warm_up > 0) {
    run_until(begin + (uint64_t)(option.warm_up * 1e9));
    while (answered < option.connections && now_ns() < begin + PATIENCE_NS) run_until(now_ns() + 10000000);
    histogram_reset(&latency);
    answered = 0;
    begin = now_ns();
    cpu = cpu_seconds();
  }
  run_until(option.requests > 0 ? 0 : begin + (uint64_t)(option.seconds * 1e9));
  uint64_t measured = answered;
  double seconds = (double)(now_ns() - begin) / 1e9;
  cpu = cpu_seconds() - cpu;

  // What is still in flight is waited for: its latency counts, its number does not.
  issuing = false;
  run_until(0);
  report(measured, seconds, cpu);
  return 0;
}
