extension HTTPURL {
  /// The URL that `reference` means here (RFC 3986 section 5), as a `Location` field gives it; a fragment is dropped.
  ///
  /// Throws when the result would be no acceptable URL: another scheme, user information, a bad host, bad characters.
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
