// Typed functions for libcurl's variadic ones, which Swift cannot call, and the initialization of OpenSSL.
#ifndef POSTERN_CCURL_H
#define POSTERN_CCURL_H
#include <curl/curl.h>
#include <stdint.h>

// Initializes OpenSSL, before libcurl does, without its atexit handler: that would free memory that the loop's thread
// still uses while the process exits. The function is declared inside, so that this module does not share OpenSSL's
// headers with CPosternOpenSSL. 0x00080000 is OPENSSL_INIT_NO_ATEXIT. Returns 1 on success.
struct ossl_init_settings_st;
static inline int postern_curl_init_openssl(void) {
  extern int OPENSSL_init_crypto(uint64_t opts, const struct ossl_init_settings_st *settings);
  return OPENSSL_init_crypto(UINT64_C(0x00080000), (const struct ossl_init_settings_st *)0);
}

// The argument is a macro that Swift does not import.
static inline curl_version_info_data *postern_curl_version(void) {
  return curl_version_info(CURLVERSION_NOW);
}

static inline CURLcode postern_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode postern_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode postern_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode postern_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode postern_curl_set_fields(CURL *easy, struct curl_slist *list) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

// `option` is CURLOPT_WRITEFUNCTION or CURLOPT_HEADERFUNCTION.
static inline CURLcode postern_curl_set_sink(CURL *easy, CURLoption option, curl_write_callback callback) {
  return curl_easy_setopt(easy, option, callback);
}

static inline CURLcode postern_curl_set_source(CURL *easy, curl_read_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_READFUNCTION, callback);
}

static inline CURLcode postern_curl_set_before_request(CURL *easy, curl_prereq_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode postern_curl_set_open_socket(CURL *easy, curl_opensocket_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode postern_curl_set_resolver_start(CURL *easy, curl_resolver_start_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}

static inline CURLcode postern_curl_set_progress(CURL *easy, curl_xferinfo_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callback);
}

static inline CURLcode postern_curl_set_close_socket(CURL *easy, curl_closesocket_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

// PEM, in place of a file; `option` is CURLOPT_CAINFO_BLOB or CURLOPT_PROXY_CAINFO_BLOB. libcurl copies it.
static inline CURLcode postern_curl_set_authorities(CURL *easy, CURLoption option, const void *bytes, size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob);
}

static inline CURLcode postern_curl_set_tls_setup(CURL *easy, curl_ssl_ctx_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

// OpenSSL's SSL of the transfer's connection; null without one.
static inline void *postern_curl_get_tls(CURL *easy) {
  struct curl_tlssessioninfo *information = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &information) != CURLE_OK || information == NULL) return NULL;
  return information->backend == CURLSSLBACKEND_OPENSSL ? information->internals : NULL;
}

static inline CURLcode postern_curl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode postern_curl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode postern_curl_get_private(CURL *easy, char **value) {
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, value);
}

static inline CURLMcode postern_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// TLS sessions that easy handles of one thread share; null without memory.
static inline CURLSH *postern_curl_share_sessions(void) {
  CURLSH *share = curl_share_init();
  if (share && curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK) return share;
  if (share) curl_share_cleanup(share);
  return NULL;
}

static inline CURLMcode postern_curl_multi_set_socket(CURLM *multi, curl_socket_callback callback, void *data) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, data);
  return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

// Moves all transfers on, and has the interest in their descriptors reported. Deprecated for its cost, and without a
// successor: curl_multi_perform does not report descriptors.
static inline CURLMcode postern_curl_multi_socket_all(CURLM *multi, int *running) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return curl_multi_socket_all(multi, running);
#pragma GCC diagnostic pop
}

static inline CURLMcode postern_curl_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback, void *data) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, data);
  return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}
#endif
