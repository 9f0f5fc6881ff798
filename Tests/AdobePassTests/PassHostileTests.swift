import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements

/// Answers that Adobe Pass should never give, made from a seed: values and members of the documented names, in the
/// wrong positions.
private struct HostileAnswers {
  private static let names = [
    "profiles", "decisions", "logouts", "requestor", "mvpds", "domains", "device", "existingParameters", "error",
    "errors", "code", "action", "status", "m", "..", "notAfter", "notBefore", "type", "issuer", "attributes", "url",
    "actionName", "actionType", "missingParameters", "authenticationRequest", "request", "resource", "authorized",
    "token", "serializedToken", "id", "mvpd",
  ]
  private static let scalars = [
    "false", "null", "1", "-1", "1e308", "1900000000000", "9223372036854775807", "18446744073709551615",
    "253402300799999", #""253402300799999""#, #""""#, #""m""#, #""authenticate""#, #""interactive""#, #""resume""#,
    #""direct""#, #""logout""#, #""complete""#, #""none""#, #""/x""#, #""https://evil.test/""#, #""\u0000""#, "[]",
    "{}",
    #""\ud83d\ude00""#, #""a""#,
  ]
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  private mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(bound))
  }

  private mutating func value(_ depth: Int) -> String {
    guard depth > 0, next(4) != 0 else { return Self.scalars[next(Self.scalars.count)] }
    if next(4) == 0 { return "[\((0..<next(3)).map { _ in value(depth - 1) }.joined(separator: ","))]" }
    let members = (0..<next(6)).map { _ in "\"\(Self.names[next(Self.names.count)])\":\(value(depth - 1))" }
    return "{\(members.joined(separator: ","))}"
  }

  /// An answer without a permit: nothing in it is `true`.
  mutating func response() -> HTTPResponse {
    let tops = [
      #"{"profiles":{"m":\#(value(2))}}"#,
      #"{"decisions":[{"resource":"a","authorized":\#(value(1)),"token":\#(value(2))}]}"#,
      #"{"logouts":{"m":\#(value(1))}}"#, #"{"requestor":\#(value(3)),"mvpds":\#(value(2))}"#,
      #"{"actionName":"resume","actionType":"direct","code":\#(value(0)),"notAfter":\#(value(0)),"url":\#(value(0))}"#,
      #"{"actionName":"authenticate","actionType":"interactive","code":"C","url":\#(value(0)),"mvpd":\#(value(0))}"#,
      value(4),
    ]
    var bytes = Array(tops[next(tops.count)].utf8)
    if next(4) == 0, !bytes.isEmpty {
      switch next(3) {
      case 0: bytes.removeLast(next(bytes.count))
      case 1: bytes[next(bytes.count)] = [0, 0xFF, 0xC0, 0x80, 0x22][next(5)]
      default: bytes.append(0x7D)
      }
    }
    var fields = HTTPFields([.init(name: "Content-Type", value: next(8) == 0 ? "text/html" : "application/json")])
    switch next(6) {
    case 0: fields["Date"] = "Thu, 01 Jan 1970 00:00:00 GMT"
    case 1: fields["Date"] = "Fri, 31 Dec 9999 23:59:59 GMT"
    case 2: fields["Retry-After"] = "99999999999999999999"
    default: break
    }
    let statuses = [200, 200, 200, 200, 200, 200, 201, 204, 302, 400, 401, 403, 429, 500, 503]
    return HTTPResponse(status: statuses[next(statuses.count)], fields: fields, body: bytes)
  }
}

