// The yardstick of `validateRequest` with DPoP: the same verifications as a careful C programmer would write them for
// speed alone, with OpenSSL and jansson, behind the JSON-RPC frame of the C server.
//
// The order is Postern's, by cost: where the token is; the proof's form, method, URL, time and `ath` (RFC 9449 section
// 4.3); its signature, with the key in it; the access token (RFC 9068), whose verdict is kept; audience, binding,
// scope; last the use of the proof's `jti`, which is kept for as long as the proof could be accepted. One key for each
// thread gets the point of each proof, which costs less than a new key.

#define _GNU_SOURCE
#include <getopt.h>
#include <strings.h>

#include "jose.h"
#include "rpc_server.h"

enum { MAX_PROOF = 8192, MAX_TOKEN = 16384, MAX_URL = 2048, KEPT_TOKENS = 1 << 15, SKEW = 30 };
enum { USES = 1 << 21, MOST_USES = 1000000, USE_BYTES = 16 };

static struct {
  const char *jwks_path, *issuer;
  double past, future;
} option = {.issuer = "https://idp.example.com", .past = 60, .future = 5};

// What makes a request invalid; code NULL: nothing.
struct verdict {
  const char *code, *message, *detail;
  int status;
};

static const struct verdict valid = {NULL, NULL, NULL, 200};

static struct verdict reject(const char *code, const char *message) { return (struct verdict){code, message, NULL, 401}; }

static struct verdict reject_proof(const char *detail, const char *message) {
  return (struct verdict){"invalid_dpop_proof", message, detail, 401};
}

static double now_seconds(void) {
  struct timespec clock;
  clock_gettime(CLOCK_REALTIME, &clock);
  return (double)clock.tv_sec + (double)clock.tv_nsec / 1e9;
}

struct part {
  const char *text;
  size_t length;
};

// The three parts of a compact JWS.
struct compact {
  struct part header, payload, signature;
  size_t signed_length;
};

static bool split(const char *text, size_t length, struct compact *parts) {
  const char *end = text + length, *first = memchr(text, '.', length);
  const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
  if (second == NULL || memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL) return false;
  parts->header = (struct part){text, (size_t)(first - text)};
  parts->payload = (struct part){first + 1, (size_t)(second - first - 1)};
  parts->signature = (struct part){second + 1, (size_t)(end - second - 1)};
  parts->signed_length = (size_t)(second - text);
  return true;
}

// -- the uses of proofs: open addressing; a slot whose time has passed is free again

struct use {
  unsigned char identity[USE_BYTES];
  double end;
};

static struct use *uses;
static size_t use_count;
static pthread_mutex_t uses_lock = PTHREAD_MUTEX_INITIALIZER;

enum use_result { FIRST_USE, USED_BEFORE, NO_CAPACITY };

static enum use_result use_up(const unsigned char *identity, double end, double now) {
  size_t index;
  memcpy(&index, identity, sizeof index);
  enum use_result result = FIRST_USE;
  struct use *free_slot = NULL;
  pthread_mutex_lock(&uses_lock);
  for (;; index++) {
    struct use *use = &uses[index % USES];
    if (use->end <= now && free_slot == NULL) free_slot = use;
    if (use->end == 0) break;
    if (use->end > now && memcmp(use->identity, identity, USE_BYTES) == 0) {
      result = USED_BEFORE;
      break;
    }
  }
  if (result == FIRST_USE && free_slot->end == 0 && use_count >= MOST_USES) result = NO_CAPACITY;
  if (result == FIRST_USE) {
    use_count += free_slot->end == 0;
    memcpy(free_slot->identity, identity, USE_BYTES);
    free_slot->end = end;
  }
  pthread_mutex_unlock(&uses_lock);
  return result;
}

// -- access tokens

struct kept_token {
  char *text;
  size_t length;
  json_t *claims;
};

static struct kept_token kept_tokens[KEPT_TOKENS];
static pthread_mutex_t tokens_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct key *choose_key(json_t *header) {
  const char *type = string(header, "typ"), *kid = string(header, "kid"), *algorithm = string(header, "alg");
  if (json_object_get(header, "crit") != NULL || json_object_get(header, "b64") != NULL) return NULL;
  if (type == NULL || (strcasecmp(type, "at+jwt") != 0 && strcasecmp(type, "application/at+jwt") != 0)) return NULL;
  for (size_t i = 0; kid != NULL && i < key_count; i++)
    if (strcmp(keys[i].kid, kid) == 0) return is(algorithm, keys[i].algorithm) ? &keys[i] : NULL;
  return NULL;
}

