// A caller that sends so many requests a second whether the answers come or not, over its connections in turn. One
// thread. Prints one line of JSON.
//
// Latency runs from before send() to behind the recv() that completes the answer. A request is due at its time, however
// late the answers before it are, so that a slow server gets requests just as often as a quick one.

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "answer.h"
#include "common.h"
#include "histogram.h"

enum { READ_CHUNK = 64 * 1024, OPEN = 1 << 17, CONNECTIONS = 256 };

static struct {
  const char *socket_path, *requests_path, *expected;
  double rate, seconds, warm_up;
  unsigned connections;
} option = {.connections = 1, .rate = 100, .seconds = 3, .warm_up = 0.5};

static struct buffer *tails; // the text of each request behind its id
static size_t tail_count;
static uint64_t sent_at[OPEN];
static struct histogram latency;
static uint64_t measure_from, sent, answered, rejected, unexpected;
static char sample[512];

// One request a line, used in turn.
static void read_requests(void) {
  FILE *file = fopen(option.requests_path, "r");
  if (file == NULL) die("%s: %s", option.requests_path, strerror(errno));
  char *line = NULL;
  size_t capacity = 0;
  for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
    json_t *request = json_loadb(line, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(request)) die("%s: line %zu: no JSON object", option.requests_path, tail_count + 1);
    json_object_del(request, "jsonrpc");
    json_object_del(request, "id");
    char *text = json_dumps(request, JSON_COMPACT);
    tails = realloc(tails, (tail_count + 1) * sizeof *tails);
    if (text == NULL || tails == NULL) die("out of memory");
    tails[tail_count] = (struct buffer){0};
    buffer_append(&tails[tail_count], ",", 1);
    buffer_append(&tails[tail_count], text + 1, strlen(text) - 1);
    buffer_append(&tails[tail_count++], "\n", 1);
    free(text);
    json_decref(request);
  }
  if (tail_count == 0) die("%s: no request", option.requests_path);
  free(line);
  fclose(file);
}

static int connect_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) die("the socket path is too long");
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die("%s: %s", path, strerror(errno));
  return fd;
}

static void ask(int fd) {
  static struct buffer request;
  char head[64];
  request.length = 0;
  int length = snprintf(head, sizeof head, "{\"jsonrpc\":\"2.0\",\"id\":%llu", (unsigned long long)sent);
  buffer_append(&request, head, (size_t)length);
  buffer_append(&request, tails[sent % tail_count].bytes, tails[sent % tail_count].length);
  if (sent - answered >= OPEN) die("%d requests are unanswered", OPEN);
  sent_at[sent++ % OPEN] = now_ns();
  for (size_t written = 0; written < request.length;) {
    ssize_t n = send(fd, request.bytes + written, request.length - written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) die("send: %s", strerror(errno));
    written += (size_t)n;
  }
}

static void take(const char *line, size_t length, uint64_t now) {
  struct answer answer = read_answer(line, length);
  if (!answer.has_id || answer.id >= sent) die("an answer to nothing: %.*s", (int)(length < 300 ? length : 300), line);
  answered++;
  bool good = answer.kind == ANSWER_RESULT &&
              (option.expected == NULL || memmem(line, length, option.expected, strlen(option.expected)) != NULL);
  if (!good && sample[0] == '\0') snprintf(sample, sizeof sample, "%.*s", (int)(length < 500 ? length : 500), line);
  if (answer.kind == ANSWER_ERROR)
    rejected++;
  else if (!good)
    unexpected++;
  if (sent_at[answer.id % OPEN] >= measure_from) histogram_record(&latency, now - sent_at[answer.id % OPEN]);
}

static struct buffer inputs[CONNECTIONS];

