// TLS features that libcurl leaves to its callers: a client certificate in memory, pins compared with the verified
// chain, stapled OCSP responses, limits on the cost of a handshake, and a mark on every connection that identifies the
// settings it was made with. OpenSSL's headers are not visible to users of this module.
#ifndef POSTERN_CTLS_H
#define POSTERN_CTLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct ctls_authorities ctls_authorities;
typedef struct ctls_identity ctls_identity;
typedef struct ctls_guard ctls_guard;

enum { CTLS_DIGEST_SIZE = 32, CTLS_MESSAGE_SIZE = 128 };

// The SHA-256 of `count` bytes. Returns 1, or 0 when OpenSSL fails.
int ctls_sha256(const void *bytes, size_t count, uint8_t *digest);

// The authorities in `count` bytes of PEM. Null without a certificate, with an unterminated PEM block (as in libcurl),
// and without memory.
ctls_authorities *ctls_authorities_create(const void *bytes, size_t count);

// The first authority as PEM; valid as long as `authorities`.
const void *ctls_authorities_first(const ctls_authorities *authorities, size_t *count);

// Releases them; connections made with them keep their own reference.
void ctls_authorities_free(ctls_authorities *authorities);

// A client certificate, followed by those of intermediate authorities, and its key, all PEM. Null when they are not
// usable, with the reason in `message` (CTLS_MESSAGE_SIZE bytes), which never quotes them.
ctls_identity *ctls_identity_create(const void *certificates, size_t certificate_count, const void *key,
                                    size_t key_count, char *message);

// The SHA-256 over all of its certificates.
void ctls_identity_digest(const ctls_identity *identity, uint8_t *digest);

void ctls_identity_free(ctls_identity *identity);

// The settings of a connection: `authorities` (or null: libcurl's), `identity` (or null), `pin_count` pins of
// CTLS_DIGEST_SIZE bytes each (or none), which are compared with the server's certificate only or with the whole
// verified chain, and the `mark` of CTLS_DIGEST_SIZE bytes. Null when there is no memory.
ctls_guard *ctls_guard_create(const ctls_authorities *authorities, const ctls_identity *identity, const uint8_t *pins,
                              size_t pin_count, int leaf_only, const uint8_t *mark);

// Releases it; connections made with it keep their own reference.
void ctls_guard_free(ctls_guard *guard);

// Sets up the SSL_CTX of a new connection, and limits the cost of its handshake. Returns 1, or 0 when the connection
// must not be made.
int ctls_guard_attach(ctls_guard *guard, void *context);

// The keys of the last server that had none of the pins, `sha256/…` separated by `, `; empty when there was none.
const char *ctls_guard_seen(const ctls_guard *guard);
// The fault of the last server's certificates, found before they were parsed, or of its stapled OCSP response, or its
// absence; empty when there was none.
const char *ctls_guard_problem(const ctls_guard *guard);
void ctls_guard_forget(ctls_guard *guard);

// Whether the connection `ssl` (an SSL *) was made with a guard of the same mark, or without one for a null `guard`.
int ctls_guard_made(const ctls_guard *guard, void *ssl);

// Whether OpenSSL has buffered bytes received on the connection `ssl` (an SSL *) that are not read yet: 1 or 0. Does
// not read from the socket.
int ctls_has_unread(void *ssl);

// Whether the connection `ssl` (an SSL *) uses HTTP/2, negotiated in the handshake (ALPN): 1 or 0.
int ctls_speaks_http2(void *ssl);

#endif
