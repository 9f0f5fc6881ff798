#include "CTLS.h"
#include "certificates.h"
#include "staple.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The size of the list of a server's keys; each takes `sha256/`, 44 characters of base64, and a separator.
#define MAXIMUM_SEEN 8
#define SEEN_SIZE (MAXIMUM_SEEN * 56)
// The most certificates after the client certificate.
#define MAXIMUM_CHAIN 16
// Limits on the cost of a handshake, which blocks the thread that serves all users. No finite-field groups: a handshake
// with ffdhe8192 takes a tenth of a second. The limit of OpenSSL for certificates and stapled responses is 100 KiB.
#define GROUPS "X25519:P-256:P-384:P-521"
#define MAXIMUM_CERTIFICATE_BYTES (32 << 10)
// The most certificates between the server's certificate and the trusted authority.
#define MAXIMUM_DEPTH 9
// After so many session tickets and key updates of a connection, a read goes on.
#define MAXIMUM_UNREQUESTED 16
// The type of a message with a session ticket (RFC 8446 section 4).
#define NEW_SESSION 4

struct ctls_authorities {
  X509_STORE *store;
  BIO *first;
};

struct ctls_identity {
  X509 *certificate;
  STACK_OF(X509) * chain;
  EVP_PKEY *key;
};

struct ctls_guard {
  atomic_int references;
  X509_STORE *authorities;
  X509 *certificate;
  STACK_OF(X509) * chain;
  EVP_PKEY *key;
  uint8_t *pins;
  size_t pin_count;
  int leaf_only;
  uint8_t mark[CTLS_DIGEST_SIZE];
  char seen[SEEN_SIZE];
  const char *problem;
};

int ctls_sha256(const void *bytes, size_t count, uint8_t *digest) {
  int done = EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL);
  ERR_clear_error();
  return done == 1;
}

// A password callback without a password: OpenSSL would prompt on the terminal for an encrypted key.
static int no_password(char *buffer, int size, int writing, void *context) {
  (void)buffer, (void)size, (void)writing, (void)context;
  return -1;
}

// Adds authorities to a store as libcurl does for a file, with the same flags.
static X509 *fill(X509_STORE *store, const STACK_OF(X509_INFO) * found) {
  X509 *first = NULL;
  if (X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN) != 1) return NULL;
  for (int index = 0; index < sk_X509_INFO_num(found); index++) {
    const X509_INFO *one = sk_X509_INFO_value(found, index);
    if (one->x509 != NULL && X509_STORE_add_cert(store, one->x509) != 1) return NULL;
    if (one->crl != NULL && X509_STORE_add_crl(store, one->crl) != 1) return NULL;
    if (first == NULL) first = one->x509;
  }
  return first;
}

ctls_authorities *ctls_authorities_create(const void *bytes, size_t count) {
  if (count > (64 << 20)) return NULL;
  ERR_clear_error();
  BIO *bio = BIO_new_mem_buf(bytes, (int)count);
  STACK_OF(X509_INFO) *found = bio == NULL ? NULL : PEM_X509_INFO_read_bio(bio, NULL, no_password, NULL);
  ctls_authorities *authorities = found == NULL ? NULL : calloc(1, sizeof *authorities);
  if (authorities != NULL) {
    authorities->store = X509_STORE_new();
    authorities->first = BIO_new(BIO_s_mem());
    X509 *first = authorities->store == NULL ? NULL : fill(authorities->store, found);
    if (first == NULL || authorities->first == NULL || PEM_write_bio_X509(authorities->first, first) != 1) {
      ctls_authorities_free(authorities);
      authorities = NULL;
    }
  }
  sk_X509_INFO_pop_free(found, X509_INFO_free);
  BIO_free(bio);
  ERR_clear_error();
  return authorities;
}

const void *ctls_authorities_first(const ctls_authorities *authorities, size_t *count) {
  char *bytes = NULL;
  long size = BIO_get_mem_data(authorities->first, &bytes);
  *count = size > 0 ? (size_t)size : 0;
  return bytes;
}

void ctls_authorities_free(ctls_authorities *authorities) {
  if (authorities == NULL) return;
  X509_STORE_free(authorities->store);
  BIO_free(authorities->first);
  free(authorities);
}