static void receive(int fd, struct buffer *input) {
  buffer_reserve(input, READ_CHUNK);
  ssize_t n = recv(fd, input->bytes + input->length, input->capacity - input->length, 0);
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) die("recv: %s", n < 0 ? strerror(errno) : "the server closed the connection");
  uint64_t now = now_ns();
  input->length += (size_t)n;
  size_t begin = 0;
  for (char *feed; (feed = memchr(input->bytes + begin, '\n', input->length - begin)) != NULL;) {
    take(input->bytes + begin, (size_t)(feed - input->bytes) - begin, now);
    begin = (size_t)(feed - input->bytes) + 1;
  }
  buffer_consume(input, begin);
}

static void run(struct pollfd *connections) {
  uint64_t begin = now_ns(), interval = (uint64_t)(1e9 / option.rate), due = begin;
  measure_from = begin + (uint64_t)(option.warm_up * 1e9);
  uint64_t end = measure_from + (uint64_t)(option.seconds * 1e9), patience = end + 10000000000u;
  while (due < end || answered < sent) {
    uint64_t now = now_ns();
    if (now > patience) die("%llu requests were never answered", (unsigned long long)(sent - answered));
    if (due < end && now >= due) {
      ask(connections[sent % option.connections].fd);
      due += interval;
      continue;
    }
    uint64_t wait = due < end ? due - now : 100000000u;
    struct timespec timeout = {.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
    if (ppoll(connections, option.connections, &timeout, NULL) <= 0) continue;
    for (unsigned i = 0; i < option.connections; i++)
      if (connections[i].revents != 0) receive(connections[i].fd, &inputs[i]);
  }
}

static const char usage[] =
    "usage: steady --socket PATH --requests-from FILE [--rate N] [--seconds S] [--warm-up S] [--expect TEXT]\n"
    "              [--connections N]";

int main(int argc, char **argv) {
  static const struct option names[] = {
      {"socket", required_argument, NULL, 's'},  {"requests-from", required_argument, NULL, 'R'},
      {"rate", required_argument, NULL, 'r'},    {"seconds", required_argument, NULL, 'd'},
      {"warm-up", required_argument, NULL, 'w'}, {"expect", required_argument, NULL, 'e'},
      {"connections", required_argument, NULL, 'c'},
      {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 's': option.socket_path = optarg; break;
      case 'R': option.requests_path = optarg; break;
      case 'r': option.rate = (double)parse_whole("--rate", optarg, 1, 100000); break;
      case 'd': option.seconds = parse_seconds("--seconds", optarg); break;
      case 'w': option.warm_up = parse_seconds("--warm-up", optarg); break;
      case 'c': option.connections = (unsigned)parse_whole("--connections", optarg, 1, CONNECTIONS); break;
      case 'e': option.expected = optarg; break;
      default: die("%s", usage);
    }
  if (option.socket_path == NULL || option.requests_path == NULL || optind != argc) die("%s", usage);
  // Timers on time: by default the kernel may be 50 us late.
  prctl(PR_SET_TIMERSLACK, 1);
  read_requests();
  struct pollfd connections[CONNECTIONS];
  for (unsigned i = 0; i < option.connections; i++)
    connections[i] = (struct pollfd){.fd = connect_to(option.socket_path), .events = POLLIN};
  run(connections);
  json_t *line = json_pack(
      "{s:f, s:I, s:I, s:I, s:I, s:{s:f, s:f, s:f, s:f}}", "rate", option.rate, "requests", (json_int_t)latency.total,
      "totalRequests", (json_int_t)answered, "rejected", (json_int_t)rejected, "unexpected", (json_int_t)unexpected,
      "latencyUs", "p50", histogram_quantile_us(&latency, 0.5), "p90", histogram_quantile_us(&latency, 0.9), "p99",
      histogram_quantile_us(&latency, 0.99), "max", (double)latency.max / 1e3);
  if (line == NULL) die("out of memory");
  if (sample[0] != '\0') json_object_set_new(line, "firstBadAnswer", json_string(sample));
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(line);
  return 0;
}
