/// That a resource's cookies are kept, and how many. Every policy has jars of its own; a copy shares them.
public struct CookiePolicy: Sendable, Hashable {
  /// The most cookies of one owner.
  public var maxCookies: Int
  /// The most bytes of names, values, domains and paths of one owner.
  public var maxBytes: Int
  /// Which jars are meant.
  let store = UInt64.random(in: .min ... .max)

  /// New, empty jars with these bounds.
  public init(maxCookies: Int = 50, maxBytes: Int = 64 << 10) {
    self.maxCookies = maxCookies
    self.maxBytes = maxBytes
  }
}
