public import PosternJSON

/// A result that writes its text itself: one of a hot path, for which a tree of values would cost more than the rest of
/// the call. Tests compare the text with the `Codable` form, from which the schema is made.
public protocol WrittenResult: RPCObject {
  /// About how many bytes the text has.
  var expectedBytes: Int { get }
  /// Appends the text.
  func write(to text: borrowing JSONComposer)
}

extension WrittenResult {
  /// That of most results.
  public var expectedBytes: Int { 768 }
}

/// A result that has been written: by its handler, so that a long one is written where that harms no other call.
public struct Written<Result: WrittenResult>: Sendable {
  /// The text.
  public let text: JSONText

  /// Writes `result`.
  public init(_ result: Result) {
    let text = JSONComposer(capacity: result.expectedBytes)
    result.write(to: text)
    self.text = text.finished()
  }
}

/// A result that makes its value itself: one of a hot path whose members others read before it is written. Encoding it
/// would take half as long again. Tests compare the value with the `Codable` form.
public protocol ValueResult: RPCObject {
  /// The value.
  var json: JSONValue { get }
}

extension [JSONObject.Member] {
  /// Adds a member where there is a value; no other has its name.
  mutating func add(_ name: String, _ value: JSONValue?) {
    if let value { append(JSONObject.Member(name: name, value: value)) }
  }

  /// The object with these members.
  var json: JSONValue { .object(JSONObject(distinct: self)) }
}