// Everything that stays as it is while the token lives.
static json_t *verified_claims(const char *token, size_t length) {
  static const char *const strings[] = {"iss", "sub", "client_id", "jti"};
  struct compact parts;
  if (!split(token, length, &parts)) return NULL;
  json_t *header = decode_object(parts.header.text, parts.header.length);
  json_t *claims = decode_object(parts.payload.text, parts.payload.length);
  const struct key *key = header == NULL ? NULL : choose_key(header);
  bool good = key != NULL && claims != NULL && json_is_number(json_object_get(claims, "exp")) &&
              json_is_number(json_object_get(claims, "iat"));
  for (size_t i = 0; good && i < sizeof strings / sizeof *strings; i++) good = string(claims, strings[i]) != NULL;
  good = good && is(string(claims, "iss"), option.issuer) &&
         verify(key, token, parts.signed_length, parts.signature.text, parts.signature.length);
  json_decref(header);
  if (good) return claims;
  json_decref(claims);
  return NULL;
}

// The claims of a genuine token, for the caller to free; NULL: it is none. `hash` is the token's.
static json_t *claims_of(const char *token, size_t length, const unsigned char *hash, bool *cached) {
  size_t index;
  memcpy(&index, hash, sizeof index);
  struct kept_token *kept = &kept_tokens[index % KEPT_TOKENS];
  pthread_mutex_lock(&tokens_lock);
  *cached = kept->length == length && memcmp(kept->text, token, length) == 0;
  json_t *claims = *cached ? json_incref(kept->claims) : NULL;
  pthread_mutex_unlock(&tokens_lock);
  if (*cached || (claims = verified_claims(token, length)) == NULL) return claims;
  char *text = malloc(length);
  if (text == NULL) die("out of memory");
  memcpy(text, token, length);
  pthread_mutex_lock(&tokens_lock);
  struct kept_token old = *kept;
  *kept = (struct kept_token){text, length, json_incref(claims)};
  pthread_mutex_unlock(&tokens_lock);
  free(old.text);
  json_decref(old.claims);
  return claims;
}

static bool is_for(json_t *audience, const char *expected) {
  size_t index;
  json_t *one;
  if (json_is_string(audience)) return is(json_string_value(audience), expected);
  json_array_foreach(audience, index, one) if (is(json_string_value(one), expected)) return true;
  return false;
}

