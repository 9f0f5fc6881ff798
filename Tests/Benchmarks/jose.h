// What the yardsticks that verify tokens share: keys of a JWK Set, signatures (RFC 7518), and the strict reading of the
// parts of a JWT. Keys are parsed and verifications are set up once; each token copies the context of its key.
#pragma once

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

enum { MAX_SIGNATURE = 1024 };

struct key {
  const char *kid, *algorithm;
  EVP_PKEY *key;
  EVP_MD_CTX *prepared;
  const EVP_MD *token_hash;
};

static json_t *key_set; // owns the names of the keys
static struct key keys[16];
static size_t key_count;

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

// Reads a JWK Set, each key of which has `kid` and `alg`.
static void read_keys(const char *path) {
  json_error_t problem;
  json_t *jwk;
  key_set = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
  if (key_set == NULL) die("%s: %s", path, problem.text);
  size_t index;
  json_array_foreach(json_object_get(key_set, "keys"), index, jwk) {
    if (key_count == sizeof keys / sizeof *keys) die("%s: too many keys", path);
    struct key *key = &keys[key_count++];
    key->kid = json_string_value(json_object_get(jwk, "kid"));
    key->algorithm = json_string_value(json_object_get(jwk, "alg"));
    if (key->kid == NULL || key->algorithm == NULL) die("%s: a key without kid or alg", path);
    key->key = parse_key(jwk, key->algorithm);
    bool edwards = strcmp(key->algorithm, "EdDSA") == 0;
    key->token_hash = EVP_MD_fetch(NULL, edwards ? "SHA512" : "SHA256", NULL);
    key->prepared = EVP_MD_CTX_new();
    if (key->prepared == NULL ||
        EVP_DigestVerifyInit_ex(key->prepared, NULL, edwards ? NULL : "SHA256", NULL, NULL, key->key, NULL) != 1)
      die("%s: cannot verify", key->algorithm);
  }
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
