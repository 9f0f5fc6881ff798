#include "staple.h"

#include "certificates.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/x509v3.h>

// The tolerated difference of clocks, and the lifetime of a response without `nextUpdate`.
#define SKEW_SECONDS 300L
#define MAXIMUM_AGE_SECONDS (7L * 24 * 3600)
// The most single responses that are read: a server's response has one.
#define MAXIMUM_ANSWERS 16
// The TLS feature that demands a response (RFC 7633 section 4.2.3.1): the extension status_request.
#define STATUS_REQUEST 5

static int demands_staple(X509 *certificate) {
  int state = -1;
  TLS_FEATURE *features = X509_get_ext_d2i(certificate, NID_tlsfeature, &state, NULL);
  // An extension that cannot be read may demand it.
  int found = features == NULL && state != -1;
  for (int index = 0; index < sk_ASN1_INTEGER_num(features); index++)
    if (ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, index)) == STATUS_REQUEST) found = 1;
  TLS_FEATURE_free(features);
  return found;
}

static int is_about(OCSP_SINGLERESP *answer, X509 *certificate, X509 *issuer) {
  // The responder chooses the hash function.
  ASN1_OBJECT *hash = NULL;
  const OCSP_CERTID *id = OCSP_SINGLERESP_get0_id(answer);
  if (OCSP_id_get0_info(NULL, &hash, NULL, NULL, (OCSP_CERTID *)id) != 1) return 0;
  const EVP_MD *digest = EVP_get_digestbyobj(hash);
  OCSP_CERTID *wanted = digest == NULL ? NULL : OCSP_cert_to_id(digest, certificate, issuer);
  int same = wanted != NULL && OCSP_id_cmp((OCSP_CERTID *)id, wanted) == 0;
  OCSP_CERTID_free(wanted);
  return same;
}

// The fault in what the response states about the certificate. Needs one fresh `good` and nothing else.
static const char *verdict(OCSP_BASICRESP *response, X509 *certificate, X509 *issuer) {
  const char *problem = "the server's stapled OCSP response is about another certificate";
  int count = OCSP_resp_count(response);
  for (int index = 0; index < count && index < MAXIMUM_ANSWERS; index++) {
    OCSP_SINGLERESP *answer = OCSP_resp_get0(response, index);
    if (!is_about(answer, certificate, issuer)) continue;
    ASN1_GENERALIZEDTIME *this_update = NULL, *next_update = NULL;
    int status = OCSP_single_get0_status(answer, NULL, NULL, &this_update, &next_update);
    // A revocation does not expire.
    if (status == V_OCSP_CERTSTATUS_REVOKED) return "the server's stapled OCSP response states that its certificate is revoked";
    if (status != V_OCSP_CERTSTATUS_GOOD) return "the server's stapled OCSP response does not know its certificate";
    long age = next_update == NULL ? MAXIMUM_AGE_SECONDS : -1;
    if (OCSP_check_validity(this_update, next_update, SKEW_SECONDS, age) != 1)
      return "the server's stapled OCSP response has expired, or is not valid yet";
    problem = NULL;
  }
  return problem;
}

static const char *judge(SSL *ssl, const unsigned char *bytes, long count, STACK_OF(X509) * chain) {
  X509 *certificate = sk_X509_value(chain, 0);
  // A chain of one certificate is a trusted authority, which no other one can attest.
  X509 *issuer = sk_X509_value(chain, sk_X509_num(chain) > 1 ? 1 : 0);
  OCSP_RESPONSE *whole = d2i_OCSP_RESPONSE(NULL, &bytes, count);
  OCSP_BASICRESP *response = NULL;
  const char *problem = "the server's stapled OCSP response cannot be read";
  if (whole != NULL && OCSP_response_status(whole) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
    response = OCSP_response_get1_basic(whole);
  if (response != NULL) {
    X509_STORE *store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl));
    if (OCSP_basic_verify(response, chain, store, 0) <= 0)
      problem = "the server's stapled OCSP response is not signed by the authority of its certificate";
    else
      problem = verdict(response, certificate, issuer);
  }
  OCSP_BASICRESP_free(response);
  OCSP_RESPONSE_free(whole);
  return problem;
}

const char *ctls_staple_problem(SSL *ssl) {
  // A server sends no certificate when it resumes a session; it was checked when the session started.
  if (SSL_session_reused(ssl)) return NULL;
  STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
  if (chain == NULL || sk_X509_num(chain) == 0) return "the server has shown no certificate";
  const unsigned char *bytes = NULL;
  long count = SSL_get_tlsext_status_ocsp_resp(ssl, &bytes);
  const char *problem = NULL;
  if (bytes != NULL && count > 0) {
    problem = ctls_response_problem(bytes, (size_t)count);
    if (problem == NULL) problem = judge(ssl, bytes, count, chain);
  } else if (demands_staple(sk_X509_value(chain, 0)))
    problem = "the server's certificate demands a stapled OCSP response (RFC 7633), and there is none";
  ERR_clear_error();
  return problem;
}
