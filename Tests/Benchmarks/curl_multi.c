// The yardstick of fetchResource, and with --post of cold decisions: the same requests made by a plain C program with
// libcurl's multi interface. K easy handles are made once and used again and again, so the connections to the upstream
// are reused as well. With --stream bodies are counted as they come, not kept. Prints one line of JSON.

#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>

#include "common.h"
#include "histogram.h"

struct transfer {
  CURL *easy;
  struct buffer body;
  uint64_t received, started;
};

static struct {
  const char *url, *bearer, *ca_file, *proxy;
  unsigned in_flight;
  double seconds, warm_up;
  uint64_t requests, expected_bytes;
  bool http2, multiplex, stream, fresh;
  const char *post_path;
  struct curl_slist *fields; // of the command line
} option = {.in_flight = 1, .seconds = 3, .warm_up = 0.5};

static struct histogram latency;
static const uint64_t PATIENCE_NS = 5000000000; // with the first answers
static uint64_t answered, total, issued, failed, bytes;
static uint64_t received; // those of bodies that are not complete, too
static char sample[256]; // the first failure
static CURLM *multi;
static unsigned running_transfers;
static struct buffer post; // the body of every request; empty: GET
static long http_version; // of the last answer

static size_t take_body(char *data, size_t size, size_t count, void *transfer) {
  struct transfer *t = transfer;
  t->received += size * count;
  received += size * count;
  if (!option.stream) buffer_append(&t->body, data, size * count);
  return size * count;
}

static void check(CURLMcode code) {
  if (code != CURLM_OK) die("%s", curl_multi_strerror(code));
}

static void start(struct transfer *t) {
  t->body.length = t->received = 0;
  t->started = now_ns();
  issued++;
  running_transfers++;
  check(curl_multi_add_handle(multi, t->easy));
}

static void finish(struct transfer *t, CURLcode code) {
  long status = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &http_version);
  check(curl_multi_remove_handle(multi, t->easy));
  running_transfers--;
  histogram_record(&latency, now_ns() - t->started);
  answered++;
  total++;
  bytes += t->received;
  bool good =
      code == CURLE_OK && status == 200 && (option.expected_bytes == 0 || t->received == option.expected_bytes);
  if (good) return;
  failed++;
  if (sample[0] == '\0')
    snprintf(sample, sizeof sample, "%s, status %ld, %llu bytes", curl_easy_strerror(code), status,
             (unsigned long long)t->received);
}

// Runs transfers until `deadline` (0: none) or until none is under way. `again`: a finished transfer starts again.
static void run_until(uint64_t deadline, bool again) {
  while (running_transfers > 0) {
    if (deadline != 0 && now_ns() >= deadline) return;
    int running, left;
    check(curl_multi_perform(multi, &running));
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
      if (message->msg != CURLMSG_DONE) continue;
      struct transfer *t;
      CURLcode code = message->data.result;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
      finish(t, code);
      if (again && (option.requests == 0 || issued < option.requests)) start(t);
    }
    // 0 running means: what was just started has not been performed yet.
    if (running > 0 && running_transfers == (unsigned)running) check(curl_multi_poll(multi, NULL, 0, 1000, NULL));
  }
}

static CURL *make_easy(struct transfer *t, struct curl_slist *fields) {
  CURL *easy = curl_easy_init();
  if (easy == NULL) die("out of memory");
  curl_easy_setopt(easy, CURLOPT_URL, option.url);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, ""); // all that libcurl knows, as Postern negotiates it
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "curl_multi");
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 64L << 10); // as Postern reads
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  if (post.length > 0) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)post.length);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post.bytes);
  }
  long version = option.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, (long)option.multiplex); // share a connection rather than open another
  curl_easy_setopt(easy, CURLOPT_PROXY, option.proxy != NULL ? option.proxy : ""); // never the environment's
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, (long)option.fresh);
  if (option.ca_file != NULL) curl_easy_setopt(easy, CURLOPT_CAINFO, option.ca_file);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 30000L);
  return easy;
}

static const char usage[] =
    "usage: curl_multi --url URL [--in-flight N] [--seconds S | --requests N] [--warm-up S]\n"
    "                  [--post FILE] [--bearer TOKEN] [--header FIELD]... [--cacert FILE]\n"
    "                  [--http2 [--multiplex]] [--stream] [--expect-bytes N] [--proxy URL] [--fresh] | --version\n"
    "--post: the body, JSON; --http2: offered by ALPN; --multiplex: transfers share a connection;\n"
    "--fresh: a connection for each request.";

