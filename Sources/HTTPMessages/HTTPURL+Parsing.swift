import PosternSupport

extension HTTPURL {
  /// Parses and normalises an absolute URL.
  public init(_ text: String) throws(HTTPURLError) {
    let bytes = Array(text.utf8)
    try Self.checkCharacters(bytes[...])
    guard let colon = Self.schemeEnd(bytes[...]) else { throw HTTPURLError(.notAbsolute) }
    let scheme = String(decoding: bytes[..<colon].map(ASCII.lowercased), as: UTF8.self)
    guard scheme == "https" || scheme == "http" else { throw HTTPURLError(.unsupportedScheme) }
    let rest = bytes[(colon + 1)...]
    guard rest.starts(with: [Self.slash, Self.slash]) else { throw HTTPURLError(.missingAuthority) }
    let authority = rest.dropFirst(2).prefix { $0 != Self.slash && $0 != Self.questionMark && $0 != Self.numberSign }
    let origin = try Self.origin(scheme: scheme, authority: authority)
    let (path, query) = try Self.pathAndQuery(bytes[authority.endIndex...])
    self.init(origin: origin, path: path, query: query)
  }

  /// Whether `text` begins with a scheme and so is no relative reference (RFC 3986 section 4.2).
  public static func hasScheme(_ text: String) -> Bool { ASCII.withBytes(of: text) { schemeEnd($0) != nil } }

  static let slash = UInt8(ascii: "/")
  static let questionMark = UInt8(ascii: "?")
  static let numberSign = UInt8(ascii: "#")

  /// Throws for a length or a character that is not permitted in any part of a URL.
  static func checkCharacters(_ bytes: ArraySlice<UInt8>) throws(HTTPURLError) {
    guard bytes.count <= maxBytes else { throw HTTPURLError(.tooLong) }
    for byte in bytes {
      if byte <= 0x20 || byte == 0x7F { throw HTTPURLError(.controlCharacter) }
      if byte == UInt8(ascii: "\\") { throw HTTPURLError(.backslash) }
      if byte >= 0x80 { throw HTTPURLError(.notASCII) }
    }
  }

  /// The index of the colon after the scheme (RFC 3986 section 3.1), or nil when the text is a relative reference.
  static func schemeEnd<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes) -> Int? where Bytes.Index == Int {
    guard let first = bytes.first, ASCII.isLetter(first) else { return nil }
    for index in bytes.indices {
      let byte = bytes[index]
      if byte == UInt8(ascii: ":") { return index }
      guard
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
          || byte == UInt8(ascii: ".")
      else { return nil }
    }
    return nil
  }

  /// Host and port (RFC 3986 section 3.2); an empty port is the default one.
  static func origin(scheme: String, authority: ArraySlice<UInt8>) throws(HTTPURLError) -> Origin {
    guard !authority.contains(UInt8(ascii: "@")) else { throw HTTPURLError(.userInformation) }
    let hostEnd =
      if authority.first == UInt8(ascii: "[") {
        authority.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 } ?? authority.endIndex
      } else {
        authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
      }
    let host = try HTTPHost.canonical(authority[..<hostEnd])
    let rest = authority[hostEnd...]
    guard let colon = rest.first else { return Origin(scheme: scheme, host: host, port: defaultPort(of: scheme)) }
    guard colon == UInt8(ascii: ":") else { throw HTTPURLError(.invalidHost) }
    let digits = rest.dropFirst()
    if digits.isEmpty { return Origin(scheme: scheme, host: host, port: defaultPort(of: scheme)) }
    guard digits.count <= 5, digits.allSatisfy(ASCII.isDigit) else { throw HTTPURLError(.invalidPort) }
    let port = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    guard (1...65_535).contains(port) else { throw HTTPURLError(.invalidPort) }
    return Origin(scheme: scheme, host: host, port: port)
  }

  /// The normalised path and query in the text after an authority; a fragment is dropped.
  static func pathAndQuery(_ bytes: ArraySlice<UInt8>) throws(HTTPURLError) -> (path: String, query: String?) {
    let text = bytes.prefix { $0 != numberSign }
    let path = text.prefix { $0 != questionMark }
    let query = path.endIndex < text.endIndex ? text[(path.endIndex + 1)...] : nil
    let normalised = removingDotSegments(try normalise(path))
    return (
      String(decoding: normalised, as: UTF8.self),
      try query.map { bytes throws(HTTPURLError) in
        String(decoding: try normalise(bytes, alsoAllowed: questionMark), as: UTF8.self)
      }
    )
  }

  /// The text with normalised percent-encoding (RFC 3986 section 6.2.2). Permits `pchar`, `/` and `alsoAllowed`.
  private static func normalise(
    _ bytes: ArraySlice<UInt8>, alsoAllowed: UInt8 = UInt8(ascii: "/")
  ) throws(HTTPURLError) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%") {
        guard index + 2 < bytes.endIndex, let high = Hexadecimal.value(bytes[index + 1]),
          let low = Hexadecimal.value(bytes[index + 2])
        else { throw HTTPURLError(.invalidPercentEncoding) }
        let decoded = high << 4 | low
        if ASCII.isUnreserved(decoded) { result.append(decoded) } else { PercentEncoding.append(decoded, to: &result) }
        index += 3
        continue
      }
      if mustBeEncoded(byte) {
        PercentEncoding.append(byte, to: &result)
      } else if ASCII.isUnreserved(byte) || ASCII.isSubDelimiter(byte) || byte == UInt8(ascii: ":")
        || byte == UInt8(ascii: "@") || byte == slash || byte == alsoAllowed
      {
        result.append(byte)
      } else {
        throw HTTPURLError(.forbiddenCharacter)
      }
      index += 1
    }
    return result
  }

  /// Whether the byte is one that RFC 3986 allows nowhere in a path or query, and that browsers and other programs leave
  /// as it is there. Nothing but the character itself can be meant.
  static func mustBeEncoded(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "|"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"):
      true
    default: false
    }
  }

  /// `bytes`, of a path and query, with every such character percent-encoded.
  package static func encodingRawCharacters(in bytes: ArraySlice<UInt8>) -> [UInt8] {
    guard bytes.contains(where: mustBeEncoded) else { return Array(bytes) }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 16)
    for byte in bytes {
      if mustBeEncoded(byte) { PercentEncoding.append(byte, to: &result) } else { result.append(byte) }
    }
    return result
  }

  /// Removes dot segments (RFC 3986 section 5.2.4) from a path that is empty or begins with `/`; the result is never
  /// empty.
  static func removingDotSegments(_ path: [UInt8]) -> [UInt8] {
    var kept: [ArraySlice<UInt8>] = []
    let segments = path.dropFirst().split(separator: slash, omittingEmptySubsequences: false)
    for (position, segment) in segments.enumerated() {
      let isLast = position == segments.count - 1
      if segment.elementsEqual(".".utf8) {
        if isLast { kept.append([]) }
      } else if segment.elementsEqual("..".utf8) {
        if !kept.isEmpty { kept.removeLast() }
        if isLast { kept.append([]) }
      } else {
        kept.append(segment)
      }
    }
    var result: [UInt8] = []
    result.reserveCapacity(path.count + 1)
    for segment in kept {
      result.append(slash)
      result.append(contentsOf: segment)
    }
    return result.isEmpty ? [slash] : result
  }
}