static bool has_scope(const char *granted, const char *scope) {
  size_t length = scope == NULL ? 0 : strlen(scope);
  if (length == 0 || granted == NULL) return false;
  for (const char *p = granted; (p = strstr(p, scope)) != NULL; p += length)
    if ((p == granted || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0')) return true;
  return false;
}

static struct verdict judge(json_t *claims, json_t *params, const char *thumbprint, double now) {
  json_t *not_before = json_object_get(claims, "nbf"), *required = json_object_get(params, "requiredScopes"), *scope;
  const char *granted = string(claims, "scope"), *bound = string(json_object_get(claims, "cnf"), "jkt");
  size_t index;
  if (!(now < json_number_value(json_object_get(claims, "exp")) + SKEW)) return reject("expired", "the token has expired");
  if (!(json_number_value(json_object_get(claims, "iat")) <= now + SKEW)) return reject("issued_in_future", "a token of later");
  if (not_before != NULL && !(json_number_value(not_before) <= now + SKEW)) return reject("not_yet_valid", "a token of later");
  if (!is_for(json_object_get(claims, "aud"), string(params, "audience"))) return reject("wrong_audience", "another audience");
  if ((bound == NULL) != (thumbprint == NULL) || (bound != NULL && strcmp(bound, thumbprint) != 0))
    return reject("confirmation_mismatch", "the token is bound to another key, or to none");
  json_array_foreach(required, index, scope) if (!has_scope(granted, json_string_value(scope)))
    return (struct verdict){"insufficient_scope", "a required scope was not granted", NULL, 403};
  return valid;
}

// -- proofs

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Removes the segments "." and ".." of the path (RFC 3986 section 5.2.4); the new end.
static char *remove_dots(char *path, char *end) {
  char *out = path;
  for (char *p = path; p < end;) {
    char *next = memchr(p + 1, '/', (size_t)(end - p - 1));
    if (next == NULL) next = end;
    size_t length = (size_t)(next - p);
    bool one = length == 2 && p[1] == '.', two = length == 3 && p[1] == '.' && p[2] == '.';
    if (two)
      while (out > path && *--out != '/') continue;
    if (!one && !two) {
      memmove(out, p, length);
      out += length;
    } else if (next == end) {
      *out++ = '/';
    }
    p = next;
  }
  return out;
}

// A URL without query and fragment in its normal form (RFC 3986 section 6.2); the length, 0: no such URL.
static size_t normalise(const char *url, char *text) {
  size_t length = strcspn(url, "?#");
  bool secure = strncasecmp(url, "https://", 8) == 0;
  if (length >= MAX_URL || (!secure && strncasecmp(url, "http://", 7) != 0)) return 0;
  const char *p = url + (secure ? 8 : 7), *end = url + length, *slash = memchr(p, '/', (size_t)(end - p));
  const char *host_end = slash ? slash : end, *port = secure ? ":443" : ":80";
  size_t port_length = strlen(port);
  if (memchr(p, '@', (size_t)(host_end - p)) != NULL || host_end == p) return 0;
  char *out = stpcpy(text, secure ? "https://" : "http://");
  bool usual = (size_t)(host_end - p) > port_length && memcmp(host_end - port_length, port, port_length) == 0;
  for (const char *host = p; host < host_end - (usual ? port_length : 0); host++)
    *out++ = *host >= 'A' && *host <= 'Z' ? (char)(*host | 0x20) : *host;
  char *path = out;
  if (slash == NULL) *out++ = '/';
  for (p = host_end; p < end; p++) {
    if (*p != '%') {
      *out++ = *p;
      continue;
    }
    int high = p + 2 < end ? hex(p[1]) : -1, low = high < 0 ? -1 : hex(p[2]), byte = high * 16 + low;
    if (low < 0) return 0;
    bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    if (letter || (byte >= '0' && byte <= '9') || strchr("-._~", byte) != NULL) {
      *out++ = (char)byte;
    } else {
      static const char digits[] = "0123456789ABCDEF";
      *out++ = '%', *out++ = digits[high], *out++ = digits[low];
    }
    p += 2;
  }
  out = remove_dots(path, out);
  *out = '\0';
  return (size_t)(out - text);
}

struct proof {
  json_t *header, *claims;
  char thumbprint[48];
};

// The key of P-256 in the header, put into this thread's key object; its thumbprint (RFC 7638).
static EVP_PKEY *key_of(json_t *jwk, char *thumbprint) {
  static _Thread_local EVP_PKEY *key;
  static const char *const private_members[] = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"};
  const char *x = string(jwk, "x"), *y = string(jwk, "y");
  unsigned char point[70] = {4}, hash[32];
  size_t count;
  char text[192];
  for (size_t i = 0; i < sizeof private_members / sizeof *private_members; i++)
    if (json_object_get(jwk, private_members[i]) != NULL) return NULL;
  if (!is(string(jwk, "kty"), "EC") || !is(string(jwk, "crv"), "P-256") || x == NULL || y == NULL) return NULL;
  if (strlen(x) != 43 || !base64url_decode(x, 43, point + 1, &count) || count != 32) return NULL;
  if (strlen(y) != 43 || !base64url_decode(y, 43, point + 33, &count) || count != 32) return NULL;
  if (key == NULL) key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  if (key == NULL || EVP_PKEY_set1_encoded_public_key(key, point, 65) != 1) return NULL; // not on the curve
  int length = snprintf(text, sizeof text, "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"}", x, y);
  if (EVP_Digest(text, (size_t)length, hash, NULL, EVP_sha256(), NULL) != 1) return NULL;
  thumbprint[base64url_encode(hash, sizeof hash, thumbprint)] = '\0';
  return key;
}

static bool signature_is_right(EVP_PKEY *key, const char *text, const struct compact *parts) {
  unsigned char raw[72], der[80];
  size_t count;
  if (parts->signature.length != 86 || !base64url_decode(parts->signature.text, 86, raw, &count) || count != 64 ||
      (count = der_signature(raw, der)) == 0)
    return false;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool right = context != NULL && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
               EVP_DigestVerify(context, der, count, (const unsigned char *)text, parts->signed_length) == 1;
  EVP_MD_CTX_free(context);
  return right;
}

// All rules but the last one, of which `proof` has what it needs. `hash` is that of the access token.
static struct verdict check_proof(const char *text, size_t length, json_t *params, const unsigned char *hash, double now,
                                  struct proof *proof) {
  struct compact parts;
  if (length > MAX_PROOF || !split(text, length, &parts)) return reject_proof("form", "the proof is no JWT");
  proof->header = decode_object(parts.header.text, parts.header.length);
  proof->claims = decode_object(parts.payload.text, parts.payload.length);
  if (proof->header == NULL || proof->claims == NULL) return reject_proof("form", "the proof is no JWT");
  const char *type = string(proof->header, "typ"), *identifier = string(proof->claims, "jti"),
             *target = string(proof->claims, "htu"), *token_hash = string(proof->claims, "ath");
  json_t *made = json_object_get(proof->claims, "iat");
  if (!is(string(proof->header, "alg"), "ES256")) return reject_proof("alg", "only ES256 is measured");
  if (json_object_get(proof->header, "crit") != NULL) return reject_proof("form", "crit is not known");
  if (type == NULL || strcasecmp(type, "dpop+jwt") != 0) return reject_proof("typ", "typ is not dpop+jwt");
  if (identifier == NULL || *identifier == '\0') return reject_proof("jti", "jti is missing");
  if (!json_is_number(made) || json_number_value(made) < 0) return reject_proof("iat", "iat is no time");
  if (!is(string(proof->claims, "htm"), string(params, "method"))) return reject_proof("htm", "another method");
  char expected[MAX_URL + 16], given[MAX_URL + 16];
  size_t expected_length = normalise(string(params, "url"), expected);
  if (target == NULL || expected_length == 0 || normalise(target, given) != expected_length ||
      memcmp(expected, given, expected_length) != 0)
    return reject_proof("htu", "another URL");
  double age = now - json_number_value(made);
  if (!(age <= option.past && age >= -option.future)) return reject_proof("iat", "a proof of another time");
  unsigned char bytes[48];
  size_t count;
  if (token_hash == NULL || strlen(token_hash) != 43 || !base64url_decode(token_hash, 43, bytes, &count) ||
      count != 32 || CRYPTO_memcmp(bytes, hash, 32) != 0)
    return reject_proof("ath", "a proof for another token");
  EVP_PKEY *key = key_of(json_object_get(proof->header, "jwk"), proof->thumbprint);
  if (key == NULL) return reject_proof("jwk", "jwk is no public key of P-256");
  if (!signature_is_right(key, text, &parts)) return reject_proof("signature", "the signature is wrong");
  return valid;
}

static struct verdict use_proof(const struct proof *proof, double now) {
  const char *identifier = string(proof->claims, "jti");
  size_t thumbprint_length = strlen(proof->thumbprint), length = strlen(identifier);
  unsigned char hash[32];
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 ||
      EVP_DigestUpdate(context, proof->thumbprint, thumbprint_length + 1) != 1 || // with the NUL between them
      EVP_DigestUpdate(context, identifier, length) != 1 || EVP_DigestFinal_ex(context, hash, NULL) != 1)
    die("SHA256 failed");
  EVP_MD_CTX_free(context);
  double end = json_number_value(json_object_get(proof->claims, "iat")) + option.past + 1;
  switch (use_up(hash, end, now)) {
    case FIRST_USE: return valid;
    case USED_BEFORE: return (struct verdict){"dpop_proof_replayed", "the proof was used before", "jti", 401};
    case NO_CAPACITY: break;
  }
  return (struct verdict){"store_unavailable", "too many proofs", NULL, 503};
}

// -- requests

// The one value of a field; `count` is how many there are.
static json_t *field(json_t *fields, const char *name, size_t *count) {
  const char *key;
  json_t *value, *found = NULL;
  *count = 0;
  json_object_foreach(fields, key, value) {
    if (strcasecmp(key, name) != 0) continue;
    *count += json_is_array(value) ? json_array_size(value) : 1;
    found = json_is_array(value) ? json_array_get(value, 0) : value;
  }
  return json_is_string(found) ? found : NULL;
}

// The claims of a request that may pass go to `claims`, for the caller to free.
static struct verdict validate(json_t *params, struct proof *proof, json_t **claims, bool *cached) {
  json_t *fields = json_object_get(params, "headers");
  size_t count, proof_count;
  json_t *authorization = field(fields, "Authorization", &count), *shown = field(fields, "DPoP", &proof_count);
  if (count > 1) return (struct verdict){"token_repeated", "more than one Authorization", NULL, 400};
  if (authorization == NULL) return reject("token_missing", "the request has no token");
  const char *text = json_string_value(authorization);
  bool bound = strncasecmp(text, "DPoP ", 5) == 0, bearer = strncasecmp(text, "Bearer ", 7) == 0;
  if (!bound && !bearer) return reject("token_missing", "another scheme");
  const char *token = text + (bound ? 5 : 7);
  size_t length = json_string_length(authorization) - (size_t)(token - text);
  if (length == 0 || length > MAX_TOKEN) return reject("malformed_token", "no such token");
  if (bearer && proof_count > 0) return reject("confirmation_mismatch", "a proof came with a bearer token");
  if (bound && proof_count == 0) return reject("dpop_proof_missing", "the request has no proof");
  if (proof_count > 1) return reject_proof("field", "more than one proof");
  unsigned char hash[32];
  if (EVP_Digest(token, length, hash, NULL, EVP_sha256(), NULL) != 1) die("SHA256 failed");
  double now = now_seconds();
  struct verdict verdict = valid;
  if (bound)
    verdict = shown == NULL ? reject_proof("field", "DPoP is no text")
                            : check_proof(json_string_value(shown), json_string_length(shown), params, hash, now, proof);
  if (verdict.code != NULL) return verdict;
  if ((*claims = claims_of(token, length, hash, cached)) == NULL) return reject("invalid_token", "the token is not genuine");
  verdict = judge(*claims, params, bound ? proof->thumbprint : NULL, now);
  return verdict.code == NULL && bound ? use_proof(proof, now) : verdict;
}

static json_t *make_result(struct verdict verdict, json_t *claims, const struct proof *proof, bool cached) {
  if (verdict.code == NULL) {
    const char *thumbprint = proof->thumbprint;
    return json_pack("{s:b, s:O, s:s, s:o*, s:b}", "valid", 1, "claims", claims, "tokenType",
                     *thumbprint ? "DPoP" : "Bearer", "confirmation",
                     *thumbprint ? json_pack("{s:s}", "jkt", thumbprint) : NULL, "cached", cached);
  }
  return json_pack("{s:b, s:{s:s, s:s, s:s*}, s:{s:i, s:{s:s, s:s}}}", "valid", 0, "error", "code", verdict.code,
                   "message", verdict.message, "detail", verdict.detail, "response", "status", verdict.status, "headers",
                   "WWW-Authenticate", "DPoP algs=\"ES256\"", "Cache-Control", "no-store");
}

static void answer_call(struct connection *c, json_t *id, const char *method, json_t *params) {
  if (strcmp(method, "validateRequest") != 0) {
    write_error(c, id, -32601, "no such method", "method_not_found");
    return;
  }
  if (string(params, "method") == NULL || string(params, "url") == NULL || string(params, "audience") == NULL ||
      !json_is_object(json_object_get(params, "headers"))) {
    write_error(c, id, -32602, "method, url, headers and audience are needed", "invalid_params");
    return;
  }
  struct proof proof = {0};
  json_t *claims = NULL;
  bool cached = false;
  struct verdict verdict = validate(params, &proof, &claims, &cached);
  if (verdict.status == 503)
    write_error(c, id, 5008, verdict.message, verdict.code);
  else
    write_answer(c, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result",
                              make_result(verdict, claims, &proof, cached)));
  json_decref(proof.header);
  json_decref(proof.claims);
  json_decref(claims);
}

int main(int argc, char **argv) {
  static const struct option options[] = {{"socket", required_argument, NULL, 's'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"jwks", required_argument, NULL, 'j'},
                                          {"issuer", required_argument, NULL, 'i'},
                                          {"past", required_argument, NULL, 'p'},
                                          {0}};
  for (int option_name; (option_name = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option_name) {
      case 's': socket_path = optarg; break;
      case 't': loop_count = (unsigned)parse_whole("--threads", optarg, 1, 64); break;
      case 'j': option.jwks_path = optarg; break;
      case 'i': option.issuer = optarg; break;
      case 'p': option.past = parse_seconds("--past", optarg); break;
      default: socket_path = NULL; optind = argc; break;
    }
  if (socket_path == NULL || option.jwks_path == NULL || optind != argc)
    die("usage: proofs --socket PATH --jwks FILE [--issuer URL] [--past SECONDS] [--threads N]");
  json_object_seed(0); // once, before there are threads
  read_keys(option.jwks_path);
  uses = checked_calloc(USES, sizeof *uses);
  serve_socket();
}
