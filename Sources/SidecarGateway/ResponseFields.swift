import AuthEngine
import HTTPMessages
import PosternSupport

/// The fields of a resource server's response as the program gets them.
struct ResponseFields {
  private let server: ResourceServer
  private let addresses: GatewayAddresses

  init(of server: ResourceServer) {
    self.server = server
    addresses = GatewayAddresses(of: server)
  }

  /// The fields of `head`: without those of the hop to the server and those about its origin, with addresses that lead
  /// to the gateway.
  func fields(of head: HTTPResponseHead) -> HTTPFields {
    let named = Set(
      head.fields.values(of: "Connection").flatMap { $0.split(atByte: ",") }
        .map { HTTPFieldRules.trimmed(String($0)).lowercasedASCII() })
    var result = HTTPFields()
    var addressesLeft = Self.maxAddresses
    for line in head.fields.lines {
      let name = line.name.lowercasedASCII()
      guard !Self.hop.contains(name), !named.contains(name), !name.startsWithBytes(of: "proxy-"),
        !name.startsWithBytes(of: "postern-"), !isAboutCredential(name)
      else { continue }
      if let value = rewritten(line.value, of: name, in: head, &addressesLeft) { result.append(line.name, value) }
    }
    return result
  }

  /// The length of the body of `head`, the response to a request of `method`; nil where there is none, or it is not
  /// known before its end.
  static func length(of head: HTTPResponseHead, to method: String) -> Int64? {
    guard head.status != 204, head.status != 304, head.fields["Transfer-Encoding"] == nil else { return nil }
    // The transport has compared them, if there are several.
    return head.fields["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }

  /// The most addresses that are translated in a response; fields with further ones are left out. Each can cost as much
  /// as the URL of the request is long, and this runs on a thread of all users.
  private static let maxAddresses = 100

  /// Fields of one hop (RFC 9110 section 7.6.1), the length, which the listener writes, and fields that browsers keep
  /// about an origin: the gateway's is another one.
  private static let hop: Set<String> = [
    "alt-svc", "connection", "content-length", "keep-alive", "public-key-pins", "public-key-pins-report-only",
    "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Whether a field has control characters, which no server may send (RFC 9110 section 5.5).
  static func hasControlCharacter(_ head: HTTPResponseHead) -> Bool {
    head.fields.lines.contains { $0.value.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } }
  }

  /// Whether the field is about the credential of the request: it was Postern's, unless there was none.
  private func isAboutCredential(_ name: String) -> Bool {
    server.authentication != .none && ["authentication-info", "dpop-nonce", "www-authenticate"].contains(name)
  }

  /// The value of the field `name` for the program, with no more addresses than are `left`; nil: it does not get the
  /// field.
  private func rewritten(_ value: String, of name: String, in head: HTTPResponseHead, _ left: inout Int) -> String? {
    switch name {
    case "location", "content-location", "refresh":
      guard left > 0 else { return nil }
      left -= 1
      return name == "refresh"
        ? addresses.rewritten(refresh: value, from: head.url) : addresses.rewritten(value, from: head.url)
    case "link": return addresses.rewritten(link: value, from: head.url, atMost: &left)
    case "set-cookie": return cookie(value, from: head.url)
    case "set-cookie2": return nil
    default: return value
    }
  }

  /// A `Set-Cookie` for the program: none of single sign-on, and none that is kept here.
  private func cookie(_ value: String, from url: HTTPURL) -> String? {
    guard server.cookies == nil, let line = CookieLine(value),
      !server.headers.reservedCookies.contains(where: { $0.hasSameASCIILetters(as: line.name) })
    else { return nil }
    return addresses.rewritten(cookie: value, line, from: url)
  }
}

/// Translates addresses of a resource server into those of the gateway.
struct GatewayAddresses {
  /// `/NAME`.
  private let prefix: String
  private let base: HTTPURL
  private let credential: StaticCredential?
  /// The path of the base URL without a slash at its end.
  private let basePath: String

  init(of server: ResourceServer) {
    prefix = "/\(server.name)"
    base = server.locations.baseURL
    credential = server.credential
    basePath = base.path.endsWithBytes(of: "/") ? String(base.path.dropLast()) : base.path
  }

  /// `reference`, in a response from `url`, as it leads to the same from the gateway: below the base URL as a path of
  /// the gateway's, else as an absolute URL. Nil for a relative one that is malformed.
  func rewritten(_ reference: String, from url: HTTPURL) -> String? {
    let isAbsolute = HTTPURL.hasScheme(reference)
    let parsed = (try? url.resolving(reference: reference)) ?? (try? url.resolving(reference: Self.encoded(reference)))
    guard let target = parsed else { return isAbsolute ? reference : nil }
    let fragment = reference.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(reference[$0...]) } ?? ""
    if let path = path(to: target) { return path + fragment }
    return isAbsolute ? reference : "\(target)\(fragment)"
  }

  /// The gateway's path and query for a URL below the base URL; nil for another one. Servers copy the query that they
  /// got: the parameter of the resource's credential, which no program may send, is left out.
  private func path(to target: HTTPURL) -> String? {
    let target = credential?.removed(from: target) ?? target
    guard target.lies(under: base) || target.origin == base.origin && target.path.hasSameBytes(as: basePath) else {
      return nil
    }
    let path = prefix + String(target.path.dropFirst(basePath.count))
    return target.query.map { "\(path)?\($0)" } ?? path
  }

  /// Servers send characters that a URL must have percent-encoded, such as letters in UTF-8.
  private static func encoded(_ reference: String) -> String {
    let unsafe = Set(#" "<>\^`{|}"#.utf8)
    return reference.utf8.map { byte in
      guard byte >= 0x7F || byte <= 0x20 || unsafe.contains(byte) else { return String(UnicodeScalar(byte)) }
      return "%" + Hexadecimal.string([byte]).uppercasedASCII()
    }.joined()
  }

  /// A `Link` field (RFC 8288 section 3): its targets are between `<` and `>`, outside of quotation marks. Nil where it
  /// has more of them than are `left`.
  func rewritten(link value: String, from url: HTTPURL, atMost left: inout Int) -> String? {
    var result = ""
    // After it no target ends: what looks like the start of one is not searched through again and again.
    let lastEnd = value.utf8.lastIndex(of: UInt8(ascii: ">")) ?? value.startIndex
    var rest = Substring(value)
    var isQuoted = false
    while let character = rest.unicodeScalars.popFirst() {
      if character == "<", !isQuoted, rest.startIndex <= lastEnd,
        let end = rest.utf8.firstIndex(of: UInt8(ascii: ">"))
      {
        guard left > 0 else { return nil }
        left -= 1
        let target = String(rest[..<end])
        result += "<\(rewritten(target, from: url) ?? target)>"
        rest = rest[rest.utf8.index(after: end)...]
        continue
      }
      if character == "\"" { isQuoted.toggle() }
      result.unicodeScalars.append(character)
      if character == "\\", isQuoted, let escaped = rest.unicodeScalars.popFirst() {
        result.unicodeScalars.append(escaped)
      }
    }
    return result
  }

  /// A `Refresh` field: a time, and a URL after `url=`.
  func rewritten(refresh value: String, from url: HTTPURL) -> String? {
    guard let start = value.utf8.firstIndex(where: { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }) else {
      return value
    }
    let directive = HTTPFieldRules.trimmed(String(value[start...].dropFirst()))
    guard let equals = directive.utf8.firstIndex(of: UInt8(ascii: "=")),
      HTTPFieldRules.trimmed(String(directive[..<equals])).hasSameASCIILetters(as: "url")
    else { return value }
    var target = HTTPFieldRules.trimmed(String(directive[equals...].dropFirst()))
    if let quote = target.utf8.first, quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"") {
      target = String(Substring(target.utf8.dropFirst().prefix { $0 != quote }))
    }
    return rewritten(target, from: url).map { "\(value[..<start]); url=\($0)" }
  }

  /// A `Set-Cookie` field: without `Domain`, which would be another host, without `Secure`, since nothing but a local
  /// socket is between gateway and program, and with the gateway's path. Nil where its path is not the resource's.
  func rewritten(cookie value: String, _ line: CookieLine, from url: HTTPURL) -> String? {
    let attributes = value.split(atByte: ";", omittingEmptySubsequences: false)
    // Browsers accept these names with `Secure` only.
    let prefix = line.name.lowercasedASCII()
    let isPrefixed = prefix.startsWithBytes(of: "__host-") || prefix.startsWithBytes(of: "__secure-")
    var kept = [HTTPFieldRules.trimmed(String(attributes[0]))]
    for attribute in attributes.dropFirst() {
      let name = HTTPFieldRules.trimmed(String(attribute.prefix(beforeBytes: "="))).lowercasedASCII()
      if ["domain", "path"].contains(name) || name == "secure" && !isPrefixed { continue }
      kept.append(HTTPFieldRules.trimmed(String(attribute)))
    }
    // The last one counts (RFC 6265 section 5.3); without a slash first it means the folder of the request.
    if let path = line.attributes["path"], path.startsWithBytes(of: "/") {
      guard let own = self.path(ofCookie: path) else { return nil }
      kept.append("Path=\(own)")
    } else if [basePath, "\(basePath)/"].contains(where: url.path.hasSameBytes) {
      // The program may have requested `/NAME`, whose folder is that of all resources (RFC 6265 section 5.1.4).
      kept.append("Path=\(self.prefix)")
    }
    return kept.joined(separator: "; ")
  }

  /// The gateway's path for a cookie's: below the base URL, or all of the resource where that is below the cookie's.
  private func path(ofCookie path: String) -> String? {
    let bare = path.endsWithBytes(of: "/") ? String(path.dropLast()) : path
    if basePath.startsWithBytes(of: bare), Self.ends(bare, atSegmentOf: basePath) { return prefix }
    guard path.startsWithBytes(of: basePath), Self.ends(basePath, atSegmentOf: path) else { return nil }
    return prefix + String(path.dropFirst(basePath.count))
  }

  /// Whether `prefix`, with which `path` begins, ends where a segment does.
  private static func ends(_ prefix: String, atSegmentOf path: String) -> Bool {
    let rest = path.utf8.dropFirst(prefix.utf8.count)
    return rest.isEmpty || rest.first == UInt8(ascii: "/")
  }
}