static const char *read_certificates(ctls_identity *identity, const void *bytes, size_t count) {
  BIO *bio = BIO_new_mem_buf(bytes, (int)count);
  if (bio == NULL) return "no memory";
  const char *problem = NULL;
  identity->certificate = PEM_read_bio_X509(bio, NULL, no_password, NULL);
  if (identity->certificate == NULL) problem = "the certificate file has no readable PEM certificate at its beginning";
  while (problem == NULL) {
    X509 *next = PEM_read_bio_X509(bio, NULL, no_password, NULL);
    if (next == NULL) {
      // The regular end: no further certificate starts.
      unsigned long error = ERR_peek_last_error();
      if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
        problem = "the certificate file has a further certificate that cannot be read";
      break;
    }
    if (sk_X509_num(identity->chain) >= MAXIMUM_CHAIN || sk_X509_push(identity->chain, next) <= 0) {
      X509_free(next);
      problem = "the certificate file has too many certificates";
    }
  }
  BIO_free(bio);
  return problem;
}

static const char *read_key(ctls_identity *identity, const void *bytes, size_t count) {
  BIO *bio = BIO_new_mem_buf(bytes, (int)count);
  if (bio == NULL) return "no memory";
  identity->key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
  BIO_free(bio);
  return identity->key == NULL ? "the key is no readable PEM private key (encrypted ones are not read)" : NULL;
}

// Sets up an SSL_CTX as every connection does, to test whether that works.
static const char *try_out(const ctls_identity *identity) {
  if (X509_check_private_key(identity->certificate, identity->key) != 1)
    return "the certificate and the key do not belong together";
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (context == NULL) return "no memory";
  int usable = SSL_CTX_use_cert_and_key(context, identity->certificate, identity->key, identity->chain, 1);
  SSL_CTX_free(context);
  return usable == 1 ? NULL : "the certificate or its key is too weak for TLS, or of a kind that it does not know";
}

ctls_identity *ctls_identity_create(const void *certificates, size_t certificate_count, const void *key,
                                    size_t key_count, char *message) {
  ctls_identity *identity = calloc(1, sizeof *identity);
  const char *problem = "no memory";
  ERR_clear_error();
  if (certificate_count > (1 << 20) || key_count > (1 << 20)) problem = "the files are too large";
  else if (identity != NULL && (identity->chain = sk_X509_new_null()) != NULL)
    problem = read_certificates(identity, certificates, certificate_count);
  if (problem == NULL) problem = read_key(identity, key, key_count);
  if (problem == NULL) problem = try_out(identity);
  ERR_clear_error();
  if (problem == NULL) return identity;
  snprintf(message, CTLS_MESSAGE_SIZE, "%s", problem);
  ctls_identity_free(identity);
  return NULL;
}