@Suite("pass: hostile answers and secrets")
struct PassHostileTests {
  @Test("2,000 malformed or hostile answers to every call: no permit, no foreign URL, no trap (SC2)")
  func answers() async throws {
    var answers = HostileAnswers(seed: 23)
    var (errors, results) = (0, 0)
    let current = Locked(HTTPResponse(status: 200))
    let server = PassServer()
    for name in [
      "GET configuration", "POST sessions", "POST sessions/C", "GET sessions/C", "GET profiles", "GET profiles/m",
      "GET profiles/code/C", "POST decisions/authorize/m", "GET logout/m",
    ] { server.on(name) { _ in current.withLock { $0 } } }
    let process = try server.process(attempts: 1)
    let client = process.client()
    for round in 0..<2000 {
      let answer = answers.response()
      current.withLock { $0 = answer }
      let text = String(decoding: answer.body, as: UTF8.self)
      func run(_ body: () async throws -> String?) async {
        // A URL must be of the base URL's origin.
        do {
          let url = try await body()
          results += 1
          #expect(url?.hasPrefix("https://adobe.test/") ?? true, "round \(round): \(text)")
        } catch {
          errors += 1
          #expect((error as? PassError)?.detail.isEmpty == false)
        }
      }
      let exchange = try client.call.exchange(PassOptions(), for: .authorize)
      switch round % 8 {
      case 0: await run { try await client.createSession().url }
      case 1: await run { try await client.resumeSession(code: "C").url }
      case 2:
        await run { try await client.session(code: "C").mvpd.map { _ in "https://adobe.test/" } }
      case 3:
        await run {
          _ = try await client.profiles(.all)
          return nil
        }
      case 4:
        await run {
          _ = try await client.profiles(.mvpd("m"))
          return nil
        }
      case 5:
        await run {
          let options = PassOptions(device: PassDevice(id: Secret("d"), information: ["n": "\(round)"]))
          _ = try await client.configuration(options: options)
          return nil
        }
      case 6: await run { try await client.logout(mvpd: "m").logouts.compactMap(\.url).first }
      default:
        await run {
          for decision in try await client.authorize(["a"], mvpd: "m").decisions {
            #expect(!decision.isAuthorized && decision.token == nil && decision.error != nil, "\(text)")
          }
          return nil
        }
      }
      await process.state.logins.dropProfile(
        of: nil, client.call.provider.client, exchange.device, over: client.call.link)
      server.clock.advance(by: .seconds(1))
    }
    // Both were reached.
    #expect(errors > 500 && results > 50)
  }

  @Test("the words of an error, which are logged, have what a server put in the position of a code or a name")
  func words() async throws {
    let server = PassServer()
    let client = try server.process().client()
    for body in [
      #"{"code":"the code hush-code is wrong","message":"hush","action":"none"}"#,
      #"{"code":"hush-code","action":"none"}"#,
      #"{"actionName":"hush-code","actionType":"direct"}"#, #"{"actionName":"resume","actionType":"QZR7T4\nhush"}"#,
    ] {
      server.on("POST sessions", .json(body))
      let error = await passError { try await client.createSession() }
      #expect(error?.kind == .rejected && error?.detail.contains("hush") == false, "\(body)")
    }
    server.on("POST sessions", .session("obey", "direct"))
    #expect(await passError { try await client.createSession() }?.detail.contains("obey/direct") == true)
  }

  @Test("no error, event or description of a whole run has a token, code, identity, SAML response or attribute (SC1)")
  func secrets() async throws {
    let server = PassServer()
    let code = "hush-code"
    server.on("POST sessions", .session("authenticate", "interactive", #""code":"\#(code)","url":"/hush-url""#))
    server.on("POST sessions/\(code)", .session("authenticate", "interactive", #""code":"\#(code)","url":"/hush-url""#))
    server.on("GET sessions/\(code)", .json("{}"))
    server.on("GET profiles/code/\(code)", .profiles(["m": server.time(600)]))
    server.on("POST decisions/authorize/m") { .permits($0.resources, until: 1_900_000_000_000) }
    server.on(
      "POST sessions/sso/Apple", .session("partner_profile", "direct", #""authenticationRequest":{"request":"hush"}"#))
    server.onReset("POST profiles/sso/Apple", nil)
    server.on("GET profiles", .status(500))
    let process = try server.process(attempts: 1)
    let client = process.client()
    let partner = PassPartner(name: "Apple", frameworkStatus: ["hush": 1], samlResponse: Secret("<hush/>"))
    var request = partner
    request.samlResponse = nil
    let options = PassOptions(
      device: PassDevice(id: Secret("hush-device")), visitorID: Secret("hush-visitor"),
      platform: PassPlatformToken(.amazon, token: Secret("hush-platform")), serviceToken: serviceToken(),
      partner: request, tempPassIdentity: Secret(#"{"email":"hush"}"#))
    let selection = PassProfileSelection.code(code, wait: .zero)
    let values: [Any] = [
      try await client.createSession(), try await client.resumeSession(code: code),
      try await client.session(code: code),
      try await client.profiles(selection), try await client.authorize(["a"], mvpd: "m", options: options), options,
      partner,
      try await client.createSession(options: PassOptions(partner: request)), selection, client, process.point,
      process.state, await passError { try await client.profiles(options: PassOptions(partner: partner)) } as Any,
      await passError { try await client.profiles(.all) } as Any,
      await passError { try await client.session(code: code, options: options) } as Any,
    ]
    for value in values {
      #expect(!"\(value)".contains("hush") && !String(reflecting: value).contains("hush"), "\(value)")
    }
    var dumped = ""
    dump(options, to: &dumped)
    dump(selection, to: &dumped)
    dump(process.state, to: &dumped)
    #expect(!dumped.contains("hush"))
    let events = process.engine.engine.observer.events
    #expect(events.count >= 8)
    for case .exchange(let exchange) in events { #expect(!exchange.url.description.contains("hush")) }
  }
}
