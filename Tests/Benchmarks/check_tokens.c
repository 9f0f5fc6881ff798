// The yardstick of token validation: what the engine does for an ID token, in plain C with OpenSSL's EVP interface and
// jansson. Prints one line of JSON.
//
// The order is that of the engine: three parts, header, algorithm and key by `kid`, claims as strict JSON, signature,
// then (OpenID Connect Core section 3.1.3.7) iss, sub, aud, azp, exp, nbf, iat, nonce, at_hash. Keys are
// parsed and verifications are set up once; each token copies the context of its key.

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>

#include "jose.h"

enum { MAX_TOKEN = 65536, SKEW = 30, CLOCK_EVERY = 16 };

static struct {
  const char *tokens_path, *jwks_path, *algorithm, *issuer, *client;
  double seconds;
  uint64_t count;
  bool verdicts;
} option = {.seconds = 3, .issuer = "https://idp.example.com", .client = "bench"};

// One line of the file: the token and what it must fit.
struct line {
  const char *token, *nonce, *access_token;
  size_t token_length, access_token_length;
};

static struct line *lines;
static size_t line_count;

static void read_lines(void) {
  FILE *file = fopen(option.tokens_path, "r");
  struct buffer text = {0};
  if (file == NULL) die("%s: %s", option.tokens_path, strerror(errno));
  for (size_t n = 1; n > 0; text.length += n) {
    buffer_reserve(&text, 1 << 20);
    n = fread(text.bytes + text.length, 1, text.capacity - text.length - 1, file);
  }
  fclose(file);
  text.bytes[text.length] = '\0';
  size_t capacity = 0;
  char *rest = text.bytes;
  for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
    if (*line == '\0') continue;
    if (line_count == capacity) lines = realloc(lines, (capacity = capacity ? capacity * 2 : 1024) * sizeof *lines);
    if (lines == NULL) die("out of memory");
    const char *token = strsep(&line, "\t"), *nonce = strsep(&line, "\t"), *access_token = strsep(&line, "\t");
    if (access_token == NULL) die("%s: a line of less than three columns", option.tokens_path);
    lines[line_count++] = (struct line){token, nonce, access_token, strlen(token), strlen(access_token)};
  }
  if (line_count == 0) die("%s: no tokens", option.tokens_path);
}

static const struct key *choose_key(json_t *header) {
  const char *type = string(header, "typ"), *kid = string(header, "kid");
  if (json_object_get(header, "crit") != NULL || json_object_get(header, "b64") != NULL) return NULL;
  if (!is(string(header, "alg"), option.algorithm)) return NULL;
  if (type != NULL && strcasecmp(type, "JWT") != 0 && strcasecmp(type, "application/JWT") != 0) return NULL;
  if (is(string(header, "cty"), "JWT")) return NULL;
  for (size_t i = 0; kid != NULL && i < key_count; i++)
    if (strcmp(keys[i].kid, kid) == 0) return strcmp(keys[i].algorithm, option.algorithm) == 0 ? &keys[i] : NULL;
  return NULL;
}

// Registered members have the type that RFC 7519 and OpenID Connect Core give them.
static bool has_right_types(json_t *claims) {
  static const char *const strings[] = {"iss",     "sub",    "nonce",  "azp", "acr", "at_hash",
                                        "c_hash", "s_hash", "jti", "sid", "client_id"};
  static const char *const times[] = {"exp", "nbf", "iat", "auth_time"};
  json_t *value;
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
    if ((value = json_object_get(claims, strings[i])) != NULL && !json_is_string(value)) return false;
  for (size_t i = 0; i < sizeof times / sizeof *times; i++)
    if ((value = json_object_get(claims, times[i])) != NULL && !json_is_number(value)) return false;
  return true;
}

// Whether the client is the only audience.
static bool is_audience(json_t *audience) {
  size_t index;
  json_t *one;
  if (json_is_string(audience)) return is(json_string_value(audience), option.client);
  if (!json_is_array(audience) || json_array_size(audience) == 0) return false;
  json_array_foreach(audience, index, one) if (!is(json_string_value(one), option.client)) return false;
  return true;
}

static bool is_hash(const char *claim, const struct key *key, const struct line *line) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  char text[2 * EVP_MAX_MD_SIZE];
  unsigned count;
  if (EVP_Digest(line->access_token, line->access_token_length, hash, &count, key->token_hash, NULL) != 1) return false;
  size_t length = base64url_encode(hash, count / 2, text);
  return strlen(claim) == length && CRYPTO_memcmp(claim, text, length) == 0;
}

