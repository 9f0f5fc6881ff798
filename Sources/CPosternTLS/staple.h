// Stapled OCSP responses (RFC 6066 section 8, RFC 6960): asked for on every connection, judged when there is one.
#ifndef POSTERN_CTLS_STAPLE_H
#define POSTERN_CTLS_STAPLE_H

#include <openssl/ssl.h>

// Why the connection must not be used, null when it may: no response and none demanded, or a good one.
const char *ctls_staple_problem(SSL *ssl);

#endif
