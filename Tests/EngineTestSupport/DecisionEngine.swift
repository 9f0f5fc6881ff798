package import AuthEngine
package import HTTPMessages
package import PosternJSON
package import PosternSupport
package import PosternTestSupport

/// A preauthorizer over a scripted transport and a manual clock.
package struct DecisionEngine: Sendable {
  package let engine: Engine
  package let preauthorizer: Preauthorizer
  package var clock: ManualClock { engine.clock }
  package var posts: [HTTPRequest] { engine.transport.requests.filter { $0.method == "POST" } }

  package init(
    clock: ManualClock = ManualClock(), store: any RecordStore = MemoryRecordStore(),
    _ script: @escaping ScriptedTransport.Script
  ) {
    engine = Engine(clock: clock, script)
    preauthorizer = Preauthorizer(engine.services, deviceTokens: engine.tokens, store: store)
  }

  /// An engine without metadata; `answer` decides batches by the ids of their resources.
  package static func authzen(_ answer: @escaping @Sendable ([String]) -> HTTPResponse) -> DecisionEngine {
    DecisionEngine { request, _ in request.method == "GET" ? .status(404) : answer(ids(in: request)) }
  }

  /// The ids of a batch.
  package static func ids(in request: HTTPRequest) -> [String] {
    let body = try? JSONParser().parse(request.body ?? [])
    return (body?["evaluations"]?.arrayValue ?? []).compactMap { $0["resource"]?["id"]?.stringValue }
  }

  package func ask(
    _ resources: [String], at point: DecisionPoint, disabled: Set<PreauthorizeRequest.Feature> = [],
    subject: DecisionSubject = DecisionSubject(id: "alice", uid: 1), context: JSONObject = JSONObject(),
    uid: UInt32 = PeerID.ownUID, deadline: Deadline = .never
  ) async -> PreauthorizeResponse {
    await preauthorizer.preauthorize(
      PreauthorizeRequest(resources: resources, disabledFeatures: disabled), for: subject, context: context, at: point,
      in: .uid(uid, by: deadline))
  }

  package func point(_ change: (inout DecisionPoint.Settings) -> Void = { _ in }) throws -> DecisionPoint {
    var settings = DecisionPoint.Settings()
    change(&settings)
    let url = try HTTPURL("https://pdp.test")
    let provider = try AuthZENProvider(.init(baseURL: url, identifier: "https://pdp.test"), clock: clock)
    return DecisionPoint(name: "pdp", settings: settings, provider: provider)
  }
}

extension HTTPResponse {
  /// An AuthZEN batch.
  package static func decisions(_ decisions: [Bool]) -> HTTPResponse {
    json(#"{"evaluations":[\#(decisions.map { #"{"decision":\#($0)}"# }.joined(separator: ","))]}"#)
  }
}
