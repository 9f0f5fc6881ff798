import AuthEngine
import HTTPMessages
import PosternSupport
import Testing

/// Advice in `WWW-Authenticate`.
@Suite("Advice in challenges", .bothWays)
struct AdviceChallengeTests {
  private typealias V = AdviceVectors

  private static let map = Array("{\"TransactionConditionAdvice\":[\"\(AdviceVectors.txId)\"],\"x\":\"??>>\"}".utf8)
  private static let standard = Base64.string(map)
  private static let url = Base64URL.string(map)

  @Test(
    "An SSOADVICE challenge is not understood",
    arguments: [
      "SSOADVICE realm=\"/\",advices=\"\(standard)\",am_uri=\"https://am.test/am/\"",
      "SSOADVICE advices=\"\(url)\", am_uri=\"https://am.test/am/\", realm=\"/\"",
      "SSOADVICE am_uri=\"https://am.test/am/\" ,\tadvices = \"\(standard)\",realm=\"/\",",
      "ssoadvice REALM=\"/\",ADVICES=\"\(url)=\"",
      "SSOADVICE realm=/,advices=\(url)",
      "SSOADVICE realm=/,advices=\(standard)",
      "Basic realm=\"a, advices=b\", SSOADVICE realm=\"/\", advices=\"\(standard)\", Bearer error=\"invalid_token\"",
      "Negotiate, SSOADVICE realm=\"\\/\",advices=\"\(standard.prefix(20)) \(standard.dropFirst(20))\"",
      "Negotiate YII=, SSOADVICE =x, realm=\"/\",advices=\"\(standard)\"",
    ])
  func challenges(_ value: String) throws {
    let finding = try #require(AdviceRecognizer().finding(in: V.challenge(value)))
    #expect(finding.source == .header)
    #expect(finding.advices == [PolicyAdvice(type: V.transaction, value: V.txId, realm: "/")])
  }

  @Test("Of several challenges only one counts, whether in one line or in two")
  func several() {
    func challenge(_ map: String) -> String { "SSOADVICE advices=\"\(Base64.string(Array(map.utf8)))\"" }
    let one = challenge("{\"AuthLevelConditionAdvice\":[\"3\",5],\"AuthSchemeConditionAdvice\":[\"LDAP\"]}")
    let two = challenge("{\"advices\":{\"TransactionConditionAdvice\":[\"t\"]}}")
    let expected = ["3", "5", "LDAP", "t"]
    #expect(AdviceRecognizer().finding(in: V.challenge("\(one), \(two)"))?.advices.map(\.value) == expected)
    let fields = HTTPFields([one, two].map { .init(name: "WWW-Authenticate", value: $0) })
    #expect(AdviceRecognizer().finding(in: HTTPResponse(status: 401, fields: fields))?.advices.map(\.value) == expected)
  }

  @Test(
    "A challenge without advice counts as one",
    arguments: [
      "", "SSOADVICE", "SSOADVICE realm=\"/\"", "SSOADVICE advices=\"\"", "SSOADVICE advices=\"e30=\"",
      "SSOADVICE advices=\"W10=\"", "SSOADVICE advices=\"!!\"", "SSOADVICE advices=\"bnVsbA==\"",
      "XSSOADVICE advices=\"\(standard)\"", "Basic advices=\"\(standard)\"", "SSOADVICE xadvices=\"\(standard)\"",
      "SSOADVICE advices=\"\(standard)", "Bearer error=\"invalid_token\"",
      "Basic error=\"insufficient_user_authentication\"", "Negotiate", "UMA realm=\"x\"",
      "SSOADVICE advices=\"\(Base64.string(Array("{\"A\":\"x\"}".utf8)))\"",
      "SSOADVICE advices=\"\(Base64.string(Array("{\"AAdvice\":[[\"x\"]]}".utf8)))\"",
      "SSOADVICE advices=\"\(Base64.string(Array(String(repeating: "[", count: 9000).utf8)))\"",
    ])
  func others(_ value: String) {
    for scope in [AdviceRecognizer.Scope.denials, .everyAnswer] {
      #expect(AdviceRecognizer(scope: scope).finding(in: V.challenge(value)) == nil)
    }
  }

  @Test("A challenge of RFC 9470 loses what it requires, or requires what cannot be")
  func authentication() {
    func advice(_ parameters: String) -> PolicyAdvice? {
      AdviceRecognizer().finding(in: V.challenge(parameters))?.advices.first
    }
    let error = "error=\"insufficient_user_authentication\""
    #expect(
      advice("Bearer \(error), error_description=\"x\", acr_values=\"gold  myACR\", max_age=\"5\"")
        == .insufficientUserAuthentication(acrValues: ["gold", "myACR"], maxAge: 5))
    #expect(advice("DPoP max_age=0, \(error)") == .insufficientUserAuthentication(acrValues: nil, maxAge: 0))
    #expect(advice("Bearer \(error)") == .insufficientUserAuthentication(acrValues: nil, maxAge: nil))
    for age in ["-1", "1.5", "x", "+3", "99999999999999999999999", ""] {
      #expect(advice("Bearer \(error), max_age=\"\(age)\", acr_values=\" \"")?.maxAge == nil, "\(age)")
    }
  }

  @Test("A UMA ticket is not recognised, or is taken for something an access manager's tree can satisfy")
  func tickets() throws {
    let finding = AdviceRecognizer().finding(
      in: V.challenge("UMA realm=\"photos\", as_uri=\"https://as.test\", ticket=\"016f84e8\""))
    let advice = try #require(finding?.advices.first)
    #expect(advice == PolicyAdvice(type: "uma_ticket", value: "016f84e8", realm: "photos"))
    #expect(!advice.isCompositeAdvice && advice.txId == nil)
  }

  @Test("A challenge of another access manager, or of an answer that denies nothing, has an effect")
  func bounds() throws {
    let own = "SSOADVICE advices=\"\(Self.standard)\",am_uri=\"https://am.test:443/am/\""
    let other = "SSOADVICE advices=\"\(Self.standard)\",am_uri=\"https://am.test.evil.test/am/\""
    let recognizer = AdviceRecognizer(accessManager: try HTTPURL("https://am.test/am"))
    #expect(recognizer.finding(in: V.challenge(own)) != nil)
    #expect(recognizer.finding(in: V.challenge(other)) == nil)
    #expect(AdviceRecognizer().finding(in: V.challenge(other)) != nil)
    for status in [200, 404, 500] {
      #expect(AdviceRecognizer().finding(in: V.challenge(own, status: status)) == nil)
      #expect(AdviceRecognizer(scope: .everyAnswer).finding(in: V.challenge(own, status: status)) != nil)
    }
  }
}
