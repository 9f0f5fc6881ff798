import PosternJSON
import PosternSupport

/// The settings of the access manager that can be changed while it runs.
final class AccessManagerSettings: Sendable {
  struct Values: Sendable {
    /// Whether the token of a user who was signed on before is in the cookie only.
    var hidesTokens = false
    /// How long a transaction may take.
    var transactionLife = Duration.seconds(180)
    /// How long a journey may take.
    var journeyLife = Duration.seconds(300)
    /// The waiting time in the callbacks of a polling page.
    var pollWaitMilliseconds: Int64 = 50
    /// Whether policy decisions write empty maps as empty arrays.
    var hasEmptyArrays = false
    /// The tree that the authorization endpoint requires before it issues a code; nil: none.
    var clientTree: ClientTree?
  }

  private let state = Locked(Values())

  /// The current values.
  var values: Values { state.withLock { $0 } }

  /// Goes back to those of the start.
  func reset() { state.withLock { $0 = Values() } }

  /// Takes over what `body` names.
  func change(_ body: ControlBody) throws(ControlBody.Problem) {
    var values = values
    if let flag = try body.bool("hideTokens") { values.hidesTokens = flag }
    if let flag = try body.bool("emptyArrays") { values.hasEmptyArrays = flag }
    let bounds: ClosedRange<Int64> = 0...86_400_000
    if let number = try body.integer("transactionTtlMs", in: bounds) { values.transactionLife = .milliseconds(number) }
    if let number = try body.integer("journeyTtlMs", in: bounds) { values.journeyLife = .milliseconds(number) }
    if let number = try body.integer("pollWaitMs", in: bounds) { values.pollWaitMilliseconds = number }
    if let name = try body.string("clientTree") {
      guard let tree = ClientTree(rawValue: name) else {
        throw ControlBody.Problem(
          message: "clientTree: one of \(ClientTree.allCases.map(\.rawValue).joined(separator: ", ")) is expected")
      }
      values.clientTree = tree
    } else if body.members["clientTree"] != nil {
      values.clientTree = nil
    }
    state.withLock { $0 = values }
  }

  /// The values by name.
  var members: [(String, JSONValue)] {
    let values = values
    return [
      ("hideTokens", .bool(values.hidesTokens)),
      ("transactionTtlMs", .integer(values.transactionLife.wholeMilliseconds)),
      ("journeyTtlMs", .integer(values.journeyLife.wholeMilliseconds)),
      ("pollWaitMs", .integer(values.pollWaitMilliseconds)),
      ("emptyArrays", .bool(values.hasEmptyArrays)),
      ("clientTree", values.clientTree.map { .string($0.rawValue) } ?? .null),
    ]
  }
}
