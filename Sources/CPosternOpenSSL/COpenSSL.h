// Typed functions for macros of OpenSSL, which Swift cannot call.
#ifndef POSTERN_COPENSSL_H
#define POSTERN_COPENSSL_H
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

// BN_num_bytes is a macro.
static inline int postern_bn_byte_count(const BIGNUM *number) { return BN_num_bytes(number); }

// Macros built from other macros are not imported.
static const int postern_evp_pkey_keypair = EVP_PKEY_KEYPAIR;
static const int postern_evp_pkey_parameters = EVP_PKEY_KEY_PARAMETERS;
static const int postern_evp_pkey_public_key = EVP_PKEY_PUBLIC_KEY;

// A password callback that has none: without it OpenSSL would ask on the terminal for an encrypted key.
static inline int postern_no_password(char *buffer, int size, int writing, void *context) {
  (void)buffer;
  (void)size;
  (void)writing;
  (void)context;
  return -1;
}
static inline EVP_PKEY *postern_pem_read_private_key(BIO *bio) {
  return PEM_read_bio_PrivateKey(bio, NULL, postern_no_password, NULL);
}
static inline EVP_PKEY *postern_pem_read_public_key(BIO *bio) {
  return PEM_read_bio_PUBKEY(bio, NULL, postern_no_password, NULL);
}
static inline X509 *postern_pem_read_certificate(BIO *bio) {
  return PEM_read_bio_X509(bio, NULL, postern_no_password, NULL);
}
#endif
