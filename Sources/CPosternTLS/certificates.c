#include "certificates.h"

#include <stdint.h>
#include <string.h>

// More than any usual chain has.
#define MAXIMUM_CERTIFICATES 10
#define MAXIMUM_MODULUS_BYTES (8192 / 8)
#define MAXIMUM_EXPONENT_BYTES (64 / 8)

#define COSTLY "the server's certificate has a key that is too costly: "

enum { INTEGER = 0x02, BIT_STRING = 0x03, OCTET_STRING = 0x04, IDENTIFIER = 0x06, ENUMERATED = 0x0A, SEQUENCE = 0x30, FIRST = 0xA0 };

typedef struct {
  const uint8_t *bytes;
  size_t count;
} span;

static const char unreadable[] = "the server's certificate cannot be read";

static int take_bytes(span *from, size_t count, span *taken) {
  if (from->count < count) return 0;
  *taken = (span){from->bytes, count};
  from->bytes += count;
  from->count -= count;
  return 1;
}

// Reads a vector of TLS, whose length is in the `width` bytes before it.
static int take_vector(span *from, size_t width, span *content) {
  span length;
  if (!take_bytes(from, width, &length)) return 0;
  size_t count = 0;
  for (size_t index = 0; index < width; index++) count = count << 8 | length.bytes[index];
  return take_bytes(from, count, content);
}

// Reads a value of DER. An indefinite length, which OpenSSL would accept, is an error.
static int take(span *from, uint8_t tag, span *content) {
  span head;
  if (from->count < 2 || from->bytes[0] != tag) return 0;
  take_bytes(from, 1, &head);
  if (from->bytes[0] < 0x80) return take_vector(from, 1, content);
  take_bytes(from, 1, &head);
  size_t width = head.bytes[0] & 0x7F;
  return width >= 1 && width <= 3 && take_vector(from, width, content);
}

static int take_all(span *from, const uint8_t *tags, size_t count) {
  span skipped;
  for (size_t index = 0; index < count; index++)
    if (!take(from, tags[index], &skipped)) return 0;
  return 1;
}

static int is(span bytes, const char *wanted, size_t count) { return bytes.count == count && memcmp(bytes.bytes, wanted, count) == 0; }
#define IS(bytes, wanted) is(bytes, wanted, sizeof(wanted) - 1)

static size_t size(span number) {
  while (number.count > 0 && number.bytes[0] == 0) number.bytes++, number.count--;
  return number.count;
}

// RFC 8017 appendix A.1.1. The time of an operation grows with the size of both numbers.
static const char *rsa_problem(span key) {
  span unused, both, modulus, exponent;
  if (!take_bytes(&key, 1, &unused) || !take(&key, SEQUENCE, &both) || !take(&both, INTEGER, &modulus) || !take(&both, INTEGER, &exponent))
    return unreadable;
  if (size(modulus) > MAXIMUM_MODULUS_BYTES) return COSTLY "an RSA modulus of more than 8192 bits";
  if (size(exponent) > MAXIMUM_EXPONENT_BYTES) return COSTLY "an RSA exponent of more than 64 bits";
  return NULL;
}

// RFC 5480 section 2.1.1. A curve must have a name: with explicit parameters OpenSSL decompresses a point when it reads
// the certificate, which takes a tenth of a second for a prime chosen to be slow.
static const char *curve_problem(span parameters) {
  span name;
  if (take(&parameters, IDENTIFIER, &name) &&
      (IS(name, "\x2A\x86\x48\xCE\x3D\x03\x01\x07") || IS(name, "\x2B\x81\x04\x00\x22") || IS(name, "\x2B\x81\x04\x00\x23")))
    return NULL;
  return COSTLY "an elliptic curve other than P-256, P-384 and P-521";
}

// RFC 5280 section 4.1.
static const char *certificate_problem(span bytes) {
  static const uint8_t before[] = {INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE};
  span certificate, body, version, info, algorithm, key, name;
  if (!take(&bytes, SEQUENCE, &certificate) || !take(&certificate, SEQUENCE, &body)) return unreadable;
  take(&body, FIRST, &version);
  if (!take_all(&body, before, sizeof before) || !take(&body, SEQUENCE, &info) || !take(&info, SEQUENCE, &algorithm) ||
      !take(&info, BIT_STRING, &key) || !take(&algorithm, IDENTIFIER, &name))
    return unreadable;
  // rsaEncryption and id-RSASSA-PSS.
  if (IS(name, "\x2A\x86\x48\x86\xF7\x0D\x01\x01\x01") || IS(name, "\x2A\x86\x48\x86\xF7\x0D\x01\x01\x0A")) return rsa_problem(key);
  if (IS(name, "\x2A\x86\x48\xCE\x3D\x02\x01")) return curve_problem(algorithm);
  // Ed25519 and Ed448 (RFC 8410 section 3).
  if (IS(name, "\x2B\x65\x70") || IS(name, "\x2B\x65\x71")) return NULL;
  return "the server's certificate has a key that is neither RSA, nor of an elliptic curve, nor Ed25519 or Ed448";
}

const char *ctls_certificates_problem(const void *body, size_t count, int is_tls13) {
  span message = {body, count}, context, list, one, extensions;
  if (is_tls13 && !take_vector(&message, 1, &context)) return unreadable;
  if (!take_vector(&message, 3, &list)) return unreadable;
  for (int number = 1; list.count > 0; number++) {
    if (number > MAXIMUM_CERTIFICATES) return "the server sends more than 10 certificates";
    if (!take_vector(&list, 3, &one) || (is_tls13 && !take_vector(&list, 2, &extensions))) return unreadable;
    const char *problem = certificate_problem(one);
    if (problem != NULL) return problem;
  }
  return NULL;
}

const char *ctls_response_problem(const void *bytes, size_t count) {
  static const char unreadable[] = "the server's stapled OCSP response cannot be read";
  static const uint8_t before[] = {SEQUENCE, SEQUENCE, BIT_STRING};
  span whole = {bytes, count}, response, status, tagged, typed, type, basic, certificates, list;
  if (!take(&whole, SEQUENCE, &response) || !take(&response, ENUMERATED, &status) || !take(&response, FIRST, &tagged) ||
      !take(&tagged, SEQUENCE, &typed) || !take(&typed, IDENTIFIER, &type) || !take(&typed, OCTET_STRING, &whole) ||
      !take(&whole, SEQUENCE, &basic) || !take_all(&basic, before, sizeof before))
    return unreadable;
  if (basic.count == 0) return NULL;
  if (!take(&basic, FIRST, &certificates) || !take(&certificates, SEQUENCE, &list)) return unreadable;
  for (int number = 1; list.count > 0; number++) {
    span one = list, content;
    if (!take(&list, SEQUENCE, &content)) return unreadable;
    one.count -= list.count;
    if (number > MAXIMUM_CERTIFICATES || certificate_problem(one) != NULL)
      return "the server's stapled OCSP response comes with certificates that are too costly";
  }
  return NULL;
}
