// Makes what requests to a protected API are measured with: the issuer's keys, access tokens (RFC 9068), and requests
// with a DPoP proof (RFC 9449), each proof with a `jti` of its own and made just now. In the directory, once:
//
//   RS256.pem ES256.pem                  the issuer's private keys
//   RS256.public.pem ES256.public.pem    their public keys
//   jwks.json                            the same as a JWK Set
//
// --proofs FILE     one call of validateRequest a line, with bound tokens (--tokens) of a hundred clients in turn
// --rejected FILE   calls with one fault each: {"fault", "code", "request"}, the code of the verdict or null: any
// --bearers FILE    one field "Authorization: Bearer …" a line, tokens that are bound to no key, signed by --algorithm

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "signing.h"

enum { CLIENTS = 100, MAX_THREADS = 64 };

#define AUDIENCE "https://api.example.com"
#define URL AUDIENCE "/orders/7"

static struct {
  const char *directory, *issuer, *proofs, *rejected, *bearers, *algorithm;
  unsigned count, tokens;
} option = {.issuer = "https://idp.example.com", .algorithm = "ES256", .count = 1000, .tokens = CLIENTS};

static struct algorithm issuer_keys[] = {{"RS256", "rsa-1", "SHA256", NULL, NULL}, {"ES256", "ec-1", "SHA256", NULL, NULL}};

struct client {
  struct algorithm key;
  json_t *jwk;
  char thumbprint[48];
};

static struct client clients[CLIENTS];
static time_t now;

// What is wrong with a request that must be rejected; everything else about it is right.
enum fault {
  NO_FAULT, BEARER, MISSING, TWICE, SIGNATURE, TYPE, ALGORITHM, PRIVATE, METHOD, TARGET, OLD, FUTURE, HASH, BINDING,
  TOKEN_SIGNATURE, TOKEN_EXPIRED, TOKEN_AUDIENCE, TOKEN_SCOPE, FAULTS
};
static const struct {
  const char *name, *code;
} faults[] = {
    [BEARER] = {"a bound token as a bearer token", "confirmation_mismatch"},
    [MISSING] = {"no proof", "dpop_proof_missing"},
    [TWICE] = {"two proofs", "invalid_dpop_proof"},
    [SIGNATURE] = {"the proof's signature", "invalid_dpop_proof"},
    [TYPE] = {"typ", "invalid_dpop_proof"},
    [ALGORITHM] = {"alg", "invalid_dpop_proof"},
    [PRIVATE] = {"a private key in the proof", "invalid_dpop_proof"},
    [METHOD] = {"htm", "invalid_dpop_proof"},
    [TARGET] = {"htu", "invalid_dpop_proof"},
    [OLD] = {"an old proof", "invalid_dpop_proof"},
    [FUTURE] = {"a proof of later", "invalid_dpop_proof"},
    [HASH] = {"ath", "invalid_dpop_proof"},
    [BINDING] = {"the key of another client", "confirmation_mismatch"},
    [TOKEN_SIGNATURE] = {"the token's signature", NULL},
    [TOKEN_EXPIRED] = {"an expired token", NULL},
    [TOKEN_AUDIENCE] = {"the token's audience", NULL},
    [TOKEN_SCOPE] = {"the token's scope", "insufficient_scope"},
};

static void hash_text(const void *bytes, size_t count, char *text) {
  unsigned char hash[32];
  size_t length;
  if (EVP_Q_digest(NULL, "SHA256", NULL, bytes, count, hash, &length) != 1) die("SHA256: cannot hash");
  text[base64url_encode(hash, length, text)] = '\0';
}

