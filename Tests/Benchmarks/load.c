// A closed-loop load client for a JSON-RPC server on a Unix socket: C connections, each with D requests in flight;
// every answer releases the next request. One thread, epoll. Prints one line of JSON.
//
// An answer counts only when its id is that of a request in flight on the same connection. Every id is used once in a
// run, so an answer that is doubled, lost or given to another connection shows. Every 1024th answer is parsed whole by
// jansson. With --stream-bytes each answer is the end of a stream of chunks, which are counted.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "answer.h"
#include "chunk.h"
#include "common.h"
#include "histogram.h"

enum { READ_CHUNK = 256 * 1024, EVENTS = 256, FULL_PARSE_EVERY = 1024 };
static const uint64_t PATIENCE_NS = 5000000000; // with the first answers

struct slot {
  uint64_t id, started;
  bool in_flight;
};

struct connection {
  int fd;
  unsigned index;
  struct buffer in, out;
  size_t scanned, written;
  struct slot *slots;
  struct stream *streams; // those under way; as many as slots
  unsigned *fresh;        // slots whose requests are in `out` and are not stamped yet
  unsigned fresh_count;
  uint64_t sequence;
  bool watching_output;
};

static struct {
  const char *socket_path, *request_path, *requests_path, *expected;
  unsigned connections, pipeline;
  double seconds, warm_up, stall;
  uint64_t requests, stream_bytes; // stream_bytes 0: no answer is streamed
} option = {.connections = 1, .pipeline = 1, .seconds = 3, .warm_up = 0.5, .stall = 10};

static struct {
  uint64_t answered, errors, wrong_ids, malformed, unexpected, bytes, streamed;
  uint64_t total, chunks, wrong_chunks; // warm-up included
  char sample[512];                     // the first bad answer
} count;

static struct histogram latency;
static struct buffer request_head, *request_tails; // the text of a request before and after its id
static size_t tail_count, next_tail;               // tails are used in turn
static struct connection *connections;
static uint64_t in_flight, issued;
static bool issuing = true;
static int epoll;

// Takes over `request`, whose id and version are replaced.
static void add_request(json_t *request, const char *path) {
  json_object_del(request, "jsonrpc");
  json_object_del(request, "id");
  char *text = json_dumps(request, JSON_COMPACT);
  if (text == NULL || json_object_size(request) == 0) die("%s: no members but the id", path);
  struct buffer *tail = &request_tails[tail_count++];
  buffer_append(tail, ",", 1);
  buffer_append(tail, text + 1, strlen(text) - 1);
  buffer_append(tail, "\n", 1);
  free(text);
  json_decref(request);
}

// One request a line.
static void read_requests(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) die("%s: %s", path, strerror(errno));
  json_error_t problem;
  char *line = NULL;
  size_t capacity = 0, tail_capacity = 0;
  for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
    json_t *request = json_loadb(line, (size_t)length, JSON_REJECT_DUPLICATES, &problem);
    if (!json_is_object(request)) die("%s: line %zu: no JSON object: %s", path, tail_count + 1, problem.text);
    if (tail_count == tail_capacity) {
      request_tails = realloc(request_tails, (tail_capacity = tail_capacity ? tail_capacity * 2 : 1024) * sizeof *request_tails);
      if (request_tails == NULL) die("out of memory");
      memset(request_tails + tail_count, 0, (tail_capacity - tail_count) * sizeof *request_tails);
    }
    add_request(request, path);
  }
  if (tail_count == 0) die("%s: no request", path);
  free(line);
  fclose(file);
}

static void read_request(void) {
  buffer_append(&request_head, "{\"jsonrpc\":\"2.0\",\"id\":", 22);
  if (option.requests_path != NULL) {
    read_requests(option.requests_path);
    return;
  }
  json_error_t problem;
  json_t *request = option.request_path ? json_load_file(option.request_path, JSON_REJECT_DUPLICATES, &problem)
                                        : json_pack("{s:s}", "method", "getInfo");
  if (!json_is_object(request)) die("%s: no JSON object: %s", option.request_path, problem.text);
  request_tails = checked_calloc(1, sizeof *request_tails);
  add_request(request, option.request_path);
}

