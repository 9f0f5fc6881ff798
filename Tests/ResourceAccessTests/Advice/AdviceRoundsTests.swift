import AuthEngine
import EngineTestSupport
import HTTPMessages
import OAuthClient
import PosternSupport
import PosternTestSupport
import Testing

/// One fetch and the advice it meets: bounded rounds, each transaction once and named once, and only the resource's
/// word for success.
@Suite(.bothWays) struct AdviceRoundsTests {
  private typealias Bench = AdviceBench

  @Test(
    "A resource that always requires more is retried without a limit, or its last answer is lost",
    arguments: [1, 3])
  func rounds(limit: Int) async throws {
    let bench = try Bench(rounds: limit)
    let session = try await bench.session()
    bench.answer { number, _ in
      var answer = Bench.rejection(Bench.service("tree-\(number)"))
      answer.body = Array("answer \(number)".utf8)
      return answer
    }
    let fault = await Bench.fault { _ = try await bench.fetch(session) }
    #expect(fault?.code == .adviceFailed && bench.delegate.questions.count == limit)
    #expect(bench.requests.count == limit + 1 && bench.stops.withLock { $0.isEmpty })
    let stop = try #require(fault?.stop)
    let answer = try #require(stop.response)
    #expect(answer.body == Array("answer \(limit + 1)".utf8) && answer.status == 401)
    #expect(answer.attempts == limit + 1 && stop.continuation == nil)
    #expect(answer.advicesSatisfied.map(\.value) == (1...limit).map { "tree-\($0)" })
  }

  @Test("A transaction is used twice, or what comes again counts as satisfied")
  func onceEach() async throws {
    let bench = try Bench(rounds: 10)
    let session = try await bench.session()
    bench.answer { number, _ in Bench.rejection(Bench.transaction(["t-1", "t-2", "t-1"][min(number, 3) - 1])) }
    let fault = await Bench.fault { _ = try await bench.fetch(session) }
    #expect(fault?.code == .adviceFailed)
    #expect(bench.delegate.questions.map { $0.advices.first?.txId } == ["t-1", "t-2"])
    #expect(fault?.stop?.response?.advicesSatisfied.isEmpty == true)
    #expect(fault?.stop?.advices.first?.txId == "t-1")
  }

