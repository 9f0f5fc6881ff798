// Stapled OCSP responses (RFC 6066 section 8, RFC 6960): requested on every connection, checked when there is one.
#ifndef POSTERN_CTLS_STAPLE_H
#define POSTERN_CTLS_STAPLE_H

#include <openssl/ssl.h>

// Why the connection must not be used; null when it may: there is a good response, or none and none is required.
const char *ctls_staple_problem(SSL *ssl);

#endif