void ctls_identity_digest(const ctls_identity *identity, uint8_t *digest) {
  memset(digest, 0, CTLS_DIGEST_SIZE);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (context == NULL) return;
  uint8_t one[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  int well = EVP_DigestInit_ex(context, EVP_sha256(), NULL);
  for (int index = -1; well == 1 && index < sk_X509_num(identity->chain); index++) {
    const X509 *certificate = index < 0 ? identity->certificate : sk_X509_value(identity->chain, index);
    well = X509_digest(certificate, EVP_sha256(), one, &size) == 1 && EVP_DigestUpdate(context, one, size) == 1;
  }
  if (well == 1) EVP_DigestFinal_ex(context, digest, NULL);
  EVP_MD_CTX_free(context);
}

void ctls_identity_free(ctls_identity *identity) {
  if (identity == NULL) return;
  X509_free(identity->certificate);
  sk_X509_pop_free(identity->chain, X509_free);
  EVP_PKEY_free(identity->key);
  free(identity);
}

// MARK: guards

static void release(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
  (void)parent, (void)data, (void)index, (void)argl, (void)argp;
  ctls_guard_free(pointer);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int guard_index = -1, unrequested_index = -1;
static void reserve_index(void) {
  guard_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release);
  unrequested_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

ctls_guard *ctls_guard_create(const ctls_authorities *authorities, const ctls_identity *identity, const uint8_t *pins,
                              size_t pin_count, int leaf_only, const uint8_t *mark) {
  pthread_once(&once, reserve_index);
  ctls_guard *guard = calloc(1, sizeof *guard);
  if (guard_index < 0 || guard == NULL) {
    free(guard);
    return NULL;
  }
  atomic_init(&guard->references, 1);
  memcpy(guard->mark, mark, CTLS_DIGEST_SIZE);
  guard->leaf_only = leaf_only;
  if (authorities != NULL) {
    X509_STORE_up_ref(authorities->store);
    guard->authorities = authorities->store;
  }
  if (identity != NULL) {
    X509_up_ref(identity->certificate);
    guard->certificate = identity->certificate;
    EVP_PKEY_up_ref(identity->key);
    guard->key = identity->key;
    guard->chain = X509_chain_up_ref(identity->chain);
  }
  if (pin_count > 0 && (guard->pins = malloc(pin_count * CTLS_DIGEST_SIZE)) != NULL) {
    memcpy(guard->pins, pins, pin_count * CTLS_DIGEST_SIZE);
    guard->pin_count = pin_count;
  }
  if ((pin_count > 0 && guard->pins == NULL) || (identity != NULL && guard->chain == NULL)) {
    ctls_guard_free(guard);
    return NULL;
  }
  return guard;
}

void ctls_guard_free(ctls_guard *guard) {
  if (guard == NULL || atomic_fetch_sub(&guard->references, 1) != 1) return;
  X509_STORE_free(guard->authorities);
  X509_free(guard->certificate);
  sk_X509_pop_free(guard->chain, X509_free);
  EVP_PKEY_free(guard->key);
  free(guard->pins);
  free(guard);
}

const char *ctls_guard_seen(const ctls_guard *guard) { return guard->seen; }
const char *ctls_guard_problem(const ctls_guard *guard) { return guard->problem == NULL ? "" : guard->problem; }

void ctls_guard_forget(ctls_guard *guard) {
  guard->seen[0] = 0;
  guard->problem = NULL;
}

// The SHA-256 of the certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
static int digest_key(const X509 *certificate, uint8_t *digest) {
  uint8_t *bytes = NULL;
  int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
  if (count <= 0) return 0;
  int done = EVP_Digest(bytes, (size_t)count, digest, NULL, EVP_sha256(), NULL);
  OPENSSL_free(bytes);
  return done == 1;
}

static int is_pinned(const ctls_guard *guard, const uint8_t *digest) {
  for (size_t index = 0; index < guard->pin_count; index++)
    if (memcmp(guard->pins + index * CTLS_DIGEST_SIZE, digest, CTLS_DIGEST_SIZE) == 0) return 1;
  return 0;
}

static void note_seen(ctls_guard *guard, const uint8_t *digest) {
  unsigned char text[EVP_ENCODE_LENGTH(CTLS_DIGEST_SIZE) + 1];
  EVP_EncodeBlock(text, digest, CTLS_DIGEST_SIZE);
  size_t used = strlen(guard->seen);
  snprintf(guard->seen + used, SEEN_SIZE - used, "%ssha256/%s", used > 0 ? ", " : "", (const char *)text);
}

// Lets the read go on after a session ticket or a key update. Otherwise the read returns after it, and libcurl waits
// for the socket; inside of a proxy's TLS, the response may be in a record that has been read already. The first
// messages of a connection only: without a limit they could keep the thread reading for ever.
static void count_unrequested(SSL *ssl) {
  uintptr_t count = (uintptr_t)SSL_get_ex_data(ssl, unrequested_index);
  if (count < MAXIMUM_UNREQUESTED && SSL_set_ex_data(ssl, unrequested_index, (void *)(count + 1)) == 1)
    SSL_set_mode(ssl, SSL_MODE_AUTO_RETRY);
  else
    SSL_clear_mode(ssl, SSL_MODE_AUTO_RETRY);
}

// Checks the bytes of the server's certificates before OpenSSL parses them. The callback cannot return an error, but
// OpenSSL parses the same buffer next: invalid lengths written to it end the handshake before a certificate is parsed.
static void inspect(int is_sent, int version, int type, const void *message, size_t count, SSL *ssl, void *context) {
  (void)version;
  uint8_t *bytes = (uint8_t *)message;
  if (is_sent || type != SSL3_RT_HANDSHAKE || count < SSL3_HM_HEADER_LENGTH) return;
  if (SSL_version(ssl) == TLS1_3_VERSION && (bytes[0] == NEW_SESSION || bytes[0] == SSL3_MT_KEY_UPDATE))
    count_unrequested(ssl);
  if (bytes[0] != SSL3_MT_CERTIFICATE) return;
  ctls_guard *guard = context;
  uint8_t *body = bytes + SSL3_HM_HEADER_LENGTH;
  count -= SSL3_HM_HEADER_LENGTH;
  guard->problem = ctls_certificates_problem(body, count, SSL_version(ssl) == TLS1_3_VERSION);
  if (guard->problem != NULL) memset(body, 0xFF, count < 4 ? count : 4);
}

// Replaces OpenSSL's verification: runs it first, then compares the pins with the verified chain (not with the
// certificates that the server sent).
static int verify(X509_STORE_CTX *store, void *context) {
  ctls_guard *guard = context;
  // In case `inspect` did not end the handshake.
  if (guard->problem != NULL) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  int verdict = X509_verify_cert(store);
  if (verdict <= 0 || guard->pin_count == 0) return verdict;
  ctls_guard_forget(guard);
  STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(store);
  int count = sk_X509_num(chain);
  if (guard->leaf_only && count > 1) count = 1;
  for (int index = 0; index < count; index++) {
    uint8_t digest[CTLS_DIGEST_SIZE];
    if (!digest_key(sk_X509_value(chain, index), digest)) continue;
    if (is_pinned(guard, digest)) {
      ctls_guard_forget(guard);
      return 1;
    }
    if (index < MAXIMUM_SEEN) note_seen(guard, digest);
  }
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

// Checks the stapled OCSP response, if there is one, after the verification.
static int check_staple(SSL *ssl, void *context) {
  ctls_guard *guard = context;
  guard->problem = ctls_staple_problem(ssl);
  return guard->problem == NULL;
}

// Limits the cost of the handshake.
static int bound(ctls_guard *guard, SSL_CTX *context) {
  if (SSL_CTX_set1_groups_list(context, GROUPS) != 1) return 0;
  SSL_CTX_set_max_cert_list(context, MAXIMUM_CERTIFICATE_BYTES);
  SSL_CTX_set_verify_depth(context, MAXIMUM_DEPTH);
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
  // From OpenSSL 3.2 on: `inspect` cannot read compressed certificates (RFC 8879).
  SSL_CTX_set_options(context, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
#endif
  // A server that is offered this may request a certificate, and a signature, any number of times.
  SSL_CTX_set_post_handshake_auth(context, 0);
  // One handshake for each connection.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_msg_callback(context, inspect);
  SSL_CTX_set_msg_callback_arg(context, guard);
  SSL_CTX_set_cert_verify_callback(context, verify, guard);
  return 1;
}

int ctls_guard_attach(ctls_guard *guard, void *pointer) {
  SSL_CTX *context = pointer;
  if (guard->authorities != NULL) SSL_CTX_set1_cert_store(context, guard->authorities);
  if (guard->certificate != NULL &&
      SSL_CTX_use_cert_and_key(context, guard->certificate, guard->key, guard->chain, 1) != 1)
    return 0;
  atomic_fetch_add(&guard->references, 1);
  if (SSL_CTX_set_ex_data(context, guard_index, guard) != 1) {
    ctls_guard_free(guard);
    return 0;
  }
  if (SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp) != 1) return 0;
  SSL_CTX_set_tlsext_status_cb(context, check_staple);
  SSL_CTX_set_tlsext_status_arg(context, guard);
  if (!bound(guard, context)) return 0;
  // See `count_unrequested`.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  return 1;
}

int ctls_guard_made(const ctls_guard *guard, void *ssl) {
  pthread_once(&once, reserve_index);
  SSL_CTX *context = ssl == NULL ? NULL : SSL_get_SSL_CTX((SSL *)ssl);
  if (context == NULL || guard_index < 0) return 0;
  const ctls_guard *made = SSL_CTX_get_ex_data(context, guard_index);
  if (guard == NULL || made == NULL) return guard == made;
  return memcmp(guard->mark, made->mark, CTLS_DIGEST_SIZE) == 0;
}

int ctls_has_unread(void *ssl) { return SSL_has_pending((SSL *)ssl); }

int ctls_speaks_http2(void *ssl) {
  const unsigned char *name = NULL;
  unsigned int size = 0;
  SSL_get0_alpn_selected((SSL *)ssl, &name, &size);
  return size == 2 && memcmp(name, "h2", 2) == 0;
}
