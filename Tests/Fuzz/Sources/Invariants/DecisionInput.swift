import AuthEngine
import HTTPMessages
import PosternSupport

/// One answer of a decision point: in the first line its kind, the status and the type of the content, in the second
/// the resources between tabs, then the body.
struct DecisionInput: Sendable {
  /// Which parser it is for.
  enum Kind: String, Sendable, CaseIterable {
    /// AuthZEN's `evaluations`.
    case evaluations
    /// AuthZEN's `evaluation`, one for each resource.
    case evaluation
    /// AuthZEN's metadata.
    case metadata
    /// Open Policy Agent.
    case opa
    /// An access manager's policies.
    case accessManager = "am"
  }

  /// The most resources of one input.
  private static let maxResources = 8

  let kind: Kind
  let resources: [String]
  let response: HTTPResponse

  init(_ input: [UInt8]) {
    var rest = input[...]
    func line() -> String {
      let bytes = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest.dropFirst(bytes.count + 1)
      return String(decoding: bytes, as: UTF8.self)
    }
    let words = line().split(separator: " ", maxSplits: 2)
    kind = words.first.flatMap { Kind(rawValue: String($0)) } ?? .evaluations
    let status = words.count > 1 ? Int(words[1]).flatMap { (100...599).contains($0) ? $0 : nil } ?? 200 : 200
    let type = words.count > 2 ? HTTPFields([.init(name: "Content-Type", value: String(words[2]))]) : HTTPFields()
    let names = line().split(separator: "\t").prefix(Self.maxResources).map(String.init)
    resources = names.isEmpty ? ["a", "b"] : names
    response = HTTPResponse(status: status, fields: type, body: Array(rest))
  }

  /// A decision point that answers so.
  func point(clock: any EngineClock) throws -> DecisionPoint {
    var settings = DecisionPoint.Settings()
    settings.attempts = 1
    settings.action = "GET"
    settings.denyLifetime = .seconds(60)
    return DecisionPoint(name: "fuzz", settings: settings, provider: try provider(clock: clock))
  }

  private func provider(clock: any EngineClock) throws -> any DecisionProvider {
    let base = try HTTPURL(FixedDecisionPoint.identifier)
    switch kind {
    case .evaluations, .evaluation, .metadata:
      return try AuthZENProvider(.init(baseURL: base, identifier: FixedDecisionPoint.identifier), clock: clock)
    case .opa: return try OPAProvider(.init(baseURL: base, path: "fuzz"))
    case .accessManager:
      return try AccessManagerProvider(.init(baseURL: base, evaluator: .ssoToken(Secret("evaluator"))), clock: clock)
    }
  }
}

/// A clock that never advances and never ends a sleep: a timeout would decide about the outcome.
struct PatientClock: EngineClock {
  var wallNow: Timestamp { Timestamp(secondsSinceEpoch: TokenPolicies.now) }

  var monotonicNow: MonotonicInstant { MonotonicInstant(nanoseconds: 1) }

  func sleep(for duration: Duration) async throws { try await Task.sleep(for: .seconds(3600)) }
}

/// The network of one input: every question gets its answer.
final class FixedDecisionPoint: HTTPTransport {
  static let identifier = "https://pdp.test/t"

  private let input: DecisionInput
  private let requested = Locked<[String]>([])

  init(_ input: DecisionInput) { self.input = input }

  /// The URLs to which questions went.
  var questions: [String] { requested.withLock { $0 } }

  func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
    guard request.method == "GET" else {
      requested.withLock { $0.append(request.url.description) }
      return input.kind == .metadata ? HTTPResponse(status: 500) : input.response
    }
    switch input.kind {
    case .metadata: return input.response
    case .opa: return HTTPResponse(status: 200)
    case .evaluation:
      let text =
        #"{"policy_decision_point":"\#(Self.identifier)","access_evaluation_endpoint":"\#(Self.identifier)/evaluation"}"#
      let type = HTTPFields([.init(name: "Content-Type", value: "application/json")])
      return HTTPResponse(status: 200, fields: type, body: Array(text.utf8))
    case .evaluations, .accessManager: return HTTPResponse(status: 404)
    }
  }
}
