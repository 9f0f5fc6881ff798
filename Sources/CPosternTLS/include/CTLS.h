// What libcurl leaves to its callers in TLS: a client certificate held in memory, pins that are compared with the
// verified chain, OCSP responses that servers staple, bounds of what a handshake costs, and a mark on every connection
// that says what it was made with. OpenSSL's headers are not seen from outside.
#ifndef POSTERN_CTLS_H
#define POSTERN_CTLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct ctls_authorities ctls_authorities;
typedef struct ctls_identity ctls_identity;
typedef struct ctls_guard ctls_guard;

enum { CTLS_DIGEST_SIZE = 32, CTLS_MESSAGE_SIZE = 128 };

// The SHA-256 of `count` bytes. Returns 1, or 0 when OpenSSL has none.
int ctls_sha256(const void *bytes, size_t count, uint8_t *digest);

// The authorities of `count` bytes of PEM. Null without a certificate, where something begins and does not end
// (libcurl's own condition for a file of authorities), and without memory.
ctls_authorities *ctls_authorities_create(const void *bytes, size_t count);

// The first of them as PEM, which lives as long as they do.
const void *ctls_authorities_first(const ctls_authorities *authorities, size_t *count);

// Connections made with them keep them.
void ctls_authorities_free(ctls_authorities *authorities);

// A client certificate with the certificates behind it, and its key, all PEM. Null when they are of no use, with the
// reason in `message` (CTLS_MESSAGE_SIZE bytes), which never quotes them.
ctls_identity *ctls_identity_create(const void *certificates, size_t certificate_count, const void *key,
                                    size_t key_count, char *message);

// The SHA-256 over all of its certificates.
void ctls_identity_digest(const ctls_identity *identity, uint8_t *digest);

void ctls_identity_free(ctls_identity *identity);

// What a connection is made with: `authorities` (or null: libcurl's), `identity` (or null), `pin_count` pins of
// CTLS_DIGEST_SIZE bytes each (or none), which are compared with the server's own certificate only or with all of the
// verified chain, and the `mark` of CTLS_DIGEST_SIZE bytes. Null when there is no memory.
ctls_guard *ctls_guard_create(const ctls_authorities *authorities, const ctls_identity *identity, const uint8_t *pins,
                              size_t pin_count, int leaf_only, const uint8_t *mark);

// Connections made with it keep what they need of it.
void ctls_guard_free(ctls_guard *guard);

// Sets up the SSL_CTX of a new connection, and bounds what its handshake costs. Returns 1, or 0 when the connection
// must not be made.
int ctls_guard_attach(ctls_guard *guard, void *context);

// The keys of the last server that had none of the pins, `sha256/…` separated by `, `; empty when there was none.
const char *ctls_guard_seen(const ctls_guard *guard);
// What was wrong with the last server's certificates before they were read, or with its stapled OCSP response or the
// absence of one; empty when nothing was.
const char *ctls_guard_problem(const ctls_guard *guard);
void ctls_guard_forget(ctls_guard *guard);

// Whether the connection `ssl` (an SSL *) was made with a guard of the same mark; a null guard asks for none.
int ctls_guard_made(const ctls_guard *guard, void *ssl);

// Whether OpenSSL has read bytes of the peer for the connection `ssl` (an SSL *) that nobody has taken: 1 or 0. Reads
// nothing.
int ctls_has_unread(void *ssl);

// Whether the connection `ssl` (an SSL *) speaks HTTP/2, by what the handshake chose (ALPN): 1 or 0.
int ctls_speaks_http2(void *ssl);

#endif
