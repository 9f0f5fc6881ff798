package import HTTPMessages
package import PosternSupport

/// Why a request is rejected. The text quotes nothing of the request.
package struct RequestRejection: Error, Sendable, Hashable {
  /// The HTTP status.
  package let status: Int
  /// The code of the protocol's error.
  package let code: ErrorCode
  /// The reason, for people.
  package let detail: String
  /// Whether the request was under way, and may have had an effect.
  let isUnderWay: Bool

  /// Rejects a request that is not valid HTTP, by default with the status and code for that.
  package init(
    _ detail: String, status: Int = 400, _ code: ErrorCode = .malformedRequest, isUnderWay: Bool = false
  ) {
    self.status = status
    self.code = code
    self.detail = detail
    self.isUnderWay = isUnderWay
  }

  static func tooLarge(_ detail: String, status: Int = 431) -> RequestRejection {
    RequestRejection(detail, status: status, .requestTooLarge)
  }

  static func unsupported(_ detail: String, status: Int = 501) -> RequestRejection {
    RequestRejection(detail, status: status, .unsupported)
  }
}

/// A request's header section that has one reading only (RFC 9112 sections 3 to 6).
package struct RequestHead: Sendable {
  /// How the body is framed.
  package enum Framing: Sendable, Hashable {
    /// There is no body.
    case none
    /// It has so many bytes, at least one.
    case length(Int64)
    /// It comes in chunks.
    case chunked
  }

  /// The request line.
  package let line: RequestLine
  /// All fields, as sent.
  package let fields: HTTPFields
  /// The body's framing.
  package let framing: Framing
  /// The value of `Host`, without an empty port; empty where it is, and in HTTP/1.0 without it.
  package let host: String
  /// The names in `Connection`, in lower case.
  package let options: Set<String>
  /// Whether the client waits for `100 Continue` before it sends the body.
  package let expectsContinue: Bool
  /// The protocols in `Upgrade`, in lower case, where `Connection` names it.
  package let upgrades: [String]

  /// Checks what the fields mean together.
  init(_ line: RequestLine, _ fields: HTTPFields, replacesHost: Bool = false) throws(RequestRejection) {
    self.line = line
    self.fields = fields
    host = try Self.host(fields, line, replacesHost)
    framing = try Self.framing(fields, line)
    options = Set(try Self.list(fields.values(of: "connection"), "Connection", mayHaveEmptyElements: true))
    let isReport = { (name: String) in Self.reports.contains { name.startsWithBytes(of: $0) } }
    guard options.isDisjoint(with: Self.indispensable), !options.contains(where: isReport) else {
      throw RequestRejection("Connection names a field that is not of one hop")
    }
    let expectations = fields.values(of: "expect").flatMap { $0.split(atByte: ",") }
      .map { HTTPFieldRules.trimmed(String($0)) }.filter { !$0.isEmpty }
    expectsContinue = line.minorVersion == 1 && framing != .none && !expectations.isEmpty
    guard expectations.isEmpty || expectations.count == 1 && expectations[0].lowercasedASCII() == "100-continue" else {
      throw .unsupported("the only expectation that can be met is 100-continue", status: 417)
    }
    upgrades = !options.isDisjoint(with: ["upgrade"]) ? fields.values(of: "upgrade").map { $0.lowercasedASCII() } : []
    // A front passes its client's handshake on, for a verdict (RFC 9110 section 7.8 lets servers ignore the field).
    let isOfFront = line.path.startsWithBytes(of: "/.postern/auth/")
    guard isOfFront || !upgrades.contains(where: { $0.containsBytes(of: "websocket") }) else {
      throw .unsupported("WebSocket connections are not forwarded")
    }
  }

  /// Whether the client wants no further response on this connection.
  var closes: Bool { line.minorVersion == 0 || !options.isDisjoint(with: ["close"]) }

  /// The fields that go on: without those of this hop and of this listener.
  var forwarded: HTTPFields {
    HTTPFields(
      fields.lines.filter {
        let name = $0.name.lowercasedASCII()
        return !Self.ownFields.contains(name) && !options.contains(name) && !name.startsWithBytes(of: "proxy-")
      })
  }

  private static let ownFields = HTTPFieldRules.hopByHop.union([
    "content-length", "expect", "host", "http2-settings", "postern-key",
  ])

  /// Fields that another server may rely on: whether they are there is not for `Connection` to decide.
  private static let indispensable: Set<String> = [
    "authorization", "client-cert", "content-length", "content-type", "cookie", "dpop", "expect", "forwarded", "host",
    "origin", "transfer-encoding",
  ]

  /// The beginnings of names of fields by which a front reports its client's request, and of this listener's own.
  private static let reports = ["postern-", "x-forwarded-", "x-original-", "x-rewrite-"]

  private static func host(
    _ fields: HTTPFields, _ line: RequestLine, _ isReplaced: Bool
  ) throws(RequestRejection) -> String {
    let hosts = fields.values(of: "host")
    guard hosts.count == 1 || hosts.isEmpty && line.minorVersion == 0 else {
      throw RequestRejection("exactly one Host is needed")
    }
    guard let field = hosts.first else { return line.authority ?? "" }
    // A client whose URL has no authority sends an empty one (RFC 9112 section 3.2), as for a Unix socket.
    guard !field.isEmpty || line.authority != nil else { return "" }
    guard RequestLine.isAuthority(field.utf8) else { throw RequestRejection("Host is not a name or address") }
    let host = RequestLine.withoutEmptyPort(field)
    if let authority = line.authority, authority.lowercasedASCII() != host.lowercasedASCII() {
      if isReplaced { return authority }
      throw RequestRejection("the target's authority is not the one of Host")
    }
    return host
  }

  /// RFC 9112 section 6.3, with everything rejected that servers are known to read differently.
  private static func framing(_ fields: HTTPFields, _ line: RequestLine) throws(RequestRejection) -> Framing {
    let lengths = fields.values(of: "content-length")
    let codings = fields.values(of: "transfer-encoding")
    guard codings.isEmpty else {
      guard lengths.isEmpty else { throw RequestRejection("Content-Length and Transfer-Encoding exclude each other") }
      guard line.minorVersion == 1 else { throw RequestRejection("HTTP/1.0 has no Transfer-Encoding") }
      let names = try list(codings, "Transfer-Encoding")
      guard names.last == "chunked", names.dropLast().allSatisfy({ $0 != "chunked" }) else {
        throw RequestRejection("Transfer-Encoding needs chunked once, and as its last coding")
      }
      guard names.count == 1, codings.count == 1 else { throw .unsupported("the transfer coding is unknown") }
      return .chunked
    }
    guard let text = lengths.first else { return .none }
    guard lengths.count == 1, (1...19).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let length = Int64(text)
    else { throw RequestRejection("Content-Length is not one number") }
    return length == 0 ? .none : .length(length)
  }

  /// The tokens of comma-separated lists, in lower case. Empty elements mean nothing (RFC 9110 section 5.6.1.2), but are
  /// no part of what frames a body.
  private static func list(
    _ values: [String], _ name: String, mayHaveEmptyElements: Bool = false
  ) throws(RequestRejection) -> [String] {
    var tokens: [String] = []
    for value in values {
      for part in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
        let token = HTTPFieldRules.trimmed(String(decoding: part, as: UTF8.self))
        if mayHaveEmptyElements, token.isEmpty { continue }
        guard HTTPFieldRules.isName(token) else { throw RequestRejection("\(name) is not a list of names") }
        tokens.append(token.lowercasedASCII())
      }
    }
    return tokens
  }
}

