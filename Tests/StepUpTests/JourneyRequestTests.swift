import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// The requests to the access manager: realm and tree in the query, callbacks as they were received, cookies, and no
/// other input of the caller's.
@Suite struct JourneyRequestTests {
  @Test("A login names another tree or realm, sends a token, or leaves the flags in the wrong case")
  func start() async throws {
    let bench = try JourneyBench()
    for (request, query) in [
      (JourneyRequest.login(tree: nil), nil),
      (.login(tree: "A & B"), "authIndexType=service&authIndexValue=A%20%26%20B"),
      (.login(tree: nil, withoutSession: true, forced: true), "noSession=true&ForceAuth=true"),
    ] {
      bench.thenPage()
      _ = try await bench.journeys.begin(request, at: bench.issuer, in: .uid(1))
      let sent = try #require(bench.submissions.last)
      #expect(sent.method == "POST" && sent.url.query == query && sent.body == Array("{}".utf8))
      #expect(sent.url.path == "/am/json/realms/root/realms/alpha/authenticate")
      #expect(sent.fields["Accept-API-Version"] == "resource=2.1, protocol=1.0")
      #expect(sent.fields["Content-Type"] == "application/json" && sent.fields["X-Requested-With"] != nil)
      #expect(sent.fields["Cookie"] == nil)
    }
  }

