// The yardstick: a JSON-RPC 2.0 server on a Unix socket as a careful C programmer would write it with epoll and
// jansson.
//
// Each answer is an object that jansson builds and dumps for that request alone. `rpc_server.h` has the rest.

#define _GNU_SOURCE
#include <getopt.h>

#include "rpc_server.h"

static json_t *information; // the result of getInfo; read-only once the loops run

static void answer_call(struct connection *c, json_t *id, const char *method, json_t *params) {
  (void)params;
  if (strcmp(method, "getInfo") != 0)
    write_error(c, id, -32601, "no such method", "method_not_found");
  else // The deep copy makes new nodes, so an answer costs what an answer that differs each time would.
    write_answer(c, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", json_deep_copy(information)));
}

// The object that getInfo answers: read from a file, so that it can be byte for byte the size of Postern's own, or a
// built-in one of the same shape.
static json_t *load_information(const char *path) {
  json_error_t problem;
  json_t *object = path ? json_load_file(path, JSON_REJECT_DUPLICATES, &problem)
                        : json_pack("{s:s, s:s, s:s, s:i, s:s, s:{s:s, s:s, s:s, s:s}, s:[s,s,s,s,s,s]}", "name",
                                    "postern", "version", "0.1.0", "protocolVersion", "1.0", "pid", (int)getpid(),
                                    "startedAt", "2026-01-01T00:00:00.000Z", "libraries", "curl", "7.88.1", "openssl",
                                    "3.0.17", "jansson", "2.14", "swift", "6.3.1", "features", "fetchResource",
                                    "rpc.discover", "health", "metrics", "reloadConfig", "socketActivation");
  if (!json_is_object(object)) die("%s: no JSON object: %s", path, problem.text);
  return object;
}

int main(int argc, char **argv) {
  static const struct option options[] = {{"socket", required_argument, NULL, 's'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"info", required_argument, NULL, 'i'},
                                          {"version", no_argument, NULL, 'V'},
                                          {0}};
  const char *info_path = NULL;
  for (int option; (option = getopt_long(argc, argv, "s:t:i:", options, NULL)) != -1;) switch (option) {
      case 's': socket_path = optarg; break;
      case 't': loop_count = (unsigned)parse_whole("--threads", optarg, 1, 64); break;
      case 'i': info_path = optarg; break;
      case 'V': printf("jansson %s\n", jansson_version_str()); return 0;
      default: die("usage: echo_server --socket PATH [--threads N] [--info FILE]");
    }
  if (socket_path == NULL || optind != argc) die("usage: echo_server --socket PATH [--threads N] [--info FILE]");

  json_object_seed(0); // once, before there are threads
  information = load_information(info_path);
  serve_socket();
}
