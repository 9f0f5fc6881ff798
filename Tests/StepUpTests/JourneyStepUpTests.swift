import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// The session after a journey: the new login or the old one, whole, and no login left without a session.
@Suite struct JourneyStepUpTests {
  private func steppedUp(
    _ bench: JourneyBench, _ session: Session, _ token: String = JourneyBench.newer
  ) async throws -> String {
    bench.thenPage()
    let step = try #require(try await bench.stepUp(session).step)
    bench.thenToken(token)
    return await JourneyBench.word { try await bench.resume(step) }
  }

  /// Returns the session's single sign-on token, by which it is refreshed.
  private func login(of session: Session, _ bench: JourneyBench) async throws -> String? {
    bench.grants.clock.advance(by: .seconds(400))
    _ = try? await bench.token(session)
    return bench.grants.sent(to: JourneyBench.authorize).last?["csrf"]
  }

  @Test("a session of a journey is kept with the part of the program that began it")
  func origin() async throws {
    let bench = try JourneyBench()
    var request = JourneyRequest.login(tree: nil)
    request.origin.path = ["maker", "child"]
    bench.thenPage()
    let begun = try await bench.journeys.begin(request, at: bench.issuer, in: .uid(JourneyBench.uid))
    bench.thenToken(JourneyBench.sso)
    guard case .completed(let end) = try await bench.resume(try #require(begun.step)) else {
      Issue.record("the journey does not end")
      return
    }
    let session = try #require(end.session)
    let live = try await bench.grants.sessions.live(session, in: .uid(JourneyBench.uid))
    #expect(live.contents.path == ["maker", "child"])
  }

