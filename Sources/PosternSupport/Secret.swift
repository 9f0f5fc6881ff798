/// A value that must never be printed: its description, debug description and mirror all read `<secret>`. At rest it is
/// in `SecretMemory`: not swapped out, not dumped, overwritten when it goes.
///
/// `reveal()` is the one way to the value, so that every use can be found by searching for it.
public struct Secret<Value: SecretContent>: Sendable {
  private let bytes: SecretBytes

  /// Wraps a copy of `value`.
  public init(_ value: Value) { bytes = value.withSecretBytes(SecretBytes.init(copying:)) }

  /// The secret itself, in ordinary memory. Call it where the value is used (a header, a form field), never earlier.
  public func reveal() -> Value { bytes.withUnsafeBytes(Value.init(secretBytes:)) }
}

extension Secret where Value == [UInt8] {
  /// How many bytes it has.
  public var byteCount: Int { bytes.count }

  /// Wraps a copy of `value`, and overwrites it.
  public init(moving value: inout [UInt8]) {
    self.init(value)
    value.wipe()
  }
}

extension Secret: Hashable {
  /// Whether both are the same bytes.
  public static func == (left: Secret, right: Secret) -> Bool {
    left.bytes.withUnsafeBytes { left in
      right.bytes.withUnsafeBytes { $0.count == left.count && $0.elementsEqual(left) }
    }
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
  /// Always `<secret>`.
  public var debugDescription: String { "<secret>" }
  /// A mirror without children, so that `dump` and `String(reflecting:)` of an enclosing value show nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