extension HTTPFields.Field {
  /// Reads one field line, without its CR LF (RFC 9112 section 5). Control characters are rejected before.
  init(line: ArraySlice<UInt8>) throws(RequestRejection) {
    guard line.first != 0x20, line.first != 0x09 else { throw RequestRejection("a field goes on in a second line") }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw RequestRejection("a field has no colon") }
    let name = String(decoding: line[..<colon], as: UTF8.self)
    guard HTTPFieldRules.isName(name) else { throw RequestRejection("a field's name is not a token") }
    let text = line[(colon + 1)...].withUnsafeBufferPointer { FieldOctets.text($0) }
    // What servers of the CGI family take for the real one, and proxies do not.
    let lowercased = name.lowercasedASCII()
    let canonical = HTTPFieldRules.canonical(name)
    guard lowercased.hasSameBytes(as: canonical) || !Self.isSignificant(canonical) else {
      throw RequestRejection("a field's name is a variant of one that decides about the request")
    }
    self.init(name: name, value: HTTPFieldRules.trimmed(text))
  }

  private static func isSignificant(_ canonical: String) -> Bool {
    HTTPFieldRules.isReserved(canonical: canonical) || canonical == "cookie" || canonical == "origin"
  }
}

/// The first line of a request.
package struct RequestLine: Sendable {
  /// The method, any token but `HTTPFieldRules.excludedMethods`.
  package let method: String
  /// The whole target, with what a URL must have percent-encoded percent-encoded.
  package let target: String
  /// The authority in the target; nil in the origin form.
  package let authority: String?
  /// The path; begins with `/`.
  package let path: String
  /// The query, behind the first `?`; nil: there is none.
  package let query: String?
  /// 1 for HTTP/1.1, 0 for HTTP/1.0.
  package let minorVersion: Int

  /// Reads the line without its CR LF (RFC 9112 section 3).
  init(_ line: ArraySlice<UInt8>, targetLimit: Int) throws(RequestRejection) {
    let parts = line.split(separator: 0x20, maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw RequestRejection("the request line is not method, target and version") }
    method = String(decoding: parts[0], as: UTF8.self)
    guard HTTPFieldRules.isName(method) else { throw RequestRejection("the method is not a token") }
    minorVersion = try Self.minorVersion(parts[2])
    let upperCase = method.uppercasedASCII()
    guard !HTTPFieldRules.excludedMethods.contains(upperCase) else {
      throw .unsupported("the method is not for a gateway")
    }
    // Methods are case-sensitive, and some servers do not know it.
    guard method == upperCase || !Self.methods.contains(upperCase) else {
      throw .unsupported("the method differs in its case from one that every server knows")
    }
    guard parts[1].count <= targetLimit else { throw .tooLarge("the target is too long", status: 414) }
    guard parts[1].allSatisfy(Self.isTargetByte) else {
      throw RequestRejection("the target has a character that must be percent-encoded, or a fragment")
    }
    guard Self.isPercentEncoded(parts[1]) else { throw RequestRejection("a % in the target is without two digits") }
    let written: ArraySlice<UInt8>
    (authority, written) = try Self.authority(parts[1])
    // Programs leave characters as they are that no URL has (RFC 3986 section 2): there is one reading of them.
    let rest = HTTPURL.encodingRawCharacters(in: written)[...]
    target = String(decoding: parts[1][..<written.startIndex] + rest, as: UTF8.self)
    let mark = rest.firstIndex(of: UInt8(ascii: "?"))
    let path = String(decoding: rest[..<(mark ?? rest.endIndex)], as: UTF8.self)
    self.path = path.isEmpty ? "/" : path
    query = mark.map { String(decoding: rest[($0 + 1)...], as: UTF8.self) }
    guard !path.startsWithBytes(of: "//") else { throw RequestRejection("the path begins with two slashes") }
    let segments = path.utf8.split(separator: UInt8(ascii: "/"))
    guard !segments.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
      throw RequestRejection("the path has a dot segment")
    }
    if let fault = PathInspection.fault(in: path) { throw RequestRejection("the path \(fault)") }
  }

  private static func minorVersion(_ bytes: ArraySlice<UInt8>) throws(RequestRejection) -> Int {
    if bytes.elementsEqual("HTTP/1.1".utf8) { return 1 }
    if bytes.elementsEqual("HTTP/1.0".utf8) { return 0 }
    let digits = bytes.dropFirst(5)
    guard bytes.starts(with: "HTTP/".utf8), digits.count == 3,
      zip(digits, [true, false, true]).allSatisfy({ $1 ? (0x30...0x39).contains($0) : $0 == UInt8(ascii: ".") })
    else { throw RequestRejection("the version is not that of HTTP") }
    throw .unsupported("only HTTP/1.1 and 1.0 are spoken here", status: 505)
  }

  /// The authority of a target in absolute form, and the rest. Other forms than that and the origin form are rejected.
  private static func authority(
    _ bytes: ArraySlice<UInt8>
  ) throws(RequestRejection) -> (String?, ArraySlice<UInt8>) {
    if bytes.first == UInt8(ascii: "/") { return (nil, bytes) }
    let scheme = "http://"
    guard bytes.count > scheme.utf8.count,
      String(decoding: bytes.prefix(scheme.utf8.count), as: UTF8.self).lowercasedASCII() == scheme
    else { throw RequestRejection("the target is neither a path nor an http URL") }
    let rest = bytes.dropFirst(scheme.utf8.count)
    let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    guard isAuthority(authority) else { throw RequestRejection("the target's authority is not a name or address") }
    return (withoutEmptyPort(String(decoding: authority, as: UTF8.self)), rest[authority.endIndex...])
  }

  /// An authority with a port that is there and empty, without its colon (RFC 3986 section 6.2.3).
  static func withoutEmptyPort(_ authority: String) -> String {
    authority.utf8.last == UInt8(ascii: ":") ? String(Substring(authority.utf8.dropLast())) : authority
  }

  /// Whether these are a host and perhaps a port, without user information.
  static func isAuthority(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)[...]
    if rest.first == UInt8(ascii: "[") {
      guard let end = rest.firstIndex(of: UInt8(ascii: "]")), end > 2,
        rest[1..<end].allSatisfy({ Hexadecimal.isDigit($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
      else { return false }
      rest = rest[(end + 1)...]
    } else {
      let name = rest.prefix { isLetterOrDigit($0) || "-._~".utf8.contains($0) }
      guard !name.isEmpty else { return false }
      rest = rest[name.endIndex...]
    }
    guard !rest.isEmpty else { return true }
    let port = rest.dropFirst()
    guard rest.first == UInt8(ascii: ":") else { return false }
    return port.isEmpty
      || port.count <= 5 && port.allSatisfy { (0x30...0x39).contains($0) }
        && Int(String(decoding: port, as: UTF8.self)).map { $0 <= 65_535 } ?? false
  }

  private static func isTargetByte(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "\\")
  }

  private static func isPercentEncoded(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.indices.allSatisfy { index in
      bytes[index] != UInt8(ascii: "%")
        || index + 2 < bytes.endIndex && Hexadecimal.isDigit(bytes[index + 1]) && Hexadecimal.isDigit(bytes[index + 2])
    }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
  }

  /// The methods that servers know, without `CONNECT` and `TRACE`, which a gateway does not forward.
  private static let methods: Set<String> = [
    "ACL", "BIND", "CHECKOUT", "COPY", "DELETE", "GET", "HEAD", "LINK", "LOCK", "MERGE", "MKACTIVITY",
    "MKCALENDAR", "MKCOL", "MOVE", "NOTIFY", "OPTIONS", "PATCH", "POST", "PROPFIND", "PROPPATCH", "PURGE", "PUT",
    "REBIND", "REPORT", "SEARCH", "SUBSCRIBE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE",
  ]
}
