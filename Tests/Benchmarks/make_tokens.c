// Makes what the token benchmark is measured with: one key for each of RS256, ES256 and EdDSA, their JWK Set, and ID
// tokens, no two alike. Files in the directory:
//
//   jwks.json                the three public keys
//   RS256.tsv …              one token a line with the nonce and the access token it must fit, tabs between the three
//   RS256.rejected.tsv …      tokens with one fault each, which must be rejected; a fourth column names the fault
//
// RSA signatures are what takes time; they are made on all cores.

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <unistd.h>

#include "signing.h"

enum { MAX_THREADS = 64, HASH_BYTES = 64 };

static struct {
  const char *directory, *issuer, *client;
  unsigned count;
} option = {.issuer = "https://idp.example.com", .client = "bench", .count = 1000};

static struct algorithm algorithms[] = {
    {"RS256", "rsa-1", "SHA256", "SHA256", NULL},
    {"ES256", "ec-1", "SHA256", "SHA256", NULL},
    {"EdDSA", "ed-1", NULL, "SHA512", NULL},
};

static time_t now;

// What is wrong with a token that must be rejected; the signature is right unless the fault is the signature's.
enum fault { NO_FAULT, SIGNATURE, ISSUER, AUDIENCE, EXPIRED, NOT_YET, FUTURE, NONCE, TOKEN_HASH, DUPLICATE, FAULTS };
static const char *const fault_names[] = {"none",    "signature", "issuer", "audience",     "expired",
                                          "not_yet", "future",    "nonce",  "access_token", "duplicate"};

// `at_hash` of OpenID Connect Core section 3.1.3.6: the left half of the hash.
static void token_hash(const struct algorithm *a, const char *access_token, char *text) {
  unsigned char hash[HASH_BYTES];
  size_t count;
  if (EVP_Q_digest(NULL, a->token_hash, NULL, access_token, strlen(access_token), hash, &count) != 1)
    die("%s: cannot hash", a->token_hash);
  text[base64url_encode(hash, count / 2, text)] = '\0';
}

// One line of a file; `index` makes the subject.
static void append_token(struct buffer *line, const struct algorithm *a, unsigned index, enum fault fault) {
  char nonce[32], access_token[64], hash[64], subject[64], identifier[32];
  random_text(nonce, 16);
  random_text(access_token, 32);
  random_text(identifier, 12);
  token_hash(a, access_token, hash);
  snprintf(subject, sizeof subject, "f5c1a5b0-user-%08u", index);

  json_int_t expiry = fault == EXPIRED ? now - 400 : now + 86400;
  json_int_t issued = fault == FUTURE ? now + 80000 : now - 500;
  json_int_t not_before = fault == NOT_YET ? now + 80000 : now - 500;
  const char *issuer = fault == ISSUER ? "https://idp.example.net" : option.issuer;
  const char *audience = fault == AUDIENCE ? "another" : option.client;
  json_t *claims = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s}", "iss", issuer, "sub",
                             subject, "aud", audience, "azp", option.client, "exp", expiry, "iat", issued, "nbf",
                             not_before, "auth_time", (json_int_t)(now - 520), "nonce", nonce, "at_hash", hash, "acr",
                             "urn:mace:incommon:iap:silver", "jti", identifier);
  json_t *header = json_pack("{s:s, s:s, s:s}", "alg", a->name, "kid", a->kid, "typ", "JWT");
  if (claims == NULL || header == NULL) die("out of memory");

  size_t start = line->length;
  append_json(line, header);
  buffer_append(line, ".", 1);
  if (fault == DUPLICATE) {
    char *text = json_dumps(claims, JSON_COMPACT), *twice;
    if (text == NULL || asprintf(&twice, "%.*s,\"sub\":\"root\"}", (int)strlen(text) - 1, text) < 0)
      die("out of memory");
    append_base64url(line, twice, strlen(twice));
    free(text);
    free(twice);
    json_decref(claims);
  } else {
    append_json(line, claims);
  }
  unsigned char signature[1024];
  size_t count = sign(a, line->bytes + start, line->length - start, signature, sizeof signature);
  if (fault == SIGNATURE) signature[count / 2] ^= 1;
  buffer_append(line, ".", 1);
  append_base64url(line, signature, count);

  // What the caller has in addition to the token.
  if (fault == NONCE) random_text(nonce, 16);
  if (fault == TOKEN_HASH) random_text(access_token, 32);
  buffer_append(line, "\t", 1);
  buffer_append(line, nonce, strlen(nonce));
  buffer_append(line, "\t", 1);
  buffer_append(line, access_token, strlen(access_token));
  if (fault != NO_FAULT) {
    buffer_append(line, "\t", 1);
    buffer_append(line, fault_names[fault], strlen(fault_names[fault]));
  }
  buffer_append(line, "\n", 1);
}

