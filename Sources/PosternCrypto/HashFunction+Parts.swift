extension HashFunction {
  /// The hash of a thing of that kind which several texts tell from others: each with its length, so that no two things
  /// are alike.
  public func hash(_ kind: String, of parts: [String]) -> [UInt8] {
    hash(Array((kind + parts.map { ":\($0.utf8.count):\($0)" }.joined()).utf8))
  }
}
