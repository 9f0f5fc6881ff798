import HTTPMessages
import Testing

@Suite("WWW-Authenticate is read by its whole grammar")
struct AuthenticationChallengeTests {
  typealias Row = ([String], [String])

  /// Challenges written as `Scheme`, `Scheme token68`, or `Scheme [name=value|name=value]`.
  static let rows: [Row] = [
    ([], []),
    ([""], []),
    ([" , ,, "], []),
    (["Bearer"], ["Bearer []"]),
    (["Bearer realm=\"x\""], ["Bearer [realm=x]"]),
    (["bearer REALM=\"x\""], ["bearer [realm=x]"]),
    (["Bearer realm=x"], ["Bearer [realm=x]"]),
    (["Bearer realm = \"x\" , error= \"y\""], ["Bearer [realm=x|error=y]"]),
    (["Bearer realm=\"x\",error=\"y\",  scope=\"a b\""], ["Bearer [realm=x|error=y|scope=a b]"]),
    (["Bearer realm=\"a, Basic realm=\\\"b\\\"\""], ["Bearer [realm=a, Basic realm=\"b\"]"]),
    (["Bearer realm=\"a\\\\b\\c\""], ["Bearer [realm=a\\bc]"]),
    (["Bearer realm=\"\""], ["Bearer [realm=]"]),
    (["Negotiate"], ["Negotiate []"]),
    (["Negotiate YWJj=="], ["Negotiate YWJj=="]),
    (["Negotiate a-._~+/9="], ["Negotiate a-._~+/9="]),
    (["Negotiate YWJj==, Bearer"], ["Negotiate YWJj==", "Bearer []"]),
    (["Basic realm=\"x\", Bearer realm=\"y\", error=\"z\""], ["Basic [realm=x]", "Bearer [realm=y|error=z]"]),
    (["Basic realm=\"x\"", "Bearer realm=\"y\""], ["Basic [realm=x]", "Bearer [realm=y]"]),
    (["Basic, Bearer, Negotiate abc"], ["Basic []", "Bearer []", "Negotiate abc"]),
    ([", Basic realm=\"x\",, Bearer ,"], ["Basic [realm=x]", "Bearer []"]),
    (
      ["Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\""],
      ["Newauth [realm=apps|type=1|title=Login to \"apps\"]", "Basic [realm=simple]"]
    ),
    (
      ["SSOADVICE realm=\"/\",advices=\"eyJ9\",am_uri=\"https://am.example.com/am/\""],
      ["SSOADVICE [realm=/|advices=eyJ9|am_uri=https://am.example.com/am/]"]
    ),
    (["SSOADVICE advices=\"a=\", realm=\"/\","], ["SSOADVICE [advices=a=|realm=/]"]),
    (["Bearer error_uri=https://x.test/y?z"], ["Bearer [error_uri=https://x.test/y?z]"]),
    (["Bearer realm=\"x\" error=\"y\""], ["Bearer [realm=x|error=y]"]),
    (["Bearer realm=\"x\" Basic realm=\"y\""], ["Bearer [realm=x]", "Basic [realm=y]"]),
    (["Bearer error=a, error=b"], ["Bearer [error=a|error=b]"]),
    (["Bearer Basic realm=x"], ["Bearer []", "Basic [realm=x]"]),
    (["Bearer\trealm=x"], ["Bearer [realm=x]"]),
    (["realm=\"x, Bearer\", Basic"], ["Basic []"]),
    (["=x, Bearer"], ["Bearer []"]),
    (["\"Bearer\", Basic"], ["Basic []"]),
    (["Bearer =x, error=y"], ["Bearer [error=y]"]),
    (["Bearer a=b, error= , realm=x"], ["Bearer [a=b|realm=x]"]),
    (["Bearer error=, realm=x"], ["Bearer error="]),
    (["Bearer realm=\"unterminated, Basic realm=\"x"], ["Bearer [realm=unterminated, Basic realm=]", "x []"]),
    (["Bearer realm=\"unterminated, Basic", "Basic"], ["Bearer []", "Basic []"]),
    (["Bearer realm=\"\\"], ["Bearer []"]),
    (["Bearer/x, Basic"], ["Basic []"]),
    (["Ünauth, Basic"], ["Basic []"]),
    (["Bearer realm=\"é\""], ["Bearer [realm=é]"]),
  ]

  private func text(_ challenge: AuthenticationChallenge) -> String {
    if let token = challenge.token68 { return "\(challenge.scheme) \(token)" }
    return "\(challenge.scheme) [\(challenge.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "|"))]"
  }

  @Test(
    "several challenges in one field and in several, quoting, token68, and what is malformed skipped", arguments: rows)
  func parses(row: Row) {
    #expect(AuthenticationChallenge.parse(row.0).map(text) == row.1)
  }

  @Test("a repeated parameter never overrides the first, schemes compare without case")
  func lookup() throws {
    let fields = HTTPFields([.init(name: "www-AUTHENTICATE", value: "bEARER error=a, error=b")])
    let challenge = try #require(AuthenticationChallenge.all(in: fields).first)
    #expect(challenge["error"] == "a" && challenge.isScheme("Bearer") && !challenge.isScheme("Bear"))
  }

  @Test("hostile lengths end, and quickly: nothing is read twice without need and what is kept is bounded")
  func bounds() {
    for text in ["a,", "a=", "\"", "\\", ",", " ", "a b,", "a b=c,", "x=\"", "a ", "="] {
      let value = String(repeating: text, count: 60_000 / text.utf8.count)
      let challenges = AuthenticationChallenge.parse([value, value, value])
      #expect(challenges.count <= 32)
      #expect(challenges.allSatisfy { $0.parameters.count <= 64 })
    }
    #expect(AuthenticationChallenge.parse([String(repeating: "a", count: 70_000)]).isEmpty)
  }
}
