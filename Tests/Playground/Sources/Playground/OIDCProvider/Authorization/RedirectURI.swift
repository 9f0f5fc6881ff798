/// Redirect URIs compared byte by byte (RFC 9700 section 4.1.3), with one exception.
enum RedirectURI {
  /// Whether `uri` is one of `registered`.
  static func isRegistered(_ uri: String, among registered: [String]) -> Bool {
    registered.contains { $0.utf8.elementsEqual(uri.utf8) || isSameLoopback(uri, $0) }
  }

  /// The same address at any port of a loopback interface (RFC 8252 section 7.3). `localhost` is no such address: what
  /// it means is for a resolver to say (section 8.3).
  private static func isSameLoopback(_ uri: String, _ registered: String) -> Bool {
    for origin in ["http://127.0.0.1", "http://[::1]"] where uri.hasPrefix(origin) && registered.hasPrefix(origin) {
      guard let requested = withoutPort(uri.dropFirst(origin.count)),
        let known = withoutPort(registered.dropFirst(origin.count))
      else { return false }
      return requested.utf8.elementsEqual(known.utf8)
    }
    return false
  }

  /// The text after host and port; nil when the port is invalid or followed by anything but a path or query.
  private static func withoutPort(_ text: Substring) -> Substring? {
    guard text.first == ":" else { return text.isEmpty || text.first == "/" || text.first == "?" ? text : nil }
    let digits = text.dropFirst().prefix { $0.isASCII && $0.isNumber }
    guard digits.count <= 5, let port = Int(digits), (1...65_535).contains(port) else { return nil }
    let rest = text.dropFirst(digits.count + 1)
    return rest.isEmpty || rest.first == "/" || rest.first == "?" ? rest : nil
  }

  /// `uri` with parameters added to its query or as its fragment.
  static func adding(_ parameters: [(String, String)], to uri: String, asFragment: Bool) -> String {
    let text = parameters.map { "\($0)=\(PercentCoding.encode($1))" }.joined(separator: "&")
    return uri + (asFragment ? "#" : uri.contains("?") ? "&" : "?") + text
  }
}
