// The yardstick of token validation: what the engine does for an ID token, in plain C with OpenSSL's EVP interface and
// jansson. Prints one line of JSON.
//
// The order is that of the engine: three parts, header, algorithm and key by `kid`, claims as strict JSON, signature,
// then (OpenID Connect Core section 3.1.3.7) iss, sub, aud, azp, exp, nbf, iat, nonce, at_hash. Keys are
// parsed and verifications are set up once; each token copies the context of its key.

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdbool.h>

#include "base64url.h"
#include "common.h"

enum { MAX_TOKEN = 65536, MAX_SIGNATURE = 1024, SKEW = 30, CLOCK_EVERY = 16 };

static struct {
  const char *tokens_path, *jwks_path, *algorithm, *issuer, *client;
  double seconds;
  uint64_t count;
  bool verdicts;
} option = {.seconds = 3, .issuer = "https://idp.example.com", .client = "bench"};

struct key {
  const char *kid, *algorithm;
  EVP_PKEY *key;
  EVP_MD_CTX *prepared;
  const EVP_MD *token_hash;
};

// One line of the file: the token and what it must fit.
struct line {
  const char *token, *nonce, *access_token;
  size_t token_length, access_token_length;
};

static json_t *key_set; // owns the names of the keys
static struct key keys[16];
static size_t key_count;
static struct line *lines;
static size_t line_count;

static size_t member_bytes(json_t *jwk, const char *name, unsigned char *bytes, size_t capacity) {
  json_t *text = json_object_get(jwk, name);
  size_t count;
  if (!json_is_string(text) || json_string_length(text) > capacity ||
      !base64url_decode(json_string_value(text), json_string_length(text), bytes, &count))
    die("jwks: %s is missing or not base64url", name);
  return count;
}

static EVP_PKEY *key_from(OSSL_PARAM_BLD *builder, const char *type) {
  OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  EVP_PKEY *key = NULL;
  if (parameters == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
      EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
    die("jwks: no %s key", type);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  return key;
}

static EVP_PKEY *parse_key(json_t *jwk, const char *algorithm) {
  unsigned char first[1024], second[1024];
  if (strcmp(algorithm, "RS256") == 0) {
    size_t n = member_bytes(jwk, "n", first, sizeof first), e = member_bytes(jwk, "e", second, sizeof second);
    BIGNUM *modulus = BN_bin2bn(first, (int)n, NULL), *exponent = BN_bin2bn(second, (int)e, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus);
    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent);
    EVP_PKEY *key = key_from(builder, "RSA");
    BN_free(modulus);
    BN_free(exponent);
    return key;
  }
  if (strcmp(algorithm, "ES256") == 0) {
    unsigned char point[65] = {4};
    if (member_bytes(jwk, "x", first, sizeof first) != 32 || member_bytes(jwk, "y", second, sizeof second) != 32)
      die("jwks: no point of P-256");
    memcpy(point + 1, first, 32);
    memcpy(point + 33, second, 32);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
    OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point);
    return key_from(builder, "EC");
  }
  if (strcmp(algorithm, "EdDSA") != 0) die("jwks: %s is not measured", algorithm);
  EVP_PKEY *key =
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, first, member_bytes(jwk, "x", first, sizeof first));
  if (key == NULL) die("jwks: no Ed25519 key");
  return key;
}

static void read_keys(void) {
  json_error_t problem;
  json_t *jwk;
  key_set = json_load_file(option.jwks_path, JSON_REJECT_DUPLICATES, &problem);
  if (key_set == NULL) die("%s: %s", option.jwks_path, problem.text);
  size_t index;
  json_array_foreach(json_object_get(key_set, "keys"), index, jwk) {
    if (key_count == sizeof keys / sizeof *keys) die("%s: too many keys", option.jwks_path);
    struct key *key = &keys[key_count++];
    key->kid = json_string_value(json_object_get(jwk, "kid"));
    key->algorithm = json_string_value(json_object_get(jwk, "alg"));
    if (key->kid == NULL || key->algorithm == NULL) die("%s: a key without kid or alg", option.jwks_path);
    key->key = parse_key(jwk, key->algorithm);
    bool edwards = strcmp(key->algorithm, "EdDSA") == 0;
    key->token_hash = EVP_MD_fetch(NULL, edwards ? "SHA512" : "SHA256", NULL);
    key->prepared = EVP_MD_CTX_new();
    if (key->prepared == NULL ||
        EVP_DigestVerifyInit_ex(key->prepared, NULL, edwards ? NULL : "SHA256", NULL, NULL, key->key, NULL) != 1)
      die("%s: cannot verify", key->algorithm);
  }
}

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

// DER of r‖s (RFC 7518 section 3.4), which must both be within 1 and the order less one.
static size_t der_signature(const unsigned char *raw, unsigned char *der) {
  static const unsigned char order[32] = {0xff, 0xff, 0xff, 0xff, 0,    0,    0,    0,    0xff, 0xff, 0xff,
                                          0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
                                          0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};
  unsigned char *out = der + 2;
  for (int half = 0; half < 2; half++, raw += 32) {
    if (memcmp(raw, order, 32) >= 0) return 0;
    size_t zeros = 0;
    while (zeros < 32 && raw[zeros] == 0) zeros++;
    if (zeros == 32) return 0;
    bool sign = raw[zeros] > 0x7f;
    *out++ = 2;
    *out++ = (unsigned char)(32 - zeros + sign);
    if (sign) *out++ = 0;
    memcpy(out, raw + zeros, 32 - zeros);
    out += 32 - zeros;
  }
  der[0] = 0x30;
  der[1] = (unsigned char)(out - der - 2);
  return (size_t)(out - der);
}

static bool verify(const struct key *key, const char *signed_part, size_t length, const char *text, size_t count) {
  unsigned char signature[MAX_SIGNATURE], der[80];
  const unsigned char *given = signature;
  if (count / 4 * 3 + 3 > sizeof signature || !base64url_decode(text, count, signature, &count)) return false;
  if (key->algorithm[0] == 'E' && key->algorithm[1] == 'S') {
    if (count != 64 || (count = der_signature(signature, der)) == 0) return false;
    given = der;
  } else if (count != (size_t)EVP_PKEY_get_size(key->key)) {
    return false;
  }
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool valid = context != NULL && EVP_MD_CTX_copy_ex(context, key->prepared) == 1 &&
               EVP_DigestVerify(context, given, count, (const unsigned char *)signed_part, length) == 1;
  EVP_MD_CTX_free(context);
  return valid;
}

// The JSON object that a part of the token encodes, without repeated members; NULL when it is none.
static json_t *decode_object(const char *text, size_t length) {
  unsigned char *bytes = malloc(length / 4 * 3 + 3);
  size_t count;
  if (bytes == NULL) die("out of memory");
  json_t *value = NULL;
  if (base64url_decode(text, length, bytes, &count))
    value = json_loadb((char *)bytes, count, JSON_REJECT_DUPLICATES, NULL);
  free(bytes);
  if (json_is_object(value)) return value;
  json_decref(value);
  return NULL;
}

static const char *string(json_t *object, const char *name) { return json_string_value(json_object_get(object, name)); }

static bool is(const char *text, const char *expected) { return text != NULL && strcmp(text, expected) == 0; }

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
  read_keys();
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
