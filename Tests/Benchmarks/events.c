// Server-sent events, and how late they arrive. Server and client run on one machine: every event has the time at
// which it was written, by the clock that both read.
//
//   events --serve [--events N] [--interval MS]     answers every GET with N events, the first one at once
//   events --read --unix PATH | --port PORT …       reads streams, and prints one line of JSON
//
// The first event is measured from before the request is sent, every other one from its own time.

#define _GNU_SOURCE
#include <getopt.h>
#include <jansson.h>
#include <pthread.h>

#include "histogram.h"
#include "http_client.h"

enum { EVENT_BYTES = 160, MOST_FIELDS = 16 };

static struct {
  bool serve, read;
  unsigned events, interval_ms, port, streams, rounds, field_count;
  const char *unix_path, *target, *host, *fields[MOST_FIELDS];
} option = {.events = 10, .interval_ms = 20, .streams = 1, .rounds = 20, .target = "/", .host = "localhost"};

static void send_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t n = send(fd, bytes, count, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return; // the reader is gone, which the next read finds
    bytes += n;
    count -= (size_t)n;
  }
}

static void pause_ms(unsigned milliseconds) {
  struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  nanosleep(&pause, NULL);
}

// -- the server: a thread for each connection

static void send_events(int fd) {
  static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n";
  send_all(fd, head, sizeof head - 1);
  for (unsigned i = 0; i < option.events; i++) {
    char event[EVENT_BYTES + 1], chunk[EVENT_BYTES + 16];
    if (i > 0) pause_ms(option.interval_ms);
    // Each is equally long: the rest is spaces.
    int length = snprintf(event, sizeof event, "data: %llu", (unsigned long long)now_ns());
    snprintf(event + length, sizeof event - (size_t)length, "%*s\n\n", EVENT_BYTES - 2 - length, "");
    length = snprintf(chunk, sizeof chunk, "%x\r\n%s\r\n", EVENT_BYTES, event);
    send_all(fd, chunk, (size_t)length);
  }
  send_all(fd, "0\r\n\r\n", 5);
}

static void *serve_connection(void *argument) {
  int fd = (int)(intptr_t)argument;
  struct buffer in = {0};
  for (;;) {
    const char *end;
    while ((end = in.length < 4 ? NULL : memmem(in.bytes, in.length, "\r\n\r\n", 4)) == NULL) {
      buffer_reserve(&in, 4096);
      ssize_t n = in.length < HEAD_LIMIT ? recv(fd, in.bytes + in.length, in.capacity - in.length, 0) : 0;
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        close(fd);
        free(in.bytes);
        return NULL;
      }
      in.length += (size_t)n;
    }
    buffer_consume(&in, (size_t)(end + 4 - in.bytes));
    send_events(fd);
  }
}

__attribute__((noreturn)) static void serve(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 512) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0)
    die("127.0.0.1: %s", strerror(errno));
  printf("http://127.0.0.1:%u\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    pthread_t thread;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (pthread_create(&thread, NULL, serve_connection, (void *)(intptr_t)fd) != 0) die("no thread can be made");
    pthread_detach(thread);
  }
}

// -- the reader: a thread for each stream

