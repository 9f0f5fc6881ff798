package import AuthEngine
package import HTTPMessages
import PosternJSON
package import PosternSupport
package import PosternTestSupport

/// Adobe Pass as far as these tests go: counts registrations and tokens, and answers questions by a script.
package final class AdobePassServer: Sendable {
  /// Answers the `number`th question, which came with `token` and is about `resources`.
  package typealias Script = @Sendable (_ number: Int, _ token: String, _ resources: [String]) async -> HTTPResponse

  package let clock = ManualClock()
  package let registrations = Counter()
  package let tokens = Counter()
  package let questions = Counter()
  /// Answers in place of the usual ones; nil: the usual ones.
  package let registrationAnswer = Locked<HTTPResponse?>(nil)
  package let tokenAnswer = Locked<HTTPResponse?>(nil)
  /// Paths that cannot be reached.
  package let unreachable = Locked<Set<String>>([])
  /// Clients that the token endpoint does not know.
  package let forgotten = Locked<Set<String>>([])
  private let script: Script

  package init(_ script: @escaping Script = { _, _, resources in .permits(resources) }) { self.script = script }

  /// An engine that sends its requests to this server, and keeps registrations in `store`.
  package func engine(store: any RecordStore = MemoryRecordStore()) -> DecisionEngine {
    DecisionEngine(clock: clock, store: store) { [self] request, _ throws(TransportError) in
      guard !unreachable.withLock({ $0.contains(request.url.path) }) else {
        throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "connection refused")
      }
      return await answer(request)
    }
  }

  private func answer(_ request: HTTPRequest) async -> HTTPResponse {
    switch request.url.path {
    case "/o/client/register":
      let number = registrations.next()
      return registrationAnswer.withLock { $0 }
        ?? .json(#"{"client_id":"client-\#(number)","client_secret":"secret-\#(number)"}"#, status: 201)
    case "/o/client/token":
      // Read before it is counted: a test that has seen the count may change it.
      let answer = tokenAnswer.withLock { $0 }
      let number = tokens.next()
      if let answer { return answer }
      let form = String(decoding: request.body ?? [], as: UTF8.self)
      let isForgotten = forgotten.withLock { $0.contains { form.contains("client_id=\($0)&") } }
      if isForgotten { return .json(#"{"error":"invalid_client"}"#, status: 400) }
      return .json(
        #"{"id":"x","access_token":"t\#(number)","created_at":1800000000000,"expires_in":21600,"token_type":"bearer"}"#,
        status: 201)
    default:
      let body = try? JSONParser().parse(request.body ?? [])
      let resources = (body?["resources"]?.arrayValue ?? []).compactMap(\.stringValue)
      let token = request.fields["Authorization"].map { String($0.dropFirst("Bearer ".count)) } ?? ""
      return await script(questions.next(), token, resources)
    }
  }

  /// A decision point at this server.
  package func point(_ change: (inout DecisionPoint.Settings) -> Void = { _ in }) throws -> DecisionPoint {
    var settings = DecisionPoint.Settings()
    settings.maxBatch = 5
    change(&settings)
    let provider = try AdobePassProvider(
      .init(
        baseURL: HTTPURL("https://adobe.test"), serviceProvider: "REF 30", mvpd: "a/b",
        softwareStatement: Secret("the-statement"),
        device: AdobePassDevice(identifier: Secret("device-1"), information: ["model": "Settop"])),
      state: AdobePassState(clock: clock))
    return DecisionPoint(name: "pass", settings: settings, provider: provider)
  }
}

extension HTTPResponse {
  /// A permit for each of `resources`.
  package static func permits(_ resources: [String]) -> HTTPResponse {
    let rows = resources.map { JSONValue.object(["resource": .string($0), "authorized": true, "source": "mvpd"]) }
    return .json(JSONWriter().string(["decisions": .array(rows)]))
  }

  /// A bare enhanced error.
  package static func enhanced(_ code: String, _ status: Int, _ action: String) -> HTTPResponse {
    .json(#"{"status":\#(status),"code":"\#(code)","action":"\#(action)","message":"m"}"#, status: status)
  }
}
