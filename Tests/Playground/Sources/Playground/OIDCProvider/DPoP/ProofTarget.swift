import NIOHTTP1

/// The address in a proof's `htu` and of a request, in a form in which the two can be compared (RFC 9449 section 4.3,
/// RFC 3986 section 6.2).
struct ProofTarget: Equatable {
  private let origin: String
  private let path: [UInt8]

  /// The address of `htu`; nil when it is none or has a query or fragment, which section 4.2 leaves out.
  init?(htu: String) {
    guard htu.utf8.count <= 8192, !htu.contains("?"), !htu.contains("#"), htu.lowercased().hasPrefix("http://") else {
      return nil
    }
    let rest = htu.dropFirst("http://".count)
    let authority = rest.prefix { $0 != "/" }
    guard !authority.isEmpty else { return nil }
    origin = Self.normal(authority)
    path = Self.normal(path: rest.dropFirst(authority.count))
  }

  /// The address `request` was sent to, as far as it knows.
  init(_ request: Request) {
    self.init(authority: request.headers.first(name: "host") ?? "", path: request.path)
  }

  /// The address of a path without query at an authority.
  init(authority: String, path: String) {
    origin = Self.normal(authority[...])
    self.path = Self.normal(path: path[...])
  }

  private static func normal(_ authority: Substring) -> String {
    let lowered = authority.lowercased()
    return lowered.hasSuffix(":80") ? String(lowered.dropLast(3)) : lowered
  }

  /// Escapes of unreserved characters decoded, the others with capital digits.
  private static func normal(path: Substring) -> [UInt8] {
    var normal: [UInt8] = []
    var rest = Array(path.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else {
        normal.append(byte)
        continue
      }
      let scalar = Unicode.Scalar(value)
      if value < 0x80, scalar.properties.isAlphabetic || "0123456789-._~".unicodeScalars.contains(scalar) {
        normal.append(value)
      } else {
        normal += [byte] + String(decoding: rest.prefix(2), as: UTF8.self).uppercased().utf8
      }
      rest = rest.dropFirst(2)
    }
    return normal.isEmpty ? [UInt8(ascii: "/")] : normal
  }
}