static struct histogram first_event, later_events;
static uint64_t events_read, failed;
static char sample[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note_failure(const char *what) {
  pthread_mutex_lock(&lock);
  failed++;
  if (sample[0] == '\0') snprintf(sample, sizeof sample, "%s", what);
  pthread_mutex_unlock(&lock);
}

// Takes whole events from the body; how many there were before is `count`.
static unsigned take_events(struct buffer *body, unsigned count, uint64_t started, uint64_t now) {
  size_t done = 0;
  pthread_mutex_lock(&lock);
  for (; body->length - done >= EVENT_BYTES; done += EVENT_BYTES) {
    const char *event = body->bytes + done;
    uint64_t written = memcmp(event, "data: ", 6) == 0 ? strtoull(event + 6, NULL, 10) : 0;
    if (written == 0 || written > now || event[EVENT_BYTES - 1] != '\n') {
      failed++;
      snprintf(sample, sizeof sample, "no such event: %.*s", 32, event);
      continue;
    }
    if (count++ == 0)
      histogram_record(&first_event, now - started);
    else
      histogram_record(&later_events, now - written);
    events_read++;
  }
  pthread_mutex_unlock(&lock);
  buffer_consume(body, done);
  return count;
}

static void make_request(struct buffer *request) {
  char line[4096];
  int length = snprintf(line, sizeof line, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n", option.target, option.host);
  buffer_append(request, line, (size_t)length);
  for (unsigned i = 0; i < option.field_count; i++) {
    buffer_append(request, option.fields[i], strlen(option.fields[i]));
    buffer_append(request, "\r\n", 2);
  }
  buffer_append(request, "\r\n", 2);
}

static void *read_streams(void *unused) {
  struct buffer request = {0}, in = {0}, body = {0};
  int fd = connect_to(option.unix_path, option.port);
  make_request(&request);
  // The first one is not counted: connections to the upstream are made then.
  for (unsigned round = 0; round <= option.rounds; round++) {
    struct response response = {.phase = HEAD};
    unsigned count = 0;
    const char *problem = NULL;
    uint64_t started = now_ns();
    body.length = 0;
    send_all(fd, request.bytes, request.length);
    while (response.phase != DONE && problem == NULL) {
      buffer_reserve(&in, 4096);
      ssize_t n = recv(fd, in.bytes + in.length, in.capacity - in.length, 0);
      if (n < 0 && errno == EINTR) continue;
      uint64_t now = now_ns();
      if (n <= 0) problem = "the connection ended";
      if (problem == NULL) {
        in.length += (size_t)n;
        problem = advance(&response, &in, &body);
      }
      if (round > 0) count = take_events(&body, count, started, now);
    }
    if (problem == NULL && response.status != 200) problem = "another status";
    if (problem == NULL && response.body != (uint64_t)option.events * EVENT_BYTES) problem = "another length";
    if (problem != NULL) note_failure(problem);
    if (problem != NULL || response.closes) {
      close(fd);
      in.length = 0;
      fd = connect_to(option.unix_path, option.port);
    }
  }
  close(fd);
  free(request.bytes);
  free(in.bytes);
  free(body.bytes);
  return unused;
}

static json_t *quantiles(const struct histogram *h) {
  return json_pack("{s:f, s:f, s:f, s:f}", "p50", histogram_quantile_us(h, 0.5), "p90", histogram_quantile_us(h, 0.9),
                   "p99", histogram_quantile_us(h, 0.99), "max", (double)h->max / 1e3);
}

static void read_all(void) {
  pthread_t *threads = checked_calloc(option.streams, sizeof *threads);
  for (unsigned i = 0; i < option.streams; i++)
    if (pthread_create(&threads[i], NULL, read_streams, NULL) != 0) die("no thread can be made");
  for (unsigned i = 0; i < option.streams; i++) pthread_join(threads[i], NULL);
  free(threads);
  json_t *line = json_pack("{s:i, s:I, s:o, s:o, s:I}", "streams", (int)option.streams, "events", (json_int_t)events_read,
                           "firstUs", quantiles(&first_event), "laterUs", quantiles(&later_events), "failed",
                           (json_int_t)failed);
  if (line == NULL) die("out of memory");
  if (sample[0] != '\0') json_object_set_new(line, "firstFailure", json_string(sample));
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(line);
}

static void read_options(int argc, char **argv) {
  static const struct option names[] = {
      {"serve", no_argument, NULL, 's'},          {"read", no_argument, NULL, 'r'},
      {"events", required_argument, NULL, 'e'},   {"interval", required_argument, NULL, 'i'},
      {"unix", required_argument, NULL, 'u'},     {"port", required_argument, NULL, 'p'},
      {"target", required_argument, NULL, 't'},   {"host", required_argument, NULL, 'h'},
      {"field", required_argument, NULL, 'f'},    {"streams", required_argument, NULL, 'n'},
      {"rounds", required_argument, NULL, 'R'},   {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 's': option.serve = true; break;
      case 'r': option.read = true; break;
      case 'e': option.events = (unsigned)parse_whole("--events", optarg, 1, 1000000); break;
      case 'i': option.interval_ms = (unsigned)parse_whole("--interval", optarg, 0, 60000); break;
      case 'u': option.unix_path = optarg; break;
      case 'p': option.port = (unsigned)parse_whole("--port", optarg, 1, 65535); break;
      case 't': option.target = optarg; break;
      case 'h': option.host = optarg; break;
      case 'f':
        if (option.field_count == MOST_FIELDS) die("--field: too many");
        option.fields[option.field_count++] = optarg;
        break;
      case 'n': option.streams = (unsigned)parse_whole("--streams", optarg, 1, 1000); break;
      case 'R': option.rounds = (unsigned)parse_whole("--rounds", optarg, 1, 1000000); break;
      default: option.serve = option.read = false; optind = argc; break;
    }
  bool whole = option.serve ? !option.read : option.read && (option.unix_path == NULL) != (option.port == 0);
  if (!whole || optind != argc)
    die("usage: events --serve [--events N] [--interval MS]\n"
        "       events --read --unix PATH | --port PORT [--events N] [--target TARGET] [--host NAME] [--field FIELD]...\n"
        "              [--streams N] [--rounds N]");
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  if (option.serve) serve();
  read_all();
  return 0;
}