static void issue(struct connection *c, unsigned slot_index) {
  struct slot *slot = &c->slots[slot_index];
  slot->id = (c->sequence++ * option.connections + c->index) * option.pipeline + slot_index;
  slot->in_flight = true;
  c->fresh[c->fresh_count++] = slot_index;
  char digits[20], *first = digits + sizeof digits;
  uint64_t rest = slot->id;
  do *--first = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  buffer_append(&c->out, request_head.bytes, request_head.length);
  buffer_append(&c->out, first, (size_t)(digits + sizeof digits - first));
  buffer_append(&c->out, request_tails[next_tail].bytes, request_tails[next_tail].length);
  if (++next_tail == tail_count) next_tail = 0;
  in_flight++;
  issued++;
}

static void flush(struct connection *c) {
  if (c->fresh_count > 0) {
    uint64_t now = now_ns();
    while (c->fresh_count > 0) c->slots[c->fresh[--c->fresh_count]].started = now;
  }
  while (c->written < c->out.length) {
    ssize_t n = send(c->fd, c->out.bytes + c->written, c->out.length - c->written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) die("send: %s", strerror(errno));
    if (n < 0) break;
    c->written += (size_t)n;
  }
  bool waiting = c->written < c->out.length;
  if (!waiting) c->written = c->out.length = 0;
  if (waiting == c->watching_output) return;
  c->watching_output = waiting;
  struct epoll_event event = {.events = EPOLLIN | (waiting ? EPOLLOUT : 0), .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
}

static void keep_sample(const char *line, size_t length) {
  if (count.sample[0] == '\0')
    snprintf(count.sample, sizeof count.sample, "%.*s", (int)(length < 500 ? length : 500), line);
}

static bool parses_whole(const char *line, size_t length) {
  json_t *tree = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
  json_decref(tree);
  return tree != NULL;
}

static void take_chunk(struct connection *c, const char *line, size_t length) {
  uint64_t bytes = take_piece(c->streams, option.pipeline, line, length);
  count.streamed += bytes;
  if (bytes > 0 && (count.chunks++ % FULL_PARSE_EVERY != 0 || parses_whole(line, length))) return;
  keep_sample(line, length);
  count.wrong_chunks++;
}

static void take_answer(struct connection *c, const char *line, size_t length, uint64_t now) {
  struct answer answer = read_answer(line, length);
  if (answer.kind == ANSWER_RESULT && count.total % FULL_PARSE_EVERY == 0 && !parses_whole(line, length))
    answer.kind = ANSWER_MALFORMED;
  count.total++;
  unsigned slot_index = (unsigned)(answer.id % option.pipeline);
  struct slot *slot = &c->slots[slot_index];
  bool known = answer.has_id && slot->in_flight && slot->id == answer.id;
  bool expected = option.expected == NULL || memmem(line, length, option.expected, strlen(option.expected)) != NULL;
  if (option.stream_bytes > 0 && answer.kind == ANSWER_RESULT)
    expected &= close_stream(c->streams, option.pipeline, line, length) == option.stream_bytes;
  if (answer.kind != ANSWER_RESULT || !known || !expected) {
    keep_sample(line, length);
    if (answer.kind == ANSWER_MALFORMED)
      count.malformed++;
    else if (!known)
      count.wrong_ids++;
    else if (answer.kind == ANSWER_ERROR)
      count.errors++;
    else
      count.unexpected++;
  }
  if (!known) return; // the request stays unanswered and the stall limit ends the run
  slot->in_flight = false;
  in_flight--;
  count.answered++;
  histogram_record(&latency, now - slot->started);
  if (issuing && (option.requests == 0 || issued < option.requests)) issue(c, slot_index);
}

static void receive(struct connection *c) {
  buffer_reserve(&c->in, READ_CHUNK);
  ssize_t n = recv(c->fd, c->in.bytes + c->in.length, c->in.capacity - c->in.length, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) die("recv: %s", strerror(errno));
  if (n == 0) die("the server closed a connection with %llu requests in flight", (unsigned long long)in_flight);
  uint64_t now = now_ns();
  c->in.length += (size_t)n;
  count.bytes += (uint64_t)n;
  size_t begin = 0;
  for (char *feed; (feed = memchr(c->in.bytes + c->scanned, '\n', c->in.length - c->scanned)) != NULL;) {
    const char *line = c->in.bytes + begin;
    size_t length = (size_t)(feed - line);
    if (option.stream_bytes > 0 && is_chunk(line, length))
      take_chunk(c, line, length);
    else
      take_answer(c, line, length, now);
    begin = c->scanned = (size_t)(feed - c->in.bytes) + 1;
  }
  buffer_consume(&c->in, begin);
  c->scanned = c->in.length;
  flush(c);
}

static void connect_all(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(option.socket_path) >= sizeof address.sun_path) die("the socket path is too long");
  strcpy(address.sun_path, option.socket_path);
  if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1: %s", strerror(errno));
  connections = checked_calloc(option.connections, sizeof *connections);
  for (unsigned i = 0; i < option.connections; i++) {
    struct connection *c = &connections[i];
    c->index = i;
    c->slots = checked_calloc(option.pipeline, sizeof *c->slots);
    c->streams = checked_calloc(option.pipeline, sizeof *c->streams);
    c->fresh = checked_calloc(option.pipeline, sizeof *c->fresh);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // Blocking until connected: a full backlog makes connect() wait, as it would for any caller.
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
      die("%s: %s", option.socket_path, strerror(errno));
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0) die("fcntl: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) die("epoll_ctl: %s", strerror(errno));
  }
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
      die("no answer for %g s, %llu requests in flight; first bad answer: %s", option.stall,
          (unsigned long long)in_flight, count.sample);
    for (int i = 0; i < ready; i++) {
      struct connection *c = events[i].data.ptr;
      if (events[i].events & EPOLLOUT) flush(c);
      if (events[i].events & ~(uint32_t)EPOLLOUT) receive(c);
    }
  }
}

