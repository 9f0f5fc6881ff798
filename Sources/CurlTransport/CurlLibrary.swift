import CPosternCurl

/// The libcurl of this process: initialised once, never torn down, because other threads may still be inside it when
/// the process exits.
enum CurlLibrary {
  /// Nil when libcurl is ready to use, otherwise why it is not.
  ///
  /// The first call initialises; Swift runs this initialiser once, whichever thread comes first.
  static let problem: String? = {
    // Before libcurl touches OpenSSL: the first initialisation decides about the exit handler.
    guard postern_curl_init_openssl() == 1 else { return "OpenSSL does not initialise" }
    let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard code == CURLE_OK else { return "libcurl does not initialise: \(String(cString: curl_easy_strerror(code)))" }
    guard let information = postern_curl_version() else { return "libcurl does not tell its version" }
    let features = information.pointee.features
    if features & CURL_VERSION_SSL == 0 { return "this libcurl has no TLS" }
    // A resolver without threads would stop every exchange while one name is looked up.
    if features & CURL_VERSION_ASYNCHDNS == 0 { return "this libcurl resolves names synchronously" }
    // 7.87 brought CURLOPT_QUICK_EXIT, without which ending an exchange waits for its name look-up.
    if information.pointee.version_num < 0x07_57_00 { return "this libcurl is older than 7.87" }
    return nil
  }()

  /// The file of authorities that libcurl was built with: the system's.
  static let authorities: String? = postern_curl_version()?.pointee.cainfo.map { String(cString: $0) }

  /// Whether a content coding is undone, or not, as the options are when the body comes: with later versions they count
  /// when its field comes.
  static let undoesCodingsLate = (postern_curl_version()?.pointee.version_num ?? .max) < 0x08_00_00

  /// Whether libcurl can undo that content coding, which nobody requests of it.
  static func decodes(_ coding: String) -> Bool {
    let features = postern_curl_version()?.pointee.features ?? 0
    return switch coding {
    case "br": undoesCodingsLate && features & CURL_VERSION_BROTLI != 0
    case "zstd": undoesCodingsLate && features & CURL_VERSION_ZSTD != 0
    default: false
    }
  }

  /// Whether it can authenticate to a proxy by Kerberos (GSS-API and SPNEGO).
  static let negotiates: Bool = {
    let wanted = CURL_VERSION_GSSAPI | CURL_VERSION_SPNEGO
    return (postern_curl_version()?.pointee.features ?? 0) & wanted == wanted
  }()

  /// The versions found at run time.
  static let versions: CurlTransport.LibraryVersions = {
    guard let information = postern_curl_version() else { return .init(curl: "unknown", tls: "unknown") }
    return .init(curl: text(information.pointee.version), tls: text(information.pointee.ssl_version))
  }()

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? "unknown"
  }
}
