import PosternSupport

/// Everything a verdict depends on beside the token, in bytes: every value whole and with its length before it, so that
/// no two policies have the same.
package struct PolicyFingerprint: Sendable {
  package private(set) var bytes: [UInt8] = []

  /// An empty fingerprint of one kind of token.
  package init(kind: String) {
    bytes.reserveCapacity(256)
    add(kind)
  }

  package mutating func add(_ text: String) {
    add(count: text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }

  package mutating func add(_ text: String?) {
    bytes.append(text == nil ? 0 : 1)
    if let text { add(text) }
  }

  package mutating func add(_ texts: [String]) {
    add(count: texts.count)
    for text in texts { add(text) }
  }

  mutating func add(_ condition: Bool) { bytes.append(condition ? 1 : 0) }

  mutating func add(_ duration: Duration?) {
    bytes.append(duration == nil ? 0 : 1)
    if let duration { add(integer: duration.wholeMilliseconds) }
  }

  private mutating func add(count: Int) { add(integer: Int64(count)) }

  private mutating func add(integer: Int64) {
    withUnsafeBytes(of: integer.littleEndian) { bytes.append(contentsOf: $0) }
  }
}
