import CPosternCurl

/// Sets options of one easy handle and records the first that failed.
struct Settings {
  /// An option that libcurl did not take.
  struct Rejection {
    let option: CURLoption
    let code: CURLcode

    /// libcurl's words, with the option's number.
    var text: String { "libcurl rejects option \(option.rawValue): \(String(cString: curl_easy_strerror(code)))" }
  }

  let easy: UnsafeMutableRawPointer
  private(set) var rejection: Rejection?

  init(easy: UnsafeMutableRawPointer) { self.easy = easy }

  mutating func note(_ result: CURLcode, _ option: CURLoption) {
    if rejection == nil, result != CURLE_OK { rejection = Rejection(option: option, code: result) }
  }

  mutating func set(_ option: CURLoption, _ value: Int) { note(postern_curl_set_long(easy, option, value), option) }

  mutating func set(_ option: CURLoption, offset: curl_off_t) {
    note(postern_curl_set_offset(easy, option, offset), option)
  }

  /// libcurl copies the string.
  mutating func set(_ option: CURLoption, _ value: String?) {
    guard let value else { return note(postern_curl_set_string(easy, option, nil), option) }
    note(value.withCString { postern_curl_set_string(easy, option, $0) }, option)
  }

  /// libcurl keeps the pointer.
  mutating func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer) {
    note(postern_curl_set_pointer(easy, option, pointer), option)
  }

  /// libcurl keeps the list.
  mutating func setFields(_ list: UnsafeMutablePointer<curl_slist>?) {
    note(postern_curl_set_fields(easy, list), CURLOPT_HTTPHEADER)
  }

  mutating func setSink(_ option: CURLoption, _ callback: curl_write_callback) {
    note(postern_curl_set_sink(easy, option, callback), option)
  }

  /// Instead of the file of authorities, for the server or (CURLOPT_PROXY_CAINFO_BLOB) the proxy; libcurl copies the
  /// bytes.
  mutating func setAuthorities(_ bytes: [UInt8], _ option: CURLoption = CURLOPT_CAINFO_BLOB) {
    let result = bytes.withUnsafeBytes { postern_curl_set_authorities(easy, option, $0.baseAddress, $0.count) }
    note(result, option)
  }

  mutating func setTLSSetup(_ callback: curl_ssl_ctx_callback) {
    note(postern_curl_set_tls_setup(easy, callback), CURLOPT_SSL_CTX_FUNCTION)
  }
}