// RFC 7638: the members that make up a key of P-256, by name.
static void make_client(struct client *client) {
  client->key = (struct algorithm){"ES256", "", "SHA256", NULL, EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256")};
  client->jwk = public_jwk(&client->key);
  for (const char *const *name = (const char *const[]){"kid", "alg", "use", NULL}; *name != NULL; name++)
    json_object_del(client->jwk, *name);
  char *text = json_dumps(client->jwk, JSON_COMPACT | JSON_SORT_KEYS);
  if (text == NULL) die("out of memory");
  hash_text(text, strlen(text), client->thumbprint);
  free(text);
}

// Header and claims are given up.
static void append_jws(struct buffer *b, const struct algorithm *a, json_t *header, json_t *claims, bool spoil) {
  if (header == NULL || claims == NULL) die("out of memory");
  size_t start = b->length;
  append_json(b, header);
  buffer_append(b, ".", 1);
  append_json(b, claims);
  unsigned char signature[1024];
  size_t count = sign(a, b->bytes + start, b->length - start, signature, sizeof signature);
  if (spoil) signature[count / 2] ^= 1;
  buffer_append(b, ".", 1);
  append_base64url(b, signature, count);
}

// `thumbprint`: of the key that the token is bound to; NULL: to none.
static void append_token(struct buffer *b, const struct algorithm *a, unsigned index, const char *thumbprint, enum fault fault) {
  char subject[32], identifier[32];
  random_text(identifier, 12);
  snprintf(subject, sizeof subject, "user-%08u", index);
  json_int_t expiry = fault == TOKEN_EXPIRED ? now - 400 : now + 7200;
  const char *audience = fault == TOKEN_AUDIENCE ? "https://other.example.com" : AUDIENCE;
  const char *scope = fault == TOKEN_SCOPE ? "orders:write" : "orders:read orders:write";
  json_t *claims = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s}", "iss", option.issuer, "sub", subject, "aud",
                             audience, "client_id", "bench", "scope", scope, "exp", expiry, "iat",
                             (json_int_t)(now - 500), "jti", identifier);
  if (thumbprint != NULL) json_object_set_new(claims, "cnf", json_pack("{s:s}", "jkt", thumbprint));
  append_jws(b, a, json_pack("{s:s, s:s, s:s}", "alg", a->name, "kid", a->kid, "typ", "at+jwt"), claims,
             fault == TOKEN_SIGNATURE);
}

static void append_proof(struct buffer *b, const struct client *client, const char *token, size_t length, enum fault fault) {
  char hash[48], identifier[32];
  random_text(identifier, 12);
  hash_text(token, fault == HASH ? length - 1 : length, hash);
  json_int_t made = fault == OLD ? now - 4000 : fault == FUTURE ? now + 4000 : now;
  json_t *jwk = json_copy(client->jwk);
  if (fault == PRIVATE) set_number(jwk, "d", client->key.key, "priv", 32);
  json_t *claims = json_pack("{s:s, s:s, s:s, s:I, s:s}", "jti", identifier, "htm", fault == METHOD ? "POST" : "GET",
                             "htu", fault == TARGET ? URL "0" : URL, "iat", made, "ath", hash);
  json_t *header = json_pack("{s:s, s:s, s:o}", "typ", fault == TYPE ? "JWT" : "dpop+jwt", "alg",
                             fault == ALGORITHM ? "ES384" : "ES256", "jwk", jwk);
  append_jws(b, &client->key, header, claims, fault == SIGNATURE);
}

static const struct client *client_of(unsigned token) { return &clients[token % CLIENTS]; }

// `token` belongs to that client.
static json_t *make_call(const struct client *client, const struct buffer *token, enum fault fault) {
  const struct client *signer = fault == BINDING ? &clients[client == clients ? 1 : 0] : client;
  struct buffer proof = {0}, authorization = {0};
  const char *scheme = fault == BEARER ? "Bearer " : "DPoP ";
  buffer_append(&authorization, scheme, strlen(scheme));
  buffer_append(&authorization, token->bytes, token->length);
  append_proof(&proof, signer, token->bytes, token->length, fault);
  json_t *fields = json_pack("{s:s%}", "Authorization", authorization.bytes, authorization.length);
  json_t *shown = json_stringn(proof.bytes, proof.length);
  if (fault == TWICE)
    json_object_set_new(fields, "DPoP", json_pack("[O, O]", shown, shown));
  else if (fault != BEARER && fault != MISSING)
    json_object_set(fields, "DPoP", shown);
  json_decref(shown);
  free(proof.bytes);
  free(authorization.bytes);
  return json_pack("{s:s, s:{s:s, s:s, s:s, s:o, s:s, s:[s]}}", "method", "validateRequest", "params", "issuer",
                   "bench", "method", "GET", "url", URL "?page=2", "headers", fields, "audience", AUDIENCE,
                   "requiredScopes", "orders:read");
}