  @Test("The new login is ended by the old one's logout, or the tokens of the old one are used on")
  func swap() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    #expect(try await bench.token(session) == "a-1")
    #expect(try await steppedUp(bench, session) == "upgraded")
    #expect(try await bench.token(session) == "a-2")
    #expect(await eventually { bench.logouts.count == 1 })
    #expect(bench.logouts == ["sso=\(JourneyBench.sso) \(JourneyBench.sso)"], "the old one, by its own cookie")
    #expect(bench.grants.sent(to: JourneyBench.authorize).last?["csrf"] == JourneyBench.newer)
    #expect(try await login(of: session, bench) == JourneyBench.newer)
  }

  @Test("A login that was good enough, or a transaction, touches tokens", arguments: [JourneyBench.sso, ""])
  func same(token: String) async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.thenPage()
    let transaction = PolicyAdvice(type: PolicyAdvice.Name.transaction, value: "t-1")
    let step = try #require(try await bench.stepUp(session, [transaction]).step)
    bench.thenToken(token)
    let end = try #require(try await bench.resume(step).end)
    #expect(end.txId == "t-1" && !end.isUpgraded && end.session == session.handle)
    #expect(try await bench.token(session) == "a-1")
    #expect(bench.logouts.isEmpty && bench.grants.sent().count == 1)
  }

  @Test("A session takes over another user's login, or leaves it signed on")
  func anotherUser() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.answerTokens("user-2", named: "b")
    #expect(try await steppedUp(bench, session) == "session authorization_failed")
    #expect(bench.logouts == ["sso=\(JourneyBench.newer) \(JourneyBench.newer)"])
    #expect(try await bench.token(session) == "a-1")
    bench.answerTokens()
    #expect(try await login(of: session, bench) == JourneyBench.sso)
  }

  @Test("An outage between login and tokens costs the session its tokens, or the new login")
  func outage() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.grants.answer("/token") { _, _ in .status(503) }
    #expect(try await steppedUp(bench, session) == "session unreachable")
    #expect(try await bench.token(session) == "a-1")
    #expect(await eventually { bench.logouts == ["sso=\(JourneyBench.sso) \(JourneyBench.sso)"] })
    bench.answerTokens(named: "b")
    #expect(try await login(of: session, bench) == JourneyBench.newer)
  }

  @Test("A login that the access manager itself does not take replaces one that is good")
  func rejected() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.grants.answer(JourneyBench.authorize) { _, _ in .json(#"{"code":401}"#, status: 401) }
    #expect(try await steppedUp(bench, session).hasPrefix("session "))
    #expect(bench.logouts == ["sso=\(JourneyBench.newer) \(JourneyBench.newer)"])
    bench.answerTokens()
    #expect(try await bench.token(session) == "a-1")
    #expect(try await login(of: session, bench) == JourneyBench.sso)
  }

  @Test("A session that was ended meanwhile leaves a login at the access manager")
  func endedMeanwhile() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.thenPage()
    let step = try #require(try await bench.stepUp(session).step)
    _ = try await bench.grants.sessions.end(session.handle, at: bench.issuer, in: .uid(1))
    bench.thenToken(JourneyBench.newer)
    #expect(await JourneyBench.word { try await bench.resume(step) } == "session session_not_found")
    #expect(bench.logouts.last == "sso=\(JourneyBench.newer) \(JourneyBench.newer)")
    // And where that happens during the exchange.
    let second = try await bench.session()
    bench.thenPage()
    let next = try #require(try await bench.stepUp(second).step)
    let gate = bench.grants.hold("/token")
    // With a letter that base64url does not have: a random `state` that contains the token would be taken for its echo.
    bench.thenToken("t.3")
    let call = Task { await JourneyBench.word { try await bench.resume(next) } }
    #expect(await eventually { gate.waiterCount == 1 })
    _ = try await bench.grants.sessions.end(second.handle, at: bench.issuer, in: .uid(1))
    gate.open()
    #expect(await call.value == "session session_not_found")
    #expect(await eventually { bench.logouts.contains("sso=t.3 t.3") })
    #expect(await eventually { bench.grants.sent(to: "/revoke").contains { $0["token"] == "a-3" } })
  }

  @Test(
    "Of two journeys of one session the slower leaves the faster one's login signed on, or takes the wrong one along")
  func twoJourneys() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    var steps: [JourneyStep] = []
    for _ in 0..<2 {
      bench.thenPage()
      steps.append(try #require(try await bench.stepUp(session).step))
    }
    let gate = bench.grants.hold("/token")
    var calls: [Task<String, Never>] = []
    for (number, step) in steps.enumerated() {
      bench.thenToken("token-\(number)")
      calls.append(Task { await JourneyBench.word { try await bench.resume(step) } })
      #expect(await eventually { gate.waiterCount == number + 1 })
    }
    gate.open()
    for call in calls { #expect(await call.value == "upgraded") }
    #expect(await eventually { bench.logouts.count == 2 })
    let left = try #require(try await login(of: session, bench))
    let ended = Set(bench.logouts.map { $0.split(separator: " ").last.map(String.init) ?? "" })
    #expect(ended.union([left]) == [JourneyBench.sso, "token-0", "token-1"] && !ended.contains(left))
  }

  @Test("A refresh that started with the old login writes it back over the new one")
  func refreshMeanwhile() async throws {
    let store = TroubledStore()
    let bench = try JourneyBench(store: store)
    let session = try await bench.session()
    bench.thenPage()
    let step = try #require(try await bench.stepUp(session).step)
    let gate = Gate()
    store.blockNextReplacement(at: gate)
    let refresh = Task { try await bench.grants.sessions.refresh(session.handle, at: bench.issuer, in: .uid(1)) }
    #expect(await eventually { gate.waiterCount == 1 })
    bench.thenToken(JourneyBench.newer)
    #expect(await JourneyBench.word { try await bench.resume(step) } == "upgraded")
    gate.open()
    _ = try? await refresh.value
    #expect(try await login(of: session, bench) == JourneyBench.newer)
  }

  @Test("A code that could not be exchanged costs the user another login in the browser")
  func browser() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    let advice = PolicyAdvice.insufficientUserAuthentication(acrValues: ["mfa"], maxAge: nil)
    let step = try #require(try await bench.stepUp(session, [advice]).step)
    let callback = try #require(step.callbacks.first.flatMap { JourneyCallback($0) })
    let url = try #require(callback.redirectURL)
    let query = try #require(FormEncoding.decode(String(url.drop { $0 != "?" }.dropFirst())))
    func parameter(_ name: String) -> String { query.first { $0.name == name }?.value ?? "" }
    #expect(url.hasPrefix("https://idp.test/authorize?") && parameter("acr_values") == "mfa")
    var filled = callback
    filled.fill(with: .string("https://shop.test/callback?code=c&state=\(parameter("state"))"))
    let idToken = try bench.grants.idToken(nonce: parameter("nonce"), more: ["acr": "mfa"])
    bench.grants.answer("/token") { _, _ in .status(503) }
    for _ in 0..<2 {
      #expect(await JourneyBench.word { try await bench.resume(step, [filled.json]) } == "session unreachable")
    }
    bench.grants.answer("/token") { _, _ in
      .json(#"{"access_token":"b-1","token_type":"Bearer","expires_in":300,"id_token":"\#(idToken)"}"#)
    }
    #expect(await JourneyBench.word { try await bench.resume(step, [filled.json]) } == "upgraded")
    #expect(try await bench.token(session) == "b-1" && bench.logouts.isEmpty)
    #expect(await JourneyBench.word { try await bench.resume(step, [filled.json]) } == "unknown")
  }

  @Test(
    "A caller that leaves a journey leaves it half done",
    arguments: [JourneyBench.authenticate, JourneyBench.authorize, "/token"])
  func cancelled(path: String) async throws {
    for isCancelled in [true, false] {
      let bench = try JourneyBench()
      let session = try await bench.session()
      bench.thenPage()
      let step = try #require(try await bench.stepUp(session).step)
      let gate = bench.grants.hold(path)
      bench.thenToken(JourneyBench.newer)
      let deadline = Deadline(in: .seconds(5), on: bench.grants.clock)
      let call = Task { await JourneyBench.word { try await bench.resume(step, deadline: deadline) } }
      #expect(await eventually { gate.waiterCount == 1 && bench.grants.clock.sleeperCount > 0 })
      if isCancelled { call.cancel() } else { bench.grants.clock.advance(by: .seconds(5)) }
      #expect(await call.value == (isCancelled ? "cancelled" : "deadline"))
      #expect(try await bench.token(session) == "a-1", "until the new ones are there")
      #expect(await JourneyBench.word { try await bench.resume(step) } == "unknown")
      gate.open()
      #expect(await eventually { bench.logouts == ["sso=\(JourneyBench.sso) \(JourneyBench.sso)"] })
      #expect(try await bench.token(session) == "a-2" && bench.journeys.waitingCount == 0)
      #expect(try await steppedUp(bench, session, "t.3") == "upgraded", "the next one works")
    }
  }

  @Test("An abandoned start keeps a journey whose continuation no caller has")
  func cancelledStart() async throws {
    for path in ["/am/json/serverinfo/*", JourneyBench.authenticate] {
      let bench = try JourneyBench(cookieName: nil)
      let gate = bench.grants.hold(path)
      bench.thenPage()
      let call = Task { await JourneyBench.word { try await bench.login() } }
      #expect(await eventually { gate.waiterCount == 1 })
      call.cancel()
      #expect(await call.value == "cancelled")
      gate.open()
      #expect(await eventually { bench.submissions.count == 1 })
      for _ in 0..<50 { await Task.yield() }
      #expect(bench.journeys.waitingCount == 0)
      bench.thenPage()
      #expect(await JourneyBench.word { try await bench.login() } == "callbacks")
    }
  }

  @Test("A call that is over before it begins uses its continuation up")
  func cancelledBefore() async throws {
    let bench = try JourneyBench()
    bench.thenPage()
    let step = try #require(try await bench.login().step)
    let past = Deadline(in: .zero, on: bench.grants.clock)
    #expect(await JourneyBench.word { try await bench.resume(step, deadline: past) } == "deadline")
    let call = Task {
      while !Task.isCancelled { await Task.yield() }
      return await JourneyBench.word { try await bench.resume(step) }
    }
    call.cancel()
    #expect(await call.value == "cancelled" && bench.submissions.count == 1)
    bench.thenPage()
    #expect(await JourneyBench.word { try await bench.resume(step) } == "callbacks")
  }
}
