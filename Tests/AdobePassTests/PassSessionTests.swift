import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements

@Suite("pass: sessions, profiles and configurations")
struct PassSessionTests {
  @Test(
    "an interactive login: a bare path becomes absolute, times are numbers and texts, old names are read (SE1, SE8, SE9)"
  )
  func interactive() async throws {
    let server = PassServer()
    let client = try server.process().client()
    for end in ["\(server.time(60))", "\"\(server.time(60))\""] {
      server.on(
        "POST sessions",
        .session(
          "authenticate", "interactive",
          #""code":"C","url":"/api/v2/authenticate/REF/C","notAfter":\#(end),"reason":"none","missing":["domain","mvpd"],"mvpd":"m","sessionId":"s","extra":{}"#
        ))
      let session = try await client.createSession()
      #expect(session.url == "https://adobe.test/api/v2/authenticate/REF/C" && session.code == "C")
      #expect(session.expiresAt == Timestamp(millisecondsSinceEpoch: server.time(60)))
      #expect(session.reasonType == "none" && session.missingParameters == ["domainName", "mvpd"])
    }
    server.on("POST sessions", .session("resume", "direct", #""code":"D","missingParameters":["redirectUrl"]"#))
    let open = try await client.createSession()
    #expect(open.expiresAt == server.clock.wallNow + .seconds(1800) && open.missingParameters == ["redirectUrl"])
    server.on("POST sessions/D", .session("retry", "direct", #""missingParameters":["redirectUrl"]"#))
    #expect(try await client.resumeSession(code: "D").actionName == "retry")
  }

  @Test("the end of a code is judged by Adobe's clock")
  func skew() async throws {
    let server = PassServer()
    var answer = HTTPResponse.session("resume", "direct", #""code":"C","notAfter":\#(server.time(3600 + 60))"#)
    // An hour ahead of the clock here.
    answer.fields["Date"] = "Fri, 15 Jan 2027 09:00:00 GMT"
    server.on("POST sessions", answer)
    server.on("GET profiles/code/C", .profiles([:]))
    let client = try server.process().client()
    _ = try await client.createSession()
    server.clock.advance(by: .seconds(59))
    #expect(try await client.profiles(.code("C", wait: .zero)).state == .pending)
    server.clock.advance(by: .seconds(1))
    #expect(try await client.profiles(.code("C", wait: .zero)).state == .expired)
  }

  @Test(
    "within the second of the server's Date it is this clock's time: a profile of three seconds lasts no four",
    arguments: [(0, 0), (400, 400), (1000, 1000), (1400, 1000), (-1, 0), (-90_000, 0)])
  func serverTime(after milliseconds: Int64, counted: Int64) {
    var answer = HTTPResponse.json("{}")
    answer.fields["Date"] = "Fri, 15 Jan 2027 08:00:00 GMT"
    let date = Timestamp(secondsSinceEpoch: 1_800_000_000)
    let now = date + .milliseconds(milliseconds)
    #expect(PassAnswer.serverTime(of: answer, at: now) == date + .milliseconds(counted))
    #expect(PassAnswer.serverTime(of: .json("{}"), at: now) == now)
  }

  private static let badSessions: [(String, String)] = [
    ("POST sessions", #""actionName":"dance","actionType":"direct""#), ("POST sessions", #""actionName":"resume""#),
    ("POST sessions", #""actionName":"authenticate","actionType":"direct","code":"C","url":"/x""#),
    ("POST sessions", #""actionName":"authenticate","actionType":"interactive","url":"/x""#),
    ("POST sessions", #""actionName":"authenticate","actionType":"interactive","code":"C""#),
    ("POST sessions", #""actionName":"resume","actionType":"direct""#),
    ("POST sessions", #""actionName":"resume","actionType":"direct","code":7"#),
    ("POST sessions", #""actionName":"resume","actionType":"direct","code":"\#(String(repeating: "x", count: 65))""#),
    ("POST sessions", #""actionName":"retry","actionType":"direct","code":"C""#),
    ("POST sessions", #""actionName":"partner_profile","actionType":"direct","code":"C""#),
    ("POST sessions", #""actionName":"logout","actionType":"interactive","url":"/x""#),
    ("POST sessions", #""actionName":"authorize","actionType":"direct","mvpd":"..""#),
    ("POST sessions", #""actionName":"resume","actionType":"direct","code":"C","notAfter":"soon""#),
    ("POST sessions", #""actionName":"resume","actionType":"direct","code":"C","missingParameters":"mvpd""#),
    ("POST sessions/C", #""actionName":"resume","actionType":"direct","code":"C""#),
    ("POST sessions/sso/Apple", #""actionName":"partner_profile","actionType":"direct""#),
    ("POST sessions/sso/Apple", #""actionName":"partner_profile","actionType":"direct","authenticationRequest":{}"#),
  ]

  @Test(
    "a pair that is not the endpoint's, and what lacks a part, is a fault; nothing of it is stored (SE10)",
    arguments: badSessions.indices)
  func badSession(index: Int) async throws {
    let (name, members) = Self.badSessions[index]
    let server = PassServer()
    server.on(name, .json("{\(members)}"))
    let process = try server.process()
    let error = await passError {
      switch name {
      case "POST sessions": try await process.client().createSession()
      case "POST sessions/C": try await process.client().resumeSession(code: "C")
      default:
        try await process.client().createSession(
          options: PassOptions(partner: PassPartner(name: "Apple", frameworkStatus: [:])))
      }
    }
    #expect(error?.kind == .rejected && error?.status?.code == "server_response_format_unknown", "\(members)")
    #expect(error?.status?.status == 0 && error?.isRetryable == false)
    #expect(error?.upstream == UpstreamFault(status: 200, code: nil) && error?.status?.details != nil)
    server.on("GET profiles", .profiles([:]))
    #expect(try await process.client().profiles().remembered == nil)
  }

  @Test("a URL that a browser may not open is a fault (SE11)")
  func urls() async throws {
    let server = PassServer()
    let client = try server.process { $0.urlOrigins = [try! HTTPURL("https://other.test").origin] }.client()
    for (url, isGood) in [
      ("https://adobe.test/x", true), ("https://other.test/x", true), ("/x?y=z", true), ("https://evil.test/x", false),
      ("http://adobe.test/x", false), ("http://other.test/x", false), ("javascript:alert(1)", false),
      ("//evil.test/x", false), ("https://adobe.test:8443/x", false), ("https://adobe.test@evil.test/", false),
      ("https://u:p@adobe.test/", false), ("https://adobe.test.evil.test/", false), ("x", false), ("", false),
      (#"https://evil.test\\@adobe.test/"#, false), (#"/\\evil.test/"#, false), ("https://adobe.test/\\u0000", false),
    ] {
      server.on("POST sessions", .session("authenticate", "interactive", #""code":"C","url":"\#(url)""#))
      let error = await passError { try await client.createSession() }
      #expect((error == nil) == isGood, "\(url)")
    }
  }

  @Test("a login that exists already: the MVPD is stored for the lasting reasons only (SE2, PA3, DG2)")
  func authorized() async throws {
    for (reason, isStored) in [
      ("authenticated", true), ("authenticatedSSO", true), ("temporary", false), ("degraded", false), ("new", false),
    ] {
      let server = PassServer()
      server.on("POST sessions", .session("authorize", "direct", #""mvpd":"m","reasonType":"\#(reason)""#))
      server.on("GET profiles", .profiles([:]))
      server.on("GET profiles/m", .profiles([:]))
      let client = try server.process().client()
      let session = try await client.createSession(PassLoginParameters(mvpd: "m"))
      #expect(session.reasonType == reason && session.code == nil && session.expiresAt == nil)
      #expect((try await client.profiles().remembered?.id == "m") == isStored, "\(reason)")
      #expect(!server.calls.contains { $0.name.contains("code") })
    }
  }

  @Test("a login that Adobe has just confirmed ends with the stored profile, which is of before (SE2, DE7)")
  func confirmed() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(60)]))
    server.on("POST sessions", .session("authorize", "direct", #""mvpd":"m","reasonType":"authenticated""#))
    server.on("POST decisions/authorize/m") { .permits($0.resources, until: 1_900_000_000_000) }
    server.on("POST decisions/preauthorize/m") { .permits($0.resources) }
    let process = try server.process()
    _ = try await process.client().profiles()
    server.clock.advance(by: .seconds(61))
    #expect(try await process.client().authorize(["a"]).decisions.first?.isAuthorized == false)
    _ = try await process.client().createSession(PassLoginParameters(mvpd: "m"))
    #expect(try await process.client().authorize(["a"]).decisions.first?.isAuthorized == true)
    #expect(await process.engine.ask(["a"], at: process.point).decisions.first?.isAuthorized == true)
  }

  @Test("a code whose life is too long for the clock is one that lives, and stops no process", arguments: [0, 36_900])
  func longLife(milliseconds: Int64) async throws {
    let server = PassServer()
    let end = server.time(9_223_372_000) + milliseconds
    server.on("POST sessions", .session("resume", "direct", #""code":"C","notAfter":\#(end)"#))
    server.on("GET profiles/code/C", .profiles([:]))
    let client = try server.process().client()
    #expect(try await client.createSession().expiresAt == Timestamp(millisecondsSinceEpoch: end))
    #expect(try await client.profiles(.code("C", wait: .zero)).state == .pending)
  }

  @Test("a session by its code: nulls, old names, either kind of address, and nothing of the connection (SE6)")
  func status() async throws {
    let server = PassServer()
    let client = try server.process().client()
    for (existing, missing, address) in [
      ("existingParameters", "missingParameters", #""192.0.2.1""#), ("existing", "missing", #"{"v4":"192.0.2.1"}"#),
    ] {
      server.on(
        "GET sessions/C",
        .json(
          #"{"\#(existing)":{"serviceProvider":"REF","mvpd":null,"domain":"app.test"},"\#(missing)":["mvpd","domain"],"notAfter":"\#(server.time(60))","device":{"type":"TV","model":null,"applicationId":"app","browser":{"userAgent":"hush-agent"},"connection":{"ipAddress":\#(address),"port":4}}}"#
        ))
      let status = try await client.session(code: "C")
      #expect(
        status.domainName == "app.test" && status.mvpd == nil && status.missingParameters == ["mvpd", "domainName"])
      #expect(status.device?.type == "TV" && status.device?.model == nil && status.device?.applicationID == "app")
      #expect(status.authenticateURL == nil && status.expiresAt != nil)
      var dumped = ""
      dump(status, to: &dumped)
      #expect(!dumped.contains("192.0.2.1") && !dumped.contains("hush"))
    }
    server.on("GET sessions/C", .json(#"{"existingParameters":{"mvpd":"m"},"device":null}"#))
    #expect(try await client.session(code: "C").authenticateURL == "https://adobe.test/api/v2/authenticate/REF/C")
  }

  @Test("a partner's login: the request goes to the framework; the three fallbacks are sessions like others (PA1, PA2)")
  func partner() async throws {
    let server = PassServer()
    let request = #""authenticationRequest":{"type":"saml","request":"UQ==","attributesNames":["a","b"]}"#
    server.on(
      "POST sessions/sso/Apple", .session("partner_profile", "direct", request),
      .session("authenticate", "interactive", #""code":"C","url":"/x","reasonType":"pfs_fallback""#),
      .session("authenticate", "interactive", #""code":"C","url":"/x","reasonType":"configuration_fallback""#),
      .session("resume", "direct", #""code":"C","reasonType":"missing_parameters_fallback""#))
    let client = try server.process().client()
    let options = PassOptions(partner: PassPartner(name: "Apple", frameworkStatus: ["a": 1]))
    let first = try await client.createSession(options: options)
    #expect(
      first.authenticationRequest?.attributeNames == ["a", "b"] && first.authenticationRequest?.request == "UQ==")
    for reason in ["pfs_fallback", "configuration_fallback", "missing_parameters_fallback"] {
      let session = try await client.createSession(
        PassLoginParameters(domainName: "app.test", redirectURL: PassServer.redirect), options: options)
      #expect(session.reasonType == reason)
    }
    let error = await passError { try await client.createSession(PassLoginParameters(mvpd: "m"), options: options) }
    #expect(error?.outcome == .notSent && server.calls.count == 4)
  }

  // MARK: - Profiles

  @Test("E6 without a stored MVPD, E7 with one; the longest is selected, then the stored one (PR1, PR2, PR4-6)")
  func profiles() async throws {
    let server = PassServer()
    let rows =
      #"{"profiles":{"m":{"notAfter":\#(server.time(60)),"issuer":"other","type":"novel","attributes":{"zip":{"value":["1"],"state":"enc"},"n":{"value":7}}},"n":{"notAfter":"\#(server.time(90))","issuer":"n","type":"platformSSO"},"old":{"notAfter":\#(server.time(0)),"issuer":"n","type":"regular"}}}"#
    server.on("GET profiles", .json(rows))
    server.on("GET profiles/n", .profiles(["n": server.time(90)], type: "regular"))
    let client = try server.process().client()
    let first = try await client.profiles()
    #expect(first.profiles.map(\.mvpd) == ["m", "n"] && first.selected == "n" && first.remembered?.id == "n")
    #expect(first.profiles[0].type == "novel" && first.profiles[0].issuer == "other")
    #expect(first.profiles[0].attributes == ["zip": ["value": ["1"], "state": "enc"], "n": ["value": 7]])
    _ = try await client.profiles()
    _ = try await client.profiles(.all)
    #expect(server.calls.map(\.name) == ["GET profiles", "GET profiles/n", "GET profiles"])
  }

  @Test("no profile at one MVPD ends no login at another; at the stored one it does, and the MVPD remains (PR3)")
  func empty() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    for name in ["m", "x"] { server.on("GET profiles/\(name)", .profiles([:])) }
    let client = try server.process().client()
    let device = AdobePassDevice(identifier: Secret("device-1"), information: [:])
    _ = try await client.profiles()
    let other = try await client.profiles(.mvpd("x"))
    #expect(other.state == .unauthenticated && other.error == nil && other.remembered?.id == "m")
    #expect(try await client.call.login(of: device)?.profile != nil)
    #expect(try await client.profiles().state == .unauthenticated)
    let login = try await client.call.login(of: device)
    #expect(login?.mvpd == "m" && login?.profile == nil)
  }

  @Test("temporary and degraded logins are shown and not stored; a used-up TempPass is no fault (TP2, TP7, DG2)")
  func temporary() async throws {
    for type in ["temporary", "degraded"] {
      let server = PassServer()
      server.on("GET profiles/t", .profiles(["t": server.time(600)], type: type))
      server.on("GET profiles", .profiles([:]))
      let client = try server.process().client()
      #expect(try await client.profiles(.mvpd("t")).state == .authenticated)
      #expect(try await client.profiles().remembered == nil)
      server.on("GET profiles/t", .enhanced("temporary_access_resources_limit_exceeded", 403, "none"))
      let used = try await client.profiles(.mvpd("t"))
      #expect(used.state == .temporaryAccessUsedUp && used.error?.status == 403)
      server.on("GET profiles/t", .enhanced("invalid_configuration_temporary_access", 500, "configuration"))
      #expect(await passError { try await client.profiles(.mvpd("t")) }?.next == .operator)
    }
  }

  private static let badProfiles = [
    "{}", "[]", #"{"profiles":[]}"#, #"{"profiles":null}"#, #"{"profiles":{"m":7}}"#, #"{"profiles":{"m":{}}}"#,
    #"{"profiles":{"m":{"notAfter":9999999999999,"type":"regular"}}}"#,
    #"{"profiles":{"m":{"notAfter":true,"type":"regular","issuer":"m"}}}"#,
    #"{"profiles":{"..":{"notAfter":9999999999999,"type":"regular","issuer":"m"}}}"#,
    #"{"profiles":{"m":{"notAfter":9999999999999,"type":"regular","issuer":"m","attributes":[]}}}"#,
    #"{"profiles":{"m":{"notAfter":9999999999999,"type":"a","issuer":"m"}},"profiles":{}}"#,
    #"{"profiles":{"m":{"notAfter":9999999999999,"type":"a","issuer":"m"}},"error":{"code":"x","status":400}}"#,
  ]

  @Test("profiles that are not as documented are a fault, and nothing is stored", arguments: badProfiles)
  func badProfile(body: String) async throws {
    let server = PassServer()
    server.on("GET profiles", .json(body))
    let client = try server.process().client()
    #expect(await passError { try await client.profiles() }?.kind == .rejected)
    #expect(try await client.call.login(of: AdobePassDevice(identifier: Secret("device-1"), information: [:])) == nil)
  }

  @Test("a SAML response without an answer is not sent twice: the profiles show the login (PA8)")
  func lostProfile() async throws {
    for isThere in [true, false] {
      let server = PassServer()
      server.onReset("POST profiles/sso/Apple", nil)
      server.on("GET profiles", isThere ? .profiles(["m": server.time(600)], type: "appleSSO") : .profiles([:]))
      let client = try server.process().client()
      let options = PassOptions(partner: PassPartner(name: "Apple", frameworkStatus: [:], samlResponse: Secret("<a/>")))
      let error = await passError {
        let profiles = try await client.profiles(options: options)
        #expect(profiles.selected == "m")
      }
      #expect((error == nil) == isThere && error?.outcome != .replied)
      if !isThere { #expect(error?.kind == .unreachable && error?.outcome == .sentNoReply) }
      #expect(server.calls.map(\.name) == ["POST profiles/sso/Apple", "GET profiles"])
      #expect(server.calls.last?.request.fields["AP-Partner-Framework-Status"] != nil)
      #expect(await passError { try await client.profiles(.all, options: options) }?.outcome == .notSent)
    }
  }

  // MARK: - Configurations

  @Test("a configuration is in memory for two minutes, for all users, by provider and kind of device (CF1-6)")
  func configurations() async throws {
    let server = PassServer()
    let mvpds =
      #"[{"id":"m","displayName":"M","isProxy":true,"logoUrl":"https://x.test/l","new":1},{"id":"t","isTempPass":true}]"#
    server.on(
      "GET configuration",
      .json(
        #"{"requestor":{"id":"REF","name":"N","domains":[{"name":"app.test","mvpdInitiated":true}],"mvpds":\#(mvpds)},"time":1}"#
      ))
    let process = try server.process()
    let first = try await process.client().configuration()
    #expect(first.mvpds.map(\.id) == ["m"] && first.mvpds[0].flags == [.isProxy] && !first.isCached)
    #expect(first.domains.first?.isMVPDInitiated == true && first.expiresAt == server.clock.wallNow + .seconds(120))
    let second = try await process.client(uid: 2).configuration(includingTempPass: true)
    #expect(second.mvpds.map(\.id) == ["m", "t"] && second.isCached && server.calls.count == 1)
    server.on("GET configuration", .json(#"{"requestor":{"id":"REF"},"mvpds":\#(mvpds)}"#))
    let device = PassOptions(device: PassDevice(information: ["model": "x"]))
    #expect(try await process.client().configuration(options: device).mvpds.count == 1 && server.calls.count == 2)
    server.clock.advance(by: .seconds(120))
    #expect(try await process.client().configuration().isCached == false && server.calls.count == 3)
    // An integration that is gone empties the memory, and the stored MVPD is forgotten (SE13).
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    _ = try await process.client().profiles()
    server.on("POST decisions/authorize/m", .enhanced("invalid_integration", 400, "none"))
    #expect(await passError { try await process.client().authorize(["a"]) }?.next == .chooseMVPD)
    _ = try await process.client().configuration()
    #expect(server.calls(to: "GET configuration").count == 4)
    #expect(await passError { try await process.client().authorize(["a"]) }?.outcome == .notSent)
  }

  @Test("a configuration of very many MVPDs is a result that is far larger than the answer")
  func manyMVPDs() async throws {
    for (count, isGood) in [(10_000, true), (10_001, false)] {
      let server = PassServer()
      let mvpds = (0..<count).map { _ in #"{"id":"m"}"# }.joined(separator: ",")
      server.on("GET configuration", .json(#"{"requestor":{"mvpds":[\#(mvpds)]}}"#))
      let error = await passError { try await server.process().client().configuration() }
      #expect(error?.status?.code == (isGood ? nil : "server_response_format_unknown"))
    }
  }

  @Test("parallel calls of a user share one request; another user does not wait for it")
  func sharedConfiguration() async throws {
    let (server, gate) = (PassServer(), Gate())
    let isFirst = Counter()
    server.on("GET configuration") { _ in
      if isFirst.next() == 1 { await gate.pass() }
      return .json(#"{"requestor":{"id":"REF"},"mvpds":[]}"#)
    }
    let process = try server.process()
    let first = Task { try await process.client().configuration() }
    #expect(await eventually { gate.waiterCount == 1 })
    let provider = process.point.provider as! AdobePassProvider
    let flight = PassConfigurations.Flight(
      key: PassConfigurations.Key(provider.client, provider.settings.device), uid: 1)
    let second = Task { try await process.client().configuration() }
    #expect(await eventually { process.state.configurations.requests.waiterCount(for: flight) == 2 })
    #expect(try await process.client(uid: 2).configuration().mvpds.isEmpty)
    first.cancel()
    gate.open()
    #expect(try await second.value.mvpds.isEmpty)
    #expect(server.calls.count <= 2)
    let late = await passError {
      try await process.client(within: .zero).configuration(
        options: PassOptions(device: PassDevice(information: ["a": "b"])))
    }
    #expect(late?.kind == .deadlineExceeded)
  }
}