static void append_line(struct buffer *b, json_t *value) {
  char *text = json_dumps(value, JSON_COMPACT);
  if (text == NULL) die("out of memory");
  buffer_append(b, text, strlen(text));
  buffer_append(b, "\n", 1);
  free(text);
  json_decref(value);
}

// -- files, made on all cores

struct share {
  pthread_t thread;
  unsigned first, end;
  const struct buffer *tokens;
  struct buffer *made, lines; // `made`: the tokens themselves; else lines
};

static const struct algorithm *bearer_algorithm(void) {
  for (size_t i = 0; i < sizeof issuer_keys / sizeof *issuer_keys; i++)
    if (strcmp(issuer_keys[i].name, option.algorithm) == 0) return &issuer_keys[i];
  die("--algorithm: RS256 or ES256");
}

static void *make_tokens(void *argument) {
  struct share *share = argument;
  for (unsigned i = share->first; i < share->end; i++)
    append_token(&share->made[i], &issuer_keys[1], i, client_of(i)->thumbprint, NO_FAULT);
  return NULL;
}

static void *make_calls(void *argument) {
  struct share *share = argument;
  for (unsigned i = share->first; i < share->end; i++) {
    unsigned token = i % option.tokens;
    append_line(&share->lines, make_call(client_of(token), &share->tokens[token], NO_FAULT));
  }
  return NULL;
}

static void *make_bearers(void *argument) {
  struct share *share = argument;
  const struct algorithm *a = bearer_algorithm();
  for (unsigned i = share->first; i < share->end; i++) {
    buffer_append(&share->lines, "Authorization: Bearer ", 22);
    append_token(&share->lines, a, i, NULL, NO_FAULT);
    buffer_append(&share->lines, "\n", 1);
  }
  return NULL;
}

static void write_file(const char *path, const struct buffer *parts, unsigned count) {
  FILE *file = fopen(path, "w");
  if (file == NULL) die("%s: %s", path, strerror(errno));
  for (unsigned i = 0; i < count; i++)
    if (parts[i].length > 0 && fwrite(parts[i].bytes, 1, parts[i].length, file) != parts[i].length) die("%s: %s", path, strerror(errno));
  if (fclose(file) != 0) die("%s: %s", path, strerror(errno));
}

// Splits 0..<count among threads; where there is a path, their lines go there.
static void share_out(void *(*body)(void *), unsigned count, const struct buffer *tokens, struct buffer *made, const char *path) {
  struct share shares[MAX_THREADS] = {0};
  struct buffer lines[MAX_THREADS];
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  unsigned threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (unsigned)cores;
  for (unsigned i = 0; i < threads; i++) {
    shares[i] = (struct share){.first = (unsigned)((uint64_t)count * i / threads),
                               .end = (unsigned)((uint64_t)count * (i + 1) / threads),
                               .tokens = tokens,
                               .made = made};
    if (pthread_create(&shares[i].thread, NULL, body, &shares[i]) != 0) die("no thread can be made");
  }
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(shares[i].thread, NULL);
    lines[i] = shares[i].lines;
  }
  if (path != NULL) write_file(path, lines, threads);
  for (unsigned i = 0; i < threads; i++) free(lines[i].bytes);
}

static void write_proofs(void) {
  struct buffer *tokens = checked_calloc(option.tokens, sizeof *tokens);
  share_out(make_tokens, option.tokens, NULL, tokens, NULL);
  share_out(make_calls, option.count, tokens, NULL, option.proofs);
  for (unsigned i = 0; i < option.tokens; i++) free(tokens[i].bytes);
  free(tokens);
}

