import AuthEngine
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// `preauthorize`: params to a request, the engine, and its response to a result.
struct PreauthorizeHandler: Sendable {
  /// The most resources of one call.
  static let maxResources = 10_000
  /// The largest resource, and the largest context, in bytes.
  static let maxBytes = 65_536
  /// The most a caller may ask for in `timeoutMs`.
  static let maxTimeout = 600_000

  let engine: Engine
  /// The memory of the calls that run.
  private let memory = Locked(DecisionLoad.budget)

  init(engine: Engine) { self.engine = engine }

  func callAsFunction(
    _ params: Preauthorize.Params, _ context: CallContext
  ) async throws(RPCFault) -> Written<Preauthorize.Result> {
    let (request, weight) = try Self.request(params)
    guard memory.withLock({ $0.take(weight, for: context.uid) }) else {
      throw RPCFault.overloaded("Too many resources of this user under way")
    }
    defer { memory.withLock { $0.giveBack(weight, for: context.uid) } }
    let deadline = context.deadline.earlier(try timeout(params))
    let (point, subject, attributes): Meant
    switch try await meant(params, context) {
    case .success(let found): (point, subject, attributes) = found
    case .failure(let absence): return Self.answer(.failure(absence.status), nil, context)
    }
    let response = await engine.preauthorizer.preauthorize(
      request, for: subject, context: attributes, at: point, in: context.scope.until(deadline))
    // A user who logs out during the request to the decision point gets no permit afterwards.
    let isFresh = response.decisions.contains { $0.source != .local }
    let choice = DecisionSubjectChoice(engine: engine, context: context)
    let absence = isFresh ? try await choice.end(of: subject) : nil
    guard !Task.isCancelled else { throw RPCFault(.requestCancelled) }
    guard !context.deadline.hasPassed(on: engine.clock) else { throw RPCFault(.deadlineExceeded) }
    return Self.answer(absence.map { .failure($0.status, at: point) } ?? response, subject, context)
  }

  /// The decision point of a call, up to its first request; or the status that its answer would have.
  func check(_ params: JSONTree?, _ context: CallContext) async throws(RPCFault) -> CheckedDecisions {
    let params = try MethodTable.decode(Preauthorize.Params.self, params)
    _ = try Self.request(params)
    _ = try timeout(params)
    switch try await meant(params, context) {
    case .success(let found): return CheckedDecisions(provider: found.point.name, status: nil)
    case .failure(let absence): return CheckedDecisions(provider: nil, status: absence.status)
    }
  }

  private typealias Meant = (point: DecisionPoint, subject: DecisionSubject, attributes: JSONObject)

  private func timeout(_ params: Preauthorize.Params) throws(RPCFault) -> Deadline {
    guard let timeout = params.timeoutMs else { return .never }
    guard (1...Self.maxTimeout).contains(timeout) else {
      throw .invalidParams("timeoutMs must be from 1 to \(Self.maxTimeout)", path: "/timeoutMs")
    }
    return Deadline(in: .milliseconds(timeout), on: engine.clock)
  }

  /// The decision point, the subject and the rest of the context that a call means.
  private func meant(
    _ params: Preauthorize.Params, _ context: CallContext
  ) async throws(RPCFault) -> Result<Meant, DecisionSubjectError> {
    let point: DecisionPoint
    switch context.runtime.decisionPoint(params.provider) {
    case .success(let found): point = found
    case .failure(let absence): return .failure(DecisionSubjectError(status: .decisionPointUnknown(absence.reason)))
    }
    context.audit?.note("provider", .string(point.name))
    var attributes = params.context?.object ?? JSONObject()
    let subject: DecisionSubject
    let choice = DecisionSubjectChoice(engine: engine, context: context)
    switch try await choice.subject(params, point, &attributes) {
    case .success(let found): subject = found
    case .failure(let absence): return .failure(DecisionSubjectError(status: point.provider.worded(absence.status)))
    }
    if let complaint = point.provider.contextError(in: attributes) {
      let path = ParameterPath(["context", .name(complaint.member)] + complaint.path.components).jsonPointer
      throw .invalidParams("\(complaint.member) in context \(complaint.reason)", path: path)
    }
    return .success((point, subject, attributes))
  }

  private static func answer(
    _ response: PreauthorizeResponse, _ subject: DecisionSubject?, _ context: CallContext
  ) -> Written<Preauthorize.Result> {
    context.audit?.note(response, subject: subject)
    return Written(Preauthorize.Result(response))
  }

  /// The request, and the memory it takes.
  private static func request(
    _ params: Preauthorize.Params
  ) throws(RPCFault) -> (request: PreauthorizeRequest, weight: Int) {
    guard (1...maxResources).contains(params.resources.count) else {
      throw .invalidParams("resources must be 1 to \(maxResources)", path: "/resources")
    }
    if let index = params.resources.firstIndex(where: { !(1...maxBytes).contains($0.utf8.count) }) {
      throw .invalidParams("A resource has 1 to \(maxBytes) bytes", path: "/resources/\(index)")
    }
    var contextBytes = 0
    if let object = params.context?.object, !object.isEmpty {
      contextBytes = JSONWriter().write(.object(object)).count
      guard contextBytes <= maxBytes else {
        throw .invalidParams("context has more than \(maxBytes) bytes", path: "/context")
      }
    }
    return (
      PreauthorizeRequest(resources: params.resources, disabledFeatures: Set(params.disableFeatures ?? [])),
      DecisionLoad.weight(of: params.resources, contextBytes: contextBytes)
    )
  }
}
