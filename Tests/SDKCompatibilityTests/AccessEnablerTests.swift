import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// `AccessEnabler`: the sample of Adobe's SDK, and its getters.
@Suite struct AccessEnablerTests {
  private let engine: Engine
  private let accessEnabler: AccessEnabler

  init() throws {
    let engine = Engine { request, _ in
      guard request.method == "POST" else { return .status(404) }
      return String(decoding: request.body ?? [], as: UTF8.self).contains("broken")
        ? .json("[]")
        : .json(
          #"{"evaluations":[{"decision":true},{"decision":false,"context":{"reason_user":{"en":"No such subscription"}}}]}"#
        )
    }
    self.engine = engine
    let preauthorizer = Preauthorizer(engine.services, deviceTokens: engine.tokens)
    let provider = try AuthZENProvider(
      .init(baseURL: HTTPURL("https://pdp.test"), identifier: "https://pdp.test"), clock: engine.clock)
    accessEnabler = AccessEnabler(
      preauthorizer: preauthorizer, subject: DecisionSubject(id: "alice", uid: 1),
      decisionPoint: DecisionPoint(name: "pdp", settings: DecisionPoint.Settings(), provider: provider))
  }

  @Test("The sample does not compile, calls both callbacks or none, or gets other decisions than the asynchronous form")
  func sample() async throws {
    let resources: [String] = ["resource_1", "resource_2"]
    let disabledFeatures: Set<PreauthorizationRequest.Feature> = [PreauthorizationRequest.Feature.LOCAL_CACHE]
    let request: PreauthorizationRequest = PreauthorizationRequest.Builder()
      .setResources(resources: resources)
      .disableFeatures(features: disabledFeatures)
      .build()
    let responses = Locked<[PreauthorizeResponse]>([])
    let callback: AccessEnablerCallback<PreauthorizeResponse> = AccessEnablerCallback<PreauthorizeResponse>(
      onResponse: { result in responses.withLock { $0.append(result) } },
      onFailure: { _ in Issue.record("no failure") })
    await accessEnabler.preauthorize(request, didCompleteWith: callback).value
    await accessEnabler.preauthorize(request, callback).value
    let asynchronous = await accessEnabler.preauthorize(request)
    #expect(
      responses.withLock { $0 }.map { $0.getDecisions().map(\.isAuthorized) } == [[true, false], [true, false]])
    #expect(asynchronous.getDecisions().map { $0.getId() } == resources)
    #expect(engine.transport.requests.count { $0.method == "POST" } == 3)
    #expect(asynchronous.getStatus() == nil && asynchronous.getDecisions()[0].getError() == nil)
    let denial = try #require(asynchronous.getDecisions().last?.getError())
    #expect(denial.getCode() == denial.code && denial.getStatus() == 403 && denial.getMessage() == denial.message)
    #expect(denial.getAction() == denial.action && denial.getDetails() == denial.details)
    #expect(denial.getHelpUrl() == denial.helpURL && denial.getTrace() == denial.trace)
  }

  @Test("A session that has ended still gets permits, or a request goes to its decision point")
  func ended() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let access = SessionRef(handle: session.handle, uid: 1, issuer: bench.issuer, sessions: bench.sessions)
    let provider = try AuthZENProvider(
      .init(baseURL: HTTPURL("https://pdp.test"), identifier: "https://pdp.test"), clock: engine.clock)
    let enabler = AccessEnabler(
      preauthorizer: Preauthorizer(engine.services, deviceTokens: engine.tokens),
      subject: DecisionSubject(session, through: access),
      decisionPoint: DecisionPoint(name: "pdp", settings: DecisionPoint.Settings(), provider: provider))
    _ = try await bench.sessions.end(session.handle, at: bench.issuer, in: .uid(1))
    let response = await enabler.preauthorize(PreauthorizeRequest(resources: ["a", "b"]))
    #expect(response.outcome == .failure && response.decisions.isEmpty && engine.transport.requests.isEmpty)
  }

  @Test("An answer that cannot be read is a response, or leaves a decision")
  func failure() async {
    let statuses = Locked<[String?]>([])
    let callback = AccessEnablerCallback<PreauthorizeResponse>(
      onResponse: { _ in Issue.record("no response") },
      onFailure: { result in
        #expect(result.getDecisions().isEmpty)
        statuses.withLock { $0.append(result.getStatus()?.getCode()) }
      })
    await accessEnabler.preauthorize(PreauthorizeRequest(resources: ["broken"]), didCompleteWith: callback).value
    #expect(statuses.withLock { $0 } == ["server_response_format_unknown"])
  }

  /// A callback as Adobe documents it: a class with the two methods.
  private final class Recorder: AccessEnablerCallback<PreauthorizeResponse>, @unchecked Sendable {
    let calls = Locked<[String]>([])

    override func onResponse(result: PreauthorizeResponse) {
      calls.withLock { $0.append("response \(result.getDecisions().count)") }
    }

    override func onFailure(result: PreauthorizeResponse) { calls.withLock { $0.append("failure") } }
  }

  @Test("a callback of the program's own class is not called, or cannot be called by name")
  func ownCallback() async throws {
    let recorder = Recorder()
    await accessEnabler.preauthorize(PreauthorizeRequest(resources: ["a", "b"]), recorder).value
    await accessEnabler.preauthorize(PreauthorizeRequest(resources: ["broken"]), didCompleteWith: recorder).value
    #expect(recorder.calls.withLock { $0 } == ["response 2", "failure"])
    let results = Locked<[String]>([])
    let callback = AccessEnablerCallback<String>(
      onResponse: { text in results.withLock { $0.append("response \(text)") } },
      onFailure: { text in results.withLock { $0.append("failure \(text)") } })
    callback.onResponse(result: "a")
    callback.onFailure(result: "b")
    #expect(results.withLock { $0 } == ["response a", "failure b"])
  }

  @Test("A cancelled request goes on, or calls neither callback")
  func cancellation() async {
    let calls = Locked(0)
    let callback = AccessEnablerCallback<PreauthorizeResponse>(
      onResponse: { _ in calls.withLock { $0 += 1 } }, onFailure: { _ in calls.withLock { $0 += 1 } })
    let task = accessEnabler.preauthorize(PreauthorizeRequest(resources: ["a"]), didCompleteWith: callback)
    task.cancel()
    await task.value
    #expect(calls.withLock { $0 } == 1)
  }
}
