import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import Testing

@testable import AdobePass
@testable import Entitlements

@Suite("pass: requests")
struct PassRequestTests {
  /// The endpoints, with the letters of what each takes beyond Authorization, identifier and device information.
  private static let endpoints: [(PassEndpoint, String)] = [
    (.configuration, ""), (.createSession, "STV"), (.resumeSession, "V2"), (.getSession, "V2"), (.profiles, "STPV"),
    (.profile, "STPGV"), (.profileOfCode, "V2"), (.preauthorize, "STPV"), (.authorize, "STPGV"), (.logout, "STV"),
    (.partnerSession, "PV"), (.partnerProfile, "PV"),
  ]

  private static func options(_ letter: Character) -> PassOptions {
    switch letter {
    case "S": PassOptions(platform: PassPlatformToken(.roku, token: Secret("not.a.jws")))
    case "T": PassOptions(serviceToken: serviceToken())
    case "P": PassOptions(partner: PassPartner(name: "Apple", frameworkStatus: ["b": 1, "a": 2]))
    case "G": PassOptions(tempPassIdentity: Secret(#"{"email": "x@y.test"}"#))
    case "V": PassOptions(visitorID: Secret("visitor"))
    default: PassOptions(isSecondScreen: true)
    }
  }

  @Test("each endpoint takes exactly what the table lists; anything else is an error with its path (SS1, TP4)")
  func taken() throws {
    let paths: [Character: String] = [
      "S": "/platform", "T": "/serviceToken", "P": "/partner", "G": "/tempPass", "V": "/visitorId",
      "2": "/secondScreen",
    ]
    let fields: [Character: String] = [
      "S": "X-Roku-Reserved-Roku-Connect-Token", "T": "AD-Service-Token", "P": "AP-Partner-Framework-Status",
      "G": "AP-TempPass-Identity", "V": "AP-Visitor-Identifier",
    ]
    let device = AdobePassDevice(identifier: Secret("d"), information: [:])
    for (endpoint, letters) in Self.endpoints {
      for (letter, path) in paths {
        let options = Self.options(letter)
        do throws(PassParameterError) {
          try options.check(for: endpoint, at: Timestamp(secondsSinceEpoch: 1_800_000_000))
          #expect(letters.contains(letter), "\(endpoint) takes \(letter)")
          let sent = PassHeaders(options, device, for: endpoint).fields
          let names = sent.lines.map(\.name)
          let own = letter == "2" ? [] : ["AP-Device-Identifier", "X-Device-Info"]
          #expect(names == ["Accept"] + own + (fields[letter].map { [$0] } ?? []))
        } catch {
          #expect(!letters.contains(letter), "\(endpoint) does not take \(letter)")
          #expect(error.path.jsonPointer == path)
        }
      }
    }
  }

  private static let bad: [(String, PassOptions)] = [
    ("/serviceToken", PassOptions(serviceToken: serviceToken(exp: "1799999999"))),
    ("/serviceToken", PassOptions(serviceToken: serviceToken(exp: nil))),
    ("/serviceToken", PassOptions(serviceToken: serviceToken(exp: #""1900000000""#))),
    ("/serviceToken", PassOptions(serviceToken: serviceToken(alg: "ES256"))),
    ("/serviceToken", PassOptions(serviceToken: serviceToken(alg: "none", signature: ""))),
    ("/serviceToken", PassOptions(serviceToken: serviceToken(signature: ""))),
    ("/serviceToken", PassOptions(serviceToken: Secret("a.b"))),
    ("/visitorId", PassOptions(visitorID: Secret("a\nb"))), ("/visitorId", PassOptions(visitorID: Secret(""))),
    ("/device/id", PassOptions(device: PassDevice(id: Secret("")))),
    ("/device/id", PassOptions(device: PassDevice(id: Secret(String(repeating: "x", count: 257))))),
    ("/device/info/model", PassOptions(device: PassDevice(information: ["model": "a\u{7}"]))),
    ("/device/address", PassOptions(device: PassDevice(address: "192.0.2"))),
    ("/device/address", PassOptions(device: PassDevice(address: "192.0.2.1, 10.0.0.1"))),
    ("/platform/token", PassOptions(platform: PassPlatformToken(.amazon, token: Secret("a\r\nb: c")))),
    ("/tempPass/identity", PassOptions(tempPassIdentity: Secret("[1]"))),
    ("/tempPass/identity", PassOptions(tempPassIdentity: Secret(#"{"a":1,"a":2}"#))),
    ("/tempPass/identity", PassOptions(tempPassIdentity: Secret("{\"a\":\"\(String(repeating: "x", count: 4096))\"}"))),
    ("/partner/name", PassOptions(partner: PassPartner(name: "..", frameworkStatus: [:]))),
    (
      "/partner/samlResponse",
      PassOptions(partner: PassPartner(name: "A", frameworkStatus: [:], samlResponse: Secret("<x/>")))
    ),
  ]

  @Test("a value that cannot be sent is an error with its path, and nothing is sent (SS2)", arguments: bad.indices)
  func badValues(index: Int) async throws {
    let server = PassServer()
    let (path, options) = Self.bad[index]
    let error = await passError { try await server.process(mvpd: "m").client().authorize(["a"], options: options) }
    guard case .invalidParameter(let parameter)? = error?.kind else {
      Issue.record("\(path): \(String(describing: error))")
      return
    }
    #expect(parameter.path.jsonPointer == path)
    #expect(server.calls.isEmpty && server.registrations.current == 0)
    #expect(!"\(parameter)".contains("hush"))
  }

  @Test("a session's form has what is given, encoded once, in the order of the documents; the body may be empty (SE1)")
  func form() async throws {
    let server = PassServer()
    server.on("POST sessions", .session("resume", "direct", #""code":"C""#))
    let client = try server.process(serviceProvider: "REF").client()
    _ = try await client.createSession(
      PassLoginParameters(mvpd: "a b&c=é", domainName: "app.test", redirectURL: PassServer.redirect))
    _ = try await client.createSession()
    let sent = server.calls.map(\.request)
    #expect(sent[0].text == "mvpd=a+b%26c%3D%C3%A9&domainName=app.test&redirectUrl=https%3A%2F%2Fapp.test%2Fback")
    #expect(sent[0].fields["Content-Type"] == "application/x-www-form-urlencoded")
    #expect(sent[0].fields["Authorization"] == "Bearer hush-token-1" && sent[0].fields["Accept"] == "application/json")
    #expect(sent[0].fields["AP-Device-Identifier"] == "fingerprint ZGV2aWNlLTE=")
    #expect(sent[1].text.isEmpty && sent[1].fields["Content-Type"] == "application/x-www-form-urlencoded")
  }

  @Test("a redirect URL and a domain are those of the configuration, byte for byte; else nothing is sent")
  func allowLists() async throws {
    let server = PassServer()
    let client = try server.process(mvpd: "m").client()
    for (path, parameters) in [
      ("/redirectUrl", PassLoginParameters(redirectURL: PassServer.redirect + "/")),
      ("/redirectUrl", PassLoginParameters(redirectURL: "HTTPS://app.test/back")),
      ("/domainName", PassLoginParameters(domainName: "App.test")), ("/mvpd", PassLoginParameters(mvpd: "..")),
      ("/mvpd", PassLoginParameters(mvpd: String(repeating: "m", count: 129))),
    ] {
      for error in [
        await passError { try await client.createSession(parameters) },
        await passError { try await client.resumeSession(code: "C", parameters) },
      ] {
        guard case .invalidParameter(let parameter)? = error?.kind else {
          Issue.record("\(path) is sent")
          continue
        }
        #expect(parameter.path.jsonPointer == path)
      }
    }
    #expect(await passError { try await client.logout(redirectURL: "https://evil.test/") } != nil)
    #expect(server.calls.isEmpty)
  }

  @Test("ids are percent-encoded once into paths (PR10)")
  func paths() async throws {
    let server = PassServer()
    let client = try server.process(serviceProvider: "REF").client()
    _ = await passError { try await client.profiles(.mvpd("a/b%2F ?#é")) }
    _ = await passError { try await client.session(code: "a/ü") }
    #expect(
      server.calls.map { $0.request.url.description } == [
        "https://adobe.test/api/v2/REF/profiles/a%2Fb%252F%20%3F%23%C3%A9",
        "https://adobe.test/api/v2/REF/sessions/a%2F%C3%BC",
      ])
    for code in ["", "..", String(repeating: "x", count: 65), "a\nb"] {
      #expect(await passError { try await client.session(code: code) }?.outcome == .notSent)
    }
    #expect(server.calls.count == 2)
  }

  @Test("a SAML response is cleaned, in base64, and encoded once in the form (PA6)")
  func saml() async throws {
    let server = PassServer()
    server.on("POST profiles/sso/Apple", .profiles(["m": server.time(60)], type: "appleSSO", status: 201))
    let partner = PassPartner(
      name: "Apple", frameworkStatus: ["z": 1, "a": ["b": true]], samlResponse: Secret("\r\n <a>\n  x\t y?>>~~</a> \n"))
    let profiles = try await server.process().client().profiles(options: PassOptions(partner: partner))
    #expect(profiles.profiles.first?.type == "appleSSO" && profiles.selected == "m")
    let sent = try #require(server.calls.first?.request)
    let members = try #require(FormEncoding.decode(sent.text))
    #expect(members.map(\.name) == ["SAMLResponse"])
    let decoded = Base64.decode(members[0].value).map { String(decoding: $0, as: UTF8.self) }
    #expect(decoded == "<a> x y?>>~~</a>")
    #expect(sent.fields["AP-Partner-Framework-Status"] == Base64.string(Array(#"{"z":1,"a":{"b":true}}"#.utf8)))
  }

  @Test("the identity of a TempPass is sent byte by byte in base64 (TP8), another device has its own fields (RG7)")
  func identityAndDevice() async throws {
    let server = PassServer()
    server.on("POST decisions/authorize/m") { .permits($0.resources, until: 1_900_000_000_000) }
    let client = try server.process().client()
    let text = #"{ "email" : "x@y.test" }"#
    for (id, address) in [("d2", "192.0.2.1"), ("d3", "2001:db8::1")] {
      let device = PassDevice(id: Secret(id), information: ["model": "Other", "new": "x"], address: address)
      _ = try await client.authorize(
        ["a"], mvpd: "m", options: PassOptions(device: device, tempPassIdentity: Secret(text)))
      let sent = try #require(server.calls.last?.request)
      #expect(sent.fields["AP-TempPass-Identity"] == Base64.string(Array(text.utf8)))
      #expect(sent.fields["AP-Device-Identifier"] == "fingerprint \(Base64.string(Array(id.utf8)))")
      #expect(sent.fields["X-Forwarded-For"] == address)
      let information = Base64.decode(sent.fields["X-Device-Info"] ?? "").map { String(decoding: $0, as: UTF8.self) }
      #expect(information == #"{"model":"Other","osName":"Linux","new":"x"}"#)
    }
    #expect(server.calls.allSatisfy { $0.request.fields["Content-Type"]?.hasPrefix("application/json") == true })
    // Of an answer over 1 MiB the status is still received.
    #expect(server.calls.allSatisfy { $0.options.maxBodyBytes == 4 << 20 })
  }

  @Test("registration and token, which are for all callers, depend on the device that the first caller names")
  func clientRequests() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles([:]))
    let process = try server.process()
    let device = PassDevice(id: Secret("other"), information: ["model": String(repeating: "x", count: 1024)])
    _ = try await process.client().profiles(options: PassOptions(device: device))
    let sent = server.clientRequests.withLock { $0.map { $0.fields["X-Device-Info"] } }
    let configured = (process.point.provider as? AdobePassProvider)?.settings.device.information
    #expect(sent == [configured, configured] && configured != nil)
    #expect(server.calls.first?.request.fields["X-Device-Info"] != configured)
  }

  @Test("a second screen names no device, and nothing of its answers is stored (PR11)")
  func secondScreen() async throws {
    let server = PassServer()
    server.on("GET profiles/code/C", .profiles(["m": server.time(60)]))
    server.on("POST sessions/C", .session("authorize", "direct", #""mvpd":"m","reasonType":"authenticated""#))
    let client = try server.process().client()
    let options = PassOptions(isSecondScreen: true, visitorID: Secret("v"))
    let profiles = try await client.profiles(.code("C", wait: .zero), options: options)
    #expect(profiles.state == .authenticated && profiles.remembered == nil)
    _ = try await client.resumeSession(code: "C", options: options)
    for call in server.calls {
      let names = Set(call.request.fields.lines.map(\.name))
      #expect(names.isDisjoint(with: ["AP-Device-Identifier", "X-Device-Info", "X-Forwarded-For"]))
      #expect(names.contains("AP-Visitor-Identifier") && names.contains("Authorization"))
    }
    server.on("GET profiles", .profiles([:]))
    #expect(try await client.profiles().remembered == nil && server.calls.last?.name == "GET profiles")
    let other = PassOptions(device: PassDevice(address: "192.0.2.1"), isSecondScreen: true)
    #expect(await passError { try await client.session(code: "C", options: other) }?.outcome == .notSent)
  }

  @Test("an error that a second screen gets changes nothing of the login that is stored here")
  func secondScreenErrors() async throws {
    let server = PassServer()
    server.on("GET profiles", .profiles(["m": server.time(600)]))
    server.on(
      "POST sessions/C", .enhanced("invalid_integration", 400, "none"),
      .enhanced("authenticated_profile_missing", 403, "authentication"))
    server.on("GET profiles/m", .profiles(["m": server.time(600)]))
    let client = try server.process().client()
    _ = try await client.profiles()
    for _ in 0..<2 {
      let options = PassOptions(isSecondScreen: true)
      #expect(
        await passError { try await client.resumeSession(code: "C", PassLoginParameters(mvpd: "m"), options: options) }
          != nil)
    }
    #expect(try await client.profiles().remembered?.id == "m" && server.calls.last?.name == "GET profiles/m")
  }
}
