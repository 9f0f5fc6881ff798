import AuthEngine
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// A sample of each public type with a payload, under its name, with `PrintedValue.secret` in each part that may be
/// secret. `Tests/Architecture/test_printing.py` finds types without one.
typealias Samples = KeyValuePairs<String, Any>

@Suite("Printed values")
struct PrintedValuesTests {
  static let secret = PrintedValue.secret
  /// A text from outside: several lines, and long.
  static let foreign = "line\nline \u{202E}\u{7} " + String(repeating: "x", count: 500)

  @Test("a value is printed with a secret, an inner name, in several lines or in a long one")
  func values() async throws {
    let all = try [
      Self.support(), Self.json(), Self.messages(), Self.proxies(), Self.keys(), Self.tokens(), Self.issuers(),
      Self.advice(),
      Self.callbacks(), Self.requests(), Self.servers(), Self.decisions(), Self.pass(), Self.passResults(),
    ]
    for samples in all {
      for (name, value) in samples { check(name, value) }
    }
    for (name, value) in try await Self.sessions() { check(name, value) }
    for (name, value) in try await Self.journeys() { check(name, value) }
  }

  private func check(_ name: String, _ value: Any) {
    #expect(PrintedValue.faults(of: value) == [], "\(name)")
  }

  @Test("an event is printed with a secret or an inner name")
  func events() throws {
    let origin = try HTTPURL("https://api.test").origin
    let error = TokenError(.malformed, "no token response")
    let printed: [Any] = [
      EngineEvent.tokenFailed(issuer: "corp", error: error),
      EngineEvent.breakerOpened(resource: "billing", origin: origin),
      TracedWork.exchange(.token("corp"), method: "GET", origin), TracedOutcome.status(200),
      EngineEvent.fetchRejected(resource: "billing", because: .breakerOpen),
      SessionEvent.idTokenRejected(issuer: "corp", fault: TokenFault(.invalidClaim, "the claim is not valid")),
      KeySetEvent.loaded(source: .issuer("corp"), keyCount: 2),
      SessionGrant.authorizationCode(
        code: Secret(Self.secret), codeVerifier: Secret(Self.secret), redirectURI: "https://shop.test"),
    ]
    for value in printed { #expect(PrintedValue.faults(ofPrinted: value) == []) }
  }

  @Test("a description lacks what its reader wants to know, or has another form than the others")
  func texts() throws {
    let url = try HTTPURL("https://api.test/orders?token=\(Self.secret)")
    let response = ResourceResponse.sample(url)
    #expect("\(response)" == "200 OK, 1,234 bytes of application/json from https://api.test/orders?…")
    #expect(String(reflecting: url) == "https://api.test/orders?…")
    var dumped = ""
    dump(url, to: &dumped)
    #expect(dumped == "- https://api.test/orders?…\n")
    #expect("\(HTTPURLError(.emptyHost))" == "invalid_url: the URL has no host")
    #expect("\(TokenError(.notPossible, "no client secret"))" == "grant_not_supported: no client secret")
    #expect("\(SessionError.notFound)" == "session_not_found: no such session, for this peer")
    #expect("\(ResourceError(.overloaded, "all slots are in use"))" == "overloaded: all slots are in use")
    #expect("\(TokenFault(.inactive, "the token is not active"))" == "inactive: the token is not active")
    #expect(
      "\(DecisionFault(.sessionExpired, retry: .after(.seconds(2))))"
        == "authentication_session_expired: The login has expired. The user has to log in again. "
        + "(suggested action: authentication), a retry may help after 2.0 seconds")
    #expect("\(Timestamp(secondsSinceEpoch: 0))" == "1970-01-01T00:00:00.000Z")
    #expect(
      "\(ResourceRequest(path: "orders?key=\(Self.secret)", method: "POST", body: [1]))" == "POST orders?…, 1 byte")
    let object: JSONValue = ["iss": "https://idp.test", "aud": ["shop"]]
    #expect("\(object)" == "object with 2 members: iss, aud")
    #expect("\(JSONValue.string("short"))" == "\"short\"" && "\(JSONValue.array([1, 2]))" == "array of 2 elements")
    #expect("\(JSONValue.string(Self.secret))" == "string of 47 characters")
  }

  @Test("a fault in what is printed is not found")
  func checker() {
    enum Kind { case one }
    struct Leak { var token = PrintedValue.secret }
    struct Inner { var name: String? = "n", url = Kind.one, body = Array(PrintedValue.secret.utf8) }
    for (value, fault) in [
      (Leak(), "has a secret"), (Inner(), "has an inner name"), (Inner(), "has a secret"),
      (Leak(), "has several lines"), ([String](repeating: "x", count: 100), "is too long"), ("", "is empty"),
    ] as [(Any, String)] {
      #expect(PrintedValue.faults(of: value).contains { $0.contains(fault) }, "\(fault)")
    }
    #expect(PrintedValue.faults(of: "text").isEmpty)
  }

  @Test("a description counts, cuts or separates wrongly")
  func helper() {
    #expect(Concise.count(1, "byte") == "1 byte" && Concise.count(0, "byte") == "0 bytes")
    #expect(Concise.count(1_234_567, "byte") == "1,234,567 bytes" && Concise.count(-1234, "byte") == "-1,234 bytes")
    #expect(Concise.count(2, "deny", plural: "denials") == "2 denials" && Concise.count(999, "key") == "999 keys")
    #expect(Concise.text("a", nil, "b") == "a, b")
    #expect(Concise.name("a\nb\u{0}c\u{2028}d\u{202E}e") == "a b c d e")
    #expect(Concise.name(String(repeating: "é", count: 200)).count == 80)
    #expect(Concise.text(String(repeating: "x", count: 400)).count == 300)
    #expect(Concise.list([], of: "key") == "no keys" && Concise.list(["a"], of: "key") == "1 key: a")
    #expect(Concise.list(["a", "b", "c", "d", "e", "f"], of: "key") == "6 keys: a, b, c, d, e, …")
  }
}
