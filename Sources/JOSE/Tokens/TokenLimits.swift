/// Bounds on a token, checked before anything else is done with it.
public struct TokenLimits: Sendable, Hashable {
  /// The largest token in bytes.
  public var maxBytes: Int
  /// How deep its JSON may nest.
  public var maxDepth: Int

  /// 65,536 bytes and 32 levels, unless told otherwise.
  public init(maxBytes: Int = 65_536, maxDepth: Int = 32) {
    self.maxBytes = maxBytes
    self.maxDepth = maxDepth
  }
}