static bool claims_are_right(json_t *claims, const struct key *key, const struct line *line) {
  struct timespec clock;
  clock_gettime(CLOCK_REALTIME, &clock);
  double now = (double)clock.tv_sec + (double)clock.tv_nsec / 1e9;
  const char *subject = string(claims, "sub"), *party = string(claims, "azp"), *hash = string(claims, "at_hash");
  json_t *expiry = json_object_get(claims, "exp"), *issued = json_object_get(claims, "iat"),
         *not_before = json_object_get(claims, "nbf");
  if (!is(string(claims, "iss"), option.issuer)) return false;
  if (subject == NULL || *subject == '\0' || strlen(subject) > 255) return false;
  for (const char *c = subject; *c != '\0'; c++)
    if (*c & 0x80) return false;
  if (!is_audience(json_object_get(claims, "aud"))) return false;
  if (party != NULL && strcmp(party, option.client) != 0) return false;
  if (expiry == NULL || !(now < json_number_value(expiry) + SKEW)) return false;
  if (not_before != NULL && !(json_number_value(not_before) <= now + SKEW)) return false;
  if (issued == NULL || !(json_number_value(issued) <= now + SKEW)) return false;
  if (!(json_number_value(issued) < json_number_value(expiry))) return false;
  if (!is(string(claims, "nonce"), line->nonce)) return false;
  return hash == NULL || is_hash(hash, key, line);
}

// The claims of a valid token, for the caller to free; NULL: rejected.
static json_t *validate(const struct line *line) {
  const char *token = line->token, *end = token + line->token_length;
  if (line->token_length > MAX_TOKEN) return NULL;
  const char *first = memchr(token, '.', line->token_length);
  const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
  if (second == NULL || memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL) return NULL;
  json_t *header = decode_object(token, (size_t)(first - token));
  json_t *claims = decode_object(first + 1, (size_t)(second - first - 1));
  const struct key *key = header == NULL ? NULL : choose_key(header);
  bool valid = key != NULL && claims != NULL && has_right_types(claims) &&
               verify(key, token, (size_t)(second - token), second + 1, (size_t)(end - second - 1)) &&
               claims_are_right(claims, key, line);
  json_decref(header);
  if (valid) return claims;
  json_decref(claims);
  return NULL;
}

static void print(json_t *line) {
  if (line == NULL || json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0) die("out of memory");
  putchar('\n');
  json_decref(line);
}

static void report_verdicts(void) {
  json_t *verdicts = json_array();
  for (size_t i = 0; i < line_count; i++) {
    json_t *claims = validate(&lines[i]);
    json_array_append_new(verdicts, json_boolean(claims != NULL));
    json_decref(claims);
  }
  print(json_pack("{s:o}", "verdicts", verdicts));
}

// Validates token after token until the count or the time (0: none) is reached; how many.
static uint64_t run(uint64_t count, double seconds) {
  static size_t next;
  uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), done = 0;
  while (count == 0 || done < count) {
    if (count == 0 && done % CLOCK_EVERY == 0 && now_ns() >= end) break;
    json_t *claims = validate(&lines[next]);
    if (claims == NULL) die("%s: line %zu was rejected", option.tokens_path, next + 1);
    json_decref(claims);
    if (++next == line_count) next = 0;
    done++;
  }
  return done;
}

static void read_options(int argc, char **argv) {
  static const struct option names[] = {
      {"tokens", required_argument, NULL, 't'},    {"jwks", required_argument, NULL, 'k'},
      {"algorithm", required_argument, NULL, 'a'}, {"issuer", required_argument, NULL, 'i'},
      {"client", required_argument, NULL, 'c'},    {"seconds", required_argument, NULL, 's'},
      {"count", required_argument, NULL, 'n'},     {"verdicts", no_argument, NULL, 'v'},
      {"version", no_argument, NULL, 'V'},         {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 't': option.tokens_path = optarg; break;
      case 'k': option.jwks_path = optarg; break;
      case 'a': option.algorithm = optarg; break;
      case 'i': option.issuer = optarg; break;
      case 'c': option.client = optarg; break;
      case 's': option.seconds = parse_seconds("--seconds", optarg); break;
      case 'n': option.count = parse_whole("--count", optarg, 1, 1000000000); break;
      case 'v': option.verdicts = true; break;
      case 'V': puts(OpenSSL_version(OPENSSL_VERSION)); exit(0);
      default: option.tokens_path = NULL; optind = argc; break;
    }
  if (option.tokens_path == NULL || option.jwks_path == NULL || option.algorithm == NULL || optind != argc)
    die("usage: check_tokens --tokens FILE --jwks FILE --algorithm RS256|ES256|EdDSA [--issuer URL] [--client ID]\n"
        "                    [--seconds S | --count N | --verdicts]");
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  read_keys(option.jwks_path);
  read_lines();
  if (option.verdicts) {
    report_verdicts();
    return 0;
  }
  if (option.count == 0) run(0, option.seconds / 10);
  uint64_t begin = now_ns();
  double cpu = cpu_seconds();
  uint64_t done = run(option.count, option.seconds);
  cpu = cpu_seconds() - cpu;
  print(json_pack("{s:I, s:f, s:f}", "validations", (json_int_t)done, "seconds", (double)(now_ns() - begin) / 1e9,
                  "cpuSeconds", cpu));
  return 0;
}
