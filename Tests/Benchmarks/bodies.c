// A load client for large bodies without JSON: N threads, each with a connection and one fetch in flight, whose body
// comes through a pipe of its own (`bodyTo`) or in frames (`bodyAs`). Prints one line of JSON.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"
#include "histogram.h"

enum { CHUNK = 256 * 1024, PIPE_BYTES = 1 << 20 };

static struct {
  const char *socket_path, *resource, *path;
  unsigned in_flight;
  double seconds, warm_up;
  uint64_t bytes;
  bool frames;
} option = {.in_flight = 8, .seconds = 3, .warm_up = 0.5};

static uint64_t measure_from, measure_until;

struct client {
  pthread_t thread;
  int fd;
  struct buffer in;
  char chunk[CHUNK];
  struct histogram latency;
  uint64_t total;
};

static void connect_client(struct client *c) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, option.socket_path);
  c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
    die("%s: %s", option.socket_path, strerror(errno));
}

// Sends `text` in a frame, with a descriptor if there is one (-1: none).
static void send_text(struct client *c, const char *text, int descriptor) {
  char frame[1024];
  int length = snprintf(frame, sizeof frame, "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
  struct iovec piece = {frame, (size_t)length};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  if (descriptor >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    *part = (struct cmsghdr){CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
  }
  if (sendmsg(c->fd, &message, MSG_NOSIGNAL) != length) die("sendmsg: %s", strerror(errno));
}

static void fill(struct client *c) {
  buffer_reserve(&c->in, CHUNK);
  ssize_t n = recv(c->fd, c->in.bytes + c->in.length, CHUNK, 0);
  if (n <= 0) die("recv: %s", n == 0 ? "the server closed the connection" : strerror(errno));
  c->in.length += (size_t)n;
}

// Reads the next frame; true when it is a message and not a piece of a body, whose bytes are added to `bytes`.
static bool read_frame(struct client *c, uint64_t *bytes) {
  char *end;
  while ((end = memmem(c->in.bytes, c->in.length, "\r\n\r\n", 4)) == NULL) fill(c);
  size_t head = (size_t)(end - c->in.bytes) + 4;
  const char *field = memmem(c->in.bytes, head, "Content-Length: ", 16);
  if (field == NULL) die("a frame without length");
  size_t length = strtoul(field + 16, NULL, 10);
  bool is_piece = memmem(c->in.bytes, head, "Postern-Task:", 13) != NULL;
  while (c->in.length < head + length) fill(c);
  if (is_piece)
    *bytes += length;
  else if (memmem(c->in.bytes + head, length, "\"status\":200", 12) == NULL)
    die("an unexpected answer: %.*s", (int)(length < 500 ? length : 500), c->in.bytes + head);
  buffer_consume(&c->in, head + length);
  return !is_piece;
}

static uint64_t fetch(struct client *c) {
  char text[512];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fetchResource\",\"params\":{\"resource\":\"%s\",\"path\":\"%s\",%s}}",
           option.resource, option.path, option.frames ? "\"stream\":true,\"bodyAs\":\"frames\"" : "\"bodyTo\":\"fd\"");
  uint64_t bytes = 0;
  if (option.frames) {
    send_text(c, text, -1);
    while (!read_frame(c, &bytes)) {
    }
    return bytes;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) die("pipe2: %s", strerror(errno));
  (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
  send_text(c, text, ends[1]);
  close(ends[1]);
  for (ssize_t n; (n = read(ends[0], c->chunk, sizeof c->chunk)) != 0; bytes += (uint64_t)n)
    if (n < 0) die("read: %s", strerror(errno));
  close(ends[0]);
  read_frame(c, &bytes);
  return bytes;
}

static void *run(void *argument) {
  struct client *c = argument;
  for (uint64_t now = now_ns(); now < measure_until;) {
    uint64_t started = now, bytes = fetch(c);
    if (bytes != option.bytes) die("%llu bytes came", (unsigned long long)bytes);
    now = now_ns();
    c->total++;
    if (now >= measure_from && now < measure_until) histogram_record(&c->latency, now - started);
  }
  return NULL;
}

static void report(struct client *clients) {
  struct histogram all = {0};
  uint64_t total = 0;
  for (unsigned i = 0; i < option.in_flight; i++) {
    for (size_t k = 0; k < sizeof all.counts / sizeof all.counts[0]; k++) all.counts[k] += clients[i].latency.counts[k];
    all.total += clients[i].latency.total;
    if (clients[i].latency.max > all.max) all.max = clients[i].latency.max;
    total += clients[i].total;
  }
  json_t *line = json_pack("{s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f}, s:f}", "requests", (json_int_t)all.total,
                           "totalRequests", (json_int_t)total, "seconds", option.seconds, "requestsPerSecond",
                           (double)all.total / option.seconds, "latencyUs", "p50", histogram_quantile_us(&all, 0.5),
                           "p90", histogram_quantile_us(&all, 0.9), "p99", histogram_quantile_us(&all, 0.99), "max",
                           (double)all.max / 1e3, "cpuSeconds", cpu_seconds());
  if (line == NULL) die("out of memory");
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(line);
}

static const char usage[] =
    "usage: bodies --socket PATH --resource NAME --path PATH --bytes N [--frames] [--in-flight N] [--seconds S]\n"
    "              [--warm-up S]\n"
    "Each body must have N bytes. --frames: in frames of the connection instead of through a pipe.";

static void read_options(int argc, char **argv) {
  static const struct option names[] = {
      {"socket", required_argument, NULL, 's'},    {"resource", required_argument, NULL, 'r'},
      {"path", required_argument, NULL, 'p'},      {"bytes", required_argument, NULL, 'b'},
      {"in-flight", required_argument, NULL, 'f'}, {"seconds", required_argument, NULL, 'd'},
      {"warm-up", required_argument, NULL, 'w'},   {"frames", no_argument, NULL, 'F'},
      {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 's': option.socket_path = optarg; break;
      case 'r': option.resource = optarg; break;
      case 'p': option.path = optarg; break;
      case 'b': option.bytes = parse_whole("--bytes", optarg, 0, 1000000000000); break;
      case 'f': option.in_flight = (unsigned)parse_whole("--in-flight", optarg, 1, 1000); break;
      case 'd': option.seconds = parse_seconds("--seconds", optarg); break;
      case 'w': option.warm_up = parse_seconds("--warm-up", optarg); break;
      case 'F': option.frames = true; break;
      default: die("%s", usage);
    }
  if (option.socket_path == NULL || option.resource == NULL || option.path == NULL || optind != argc) die("%s", usage);
  if (strlen(option.socket_path) >= sizeof((struct sockaddr_un *)NULL)->sun_path) die("the socket path is too long");
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  struct client *clients = checked_calloc(option.in_flight, sizeof *clients);
  for (unsigned i = 0; i < option.in_flight; i++) connect_client(&clients[i]);
  measure_from = now_ns() + (uint64_t)(option.warm_up * 1e9);
  measure_until = measure_from + (uint64_t)(option.seconds * 1e9);
  for (unsigned i = 0; i < option.in_flight; i++)
    if (pthread_create(&clients[i].thread, NULL, run, &clients[i]) != 0) die("pthread_create: %s", strerror(errno));
  for (unsigned i = 0; i < option.in_flight; i++) pthread_join(clients[i].thread, NULL);
  report(clients);
  return 0;
}
