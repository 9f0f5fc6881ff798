public import PosternSupport

/// How many cookies of a resource are kept. Every policy has jars of its own; a copy shares them.
public struct CookiePolicy: Sendable, Hashable, ConciseStringConvertible {
  /// The most cookies of one scope.
  public var maxCookies: Int
  /// The most bytes of names, values, domains and paths of one scope.
  public var maxBytes: Int
  /// The limits.
  public var description: String {
    "at most \(Concise.count(maxCookies, "cookie")), \(Concise.count(maxBytes, "byte"))"
  }
  /// Identifies the jars.
  let store = UInt64.random(in: .min ... .max)

  /// New, empty jars with these bounds.
  public init(maxCookies: Int = 50, maxBytes: Int = 64 << 10) {
    self.maxCookies = maxCookies
    self.maxBytes = maxBytes
  }
}
