import AuthEngine
import HTTPMessages
import PosternSupport

/// The fields of a resource server's response as the program gets them.
struct ResponseFields {
  /// How much of a response is translated.
  private struct Budget {
    var addresses = ResponseFields.maxAddresses
    var bytes = ResponseFields.maxBytes

    /// Takes a field's value; false when that is too much.
    mutating func take(_ value: String) -> Bool { takeBytes(value.utf8.count) }

    /// Takes an address in a response from `url`, which may be resolved against its path; false when that is too much.
    mutating func takeAddress(from url: HTTPURL) -> Bool {
      guard addresses > 0, takeBytes(url.path.utf8.count) else { return false }
      addresses -= 1
      return true
    }

    private mutating func takeBytes(_ count: Int) -> Bool {
      bytes -= min(bytes, count)
      return bytes > 0
    }
  }

  private let server: ResourceServer
  private let addresses: GatewayAddresses
  private let reserved: ReservedCookies

  init(of server: ResourceServer) {
    self.server = server
    addresses = GatewayAddresses(of: server)
    reserved = ReservedCookies(server.reservedCookies)
  }

  /// The fields of `head`: without those of the hop to the server and those about its origin, with addresses that lead
  /// to the gateway.
  func fields(of head: HTTPResponseHead) -> HTTPFields {
    let named = Set(
      head.fields.values(of: "Connection").flatMap { $0.split(atByte: ",") }
        .map { HTTPFieldRules.trimmed(String($0)).lowercasedASCII() })
    var result = HTTPFields()
    var budget = Budget()
    for line in head.fields.lines {
      let name = line.name.lowercasedASCII()
      guard !Self.hop.contains(name), !named.contains(name), !name.startsWithBytes(of: "proxy-"),
        !name.startsWithBytes(of: "postern-"), !isAboutCredential(name)
      else { continue }
      if let value = rewritten(line.value, of: name, in: head, &budget) { result.append(line.name, value) }
    }
    return result
  }

  /// The length of the body of `head`, of a response to `HEAD` that of the one to `GET`; nil where there is none, or it
  /// is not known before its end.
  static func length(of head: HTTPResponseHead) -> Int64? {
    guard head.status != 204, head.status != 304, head.fields["Transfer-Encoding"] == nil else { return nil }
    // The transport has compared them, if there are several.
    return head.fields["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }

  /// The most addresses that are translated in a response, and the most bytes of the fields with them, and of the path
  /// of the request, against which each is resolved. Fields with more are left out: an address that is not translated
  /// would lead around the gateway.
  private static let maxAddresses = 100
  private static let maxBytes = 64 << 10

  /// How long the fields of `head` are.
  static func byteCount(of head: HTTPResponseHead) -> Int {
    head.fields.lines.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }

  /// Fields of one hop (RFC 9110 section 7.6.1), the length, which the listener writes, and fields that browsers keep
  /// about an origin: the gateway's is another one.
  private static let hop = HTTPFieldRules.hopByHop.union([
    "alt-svc", "content-length", "public-key-pins", "public-key-pins-report-only", "strict-transport-security",
  ])

  /// Whether a field has control characters, which no server may send (RFC 9110 section 5.5).
  static func hasControlCharacter(_ head: HTTPResponseHead) -> Bool {
    head.fields.lines.contains { $0.value.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } }
  }

  /// Whether the field is about the credential of the request: it was Postern's, unless there was none.
  private func isAboutCredential(_ name: String) -> Bool {
    server.authentication != .none && ["authentication-info", "dpop-nonce", "www-authenticate"].contains(name)
  }

  /// The value of the field `name` for the program, as far as the budget goes; nil: it does not get the field.
  private func rewritten(_ value: String, of name: String, in head: HTTPResponseHead, _ budget: inout Budget) -> String?
  {
    let url = head.url
    switch name {
    case "location", "content-location":
      return budget.take(value) && budget.takeAddress(from: url) ? addresses.rewritten(value, from: url) : nil
    case "refresh":
      return budget.take(value) && budget.takeAddress(from: url) ? addresses.rewritten(refresh: value, from: url) : nil
    case "link":
      return budget.take(value) ? addresses.rewritten(link: value, from: url) { budget.takeAddress(from: url) } : nil
    case "set-cookie": return budget.take(value) ? cookie(value, from: url) : nil
    case "set-cookie2": return nil
    default: return value
    }
  }

  /// A `Set-Cookie` for the program: none of single sign-on, and none that is kept here.
  private func cookie(_ value: String, from url: HTTPURL) -> String? {
    guard server.cookies == nil, let line = CookieLine(value, keepsOctets: true), !reserved.occur(in: line.name) else {
      return nil
    }
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
    base = server.baseURL
    credential = server.credential
    basePath = Self.withoutSlash(base.path)
  }

  private static func withoutSlash(_ path: String) -> String {
    path.utf8.last == UInt8(ascii: "/") ? String(Substring(path.utf8.dropLast())) : path
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
    let path = prefix + rest(of: target.path)
    return target.query.map { "\(path)?\($0)" } ?? path
  }

  /// `path`, which begins with the base URL's, without that.
  private func rest(of path: String) -> Substring { Substring(path.utf8.dropFirst(basePath.utf8.count)) }

  /// Servers send characters that a URL must have percent-encoded, such as letters in UTF-8.
  private static func encoded(_ reference: String) -> String {
    let unsafe = #" "<>\^`{|}"#.utf8
    var result: [UInt8] = []
    result.reserveCapacity(reference.utf8.count + 64)
    for byte in reference.utf8 {
      if byte >= 0x7F || byte <= 0x20 || unsafe.contains(byte) {
        PercentEncoding.append(byte, to: &result)
      } else {
        result.append(byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// A `Link` field (RFC 8288 section 3): its targets are between `<` and `>`, outside of quotation marks. Nil where
  /// `mayTranslate`, which is called for each of them, returns false.
  func rewritten(link value: String, from url: HTTPURL, mayTranslate: () -> Bool) -> String? {
    let bytes = Array(value.utf8)
    // After it no target ends: what looks like the start of one is not searched through again and again.
    let lastEnd = bytes.lastIndex(of: UInt8(ascii: ">")) ?? 0
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    var isQuoted = false
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "<"), !isQuoted, index < lastEnd,
        let end = bytes[index...].firstIndex(of: UInt8(ascii: ">"))
      {
        guard mayTranslate() else { return nil }
        let target = String(decoding: bytes[(index + 1)..<end], as: UTF8.self)
        result.append(byte)
        result += (rewritten(target, from: url) ?? target).utf8
        index = end
        continue
      }
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      result.append(byte)
      index += 1
      if byte == UInt8(ascii: "\\"), isQuoted, index < bytes.count {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
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
    let bare = Self.withoutSlash(path)
    if basePath.startsWithBytes(of: bare), Self.ends(bare, atSegmentOf: basePath) { return prefix }
    guard path.startsWithBytes(of: basePath), Self.ends(basePath, atSegmentOf: path) else { return nil }
    return prefix + rest(of: path)
  }

  /// Whether `prefix`, with which `path` begins, ends where a segment does.
  private static func ends(_ prefix: String, atSegmentOf path: String) -> Bool {
    let rest = path.utf8.dropFirst(prefix.utf8.count)
    return rest.isEmpty || rest.first == UInt8(ascii: "/")
  }
}
