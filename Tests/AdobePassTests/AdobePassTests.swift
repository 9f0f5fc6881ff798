import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Adobe Pass: questions")
struct AdobePassTests {
  @Test("the question is what is documented: path, headers, and the resources to the byte")
  func question() async throws {
    let server = AdobePassServer()
    let engine = server.engine()
    let resources = ["a", #"<rss version="2.0"><channel><title>Café, "x"</title></channel></rss>"#, "e\u{301}"]
    let context: JSONObject = ["ip": "192.0.2.7", "other": 1]
    let response = await engine.ask(resources, at: try server.point(), context: context)
    #expect(response.decisions.map(\.isAuthorized) == [true, true, true])
    let question = try #require(engine.posts.last)
    #expect(question.url.description == "https://adobe.test/api/v2/REF%2030/decisions/preauthorize/a%2Fb")
    #expect(question.fields["Authorization"] == "Bearer t1")
    #expect(question.fields["AP-Device-Identifier"] == "fingerprint ZGV2aWNlLTE=")
    #expect(question.fields["X-Device-Info"] == Base64.string(Array(#"{"model":"Settop"}"#.utf8)))
    #expect(question.fields["X-Forwarded-For"] == "192.0.2.7")
    let body = try JSONParser().parse(question.body ?? [])
    #expect(body.objectValue?.names == ["resources"])
    for (sent, resource) in zip(body["resources"]?.arrayValue ?? [], resources) {
      #expect(Array((sent.stringValue ?? "").utf8) == Array(resource.utf8))
    }
    let registration = try #require(engine.posts.first)
    #expect(registration.fields["X-Device-Info"] != nil && registration.fields["Content-Type"] == "application/json")
    #expect(try JSONParser().parse(registration.body ?? []) == ["software_statement": "the-statement"])
    let form = String(decoding: try #require(engine.posts.dropFirst().first?.body), as: UTF8.self)
    #expect(form == "grant_type=client_credentials&client_id=client-1&client_secret=secret-1")
  }

  @Test("5, 6 and 11 resources are 1, 2 and 3 questions", arguments: [(5, 1), (6, 2), (11, 3)])
  func chunks(count: Int, questions: Int) async throws {
    let server = AdobePassServer()
    let response = await server.engine().ask((1...count).map { "r\($0)" }, at: try server.point())
    #expect(response.decisions.count == count && response.decisions.allSatisfy(\.isAuthorized))
    #expect(server.questions.current == questions && server.registrations.current == 1)
  }

  @Test("too many resources, in words or as an empty list, are halved now and cut smaller the next time")
  func limit() async throws {
    for answer in [HTTPResponse.enhanced("too_many_resources", 403, "configuration"), .json(#"{"decisions":[]}"#)] {
      let server = AdobePassServer { _, _, resources in resources.count > 5 ? answer : .permits(resources) }
      let (engine, point) = (server.engine(), try server.point { $0.maxBatch = 8 })
      #expect(await engine.ask((1...8).map { "a\($0)" }, at: point).decisions.allSatisfy(\.isAuthorized))
      #expect(server.questions.current == 3)
      #expect(await engine.ask((1...8).map { "b\($0)" }, at: point).decisions.allSatisfy(\.isAuthorized))
      #expect(server.questions.current == 5)
    }
  }

  @Test("an empty list within the limit is one bad id's doing: it alone is not decided, and the limit stays")
  func poison() async throws {
    let server = AdobePassServer { _, _, resources in .permits(resources.contains("bad") ? [] : resources) }
    let (engine, point) = (server.engine(), try server.point())
    let response = await engine.ask(["a", "b", "bad", "c", "d"], at: point)
    #expect(response.decisions.map(\.isAuthorized) == [true, true, false, true, true])
    #expect(response.decisions[2].error?.code == "server_response_format_unknown")
    let before = server.questions.current
    _ = await engine.ask((1...5).map { "\($0)" }, at: point)
    #expect(server.questions.current == before + 1)
  }

  @Test("only what is to be retried is requested again, and not more often than configured")
  func retries() async throws {
    let requested = Locked<[[String]]>([])
    let server = AdobePassServer { _, _, resources in
      requested.withLock { $0.append(resources) }
      let rows = resources.map {
        $0 == "slow"
          ? #"{"resource":"slow","authorized":false,"error":{"status":403,"code":"network_received_error","action":"retry"}}"#
          : #"{"resource":"\#($0)","authorized":true}"#
      }
      return .json(#"{"decisions":[\#(rows.joined(separator: ","))]}"#)
    }
    let engine = server.engine()
    let point = try server.point()
    async let response = engine.ask(["a", "slow", "b"], at: point)
    for (count, pause) in [(1, 100), (2, 200)] {
      #expect(await eventually { requested.withLock { $0.count } == count && engine.clock.sleeperCount == 1 })
      engine.clock.advance(by: .milliseconds(pause))
    }
    let decisions = await response.decisions
    #expect(requested.withLock { $0 } == [["a", "slow", "b"], ["slow"], ["slow"]])
    #expect(decisions.map(\.isAuthorized) == [true, false, true])
    #expect(decisions[1].error?.code == "network_received_error" && decisions[1].error?.action == "retry")
  }

  @Test("a 400 that is not about the resources is not looked for among them")
  func configuration() async throws {
    let server = AdobePassServer { _, _, _ in .enhanced("invalid_parameter_mvpd", 400, "none") }
    let response = await server.engine().ask((1...5).map { "\($0)" }, at: try server.point())
    #expect(response.outcome == .response && response.status?.code == "invalid_parameter_mvpd")
    #expect(server.questions.current == 1)
  }

  @Test(
    "a failure has another message than the SDK's, another action, or loses its details",
    arguments: [
      (Status.sessionExpired, "The current authentication session has expired.", "authentication"),
      (.sessionMissing("d"), "The authentication session associated with this request could not be", "authentication"),
      (.accessTokenUnavailable("d"), "The request failed due to an unexpected error while retrieving the", "none"),
      (.formatUnknown("d"), "The request failed due to an unknown server response format.", "none"),
      (.networkError("d"), "The request failed due to a network error.", "retry"),
      (.requestorNotConfigured("d"), "The decision point is not configured yet.", "retry"),
      (.denied(message: "No."), "No.", "none"),
    ])
  func messages(status: Status, message: String, action: String) throws {
    let worded = try AdobePassServer().point().provider.worded(status)
    #expect(worded.message.hasPrefix(message) && worded.action == action)
    #expect((worded.code, worded.details, worded.status) == (status.code, status.details, status.status))
  }

  @Test("an unexpected status comes back unchanged, with the id of the request")
  func unknownStatus() async throws {
    let server = AdobePassServer { _, _, _ in
      .status(451, ("Adobe-Request-Id", "request-7"), ("Content-Type", "text/plain"))
    }
    let response = await server.engine().ask(["a"], at: try server.point())
    #expect(response.outcome == .response && response.status?.status == 451 && response.status?.trace == "request-7")
  }

  @Test("an operator's rule at the server has a source of its own and is not cached")
  func degradation() async throws {
    let server = AdobePassServer { _, _, _ in
      .json(
        #"""
        {"decisions":[{"resource":"a","authorized":true,"source":"degradation"},{"resource":"b","authorized":false,"source":
        "degradation","error":{"status":403,"code":"authorization_denied_by_degradation_rule","action":"none"}}]}
        """#)
    }
    let engine = server.engine()
    let point = try server.point { $0.denyLifetime = .seconds(60) }
    for _ in 0..<2 {
      let response = await engine.ask(["a", "b"], at: point)
      #expect(response.decisions.map(\.source) == [.degradation, .degradation])
      #expect(response.decisions.map(\.isAuthorized) == [true, false])
      #expect(response.decisions.allSatisfy { $0.expiresAt == nil })
    }
    #expect(server.questions.current == 2)
  }

  @Test("REMOTE_CACHE cannot be switched off, and the answer reports that; permits are cached all the same")
  func features() async throws {
    let server = AdobePassServer()
    let (engine, point) = (server.engine(), try server.point())
    let response = await engine.ask(["a"], at: point, disabled: [.remoteCache])
    #expect(response.unhonoredFeatures == [.remoteCache])
    #expect(await engine.ask(["a"], at: point).decisions.first?.source == .local)
  }

  @Test("an address that is none is complained about")
  func addresses() throws {
    let provider = try AdobePassServer().point().provider
    for (value, isGood) in [
      ("192.0.2.7", true), ("2001:db8::1", true), ("192.0.2", false), ("1.2.3.4, 5.6.7.8", false), ("a\r\nb: c", false),
      ("", false),
    ] as [(JSONValue, Bool)] {
      #expect((provider.contextError(in: ["ip": value]) == nil) == isGood, "\(value)")
    }
    #expect(provider.contextError(in: ["ip": 7])?.member == "ip" && provider.contextError(in: [:]) == nil)
  }
}
