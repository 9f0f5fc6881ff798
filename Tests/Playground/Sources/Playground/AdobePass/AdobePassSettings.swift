import PosternJSON
import PosternSupport

/// The settings of Adobe Pass that can be changed while it runs.
final class AdobePassSettings: Sendable {
  /// How an error of a whole request is written.
  enum ErrorShape: String, CaseIterable {
    case bare, error, errors
  }

  /// A rule of the operator that decides in place of the MVPDs.
  enum Degradation: String, CaseIterable {
    case permit, deny
    case authenticateAll = "AuthNAll"
    case authorizeAll = "AuthZAll"
    case authorizeNone = "AuthZNone"

    /// Whether decisions permit.
    var permits: Bool { self != .deny && self != .authorizeNone }
  }

  /// How long things last, in seconds.
  struct Lifetimes: Sendable {
    var code: Int64 = 1800
    var profile: Int64 = 86_400
    var decision: Int64 = 86_400
    var mediaToken: Int64 = 420
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
    var degradation: Degradation?
    /// Whether preauthorization needs a login, as it does at a real server.
    var needsProfile = false
    /// How many resources one request may ask to authorize.
    var maxAuthorized: Int64 = 5
    /// Whether a `url` is absolute; otherwise it is a bare path.
    var absoluteURLs = false
    /// Whether the configuration has the MVPDs outside of `requestor`.
    var separatesMVPDs = false
    /// The scopes of new clients.
    var scopes = ["api:client:v2"]
    /// How long things last.
    var lifetimes = Lifetimes()
    /// The limits of trials.
    var trial = AdobePassTrials.Limits()
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
      values.degradation = nil
      if let name = try body.string("degradation") { values.degradation = try Self.named(name, "degradation") }
    }
    try Self.change(&values, body)
    if let names = try body.strings("next") {
      var shapes: [AdobePassShape] = []
      for name in names { shapes.append(try Self.named(name, "next")) }
      values.next = shapes
    }
    let changed = values
    state.withLock { $0 = changed }
  }

  /// Takes over what belongs to logins.
  private static func change(_ values: inout Values, _ body: ControlBody) throws(ControlBody.Problem) {
    let seconds: ClosedRange<Int64> = 1...31_536_000
    if let flag = try body.bool("needsProfile") { values.needsProfile = flag }
    if let number = try body.integer("maxAuthorized", in: 1...1000) { values.maxAuthorized = number }
    if let flag = try body.bool("absoluteUrls") { values.absoluteURLs = flag }
    if let flag = try body.bool("separateMvpds") { values.separatesMVPDs = flag }
    if let names = try body.strings("scopes") { values.scopes = names }
    if let number = try body.integer("codeTtlSeconds", in: seconds) { values.lifetimes.code = number }
    if let number = try body.integer("profileTtlSeconds", in: seconds) { values.lifetimes.profile = number }
    if let number = try body.integer("decisionTtlSeconds", in: seconds) { values.lifetimes.decision = number }
    if let number = try body.integer("mediaTokenTtlSeconds", in: seconds) { values.lifetimes.mediaToken = number }
    if let number = try body.integer("trialSeconds", in: seconds) { values.trial.seconds = number }
    if let number = try body.integer("trialTitles", in: 1...1000) { values.trial.titles = number }
  }

  /// The value that `name` stands for in the member `member`.
  static func named<Value: RawRepresentable & CaseIterable>(
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
      ("degradation", values.degradation.map { .string($0.rawValue) } ?? .null),
      ("needsProfile", .bool(values.needsProfile)),
      ("maxAuthorized", .integer(values.maxAuthorized)),
      ("absoluteUrls", .bool(values.absoluteURLs)),
      ("separateMvpds", .bool(values.separatesMVPDs)),
      ("scopes", .array(values.scopes.map(JSONValue.string))),
      ("codeTtlSeconds", .integer(values.lifetimes.code)),
      ("profileTtlSeconds", .integer(values.lifetimes.profile)),
      ("decisionTtlSeconds", .integer(values.lifetimes.decision)),
      ("mediaTokenTtlSeconds", .integer(values.lifetimes.mediaToken)),
      ("trialSeconds", .integer(values.trial.seconds)),
      ("trialTitles", .integer(values.trial.titles)),
      ("next", .array(values.next.map { .string($0.rawValue) })),
    ]
  }
}
