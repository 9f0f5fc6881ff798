import CCurl

/// Sets options of one easy handle and remembers the first that failed.
struct Settings {
  let easy: UnsafeMutableRawPointer
  private var code = CURLE_OK

  init(easy: UnsafeMutableRawPointer) { self.easy = easy }

  /// libcurl's words for the first failure.
  var problem: String? { code == CURLE_OK ? nil : String(cString: curl_easy_strerror(code)) }

  mutating func note(_ result: CURLcode) {
    if code == CURLE_OK { code = result }
  }

  mutating func set(_ option: CURLoption, _ value: Int) { note(postern_curl_set_long(easy, option, value)) }

  mutating func set(_ option: CURLoption, offset: curl_off_t) { note(postern_curl_set_offset(easy, option, offset)) }

  /// libcurl copies the string.
  mutating func set(_ option: CURLoption, _ value: String?) { note(postern_curl_set_string(easy, option, value)) }

  /// libcurl keeps the pointer.
  mutating func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer) {
    note(postern_curl_set_pointer(easy, option, pointer))
  }

  /// libcurl keeps the list.
  mutating func setFields(_ list: UnsafeMutablePointer<curl_slist>?) { note(postern_curl_set_fields(easy, list)) }

  mutating func setSink(_ option: CURLoption, _ callback: curl_write_callback) {
    note(postern_curl_set_sink(easy, option, callback))
  }

  /// Instead of the file of authorities; libcurl copies the bytes.
  mutating func setAuthorities(_ bytes: [UInt8]) {
    note(bytes.withUnsafeBytes { postern_curl_set_authorities(easy, $0.baseAddress, $0.count) })
  }

  mutating func setTLSSetup(_ callback: curl_ssl_ctx_callback) { note(postern_curl_set_tls_setup(easy, callback)) }
}