  @Test("An advice's value leaves its element, loses its order, or a transaction goes along with others")
  func advice() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.thenPage()
    let step = try await bench.stepUp(
      session,
      [
        PolicyAdvice(type: PolicyAdvice.Name.transaction, value: "t-1"),
        PolicyAdvice(type: PolicyAdvice.Name.service, value: "/a:</Value><Evil & \"x\">"),
        PolicyAdvice(type: PolicyAdvice.Name.level, value: "5"),
      ]
    ).step
    let sent = try #require(bench.submissions.last)
    let query = try #require(FormEncoding.decode(sent.url.query ?? ""))
    #expect(query.map(\.name) == ["authIndexType", "authIndexValue"] && query[0].value == "composite_advice")
    let pair = "<AttributeValuePair><Attribute name=\"AuthenticateToServiceConditionAdvice\"/><Value>"
    #expect(
      query[1].value == "<Advices>\(pair)/a:&lt;/Value&gt;&lt;Evil &amp; &quot;x&quot;&gt;</Value></AttributeValuePair>"
        + "<AttributeValuePair><Attribute name=\"AuthLevelConditionAdvice\"/><Value>5</Value></AttributeValuePair></Advices>"
    )
    #expect(sent.fields["Cookie"] == "sso=\(JourneyBench.sso)")
    // The transaction by itself, with the login that the first advices gave.
    bench.thenToken(JourneyBench.newer)
    bench.thenPage()
    _ = try await bench.resume(#require(step))
    let last = try #require(bench.submissions.last)
    #expect(last.url.query?.contains("t-1") == true && last.url.query?.contains("Service") == false)
    #expect(last.fields["Cookie"] == "sso=\(JourneyBench.newer)" && last.body == Array("{}".utf8))
  }

  @Test("A page comes back with other members, order or types than it had, or an unknown callback is touched")
  func pages() async throws {
    let bench = try JourneyBench()
    let odd =
      #"{"type":"FutureCallback","zeta":[1.5,null,{"b":1,"a":2}],"_id":7,"input":[{"name":"IDToken2","value":{}}]}"#
    bench.then { _ in
      var answer = HTTPResponse.json(
        #"{"authId":"id-1","template":"","callbacks":[\#(JourneyBench.password),\#(odd)],"stage":"S","header":"H","description":"D"}"#
      )
      answer.fields.append("Set-Cookie", "amlbcookie=01; Path=/; HttpOnly")
      answer.fields.append("Set-Cookie", "sso=planted; Path=/")
      return answer
    }
    let step = try #require(try await bench.login().step)
    #expect(step.stage == "S" && step.header == "H" && step.description == "D")
    #expect(JSONWriter().string(.array(step.callbacks)) == "[\(JourneyBench.password),\(odd)]")
    bench.thenPage()
    _ = try await bench.resume(step)
    let sent = try #require(bench.submissions.last)
    let body = try JSONParser(maxDepth: 16).parse(sent.body ?? [])
    #expect(body.objectValue?.names == ["authId", "callbacks", "stage", "header", "description"])
    #expect(body["authId"] == "id-1" && body["callbacks"] == .array(step.callbacks))
    #expect(sent.fields["Cookie"] == "amlbcookie=01", "the balancer's cookie alone: the user is not known yet")
  }

  @Test(
    "Callbacks of another number, order or type are sent, or a wrong page uses the continuation up",
    arguments: [
      ([], "invalid /callbacks"), (["PasswordCallback"], "invalid /callbacks"),
      (["NameCallback", "PasswordCallback"], "invalid /callbacks/0/type"),
      (["PasswordCallback", ""], "invalid /callbacks/1/type"),
      (["PasswordCallback", "NameCallback", "NameCallback"], "invalid /callbacks"),
    ] as [([String], String)])
  func otherCallbacks(types: [String], expected: String) async throws {
    let bench = try JourneyBench()
    bench.thenPage("\(JourneyBench.password),\(JourneyBench.callback("NameCallback", prompt: "User", number: 2))")
    let step = try #require(try await bench.login().step)
    let given = types.map { JSONValue.object(["type": .string($0)]) }
    #expect(await JourneyBench.word { try await bench.resume(step, given) } == expected)
    #expect(await JourneyBench.word { try await bench.resume(step.continuation, nil) } == "invalid /callbacks")
    #expect(bench.submissions.count == 1)
    bench.thenPage()
    #expect(await JourneyBench.word { try await bench.resume(step) } == "callbacks")
  }

  @Test("The parameters of the URL that a redirect led back to divert the journey")
  func redirects() async throws {
    let bench = try JourneyBench()
    bench.thenPage(#"{"type":"RedirectCallback","output":[{"name":"redirectUrl","value":"https://social.test/"}]}"#)
    let step = try #require(try await bench.login("Social").step)
    bench.thenToken(JourneyBench.newer)
    let url =
      "https://shop.test/back?state=s%261&code=c+1&suspendedId=x&authIndexType=module&noSession=true&goto=y#code=z"
    _ = try await bench.resume(step, answers: ["RedirectCallback": .string(url)])
    #expect(
      bench.submissions.last?.url.query == "authIndexType=service&authIndexValue=Social&state=s%261&code=c%201")
  }

  @Test("A suspended journey is gone on with under its authId, or its pages carry suspendedId again")
  func suspended() async throws {
    let bench = try JourneyBench()
    let text = #"{"type":"SuspendedTextOutputCallback","output":[{"name":"message","value":"Mail"}],"input":[]}"#
    bench.thenPage(text)
    let step = try #require(try await bench.login("Mail").step)
    bench.thenPage()
    let link = "https://am.test/am/XUI/?realm=/alpha&suspendedId=s%2B1&authIndexType=module#x"
    let page = try #require(
      try await bench.resume(step, answers: ["SuspendedTextOutputCallback": .string(link)]).step)
    #expect(bench.submissions.last?.url.query == "suspendedId=s%2B1")
    #expect(bench.submissions.last?.body == Array("{}".utf8))
    bench.thenPage()
    _ = try await bench.resume(page)
    #expect(bench.submissions.last?.url.query?.contains("suspendedId") != true)
    // Without a continuation, long after.
    bench.thenPage()
    let again = try await bench.login(answers: ["suspendedId": .string(link)])
    #expect(again.step != nil && bench.submissions.last?.url.query == "suspendedId=s%2B1")
  }
}
