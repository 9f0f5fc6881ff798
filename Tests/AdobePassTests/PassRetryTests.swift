import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements

@Suite("pass: faults and retries")
struct PassRetryTests {
  /// A call to each endpoint: its name, how often it is sent without an answer, and whether `internal_server_error` is
  /// read once more.
  private static let calls: [(name: String, sends: Int, isReadAgain: Bool)] = [
    ("GET configuration", 3, true), ("POST sessions", 1, false), ("POST sessions/C", 1, false),
    ("GET sessions/C", 3, true), ("GET profiles", 3, true), ("GET profiles/m", 3, true),
    ("GET profiles/code/C", 1, false), ("POST decisions/authorize/m", 3, false), ("GET logout/m", 3, false),
    ("POST sessions/sso/Apple", 1, false), ("POST profiles/sso/Apple", 1, false),
  ]

  private static func run(_ name: String, _ client: PassClient, identity: Secret<String>? = nil) async throws {
    let partner = PassPartner(name: "Apple", frameworkStatus: [:])
    switch name {
    case "GET configuration": _ = try await client.configuration()
    case "POST sessions": _ = try await client.createSession()
    case "POST sessions/C": _ = try await client.resumeSession(code: "C")
    case "GET sessions/C": _ = try await client.session(code: "C")
    case "GET profiles": _ = try await client.profiles(.all)
    case "GET profiles/m": _ = try await client.profiles(.mvpd("m"))
    case "GET profiles/code/C": _ = try await client.profiles(.code("C", wait: .zero))
    case "POST decisions/authorize/m":
      _ = try await client.authorize(["a"], mvpd: "m", options: PassOptions(tempPassIdentity: identity))
    case "GET logout/m":
      let logout = try await client.logout(mvpd: "m")
      #expect(logout.upstream == .failed)
    case "POST sessions/sso/Apple": _ = try await client.createSession(options: PassOptions(partner: partner))
    default:
      var partner = partner
      partner.samlResponse = Secret("<a/>")
      _ = try await client.profiles(options: PassOptions(partner: partner))
    }
  }

  @Test(
    "without an answer, and after a bare 5xx: what reads or has no further effect is sent up to three times (TP6, DG3)")
  func unanswered() async throws {
    for (name, sends, _) in Self.calls {
      for answer in [nil, HTTPResponse.status(502), .json("{}", status: 503)] {
        let server = PassServer()
        server.onReset(name, answer)
        let process = try server.process()
        let error = await passError { try await server.driven { try await Self.run(name, process.client()) } }
        #expect(server.calls(to: name).count == sends, "\(name)")
        let pauses = zip(server.calls(to: name), server.calls(to: name).dropFirst()).map { $1.at - $0.at }
        for (pause, usual) in zip(pauses, [Int64(250), 500]) {
          #expect(pause >= .milliseconds(usual * 8 / 10) && pause <= .milliseconds(usual * 12 / 10))
        }
        guard name != "GET logout/m" else { continue }
        #expect(error?.kind == .unreachable && error?.isRetryable == true && error?.next == nil, "\(name)")
        let isReplied = answer != nil && name != "POST profiles/sso/Apple"
        #expect(error?.outcome == (isReplied ? .replied : .sentNoReply), "\(name)")
      }
    }
    let server = PassServer()
    server.onReset("POST decisions/authorize/m", nil)
    let process = try server.process()
    _ = await passError { try await Self.run("POST decisions/authorize/m", process.client(), identity: Secret("{}")) }
    #expect(server.calls.count == 1)
  }