// A stream that no result has ended.
static void count_open_streams(void) {
  for (unsigned i = 0; i < option.connections; i++)
    for (unsigned k = 0; k < option.pipeline; k++) count.wrong_chunks += connections[i].streams[k].task[0] != '\0';
}

static void report(uint64_t answered, uint64_t bytes, uint64_t streamed, double seconds, double cpu) {
  // Large answers that share a link end at once, and how many ends fall into the measurement is chance.
  double whole = option.stream_bytes > 0 ? (double)streamed / (double)option.stream_bytes : (double)answered;
  json_t *line = json_pack(
      "{s:i, s:i, s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f}, s:{s:I, s:I, s:I, s:I, s:I}, s:I, s:I, s:f}",
      "connections", (int)option.connections, "pipeline", (int)option.pipeline, "requests", (json_int_t)answered,
      "totalRequests", (json_int_t)count.total, "seconds", seconds, "requestsPerSecond", whole / seconds,
      "latencyUs", "p50", histogram_quantile_us(&latency, 0.5), "p90", histogram_quantile_us(&latency, 0.9), "p99",
      histogram_quantile_us(&latency, 0.99), "max", (double)latency.max / 1e3, "errors", "answers",
      (json_int_t)count.errors, "ids", (json_int_t)count.wrong_ids, "malformed", (json_int_t)count.malformed,
      "unexpected", (json_int_t)count.unexpected, "chunks", (json_int_t)count.wrong_chunks, "bytesReceived",
      (json_int_t)bytes, "streamedBytes", (json_int_t)streamed, "cpuSeconds", cpu);
  if (line == NULL) die("out of memory");
  if (count.sample[0] != '\0') json_object_set_new(line, "firstBadAnswer", json_string(count.sample));
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(line);
}

