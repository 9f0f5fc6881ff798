import AuthEngine
import PosternJSON
import PosternProtocol
import Testing

@Suite("Results that write their own text, or make their own value")
struct WrittenResultTests {
  /// The text is that of the `Codable` form, to the byte.
  private static func check(_ result: some WrittenResult) throws {
    #expect(Written(result).text == JSONText(try JSONValueEncoder().encode(result)))
  }

  @Test("a fetch's result has the members of its schema in their order, all of them or as few as there may be")
  func fetch() throws {
    var headers = ResponseHeaders()
    for number in 0..<40 {
      headers.append("x-\(number % 20)", "\(number)")
      headers.append("set-cookie", "a\"\(number)")
    }
    let timing = FetchResource.Timing(totalMs: 4, queueMs: 3, connectMs: 2, firstByteMs: -1)
    var result = FetchResource.Result(
      task: "t\n", status: 200, url: "https://api.test/", headers: headers, timing: timing)
    try Self.check(result)
    result.headers = ResponseHeaders()
    result.reason = "OK"
    result.body = ResponseBody(Array("é\0".utf8))
    result.bodyBase64 = "AA=="
    result.bodyBytes = 1 << 40
    result.attempts = 3
    result.tokenRefreshed = true
    result.advicesSatisfied = [["type": "a"], 1]
    result.retryAfterMs = 7
    try Self.check(result)
    result.body = ResponseBody([0x61, 0xFF])
    result.bodyBase64 = nil
    #expect(Written(result).text.value["body"] == nil)
    #expect(Written(result).text.value["bodyBase64"] == "Yf8=")
    #expect(headers.json["set-cookie"]?.arrayValue?.count == 40)
    #expect(headers.json["x-19"] == ["19", "39"])
    #expect(headers.json.objectValue?.count == 21)
  }

  @Test("header names are in lower case, and lines of one name together, however many there are", arguments: [4, 40])
  func headers(count: Int) throws {
    var headers = ResponseHeaders()
    for number in 0..<count {
      headers.append(number % 2 == 0 ? "X-A" : "x-a", "\(number)")
      headers.append("Z\"Y\u{1F}", "é")
    }
    let numbers = (0..<count).map { JSONValue.string("\($0)") }
    let json = headers.json
    #expect(json == ["x-a": .array(numbers), "z\"y\u{1F}": .array(Array(repeating: "é", count: count))])
    #expect(json.objectValue?.names == ["x-a", "z\"y\u{1F}"])
  }

  @Test("decisions have the members of their schema in their order, all of them or as few as there may be")
  func decisions() throws {
    let short = Preauthorize.Status(
      status: 0, code: "c", message: "m", details: nil, helpUrl: nil, trace: nil, action: "retry")
    let long = Preauthorize.Status(
      status: 403, code: "c", message: "\u{1}", details: "d", helpUrl: "h", trace: "t", action: "none")
    let decisions = [short, long, nil].map { error in
      Preauthorize.Decision(
        id: "r\"", error: error, source: .backend, ageMs: 5, expiresAt: error == nil ? "2026-01-01" : nil)
    }
    try Self.check(
      Preauthorize.Result(
        outcome: .response, decisions: decisions, status: nil, unhonoredFeatures: [.localCache, .remoteCache]))
    try Self.check(Preauthorize.Result(outcome: .failure, decisions: [], status: long, unhonoredFeatures: []))
  }

  @Test("a page has the members of its schema, with a cursor and without")
  func page() throws {
    let session = SessionDescription(session: "s", issuer: "i", kind: .user, scope: "", createdAt: "2026")
    let entries = try [PageEntry(session), PageEntry(session)]
    try Self.check(ListSessions.Result(entries, nextCursor: "c"))
    try Self.check(ListSessions.Result([], nextCursor: nil))
    try Self.check(ListTasks.Result([], nextCursor: "c"))
    try Self.check(ListEndpoints.Result([], nextCursor: "c"))
    let json = Written(ListSessions.Result(entries, nextCursor: nil)).text.value
    #expect(try JSONValueDecoder().decode(ListSessions.Result.self, from: json).sessions.count == 2)
  }

  @Test("verdicts and tokens have the members of their schema in their order, all of them or as few as there may be")
  func values() throws {
    func check(_ result: some ValueResult) throws {
      #expect(JSONText(result.json) == JSONText(try JSONValueEncoder().encode(result)))
    }
    for isFull in [true, false] {
      func given<Value>(_ value: Value) -> Value? { isFull ? value : nil }
      let violation = TokenViolation(
        code: "c", message: "m", claim: given("aud"), expected: given(["a"]), actual: given(1))
      var verdict = TokenVerdict(valid: isFull)
      verdict.claims = given(["sub": "u"])
      verdict.header = given([:])
      verdict.key = VerificationKey(kid: given("k"), alg: "ES256", thumbprint: given("t"))
      verdict.cached = given(false)
      verdict.error = violation
      try check(verdict)
      try check(TokenVerdict(valid: false))
      var request = ValidateRequest.Result(valid: isFull)
      request.claims = given(["sub": "u"])
      request.tokenType = given(.dpop)
      request.confirmation = ValidateRequest.Confirmation(jkt: given("j"), x5tS256: given("x"))
      request.cached = given(true)
      request.error = ValidateRequest.Violation(violation, detail: given("htm"))
      request.response = given(ValidateRequest.Response(status: 401, headers: HeaderTexts(["B": "1", "A": "2"])))
      try check(request)
      try check(GetAccessToken.Result(accessToken: "a", tokenType: "Bearer", expiresAt: "e", scope: given("s")))
    }
  }
}