static void write_rejected(void) {
  struct buffer lines = {0};
  for (enum fault fault = BEARER; fault < FAULTS; fault++) {
    struct buffer token = {0};
    append_token(&token, &issuer_keys[1], fault, clients[0].thumbprint, fault);
    append_line(&lines, json_pack("{s:s, s:s?, s:o}", "fault", faults[fault].name, "code", faults[fault].code, "request",
                                  make_call(&clients[0], &token, fault)));
    free(token.bytes);
  }
  write_file(option.rejected, &lines, 1);
  free(lines.bytes);
}

// -- the issuer's keys

static FILE *open_in_directory(const char *name, const char *suffix, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", option.directory, name, suffix);
  FILE *file = fopen(path, mode);
  if (file == NULL && (*mode == 'w' || errno != ENOENT)) die("%s: %s", path, strerror(errno));
  return file;
}

static void make_key(struct algorithm *a) {
  a->key = a->name[0] == 'R' ? EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048)
                             : EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  FILE *file = open_in_directory(a->name, ".pem", "w"), *public = open_in_directory(a->name, ".public.pem", "w");
  if (a->key == NULL || PEM_write_PrivateKey(file, a->key, NULL, NULL, 0, NULL, NULL) != 1 ||
      PEM_write_PUBKEY(public, a->key) != 1)
    die("%s: no key", a->name);
  fclose(file);
  fclose(public);
}

static void load_keys(void) {
  json_t *set = json_array();
  umask(077);
  for (size_t i = 0; i < sizeof issuer_keys / sizeof *issuer_keys; i++) {
    struct algorithm *a = &issuer_keys[i];
    FILE *file = open_in_directory(a->name, ".pem", "r");
    if (file == NULL) {
      make_key(a);
    } else {
      if ((a->key = PEM_read_PrivateKey(file, NULL, NULL, NULL)) == NULL) die("%s.pem: no key", a->name);
      fclose(file);
    }
    json_array_append_new(set, public_jwk(a));
  }
  FILE *file = open_in_directory("jwks", ".json", "w");
  json_t *whole = json_pack("{s:o}", "keys", set);
  if (whole == NULL || json_dumpf(whole, file, JSON_COMPACT) != 0 || fclose(file) != 0) die("jwks.json: not written");
  json_decref(whole);
}

static void read_options(int argc, char **argv) {
  static const struct option names[] = {{"directory", required_argument, NULL, 'd'},
                                        {"issuer", required_argument, NULL, 'i'},
                                        {"proofs", required_argument, NULL, 'p'},
                                        {"rejected", required_argument, NULL, 'r'},
                                        {"bearers", required_argument, NULL, 'b'},
                                        {"algorithm", required_argument, NULL, 'a'},
                                        {"count", required_argument, NULL, 'n'},
                                        {"tokens", required_argument, NULL, 't'},
                                        {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
      case 'd': option.directory = optarg; break;
      case 'i': option.issuer = optarg; break;
      case 'p': option.proofs = optarg; break;
      case 'r': option.rejected = optarg; break;
      case 'b': option.bearers = optarg; break;
      case 'a': option.algorithm = optarg; break;
      case 'n': option.count = (unsigned)parse_whole("--count", optarg, 1, 10000000); break;
      case 't': option.tokens = (unsigned)parse_whole("--tokens", optarg, 1, 10000000); break;
      default: option.directory = NULL; optind = argc; break;
    }
  if (option.directory == NULL || optind != argc)
    die("usage: make_proofs --directory DIR [--issuer URL] [--proofs FILE] [--rejected FILE]\n"
        "                   [--bearers FILE [--algorithm RS256|ES256]] [--count N] [--tokens N]");
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  json_object_seed(0); // once, before there are threads
  now = time(NULL);
  load_keys();
  if (option.proofs != NULL || option.rejected != NULL)
    for (unsigned i = 0; i < CLIENTS; i++) make_client(&clients[i]);
  if (option.proofs != NULL) write_proofs();
  if (option.rejected != NULL) write_rejected();
  if (option.bearers != NULL) {
    bearer_algorithm(); // an error before the work
    share_out(make_bearers, option.count, NULL, NULL, option.bearers);
  }
  return 0;
}
