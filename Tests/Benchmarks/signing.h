// What the programs that make tokens share: keys, their public JWKs, signatures and the parts of a JWT.
#pragma once

#include <jansson.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base64url.h"
#include "common.h"

struct algorithm {
  const char *name, *kid;
  const char *hash, *token_hash; // of the signature (NULL: by the scheme itself) and of at_hash
  EVP_PKEY *key;
};

static void append_base64url(struct buffer *b, const void *bytes, size_t count) {
  buffer_reserve(b, count * 4 / 3 + 4);
  b->length += base64url_encode(bytes, count, b->bytes + b->length);
}

static void append_json(struct buffer *b, json_t *value) {
  char *text = json_dumps(value, JSON_COMPACT);
  if (text == NULL) die("out of memory");
  append_base64url(b, text, strlen(text));
  free(text);
  json_decref(value);
}

static void random_text(char *text, size_t bytes) {
  unsigned char random[64];
  if (RAND_bytes(random, (int)bytes) != 1) die("no random bytes");
  text[base64url_encode(random, bytes, text)] = '\0';
}

// The signature in the form of RFC 7518: r and s for ECDSA, not DER.
static size_t sign(const struct algorithm *a, const char *text, size_t length, unsigned char *signature, size_t capacity) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (context == NULL ||
      EVP_DigestSignInit_ex(context, NULL, a->hash, NULL, NULL, a->key, NULL) != 1 ||
      EVP_DigestSign(context, signature, &capacity, (const unsigned char *)text, length) != 1)
    die("%s: cannot sign", a->name);
  EVP_MD_CTX_free(context);
  if (!EVP_PKEY_is_a(a->key, "EC")) return capacity;
  const unsigned char *der = signature;
  ECDSA_SIG *parts = d2i_ECDSA_SIG(NULL, &der, (long)capacity);
  if (parts == NULL || BN_bn2binpad(ECDSA_SIG_get0_r(parts), signature, 32) != 32 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(parts), signature + 32, 32) != 32)
    die("%s: cannot sign", a->name);
  ECDSA_SIG_free(parts);
  return 64;
}

static void set_number(json_t *jwk, const char *member, EVP_PKEY *key, const char *parameter, int size) {
  BIGNUM *number = NULL;
  unsigned char bytes[512];
  char text[1024];
  if (EVP_PKEY_get_bn_param(key, parameter, &number) != 1) die("%s: not there", parameter);
  int count = size ? BN_bn2binpad(number, bytes, size) : BN_bn2bin(number, bytes);
  text[base64url_encode(bytes, (size_t)count, text)] = '\0';
  json_object_set_new(jwk, member, json_string(text));
  BN_free(number);
}

static json_t *public_jwk(const struct algorithm *a) {
  json_t *jwk = json_pack("{s:s, s:s, s:s}", "kid", a->kid, "alg", a->name, "use", "sig");
  if (EVP_PKEY_is_a(a->key, "RSA")) {
    json_object_set_new(jwk, "kty", json_string("RSA"));
    set_number(jwk, "n", a->key, "n", 0);
    set_number(jwk, "e", a->key, "e", 0);
  } else if (EVP_PKEY_is_a(a->key, "EC")) {
    json_object_set_new(jwk, "kty", json_string("EC"));
    json_object_set_new(jwk, "crv", json_string("P-256"));
    set_number(jwk, "x", a->key, "qx", 32);
    set_number(jwk, "y", a->key, "qy", 32);
  } else {
    unsigned char point[32];
    char text[64];
    size_t count = sizeof point;
    if (EVP_PKEY_get_raw_public_key(a->key, point, &count) != 1) die("no raw key");
    text[base64url_encode(point, count, text)] = '\0';
    json_object_set_new(jwk, "kty", json_string("OKP"));
    json_object_set_new(jwk, "crv", json_string("Ed25519"));
    json_object_set_new(jwk, "x", json_string(text));
  }
  return jwk;
}
