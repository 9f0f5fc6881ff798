import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements

@Suite("pass: authorize and logout")
struct PassDecisionTests {
  private static let name = "POST decisions/authorize/m"
  private static let token = #""token":{"notAfter":1900000000000,"serializedToken":"t"}"#

  @Test(
    "every call is a request, also in parallel and after a permit of preauthorize; the token goes on unopened (DE1-3)")
  func everyCall() async throws {
    let server = PassServer()
    let process = try server.process(mvpd: "m")
    server.on("POST decisions/preauthorize/m") { .permits($0.resources) }
    server.on(Self.name) { .permits($0.resources, until: 1_900_000_000_000) }
    _ = await process.engine.ask(["a"], at: process.point)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          let decision = try #require(try await process.client().authorize(["a"]).decisions.first)
          #expect(decision.isAuthorized && decision.token?.serialized.reveal() == "hush-media")
          #expect(decision.token?.expiresAt == Timestamp(millisecondsSinceEpoch: 1_900_000_000_000))
          #expect(decision.source == "mvpd" && decision.expiresAt != nil && decision.error == nil)
        }
      }
      try await group.waitForAll()
    }
    #expect(server.calls(to: Self.name).count == 3 && server.calls(to: "POST decisions/preauthorize/m").count == 1)
  }

  private static let odd: [String] = [
    #""authorized":true"#, #""authorized":true,"token":null"#, #""authorized":true,"token":{}"#,
    #""authorized":true,"token":{"notAfter":1900000000000}"#,
    #""authorized":true,"token":{"notAfter":1900000000000,"serializedToken":""}"#,
    #""authorized":true,"token":{"notAfter":1900000000000,"serializedToken":7}"#,
    #""authorized":true,"token":{"notAfter":1800000000000,"serializedToken":"t"}"#,
    #""authorized":true,"token":{"serializedToken":"t"}"#, #""authorized":true,"token":"t""#,
    #""authorized":"true",\#(token)"#, #""authorized":1,\#(token)"#, #""authorized":null,\#(token)"#, token,
    #""authorized":true,"error":{"code":"x"},\#(token)"#, #""authorized":true,"error":7,\#(token)"#,
    #""authorized":true,"notAfter":"soon",\#(token)"#, #""authorized":false,"error":{}"#,
  ]

  @Test("what is odd about a permit makes it none (DE4)", arguments: odd)
  func oddRow(row: String) async throws {
    let server = PassServer()
    server.on(Self.name, .json(#"{"decisions":[{"resource":"a",\#(row)}]}"#))
    let decision = try #require(try await server.process().client().authorize(["a"], mvpd: "m").decisions.first)
    #expect(!decision.isAuthorized && decision.token == nil)
    #expect(decision.error?.code == "server_response_format_unknown" && decision.error?.status == 0)
    #expect(decision.error?.action == "none")
  }

  @Test(
    "an answer that is an error, too, has a permit",
    arguments: [#""error":{"code":"x"}"#, #""errors":[{"code":"x"}]"#, #""code":"x""#])
  func permitWithError(error: String) async throws {
    let server = PassServer()
    server.on(Self.name, .json(#"{"decisions":[{"resource":"a","authorized":true,\#(Self.token)}],\#(error)}"#))
    let fault = await passError { try await server.process().client().authorize(["a"], mvpd: "m") }
    #expect(fault?.status?.code == "server_response_format_unknown" && fault?.status?.status == 0)
  }

  @Test("rows that disagree are no permit; a resource without one is none; the order is the call's")
  func rows() async throws {
    let server = PassServer()
    func permit(_ resource: String = "a") -> String {
      #"{"resource":"\#(resource)","authorized":true,\#(Self.token)}"#
    }
    let deny =
      #"{"resource":"a","authorized":false,"error":{"code":"authorization_denied_by_mvpd","details":"Ring us"}}"#
    for (rows, isPermit) in [
      ([permit(), permit()], true), ([permit(), deny], false), ([deny, permit()], false),
      ([permit(), #"{"resource":"a","authorized":true}"#], false),
    ] {
      let text = (rows + [permit("b")]).joined(separator: ",")
      server.on(Self.name, .json(#"{"decisions":[\#(text)]}"#))
      let decisions = try await server.process().client().authorize(["x", "a", "b", "a"], mvpd: "m")
      #expect(decisions.mvpd == "m" && decisions.decisions.map(\.id) == ["x", "a", "b", "a"])
      #expect(decisions.decisions.map(\.isAuthorized) == [false, isPermit, true, isPermit], "\(rows)")
      #expect(server.calls.last?.request.resources == ["x", "a", "b"])
    }
    // A deny has Adobe's words, and ends no login (DE5, LO7).
    server.on(Self.name, .json(#"{"decisions":[\#(deny)]}"#))
    let decision = try await server.process().client().authorize(["a"], mvpd: "m").decisions[0]
    #expect(decision.error?.details == "Ring us" && decision.error?.status == 403)
    #expect(server.calls.allSatisfy { $0.name == Self.name })
  }

  @Test("only what is to be retried is requested again, in growing pauses, at most as often as configured (DE6)")
  func retries() async throws {
    let server = PassServer()
    server.on(Self.name) { request in
      let rows = request.resources.map { resource in
        resource == "b"
          ? #"{"resource":"b","authorized":false,"error":{"code":"network_received_error","status":403,"action":"retry"}}"#
          : #"{"resource":"\#(resource)","authorized":true,\#(Self.token)}"#
      }
      return .json(#"{"decisions":[\#(rows.joined(separator: ","))]}"#)
    }
    let process = try server.process()
    let decisions = try await server.driven { try await process.client().authorize(["a", "b"], mvpd: "m").decisions }
    #expect(server.calls.map(\.request.resources) == [["a", "b"], ["b"], ["b"]])
    let pauses = zip(server.calls, server.calls.dropFirst()).map { $1.at - $0.at }
    #expect(pauses[0] >= .milliseconds(200) && pauses[0] <= .milliseconds(300))
    #expect(pauses[1] >= .milliseconds(400) && pauses[1] <= .milliseconds(600))
    #expect(decisions.map(\.isAuthorized) == [true, false] && decisions[1].error?.code == "network_received_error")
    // A promotional TempPass counts titles (TP5).
    let options = PassOptions(tempPassIdentity: Secret("{}"))
    let count = server.calls.count
    _ = try await process.client().authorize(["a", "b"], mvpd: "m", options: options)
    #expect(server.calls.count == count + 1)
  }

  @Test("too many resources in one request: each alone (DE8)")
  func tooMany() async throws {
    let whole = HTTPResponse.enhanced("too_many_resources", 403, "configuration")
    let rows = #"{"code":"too_many_resources","status":403,"action":"configuration"}"#
    let items = HTTPResponse.json(
      #"{"decisions":[{"resource":"a","authorized":false,"error":\#(rows)},{"resource":"b","authorized":false,"error":\#(rows)}]}"#
    )
    for answer in [whole, items] {
      let server = PassServer()
      server.on(Self.name) { request in
        switch request.resources {
        case ["a"]: .permits(["a"], until: 1_900_000_000_000)
        case ["b"]: .enhanced("invalid_parameter_resources", 400, "none")
        default: answer
        }
      }
      let decisions = try await server.process().client().authorize(["a", "b"], mvpd: "m").decisions
      #expect(decisions.map(\.isAuthorized) == [true, false])
      #expect(decisions[1].error?.code == "invalid_parameter_resources" && server.calls.count == 3)
    }
  }

  @Test("the parameters: 1 to 16 resources, and an MVPD from somewhere")
  func parameters() async throws {
    let server = PassServer()
    let client = try server.process().client()
    for (resources, path) in [
      ([], "/resources"), ([""], "/resources/0"), (["a", "b\u{0}"], "/resources/1"), (["a"], "/mvpd"),
      ((0...16).map { "\($0)" }, "/resources"),
    ] as [([String], String)] {
      let kind = await passError { try await client.authorize(resources) }?.kind
      guard case .invalidParameter(let error)? = kind else {
        Issue.record("\(path)")
        continue
      }
      #expect(error.path.jsonPointer == path)
    }
    #expect(server.calls.isEmpty)
  }

  @Test("a stored login that has ended: no request, every decision has that error (PR7, DE7)")
  func ended() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(60)]))
    let process = try server.process()
    _ = try await process.client().profiles()
    server.clock.advance(by: .seconds(60))
    let decisions = try await process.client().authorize(["a", "b"]).decisions
    #expect(decisions.allSatisfy { $0.error?.code == "authenticated_profile_expired" && $0.error?.status == 0 })
    #expect(decisions.allSatisfy { $0.error?.action == "authentication" && !$0.isAuthorized })
    #expect(server.calls.count == 1)
    let response = await process.engine.ask(["a"], at: process.point)
    #expect(response.status?.code == "authentication_session_expired" && server.calls.count == 1)
  }

  @Test("a login by a partner needs a fresh status of its framework; one without an end is Adobe's to judge (PA7)")
  func partner() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(6000)], type: "appleSSO"))
    server.on(Self.name) { .permits($0.resources, until: 1_900_000_000_000) }
    let client = try server.process().client()
    _ = try await client.profiles()
    func error(_ end: JSONValue?) async -> PassError? {
      var info = JSONObject()
      info["expirationDate"] = end
      let partner = PassPartner(name: "Apple", frameworkStatus: ["frameworkProviderInfo": .object(info)])
      return await passError { try await client.authorize(["a"], options: PassOptions(partner: partner)) }
    }
    let missing = await passError { try await client.authorize(["a"]) }
    #expect(missing?.status?.code == "invalid_header_pfs_permission_access_not_present")
    let past = await error(.string("\(server.time(0))"))
    #expect(past?.status?.code == "invalid_header_pfs_provider_info_expired")
    for error in [missing, past] {
      #expect(error?.status?.status == 0 && error?.next == .partnerStatus && error?.outcome == .notSent)
    }
    #expect(server.calls(to: Self.name).isEmpty)
    #expect(await error(.string("\(server.time(1))")) == nil)
    #expect(await error(nil) == nil && server.calls(to: Self.name).count == 2)
  }

  @Test(
    "codes of authentication in an item drop the login, and keep the MVPD; those of a TempPass drop nothing (DE7, TP3)")
  func authenticationCodes() async throws {
    for (code, isDropped) in [
      ("authenticated_profile_missing", true), ("authenticated_profile_invalidated", true),
      ("identity_not_recognized_by_mvpd", true), ("temporary_access_duration_limit_exceeded", false),
      ("authorization_denied_by_mvpd", false),
    ] {
      let server = PassServer()
      server.on("GET profiles", .profiles(["m": server.time(6000)]))
      server.on("POST decisions/preauthorize/m") { .permits($0.resources) }
      server.on(Self.name, .json(#"{"decisions":[{"resource":"a","authorized":false,"error":{"code":"\#(code)"}}]}"#))
      let process = try server.process()
      _ = try await process.client().profiles()
      for _ in 0..<2 { _ = await process.engine.ask(["a"], at: process.point) }
      #expect(server.calls(to: "POST decisions/preauthorize/m").count == 1)
      #expect(try await process.client().authorize(["a"]).decisions[0].error?.code == code)
      _ = await process.engine.ask(["a"], at: process.point)
      #expect(server.calls(to: "POST decisions/preauthorize/m").count == (isDropped ? 2 : 1), "\(code)")
      let login = try await process.client().call.login(
        of: AdobePassDevice(identifier: Secret("device-1"), information: [:]))
      #expect(login?.mvpd == "m" && (login?.profile == nil) == isDropped)
    }
  }

  // MARK: - Logout

  @Test("each documented pair is an answer; a path becomes a URL of the base URL's origin (LO1-3, LO5)")
  func logouts() async throws {
    let server = PassServer()
    server.on(
      "GET logout/m",
      .json(
        #"{"logouts":{"m":{"actionName":"logout","actionType":"interactive","url":"/out?a=b"},"n":{"actionName":"partner_logout","actionType":"partner_interactive","mvpd":"n"},"o":{"actionName":"complete","actionType":"none"},"p":{"actionName":"invalid","actionType":"none"}}}"#
      ))
    let logout = try await server.process(mvpd: "m").client().logout(redirectURL: PassServer.redirect)
    #expect(logout.upstream == .ended && logout.logouts.map(\.mvpd) == ["m", "n", "o", "p"])
    #expect(logout.logouts.map(\.url) == ["https://adobe.test/out?a=b", nil, nil, nil])
    #expect(logout.forgotten.isEmpty && logout.error == nil)
    #expect(server.calls.last?.request.url.query == "redirectUrl=https%3A%2F%2Fapp.test%2Fback")
    let none = try await server.process().client().logout()
    #expect(none.upstream == .none && server.calls.count == 1)
  }

  private static let badLogouts = [
    "{}", "[]", #"{"logouts":[]}"#, #"{"logouts":{"m":7}}"#, #"{"logouts":{"m":{"actionName":"logout"}}}"#,
    #"{"logouts":{"m":{"actionName":"logout","actionType":"interactive"}}}"#,
    #"{"logouts":{"m":{"actionName":"logout","actionType":"none","url":"/x"}}}"#,
    #"{"logouts":{"m":{"actionName":"authenticate","actionType":"interactive","url":"/x"}}}"#,
    #"{"logouts":{"m":{"actionName":"logout","actionType":"interactive","url":"https://evil.test/x"}}}"#,
    #"{"logouts":{"..":{"actionName":"complete","actionType":"none"}}}"#,
  ]

  @Test("a login is gone here whatever Adobe answers, and the failure is reported (LO6)", arguments: badLogouts)
  func failedLogout(body: String) async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(6000)]))
    server.on("GET logout/m", .json(body))
    let client = try server.process().client()
    _ = try await client.profiles()
    let logout = try await client.logout()
    #expect(logout.upstream == .failed && logout.forgotten == ["m"] && logout.logouts.isEmpty)
    #expect(logout.error?.code == "server_response_format_unknown" && logout.error?.status == 0)
    #expect(try await client.logout().upstream == .none)
  }

  @Test("an outage at logout: repeated, then network_error; the permits are gone (LO6, DE10)")
  func outage() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(6000)]))
    server.on("POST decisions/preauthorize/m") { .permits($0.resources) }
    server.onReset("GET logout/m", nil)
    let process = try server.process(mvpd: "m")
    _ = try await process.client().profiles()
    _ = await process.engine.ask(["a"], at: process.point)
    let logout = try await server.driven { try await process.client().logout() }
    #expect(logout.upstream == .failed && logout.error?.code == "network_error" && logout.error?.status == 0)
    #expect(server.calls(to: "GET logout/m").count == 3)
    _ = await process.engine.ask(["a"], at: process.point)
    #expect(server.calls(to: "POST decisions/preauthorize/m").count == 2)
  }
}
