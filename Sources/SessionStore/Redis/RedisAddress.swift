import SessionRecords

/// The address of a Redis server: `redis://host:port/database`, `rediss://…` over TLS, or `unix:///path?db=0`.
struct RedisAddress: Sendable, Equatable {
  /// The network address.
  enum Location: Sendable, Equatable {
    case tcp(host: String, port: UInt16)
    case unix(path: String)
  }

  let location: Location
  let isEncrypted: Bool
  let database: Int

  /// For messages.
  var description: String {
    switch location {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): path
    }
  }

  /// Reads the URL. It must not contain user and password: these are given separately, so that they are not in a file
  /// with the rest.
  init(_ url: String) throws(StoreError) {
    let problem = StoreError(.unusable, "not the address of a Redis server: rediss://host:port/database is expected")
    guard let separator = url.firstRange(of: "://") else { throw problem }
    let rest = url[separator.upperBound...]
    guard !url.utf8.contains(0), rest.allSatisfy({ !$0.isWhitespace && $0 != "#" && $0 != "@" }) else { throw problem }
    switch url[..<separator.lowerBound].lowercased() {
    case "unix":
      let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      guard let path = parts.first, path.hasPrefix("/"), path.utf8.count < 108 else { throw problem }
      let number = parts.count == 1 ? "" : parts[1]
      guard number.isEmpty || number.hasPrefix("db="), let database = Self.database(number.dropFirst(3)) else {
        throw problem
      }
      (location, isEncrypted, self.database) = (.unix(path: String(path)), false, database)
    case let scheme where scheme == "redis" || scheme == "rediss":
      let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let location = Self.tcp(parts.first ?? ""), let database = Self.database(parts.count == 1 ? "" : parts[1])
      else { throw problem }
      (self.location, isEncrypted, self.database) = (location, scheme == "rediss", database)
    default: throw problem
    }
  }

  private static func tcp(_ text: Substring) -> Location? {
    var host = text
    var port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
      port = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    guard !host.isEmpty, host.utf8.count < 254, !host.contains("?") else { return nil }
    guard let number = port.map({ UInt16($0) }) ?? 6379, number > 0 else { return nil }
    return .tcp(host: String(host), port: number)
  }

  private static func database(_ text: Substring) -> Int? {
    if text.isEmpty { return 0 }
    return Int(text).flatMap { (0...9999).contains($0) ? $0 : nil }
  }
}