static void read_options(int argc, char **argv) {
  static const struct option names[] = {{"url", required_argument, NULL, 'u'},
                                        {"in-flight", required_argument, NULL, 'k'},
                                        {"seconds", required_argument, NULL, 'd'},
                                        {"requests", required_argument, NULL, 'n'},
                                        {"warm-up", required_argument, NULL, 'w'},
                                        {"bearer", required_argument, NULL, 'b'},
                                        {"expect-bytes", required_argument, NULL, 'e'},
                                        {"cacert", required_argument, NULL, 'c'},
                                        {"post", required_argument, NULL, 'p'},
                                        {"header", required_argument, NULL, 'h'},
                                        {"http2", no_argument, NULL, '2'},
                                        {"multiplex", no_argument, NULL, 'm'},
                                        {"stream", no_argument, NULL, 's'},
                                        {"proxy", required_argument, NULL, 'x'},
                                        {"fresh", no_argument, NULL, 'f'},
                                        {"version", no_argument, NULL, 'V'},
                                        {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 'u': option.url = optarg; break;
      case 'k': option.in_flight = (unsigned)parse_whole("--in-flight", optarg, 1, 10000); break;
      case 'd': option.seconds = parse_seconds("--seconds", optarg); break;
      case 'n': option.requests = parse_whole("--requests", optarg, 1, 1000000000000); break;
      case 'w': option.warm_up = parse_seconds("--warm-up", optarg); break;
      case 'b': option.bearer = optarg; break;
      case 'e': option.expected_bytes = parse_whole("--expect-bytes", optarg, 0, 1000000000); break;
      case 'c': option.ca_file = optarg; break;
      case 'p': option.post_path = optarg; break;
      case 'h': option.fields = curl_slist_append(option.fields, optarg); break;
      case '2': option.http2 = true; break;
      case 'm': option.multiplex = true; break;
      case 's': option.stream = true; break;
      case 'x': option.proxy = optarg; break;
      case 'f': option.fresh = true; break;
      case 'V': puts(curl_version()); exit(0);
      default: die("%s", usage);
    }
  if (option.url == NULL || optind != argc) die("%s", usage);
}

static void report(uint64_t measured, uint64_t measured_bytes, double whole, double seconds, double cpu) {
  json_t *line = json_pack("{s:i, s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f}, s:I, s:I, s:f, s:s}", "inFlight",
                           (int)option.in_flight, "requests", (json_int_t)measured, "totalRequests", (json_int_t)total,
                           "seconds", seconds, "requestsPerSecond", whole / seconds, "latencyUs", "p50",
                           histogram_quantile_us(&latency, 0.5), "p90", histogram_quantile_us(&latency, 0.9), "p99",
                           histogram_quantile_us(&latency, 0.99), "max", (double)latency.max / 1e3, "failed",
                           (json_int_t)failed, "bodyBytes", (json_int_t)measured_bytes, "cpuSeconds", cpu,
                           "httpVersion", http_version == CURL_HTTP_VERSION_2_0 ? "HTTP/2" : "HTTP/1.1");
  if (line == NULL) die("out of memory");
  if (sample[0] != '\0') json_object_set_new(line, "firstFailure", json_string(sample));
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
  putchar('\n');
  json_decref(line);
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  multi = curl_multi_init();
  if (multi == NULL) die("out of memory");
  long pipelining = option.multiplex ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING;
  check(curl_multi_setopt(multi, CURLMOPT_PIPELINING, pipelining));
  struct curl_slist *fields = curl_slist_append(option.fields, "Accept: */*");
  if (option.post_path != NULL) {
    read_file(option.post_path, &post);
    if (post.length == 0) die("%s: empty", option.post_path);
    fields = curl_slist_append(fields, "Content-Type: application/json");
  }
  if (option.bearer != NULL) {
    char *field;
    if (asprintf(&field, "Authorization: Bearer %s", option.bearer) < 0) die("out of memory");
    fields = curl_slist_append(fields, field);
    free(field);
  }
  struct transfer *transfers = checked_calloc(option.in_flight, sizeof *transfers);
  for (unsigned i = 0; i < option.in_flight; i++) transfers[i].easy = make_easy(&transfers[i], fields);

  // A run that is bounded by a number of requests has no warm-up: each of them counts.
  uint64_t begin = now_ns();
  double cpu = cpu_seconds();
  for (unsigned i = 0; i < option.in_flight; i++)
    if (option.requests == 0 || issued < option.requests) start(&transfers[i]);
  if (option.requests == 0 && option.warm_up > 0) {
    run_until(begin + (uint64_t)(option.warm_up * 1e9), true);
    // Connecting does not belong to the measurement.
    while (answered < option.in_flight && now_ns() < begin + PATIENCE_NS) run_until(now_ns() + 10000000, true);
    histogram_reset(&latency);
    answered = bytes = received = 0;
    begin = now_ns();
    cpu = cpu_seconds();
  }
  run_until(option.requests > 0 ? 0 : begin + (uint64_t)(option.seconds * 1e9), true);
  uint64_t measured = answered, measured_bytes = bytes;
  // Large bodies that share a link end at once, and how many ends fall into the measurement is chance.
  bool by_bytes = option.stream && option.expected_bytes > 0;
  double whole = by_bytes ? (double)received / (double)option.expected_bytes : (double)answered;
  double seconds = (double)(now_ns() - begin) / 1e9;
  cpu = cpu_seconds() - cpu;

  // What is still in flight is waited for: its latency counts, its number does not.
  run_until(0, false);
  report(measured, measured_bytes, whole, seconds, cpu);
  for (unsigned i = 0; i < option.in_flight; i++) {
    curl_easy_cleanup(transfers[i].easy);
    free(transfers[i].body.bytes);
  }
  free(transfers);
  curl_slist_free_all(fields);
  curl_multi_cleanup(multi);
  curl_global_cleanup();
  return 0;
}
