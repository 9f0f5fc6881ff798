// Typed shims over OpenSSL macros; nothing else lives in this header.
#ifndef POSTERN_COPENSSL_H
#define POSTERN_COPENSSL_H
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#endif