static void write_file(const char *name, const struct buffer *parts, unsigned count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", option.directory, name);
  FILE *file = fopen(path, "w");
  if (file == NULL) die("%s: %s", path, strerror(errno));
  for (unsigned i = 0; i < count; i++)
    if (fwrite(parts[i].bytes, 1, parts[i].length, file) != parts[i].length) die("%s: %s", path, strerror(errno));
  if (fclose(file) != 0) die("%s: %s", path, strerror(errno));
}

struct share {
  pthread_t thread;
  const struct algorithm *algorithm;
  unsigned first, end;
  struct buffer lines;
};

static void *make_share(void *argument) {
  struct share *share = argument;
  for (unsigned i = share->first; i < share->end; i++) append_token(&share->lines, share->algorithm, i, NO_FAULT);
  return NULL;
}

static void make_files(const struct algorithm *a) {
  struct share shares[MAX_THREADS] = {0};
  struct buffer lines[MAX_THREADS], rejected = {0};
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  unsigned threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (unsigned)cores;
  for (unsigned i = 0; i < threads; i++) {
    shares[i] = (struct share){.algorithm = a,
                               .first = (unsigned)((uint64_t)option.count * i / threads),
                               .end = (unsigned)((uint64_t)option.count * (i + 1) / threads)};
    if (pthread_create(&shares[i].thread, NULL, make_share, &shares[i]) != 0) die("pthread_create failed");
  }
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(shares[i].thread, NULL);
    lines[i] = shares[i].lines;
  }
  char name[64];
  snprintf(name, sizeof name, "%s.tsv", a->name);
  write_file(name, lines, threads);
  for (enum fault fault = SIGNATURE; fault < FAULTS; fault++) append_token(&rejected, a, fault, fault);
  snprintf(name, sizeof name, "%s.rejected.tsv", a->name);
  write_file(name, &rejected, 1);
  for (unsigned i = 0; i < threads; i++) free(lines[i].bytes);
  free(rejected.bytes);
}

static void read_options(int argc, char **argv) {
  static const struct option names[] = {{"directory", required_argument, NULL, 'd'},
                                        {"count", required_argument, NULL, 'n'},
                                        {"issuer", required_argument, NULL, 'i'},
                                        {"client", required_argument, NULL, 'c'},
                                        {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 'd': option.directory = optarg; break;
      case 'n': option.count = (unsigned)parse_whole("--count", optarg, 1, 10000000); break;
      case 'i': option.issuer = optarg; break;
      case 'c': option.client = optarg; break;
      default: option.directory = NULL; optind = argc; break;
    }
  if (option.directory == NULL || optind != argc)
    die("usage: make_tokens --directory DIR [--count N] [--issuer URL] [--client ID]");
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  now = time(NULL);
  algorithms[0].key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
  algorithms[1].key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  algorithms[2].key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  json_t *keys = json_array();
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    if (algorithms[i].key == NULL) die("%s: no key", algorithms[i].name);
    json_array_append_new(keys, public_jwk(&algorithms[i]));
    make_files(&algorithms[i]);
    EVP_PKEY_free(algorithms[i].key);
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/jwks.json", option.directory);
  json_t *set = json_pack("{s:o}", "keys", keys);
  if (set == NULL || json_dump_file(set, path, JSON_COMPACT) != 0) die("%s: cannot be written", path);
  json_decref(set);
  return 0;
}
