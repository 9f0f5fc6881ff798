// Checks the bytes of a server's certificates before OpenSSL parses them: some keys make parsing and verifying take
// seconds.
#ifndef POSTERN_CTLS_CERTIFICATES_H
#define POSTERN_CTLS_CERTIFICATES_H

#include <stddef.h>

// Why the body of a TLS handshake message Certificate (RFC 8446 section 4.4.2, RFC 5246 section 7.4.2) must not be
// parsed; null when it may.
const char *ctls_certificates_problem(const void *body, size_t count, int is_tls13);

// The same for an OCSPResponse (RFC 6960 section 4.2.1) and the certificates of its signer.
const char *ctls_response_problem(const void *bytes, size_t count);

#endif
