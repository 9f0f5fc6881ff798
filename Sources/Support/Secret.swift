/// A value that must never be printed: its description, debug description and mirror all read `<secret>`.
///
/// `reveal()` is the one way to the value, so that every use can be found by searching for it.
public struct Secret<Value: Sendable>: Sendable {
  private let value: Value

  /// Wraps `value`.
  public init(_ value: Value) { self.value = value }

  /// The secret itself. Call it where the value is used (a header, a form field), never earlier.
  public func reveal() -> Value { value }
}

extension Secret: Equatable where Value: Equatable {}
extension Secret: Hashable where Value: Hashable {}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
  /// Always `<secret>`.
  public var debugDescription: String { "<secret>" }
  /// A mirror without children, so that `dump` and `String(reflecting:)` of an enclosing value show nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
