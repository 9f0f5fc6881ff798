import PosternJSON
import PosternSupport

/// The settings of Adobe Pass that can be changed while it runs.
final class AdobePassSettings: Sendable {
  /// How an error of a whole request is written.
  enum ErrorShape: String, CaseIterable {
    case bare, error, errors
  }

  struct Values: Sendable {
    /// Whether there are only one request a second from a device, after ten at once.
    var throttles = true
    /// `Retry-After` of a 429; nil: none, as documented.
    var retryAfterSeconds: Int64?
    /// How many resources one request may ask about.
    var maxResources: Int64 = 5
    /// Whether more get an empty list, as before release 3.4.0.
    var emptiesTooMany = false
    /// How errors are written.
    var errorShape = ErrorShape.bare
    /// How long tokens live.
    var tokenSeconds: Int64 = 21_600
    /// How long before they are handed out tokens say that they were made.
    var tokenAgeSeconds: Int64 = 0
    /// The status with which credentials and tokens come.
    var createdStatus: Int64 = 201
    /// Whether decisions come in the opposite order.
    var reverses = false
    /// The decision of an operator's rule about everything; nil: no rule.
    var degradation: Bool?
    /// Shapes that the next requests for decisions are answered with.
    var next: [AdobePassShape] = []
  }

  private let state = Locked(Values())

  /// The current values.
  var values: Values { state.withLock { $0 } }

  /// Goes back to those of the start.
  func reset() { state.withLock { $0 = Values() } }

  /// The shape of the next answer.
  func takeShape() -> AdobePassShape? { state.withLock { $0.next.isEmpty ? nil : $0.next.removeFirst() } }

  /// Takes over what `body` names.
  func change(_ body: ControlBody) throws(ControlBody.Problem) {
    var values = values
    if let flag = try body.bool("throttle") { values.throttles = flag }
    if let number = try body.integer("retryAfterSeconds", in: 0...86_400) { values.retryAfterSeconds = number }
    if let number = try body.integer("maxResources", in: 1...1000) { values.maxResources = number }
    if let flag = try body.bool("emptyOverLimit") { values.emptiesTooMany = flag }
    if let name = try body.string("errorShape") { values.errorShape = try Self.named(name, "errorShape") }
    if let number = try body.integer("tokenTtlSeconds", in: 1...31_536_000) { values.tokenSeconds = number }
    if let number = try body.integer("tokenAgeSeconds", in: -86_400...31_536_000) { values.tokenAgeSeconds = number }
    if let number = try body.integer("createdStatus", in: 200...201) { values.createdStatus = number }
    if let flag = try body.bool("reverse") { values.reverses = flag }
    if body.members["degradation"] != nil {
      switch try body.string("degradation") {
      case nil: values.degradation = nil
      case "permit"?: values.degradation = true
      case "deny"?: values.degradation = false
      default: throw ControlBody.Problem(message: "degradation: permit, deny or null is expected")
      }
    }
    if let names = try body.strings("next") {
      var shapes: [AdobePassShape] = []
      for name in names { shapes.append(try Self.named(name, "next")) }
      values.next = shapes
    }
    let changed = values
    state.withLock { $0 = changed }
  }

  private static func named<Value: RawRepresentable & CaseIterable>(
    _ name: String, _ member: String
  ) throws(ControlBody.Problem) -> Value where Value.RawValue == String {
    guard let value = Value(rawValue: name) else {
      let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
      throw ControlBody.Problem(message: "\(member): one of \(known) is expected")
    }
    return value
  }

  /// The values by name.
  var members: [(String, JSONValue)] {
    let values = values
    return [
      ("throttle", .bool(values.throttles)),
      ("retryAfterSeconds", values.retryAfterSeconds.map(JSONValue.integer) ?? .null),
      ("maxResources", .integer(values.maxResources)),
      ("emptyOverLimit", .bool(values.emptiesTooMany)),
      ("errorShape", .string(values.errorShape.rawValue)),
      ("tokenTtlSeconds", .integer(values.tokenSeconds)),
      ("tokenAgeSeconds", .integer(values.tokenAgeSeconds)),
      ("createdStatus", .integer(values.createdStatus)),
      ("reverse", .bool(values.reverses)),
      ("degradation", values.degradation.map { .string($0 ? "permit" : "deny") } ?? .null),
      ("next", .array(values.next.map { .string($0.rawValue) })),
    ]
  }
}
