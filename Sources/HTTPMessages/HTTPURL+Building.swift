import PosternSupport

extension HTTPURL {
  /// The URL with `text`, a relative path with or without a leading slash and a query, appended to its path with one
  /// slash between them.
  ///
  /// An empty `text` gives this URL's own path. This URL's query is not kept. Dot segments are resolved, so the result
  /// can be outside of this URL: check it with `lies(under:)`.
  public func appending(relativePath text: String) throws(HTTPURLError) -> HTTPURL {
    if Self.isNormalised(text) {
      let start = path.utf8.last == Self.slash ? path : path + "/"
      return try HTTPURL(origin: origin, path: start + text, query: nil).checkingLength()
    }
    let bytes = Array(text.utf8)
    try Self.checkCharacters(bytes[...])
    let first = bytes.first
    if first == nil || first == Self.questionMark || first == Self.numberSign {
      let (_, query) = try Self.pathAndQuery(bytes[...])
      return HTTPURL(origin: origin, path: path, query: query)
    }
    var joined = Array(path.utf8)
    if joined.last == Self.slash { joined.removeLast() }
    if first != Self.slash { joined.append(Self.slash) }
    joined += bytes
    let (joinedPath, query) = try Self.pathAndQuery(joined[...])
    return try HTTPURL(origin: origin, path: joinedPath, query: query).checkingLength()
  }

  /// Whether `text` is a relative path of which nothing is to be normalised, as nearly all are: segments of unreserved
  /// characters, none of which begins with a dot.
  private static func isNormalised(_ text: String) -> Bool {
    var last = slash
    for byte in text.utf8 {
      guard ASCII.isUnreserved(byte) || byte == slash, last != slash || byte != slash && byte != UInt8(ascii: ".")
      else {
        return false
      }
      last = byte
    }
    return !text.isEmpty
  }

  /// The URL with `encoded` (names and values already percent-encoded) appended to its query, joined by `&`; the same
  /// URL when that is empty.
  public func addingQuery(_ encoded: String) throws(HTTPURLError) -> HTTPURL {
    guard !encoded.isEmpty else { return self }
    let joined = (query ?? "").isEmpty ? encoded : "\(query ?? "")&\(encoded)"
    let (_, checked) = try Self.pathAndQuery(Array("?\(joined)".utf8)[...])
    return try HTTPURL(origin: origin, path: path, query: checked).checkingLength()
  }

  /// Whether this URL has the origin of `base` and its path begins with `base`'s, on a segment boundary: below `/a` are
  /// `/a` and `/a/b` but not `/ab`, below `/a/` is `/a/b` but not `/a`.
  public func lies(under base: HTTPURL) -> Bool {
    guard origin == base.origin, path.startsWithBytes(of: base.path) else { return false }
    return base.path.utf8.last == Self.slash || path.utf8.count == base.path.utf8.count
      || path.utf8.dropFirst(base.path.utf8.count).first == Self.slash
  }

  /// The URL with the path and query of `text`, which begins with `/`, and the same origin: for well-known locations.
  public func replacingPath(_ text: String) throws(HTTPURLError) -> HTTPURL {
    let bytes = Array(text.utf8)
    try Self.checkCharacters(bytes[...])
    let (path, query) = try Self.pathAndQuery(bytes[...])
    return HTTPURL(origin: origin, path: path, query: query)
  }

  func checkingLength() throws(HTTPURLError) -> HTTPURL {
    guard path.utf8.count + (query?.utf8.count ?? 0) <= Self.maxBytes else { throw HTTPURLError(.tooLong) }
    return self
  }
}

extension HTTPURL {
  /// Resolves `reference`, such as the value of `Location`, against this URL (RFC 3986 section 5). A fragment is
  /// dropped.
  ///
  /// Throws when the result is no acceptable URL: another scheme, user information, an invalid host or character.
  public func resolving(reference: String) throws(HTTPURLError) -> HTTPURL {
    let bytes = Array(reference.utf8)
    try Self.checkCharacters(bytes[...])
    if Self.schemeEnd(bytes[...]) != nil { return try HTTPURL(reference) }
    if bytes.starts(with: [Self.slash, Self.slash]) { return try HTTPURL("\(origin.scheme):\(reference)") }
    guard let first = bytes.first, first != Self.numberSign else { return self }
    if first == Self.questionMark {
      let (_, query) = try Self.pathAndQuery(bytes[...])
      return HTTPURL(origin: origin, path: path, query: query)
    }
    let parent = first == Self.slash ? [] : Array(path.utf8.prefix(through: lastSlash))
    let (resolved, query) = try Self.pathAndQuery((parent + bytes)[...])
    return try HTTPURL(origin: origin, path: resolved, query: query).checkingLength()
  }

  private var lastSlash: String.UTF8View.Index { path.utf8.lastIndex(of: Self.slash) ?? path.utf8.startIndex }
}