  @Test("internal_server_error is read once more where that is harmless; other errors are not")
  func errorObjects() async throws {
    for (name, _, isReadAgain) in Self.calls {
      let server = PassServer()
      server.on(name, .enhanced("internal_server_error", 500, "none"))
      let process = try server.process()
      _ = await passError { try await server.driven { try await Self.run(name, process.client()) } }
      #expect(server.calls(to: name).count == (isReadAgain ? 2 : 1), "\(name)")
    }
    // In each wrapping, with any status; the code decides on what is next, and the action where it does not.
    for (body, status, next) in [
      (#"{"error":{"code":"network_received_error","status":403}}"#, 200, PassNextStep.later),
      (#"{"errors":[{"code":"novel","action":"authentication","status":499}]}"#, 400, .login),
      (#"{"code":"authenticated_profile_missing","action":"none","message":"m"}"#, 403, .login),
      (#"{"code":"invalid_header_pfs_provider_id_mismatch"}"#, 400, .partnerStatus),
      (#"{"code":"invalid_parameter_mvpd"}"#, 400, .chooseMVPD),
      (#"{"code":"invalid_header_identity_for_temporary_access"}"#, 400, .identity),
      (#"{"code":"invalid_configuration_platform"}"#, 500, .operator), (#"{"code":"novel"}"#, 418, .none),
      (#"{"code":"authorization_denied_by_mvpd"}"#, 403, .none),
    ] as [(String, Int, PassNextStep)] {
      let server = PassServer()
      server.on("GET profiles/m", .json(body, status: status))
      let error = await passError { try await server.process().client().profiles(.mvpd("m")) }
      #expect(error?.kind == .rejected && error?.next == next && error?.upstream?.status == status, "\(body)")
      #expect(error?.isRetryable == (next == .later) && error?.upstream?.code == error?.status?.code)
      #expect(server.calls.count == 1)
    }
  }

  @Test("what is not as documented is a fault and no retry; a redirect is not followed (SC2, SC3)")
  func format() async throws {
    let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
    let large = #"{"x":""# + String(repeating: "x", count: 1 << 20) + #""}"#
    for answer in [
      HTTPResponse.json("<html>"), .status(204), .status(302, ("Location", "https://evil.test/")), .json(deep),
      .json(large), .json(#"{"profiles":{},"profiles":{}}"#), .json(#"{"profiles":{}"#), .status(304),
      HTTPResponse(status: 200, fields: ["Content-Type": "text/html"], body: Array("<html>".utf8)),
    ] {
      let server = PassServer()
      server.on("GET profiles", answer)
      let error = await passError { try await server.process().client().profiles() }
      #expect(error?.status?.code == "server_response_format_unknown" && error?.status?.status == 0)
      #expect(error?.isRetryable == false && error?.upstream?.status == answer.status && server.calls.count == 1)
    }
    let server = PassServer()
    server.on(
      "GET profiles",
      HTTPResponse(status: 200, fields: ["Content-Type": "text/html"], body: Array(#"{"profiles":{}}"#.utf8)))
    #expect(await passError { try await server.process().client().profiles() } == nil, "the body decides")
    server.on("GET profiles") { _ throws(TransportError) in
      throw TransportError(code: .responseTooLarge, outcome: .replied, detail: "too large")
    }
    #expect(
      await passError { try await server.process().client().profiles() }?.status?.code
        == "server_response_format_unknown")
    server.on("GET profiles", .status(404))
    let error = await passError { try await server.process().client().profiles() }
    #expect(error?.status?.code == "bad_request" && error?.status?.status == 404)
    // The code is ours, not Adobe's.
    #expect(error?.upstream == UpstreamFault(status: 404, code: nil))
    // A transport that sent one once more by itself would exceed the attempts.
    #expect(server.calls.allSatisfy { $0.request.isSentOnce })
  }

  @Test("429: the call waits at least a second, and is retried while the wait fits; else it ends at once (RG5)")
  func busy() async throws {
    for limiter in [nil, DecisionRateLimiter(perSecond: 10, burst: 10)] {
      let server = PassServer()
      server.on(
        "POST sessions", .status(429, ("Content-Type", "text/html")), .session("resume", "direct", #""code":"C""#))
      let process = try server.process(rateLimit: limiter)
      _ = try await server.driven { try await process.client().createSession() }
      let calls = server.calls
      #expect(calls.count == 2 && calls[1].at - calls[0].at >= .seconds(1) && calls[1].at - calls[0].at < .seconds(2))
      server.on("POST sessions", .status(429, ("Retry-After", "6000")))
      let error = await passError {
        try await server.driven { try await process.client(within: .seconds(20)).createSession() }
      }
      #expect(error?.status?.code == "too_many_requests" && error?.status?.status == 429 && error?.next == .later)
      #expect(error?.retryAfter == .seconds(600) && error?.upstream?.status == 429 && error?.isRetryable == true)
      #expect(server.calls.count == 3)
      guard limiter != nil else { continue }
      // Other calls of the address are not sent meanwhile.
      server.clock.advance(by: .seconds(100))
      let next = await passError { try await process.client().profiles() }
      #expect(next?.status?.code == "too_many_requests" && next?.upstream == nil && next?.outcome == .notSent)
      #expect((next?.retryAfter ?? .zero) > .seconds(400) && server.calls.count == 3)
    }
  }

  @Test("a rejected access token is replaced once, for parallel calls together, whatever the answer has (RG3, LO7)")
  func rejectedToken() async throws {
    for answer in [
      HTTPResponse.status(401), .json("<html>", status: 401), .enhanced("access_token_expired", 401, "none"),
      .enhanced("invalid_access_token_client_application", 403, "application-registration"),
    ] {
      let server = PassServer()
      server.on("GET profiles") { request in
        request.fields["Authorization"] == "Bearer hush-token-1" ? answer : .profiles([:])
      }
      let process = try server.process()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<5 { group.addTask { _ = try await process.client().profiles() } }
        try await group.waitForAll()
      }
      #expect(server.tokens.current == 2 && server.registrations.current == 1)
    }
    let server = PassServer()
    server.on("POST sessions", .status(401))
    let error = await passError { try await server.process().client().createSession() }
    #expect(error?.status?.code == "access_token_unavailable" && error?.status?.status == 0)
    #expect(error?.next == .operator && error?.isRetryable == false && error?.upstream?.status == 401)
    #expect(server.calls.count == 2 && server.registrations.current == 1)
  }

  @Test("a token that is rejected for each of twenty calls is replaced for each")
  func rejectedOften() async throws {
    let server = PassServer()
    let client = try server.process().client()
    for _ in 0..<20 {
      server.on("GET profiles", .status(401), .profiles([:]))
      #expect(try await client.profiles(.all).state == .unauthenticated)
    }
    #expect(server.tokens.current == 21 && server.registrations.current == 1)
  }

  @Test("application-registration with a fresh token, too: one new registration in ten minutes (RG6)")
  func unknownClient() async throws {
    let server = PassServer()
    server.on("GET profiles", .enhanced("invalid_access_token_client_application", 401, "application-registration"))
    let process = try server.process()
    for (minutes, registrations) in [(0, 2), (5, 2), (6, 3)] {
      server.clock.advance(by: .seconds(minutes * 60))
      let error = await passError { try await process.client().profiles() }
      #expect(error?.status?.code == "access_token_unavailable" && error?.isRetryable == false)
      #expect(error?.upstream?.code == "invalid_access_token_client_application")
      #expect(server.registrations.current == registrations)
    }
  }

  @Test("scopes without the one of the API: nothing is sent, and the credentials are stored (RG4)")
  func scopes() async throws {
    let server = PassServer()
    server.scopes.withLock { $0 = #"["api:client:v1"]"# }
    for _ in 0..<2 {
      let error = await passError { try await server.process().client().profiles() }
      #expect(error?.status?.code == "access_token_unavailable" && error?.next == .operator)
      #expect(error?.outcome == .notSent && error?.isRetryable == false)
    }
    #expect(server.registrations.current == 1 && server.tokens.current == 0 && server.calls.isEmpty)
    let good = PassServer()
    good.scopes.withLock { $0 = #"["x","api:client:v2"]"# }
    good.on("GET profiles", .profiles([:]))
    _ = try await good.process().client().profiles()
  }

  @Test("a busy token endpoint: the call waits as long as that wants, and then is sent")
  func busyTokens() async throws {
    let server = PassServer()
    server.tokenAnswer.withLock { $0 = .status(429, ("Retry-After", "7")) }
    server.on("POST sessions", .session("resume", "direct", #""code":"C""#))
    let process = try server.process()
    async let session = process.client().createSession()
    #expect(await server.sleeps(.seconds(7)))
    server.tokenAnswer.withLock { $0 = nil }
    server.clock.advance(by: .seconds(7))
    #expect(try await session.code == "C" && server.tokens.current == 2 && server.calls.count == 1)
  }

  @Test("the caller's deadline and cancellation are errors of their own")
  func ends() async throws {
    let (server, gate) = (PassServer(), Gate())
    server.on("GET profiles") { [clock = server.clock] _ throws(TransportError) in
      await gate.pass()
      clock.advance(by: .seconds(3))
      throw TransportError(code: .timedOut, outcome: .sentNoReply, detail: "timed out")
    }
    let process = try server.process()
    gate.open()
    let error = await passError { try await process.client(within: .seconds(2)).profiles() }
    #expect(error?.kind == .deadlineExceeded && error?.outcome == .sentNoReply && server.calls.count == 1)
    server.onReset("GET profiles", nil)
    let task = Task { await passError { try await process.client().profiles() } }
    #expect(await eventually { server.calls.count == 2 && server.clock.sleeperCount == 1 })
    task.cancel()
    #expect(await task.value?.kind == .cancelled)
  }
}