static const char usage[] =
    "usage: load --socket PATH [--connections N] [--pipeline N] [--seconds S | --requests N] [--warm-up S]\n"
    "            [--request FILE | --requests-from FILE] [--expect TEXT] [--stream-bytes N] [--stall S]\n"
    "--request: FILE holds one JSON-RPC request; its id is replaced. --requests-from: one a line, sent in turn and\n"
    "from the first again after the last. Default: getInfo. Each answer must hold TEXT.\n"
    "--stream-bytes: the requests say `stream`, and the chunks before each answer must hold N bytes.";

static void read_options(int argc, char **argv) {
  static const struct option names[] = {
      {"socket", required_argument, NULL, 's'},   {"connections", required_argument, NULL, 'c'},
      {"pipeline", required_argument, NULL, 'p'}, {"seconds", required_argument, NULL, 'd'},
      {"requests", required_argument, NULL, 'n'}, {"warm-up", required_argument, NULL, 'w'},
      {"request", required_argument, NULL, 'r'},  {"stall", required_argument, NULL, 'S'},
      {"expect", required_argument, NULL, 'e'},   {"requests-from", required_argument, NULL, 'R'},
      {"stream-bytes", required_argument, NULL, 'b'}, {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 's': option.socket_path = optarg; break;
      case 'c': option.connections = (unsigned)parse_whole("--connections", optarg, 1, 10000); break;
      case 'p': option.pipeline = (unsigned)parse_whole("--pipeline", optarg, 1, 100000); break;
      case 'd': option.seconds = parse_seconds("--seconds", optarg); break;
      case 'n': option.requests = parse_whole("--requests", optarg, 1, 1000000000000); break;
      case 'w': option.warm_up = parse_seconds("--warm-up", optarg); break;
      case 'r': option.request_path = optarg; break;
      case 'R': option.requests_path = optarg; break;
      case 'e': option.expected = optarg; break;
      case 'b': option.stream_bytes = parse_whole("--stream-bytes", optarg, 1, 1000000000000); break;
      case 'S': option.stall = parse_seconds("--stall", optarg); break;
      default: die("%s", usage);
    }
  if (option.socket_path == NULL || optind != argc) die("%s", usage);
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  read_request();
  connect_all();

  // A run that is bounded by a number of requests has no warm-up: each of them counts.
  uint64_t begin = now_ns();
  double cpu = cpu_seconds();
  for (unsigned i = 0; i < option.connections; i++) {
    for (unsigned slot = 0; slot < option.pipeline; slot++)
      if (option.requests == 0 || issued < option.requests) issue(&connections[i], slot);
    flush(&connections[i]);
  }
  if (option.requests == 0 && option.warm_up > 0) {
    run_until(begin + (uint64_t)(option.warm_up * 1e9));
    // Nor do connections that the server has yet to open belong to the measurement.
    while (count.answered < (uint64_t)option.connections * option.pipeline && now_ns() < begin + PATIENCE_NS)
      run_until(now_ns() + 10000000);
    histogram_reset(&latency);
    count.answered = count.bytes = count.streamed = 0;
    begin = now_ns();
    cpu = cpu_seconds();
  }
  run_until(option.requests > 0 ? 0 : begin + (uint64_t)(option.seconds * 1e9));
  uint64_t answered = count.answered, bytes = count.bytes, streamed = count.streamed;
  double seconds = (double)(now_ns() - begin) / 1e9;
  cpu = cpu_seconds() - cpu;

  // What is still in flight is waited for: its latency counts, its number does not.
  issuing = false;
  run_until(0);
  count_open_streams();
  report(answered, bytes, streamed, seconds, cpu);
  return 0;
}