  @Test("`_txid` is doubled, kept from before, or left out where there is one")
  func marking() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.answer { number, _ in
      switch number {
      case 1: Bench.rejection(Bench.service())
      case 2, 3: Bench.rejection(Bench.transaction("t/\(number)"))
      default: HTTPResponse(status: 200)
      }
    }
    let response = try await bench.fetch(session, "pay?_txId=mine&a=%2F")
    #expect(
      bench.requests.map(\.url.query) == [
        "_txId=mine&a=%2F", "_txId=mine&a=%2F", "a=%2F&_txid=t%2F2", "a=%2F&_txid=t%2F3",
      ])
    #expect(response.advicesSatisfied.map(\.value) == ["Confirm", "t/3"] && response.attempts == 4)
    #expect(bench.requests.allSatisfy { $0.fields["x-authenticate-response"] == "header" })
  }

  @Test("A transaction is named as the first thing to do where there is something else")
  func order() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.answer { _, _ in Bench.rejection(Bench.transaction("t"), Bench.service()) }
    let fault = await Bench.fault { _ = try await bench.fetch(session, delegate: .some(nil)) }
    #expect(fault?.code == .adviceRequired && fault?.stop?.advices.count == 2)
    #expect(fault?.stop?.first?.type == PolicyAdvice.Name.service)
  }

  @Test("The delegate's own idea of the request loses, or its headers and URL go unchecked")
  func update() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.transaction("t")) : HTTPResponse(status: 200) }
    let own = ScriptedDelegate { _, txId in
      RequestUpdate(url: "?x=1", headers: HTTPFields([.init(name: "X-TxID", value: txId ?? "")]))
    }
    _ = try await bench.fetch(session, delegate: own)
    let last = try #require(bench.requests.last)
    #expect(last.url.query == "x=1" && last.fields["X-TxID"] == "t" && last.fields["Authorization"] == "Bearer given")
    for (update, code) in [
      (
        RequestUpdate(headers: HTTPFields([.init(name: "Authorization", value: "x")])),
        ErrorCode.invalidHeaders
      ),
      (RequestUpdate(url: "https://evil.test/shop/"), .invalidURL), (RequestUpdate(url: "/other"), .invalidURL),
    ] {
      bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.transaction("t")) : HTTPResponse(status: 200) }
      let count = bench.requests.count
      let delegate = ScriptedDelegate { _, _ in update }
      let fault = await Bench.fault { _ = try await bench.fetch(session, delegate: delegate) }
      #expect(fault?.code == code && fault?.outcome == .replied && bench.requests.count == count + 1)
    }
  }

  @Test("A delegate's update has the header or the query parameter of the resource's own credential")
  func reservedCredential() async throws {
    for (form, update, code) in [
      (
        StaticCredential.Form.header(name: "X-Api-Key"),
        RequestUpdate(headers: HTTPFields([.init(name: "X_Api_Key", value: "x")])), ErrorCode.invalidHeaders
      ), (.query(name: "key"), RequestUpdate(url: "?a=1&%6Bey=x"), .invalidURL),
    ] {
      var bench = try Bench()
      bench.server.credential = try StaticCredential(form, value: Secret("k"))
      let session = try await bench.session()
      bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.transaction("t")) : HTTPResponse(status: 200) }
      let delegate = ScriptedDelegate { _, _ in update }
      let fault = await Bench.fault { [bench] in _ = try await bench.fetch(session, delegate: delegate) }
      #expect(fault?.code == code && fault?.outcome == .replied && bench.requests.count == 1)
    }
  }

  @Test("A delegate brings the single sign-on cookie along, hidden or by a field that was looked at before")
  func reservedCookie() async throws {
    var bench = try Bench()
    bench.server.reservedCookies = ["iPlanetDirectoryPro"]
    let session = try await bench.session()
    for (before, after) in [
      ("a=b", "a=b; iPlanetDirectoryPro=x"), ("a=b", "a=b\u{600}; iPlanetDirectoryPro=x"),
      ("a=b\u{37E}c", "a=b; iPlanetDirectoryPro=x"),
      ("a=b", "a=b;iplanetDIRECTORYpro\u{9}=\u{301}"),
    ] {
      bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.transaction("t")) : HTTPResponse(status: 200) }
      let count = bench.requests.count
      let delegate = ScriptedDelegate { _, _ in
        RequestUpdate(headers: HTTPFields([.init(name: "Cookie", value: after)]))
      }
      let fault = await Bench.fault {
        _ = try await bench.fetch(session, headers: ["Cookie": before], delegate: delegate)
      }
      #expect(
        fault?.code == .invalidHeaders && fault?.path?.jsonPointer == "/headers/cookie" && fault?.outcome == .replied)
      #expect(bench.requests.count == count + 1)
    }
  }

  @Test("A user who declines gets another question, or the unchanged answer is lost")
  func declined() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.answer { _, _ in Bench.rejection(Bench.service()) }
    let fault = await Bench.fault { _ = try await bench.fetch(session, delegate: ScriptedDelegate([false])) }
    #expect(fault?.code == .adviceFailed && bench.requests.count == 1)
    #expect(fault?.stop?.response?.body == Array("no".utf8) && fault?.stop?.continuation == nil)
    #expect(bench.stops.withLock { $0.isEmpty })
  }

  @Test("A fetch that is resumed forgets its rounds, its transaction, or what it was")
  func resumed() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.answer { _, _ in Bench.rejection(Bench.service("again")) }
    var progress: AdviceProgress?
    for round in 1...3 {
      let fault = await Bench.fault { _ = try await bench.fetch(session, delegate: .some(nil), progress: progress) }
      let stop = try #require(fault?.stop)
      #expect(fault?.code == .adviceRequired && stop.progress.rounds == round)
      #expect(stop.continuation.map { name in bench.stops.withLock { $0[name] != nil } } == true)
      progress = stop.progress
    }
    let last = await Bench.fault { _ = try await bench.fetch(session, delegate: .some(nil), progress: progress) }
    #expect(last?.code == .adviceFailed)
    bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.transaction("t")) : HTTPResponse(status: 200) }
    let fault = await Bench.fault { _ = try await bench.fetch(session, delegate: .some(nil)) }
    let response = try await bench.fetch(session, delegate: .some(nil), progress: fault?.stop?.progress)
    #expect(bench.requests.last?.url.query == "_txid=t" && response.advicesSatisfied.map(\.txId) == ["t"])
  }

  @Test("A token is refreshed, or the delegate decides on its refresh, where the answer is advice")
  func beforeRefresh() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.grants.answerTokens()
    bench.answer { number, _ in
      guard number == 1 else { return HTTPResponse(status: 200) }
      var answer = Bench.rejection(Bench.service())
      answer.fields.append("WWW-Authenticate", #"Bearer error="invalid_token""#)
      return answer
    }
    let response = try await bench.fetch(session)
    #expect(response.status == 200 && !response.tokenRefreshed && bench.grants.sent().isEmpty)
  }

  @Test("Advice that Postern cannot satisfy stops the fetch")
  func impossible() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    for advices in [
      Bench.rejection((PolicyAdvice.Name.session, "deny")),
      Bench.rejection(Bench.service(), (PolicyAdvice.Name.session, "deny")),
      .status(401, ("WWW-Authenticate", #"SSOADVICE advices="eyJBIjpbIngiXX0",am_uri="https://am.evil.test/""#)),
      .status(401, ("WWW-Authenticate", #"UMA ticket="t""#)),
    ] {
      bench.answer { _, _ in advices }
      #expect(try await bench.fetch(session).status == 401)
    }
    #expect(bench.delegate.questions.isEmpty)
  }

  @Test("A redirect to another access manager is followed, or satisfied at the configured one")
  func foreignRedirect() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    let value =
      "PEFkdmljZXM-PEF0dHJpYnV0ZVZhbHVlUGFpcj48QXR0cmlidXRlIG5hbWU9IkEiLz48VmFsdWU-eDwvVmFsdWU-PC9BdHRyaWJ1dGVWYWx1ZVBhaXI-PC9BZHZpY2VzPg"
    for (target, isOwn) in [
      ("https://am.test/am/", true), ("https://am.evil.test/am/", false), ("https://am.test:8443/am/", false),
      ("https://am.test.evil.test/am/", false), ("//am.evil.test/am/", false), ("/am/", false),
    ] {
      bench.answer { number, _ in
        number == 1
          ? .status(307, ("Location", "\(target)?authIndexType=composite_advice&authIndexValue=\(value)"))
          : HTTPResponse(status: 200)
      }
      let before = bench.delegate.questions.count
      #expect(try await bench.fetch(session).status == (isOwn ? 200 : 307), "\(target)")
      #expect(bench.delegate.questions.count - before == (isOwn ? 1 : 0))
    }
    #expect(bench.grants.transport.requests.allSatisfy { $0.url.origin.host == "api.test" })
  }

  @Test("The user's time is taken from the resource's, or the caller's own bound does not hold")
  func time() async throws {
    let bench = try Bench(timeout: .seconds(30))
    let session = try await bench.session()
    let clock = bench.grants.clock
    for (timeout, code) in [(nil, nil), (Duration.seconds(60), ErrorCode.deadlineExceeded)] {
      bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.service()) : HTTPResponse(status: 200) }
      let gate = Gate()
      let delegate = ScriptedDelegate(gate: gate)
      let call = Task {
        await Bench.fault { _ = try await bench.fetch(session, delegate: delegate, timeout: timeout) }
      }
      #expect(await eventually { gate.waiterCount == 1 })
      if timeout != nil { #expect(await eventually { clock.sleeperCount > 0 }) }
      clock.advance(by: .seconds(100))
      if timeout == nil { gate.open() }
      #expect(await call.value?.code == code)
      gate.open()
    }
  }
}
