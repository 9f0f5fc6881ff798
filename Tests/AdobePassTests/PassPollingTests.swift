import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements

@Suite("pass: polling a code")
struct PassPollingTests {
  private static let poll = "GET profiles/code/C"

  private func server(_ code: String = "C", life: Int64 = 1800) -> PassServer {
    let server = PassServer()
    server.on("POST sessions", .session("resume", "direct", #""code":"\#(code)","notAfter":\#(server.time(life))"#))
    server.on("GET profiles/code/\(code)", .profiles([:]))
    return server
  }

  @Test(
    "the login ends the wait; before it the requests are an interval apart, and afterwards there is none (PO2, PO3)")
  func login() async throws {
    let server = server()
    let process = try server.process()
    _ = try await process.client().createSession()
    server.on(Self.poll, .profiles([:]), .profiles([:]), .profiles(["m": server.time(600)]))
    let profiles = try await server.driven { try await process.client().profiles(.code("C", wait: .seconds(600))) }
    #expect(profiles.state == .authenticated && profiles.selected == "m" && profiles.remembered?.id == "m")
    let times = server.calls(to: Self.poll).map(\.at)
    #expect(times.count == 3)
    for (first, second) in zip(times, times.dropFirst()) { #expect(second - first == .seconds(5)) }
    #expect(server.clock.sleeperCount == 0)
  }

  @Test("a look without a wait gets the last answer within the interval, and when to look again")
  func interval() async throws {
    let server = server()
    let client = try server.process().client()
    for expected in [Duration.seconds(5), .seconds(3)] {
      let profiles = try await client.profiles(.code("C", wait: .zero))
      #expect(profiles.state == .pending && profiles.nextPoll == expected)
      server.clock.advance(by: .seconds(2))
    }
    #expect(server.calls.count == 1)
    server.clock.advance(by: .seconds(1))
    _ = try await client.profiles(.code("C", wait: .zero))
    #expect(server.calls.count == 2)
  }

  @Test(
    "the end of the code ends the wait at once, and nothing is sent any more, whatever the wall clock does (PO4, PO11)")
  func end() async throws {
    let server = server(life: 12)
    let process = try server.process()
    _ = try await process.client().createSession()
    async let profiles = process.client().profiles(.code("C", wait: .seconds(600)))
    for (polls, remainder) in zip(1..., [5, 5, 2] as [Int64]) {
      // The last request may last no longer than the code, so its own bound is a sleep like that of the wait.
      #expect(await eventually { server.calls(to: Self.poll).count == polls })
      #expect(await server.sleeps(.seconds(remainder)))
      server.clock.stepWall(by: .seconds(-86_400))
      server.clock.advance(by: .seconds(remainder))
    }
    #expect(try await profiles.state == .expired)
    #expect(try await process.client().profiles(.code("C", wait: .zero)).state == .expired)
    #expect(server.calls(to: Self.poll).count == 3)
  }

  @Test("the end of the code ends a wait whose request is under way")
  func endDuringRequest() async throws {
    let server = server(life: 12)
    let (process, gate) = (try server.process(), Gate())
    _ = try await process.client().createSession()
    server.on(Self.poll) { [now = server.time(600)] _ in
      await gate.pass()
      return .profiles(["m": now])
    }
    async let profiles = process.client().profiles(.code("C", wait: .seconds(600)))
    #expect(await eventually { gate.waiterCount == 1 && server.clock.remainders.contains(.seconds(12)) })
    server.clock.advance(by: .seconds(12))
    #expect(try await profiles.state == .expired)
    gate.open()
  }

  @Test(
    "a later session of the device ends the wait at once, also during a request; its late answer counts no more (PO5)")
  func superseded() async throws {
    let server = server()
    let process = try server.process()
    _ = try await process.client().createSession()
    async let sleeping = process.client().profiles(.code("C", wait: .seconds(600)))
    #expect(await server.sleeps(.seconds(5)))
    server.on("POST sessions", .session("resume", "direct", #""code":"D""#))
    _ = try await process.client().createSession()
    #expect(try await sleeping.state == .superseded)
    #expect(try await process.client().profiles(.code("C", wait: .zero)).state == .superseded)
    let gate = Gate()
    server.on("GET profiles/code/D") { [now = server.time(600)] _ in
      await gate.pass()
      return .profiles(["m": now])
    }
    async let polling = process.client().profiles(.code("D", wait: .seconds(600)))
    #expect(await eventually { gate.waiterCount == 1 })
    server.on("POST sessions", .session("resume", "direct", #""code":"E""#))
    _ = try await process.client().createSession()
    gate.open()
    let late = try await polling
    #expect(late.state == .superseded && late.profiles.isEmpty && late.remembered == nil)
    #expect(server.calls(to: Self.poll).count == 1)
  }

  @Test("another device's session supersedes nothing")
  func otherDevice() async throws {
    let server = server()
    let process = try server.process()
    _ = try await process.client().createSession()
    server.on("POST sessions", .session("resume", "direct", #""code":"D""#))
    _ = try await process.client().createSession(options: PassOptions(device: PassDevice(id: Secret("d2"))))
    #expect(try await process.client().profiles(.code("C", wait: .zero)).state == .pending)
  }

  @Test("waits share one request; who is cancelled leaves the others, and after the last one nothing is sent")
  func shared() async throws {
    let server = server()
    let (process, gate) = (try server.process(), Gate())
    server.on(Self.poll) { _ in
      await gate.pass()
      return .profiles([:])
    }
    let first = Task { await passError { try await process.client().profiles(.code("C", wait: .seconds(600))) } }
    #expect(await eventually { gate.waiterCount == 1 })
    let key = PassCodes.Key((process.point.provider as! AdobePassProvider).client, "C")
    let others = (2...4).map { uid in
      Task { await passError { try await process.client(uid: uid).profiles(.code("C", wait: .seconds(600))) } }
    }
    #expect(await eventually { process.state.codes.polls.waiterCount(for: key) == 4 })
    first.cancel()
    #expect(await first.value?.kind == .cancelled)
    gate.open()
    #expect(await eventually { server.clock.remainders.filter { $0 == .seconds(5) }.count == 3 })
    #expect(server.calls.count == 1)
    for other in others { other.cancel() }
    for other in others { #expect(await other.value?.kind == .cancelled) }
    server.clock.advance(by: .seconds(60))
    for _ in 0..<1000 { await Task.yield() }
    #expect(server.calls.count == 1 && server.clock.sleeperCount == 0)
  }

  private static let hostile = PassOptions(device: PassDevice(information: ["model": "hostile"]))

  @Test("an error of one user's request is no answer to another user who waits for the code", arguments: [400, 503])
  func foreignError(status: Int) async throws {
    let server = server()
    let (process, gate) = (try server.process(), Gate())
    let hostile = Base64.string(Array(#"{"model":"hostile","osName":"Linux"}"#.utf8))
    server.on(Self.poll) { request in
      guard request.fields["X-Device-Info"] == hostile else { return .profiles(["m": server.time(600)]) }
      await gate.pass()
      return status == 400 ? .enhanced("invalid_header_device_info", 400, "none") : .status(status)
    }
    // One joins the request of the other, and another one comes within the interval after it.
    let selection = PassProfileSelection.code("C", wait: .zero)
    async let first = passError { try await process.client(uid: 1).profiles(selection, options: Self.hostile) }
    #expect(await eventually { gate.waiterCount == 1 })
    let key = PassCodes.Key((process.point.provider as! AdobePassProvider).client, "C")
    async let joined = process.client(uid: 2).profiles(selection)
    #expect(await eventually { process.state.codes.polls.waiterCount(for: key) == 2 })
    gate.open()
    #expect(await first?.upstream?.status == status)
    #expect(try await joined.state == .authenticated && server.calls.count == 2)
    // For its own caller the error counts for the interval.
    server.clock.advance(by: .seconds(5))
    for _ in 0..<2 {
      _ = await passError { try await process.client(uid: 1).profiles(selection, options: Self.hostile) }
    }
    #expect(server.calls.count == 3)
    #expect(try await process.client(uid: 2).profiles(selection).state == .authenticated && server.calls.count == 4)
  }

  @Test("a cancelled request is no answer for the next caller, and its time counts for the interval")
  func abandoned() async throws {
    let server = server()
    let process = try server.process()
    server.on(Self.poll) { [clock = server.clock] _ throws(TransportError) in
      guard (try? await clock.sleep(for: .seconds(4))) != nil else {
        throw TransportError(code: .cancelled, outcome: .sentNoReply, detail: "cancelled")
      }
      return .profiles([:])
    }
    let task = Task { await passError { try await process.client().profiles(.code("C", wait: .zero)) } }
    #expect(await server.sleeps(.seconds(4)))
    task.cancel()
    #expect(await task.value?.kind == .cancelled)
    // The request ends after the call that it was for.
    let key = PassCodes.Key((process.point.provider as! AdobePassProvider).client, "C")
    #expect(await eventually { process.state.codes.entry(key, for: 1).last != nil })
    let next = await passError { try await process.client().profiles(.code("C", wait: .zero)) }
    #expect(next?.kind == .unreachable && next?.outcome == .sentNoReply && next?.isRetryable == true)
    #expect(server.calls.count == 1)
  }

  @Test("a code that Adobe calls wrong is wrong to its end, without another request (PO6, SE7)")
  func wrong() async throws {
    for (name, code) in [(Self.poll, "invalid_authentication_session"), ("GET sessions/C", "invalid_parameter_code")] {
      let server = PassServer()
      server.on(name, .enhanced(code, 400, "none"))
      server.on(name == Self.poll ? "GET sessions/C" : Self.poll, .profiles([:]))
      let client = try server.process().client()
      let first = await passError {
        _ = try await client.session(code: "C")
        _ = try await client.profiles(.code("C", wait: .seconds(600)))
      }
      let polls = server.calls(to: Self.poll).count
      server.clock.advance(by: .seconds(60))
      let second = await passError { try await client.profiles(.code("C", wait: .seconds(600))) }
      for error in [first, second] {
        #expect(error?.kind == .rejected && error?.next == .newCode && error?.status?.code == code)
        #expect(error?.isRetryable == false)
      }
      #expect(server.calls(to: Self.poll).count == polls)
      // A later session may have the same code.
      server.on("POST sessions", .session("resume", "direct", #""code":"C""#))
      server.on(Self.poll, .profiles([:]))
      _ = try await client.createSession()
      #expect(try await client.profiles(.code("C", wait: .zero)).state == .pending)
    }
  }

  @Test("429, 5xx and no answer do not end the wait, and are not more frequent than the interval (PO7, PO8)")
  func faults() async throws {
    let server = server()
    let process = try server.process()
    server.onReset(
      Self.poll, .status(429, ("Content-Type", "text/html")), .status(503), nil,
      .enhanced("internal_server_error", 500, "none"), .profiles(["m": server.time(6000)]))
    let profiles = try await server.driven { try await process.client().profiles(.code("C", wait: .seconds(600))) }
    #expect(profiles.state == .authenticated)
    let times = server.calls.map(\.at)
    #expect(times.count == 5)
    for (first, second) in zip(times, times.dropFirst()) { #expect(second - first >= .seconds(5)) }
  }

  @Test("Retry-After delays the next request, and another caller gets the rest of it")
  func retryAfter() async throws {
    let server = server()
    let process = try server.process()
    server.on(Self.poll, .status(429, ("Retry-After", "60")), .profiles([:]))
    let first = await passError { try await process.client().profiles(.code("C", wait: .zero)) }
    #expect(first?.status?.code == "too_many_requests" && first?.retryAfter == .seconds(60))
    server.clock.advance(by: .seconds(20))
    let second = await passError { try await process.client().profiles(.code("C", wait: .zero)) }
    #expect(second?.retryAfter == .seconds(40) && second?.isRetryable == true && server.calls.count == 1)
    server.clock.advance(by: .seconds(40))
    #expect(try await process.client().profiles(.code("C", wait: .zero)).state == .pending)
  }

  @Test("the pause of one user and address delays another's look at the same code")
  func foreignPause() async throws {
    let server = server()
    let process = try server.process(rateLimit: DecisionRateLimiter(perSecond: 100, burst: 100))
    server.on(Self.poll, .status(429, ("Retry-After", "600")), .profiles([:]))
    let selection = PassProfileSelection.code("C", wait: .zero)
    let options = PassOptions(device: PassDevice(address: "192.0.2.1"))
    let rejected = await passError { try await process.client().profiles(selection, options: options) }
    #expect(rejected?.retryAfter == .seconds(600))
    server.clock.advance(by: .seconds(5))
    let paused = await passError { try await process.client().profiles(selection, options: options) }
    #expect(paused?.status?.code == "too_many_requests" && paused?.outcome == .notSent && server.calls.count == 1)
    #expect(paused?.retryAfter == .seconds(595))
    server.clock.advance(by: .seconds(5))
    #expect(try await process.client(uid: 2).profiles(selection).state == .pending && server.calls.count == 2)
  }

  @Test("at the end of the wait: pending after any good answer, else the last fault")
  func outcome() async throws {
    for (answers, isPending) in [([HTTPResponse.profiles([:]), .status(503)], true), ([.status(503)], false)] {
      let server = server()
      let process = try server.process()
      if answers.count == 2 { server.on(Self.poll, answers[0], answers[1]) } else { server.on(Self.poll, answers[0]) }
      let result = Locked<PassProfiles?>(nil)
      let error = await passError {
        try await server.driven {
          let profiles = try await process.client().profiles(.code("C", wait: .seconds(12)))
          result.withLock { $0 = profiles }
        }
      }
      #expect(result.withLock { $0?.state } == (isPending ? .pending : nil))
      #expect(error?.kind == (isPending ? nil : .unreachable))
      #expect(server.calls.count == 3)
    }
  }

  @Test("the caller's deadline ends the wait, sleeping and during a request")
  func deadline() async throws {
    let server = server()
    let process = try server.process()
    async let sleeping = passError {
      try await process.client(within: .seconds(8)).profiles(.code("C", wait: .seconds(600)))
    }
    #expect(await server.sleeps(.seconds(5)))
    server.clock.advance(by: .seconds(5))
    // The deadline is three seconds away at once; the second request has to end first.
    let key = PassCodes.Key((process.point.provider as! AdobePassProvider).client, "C")
    let next = server.clock.monotonicNow + .seconds(5)
    #expect(await eventually { process.state.codes.entry(key, for: 1).last?.next == next })
    #expect(await server.sleeps(.seconds(3)))
    server.clock.advance(by: .seconds(3))
    #expect(await sleeping?.kind == .deadlineExceeded)
    let gate = Gate()
    server.on(Self.poll) { _ in
      await gate.pass()
      return .profiles([:])
    }
    server.clock.advance(by: .seconds(5))
    async let polling = passError {
      try await process.client(within: .seconds(2)).profiles(.code("C", wait: .seconds(600)))
    }
    #expect(await eventually { gate.waiterCount == 1 && server.clock.remainders.contains(.seconds(2)) })
    server.clock.advance(by: .seconds(2))
    #expect(await polling?.kind == .deadlineExceeded)
    gate.open()
  }

  @Test("a rejected access token is replaced, and the wait goes on (PO9)")
  func rejectedToken() async throws {
    let server = server()
    let process = try server.process()
    server.on(Self.poll, .status(401), .profiles([:]), .profiles(["m": server.time(6000)]))
    let profiles = try await server.driven { try await process.client().profiles(.code("C", wait: .seconds(600))) }
    #expect(profiles.state == .authenticated && server.tokens.current == 2 && server.calls.count == 3)
  }

  @Test("a code of before a restart is one like any, for half an hour from the first look (PO10)")
  func restart() async throws {
    let server = server()
    _ = try await server.process().client().createSession()
    let later = try server.process()
    #expect(try await later.client().profiles(.code("C", wait: .zero)).state == .pending)
    server.clock.advance(by: .seconds(1799))
    #expect(try await later.client().profiles(.code("C", wait: .zero)).state == .pending)
    server.clock.advance(by: .seconds(1))
    #expect(try await later.client().profiles(.code("C", wait: .zero)).state == .expired)
    #expect(server.registrations.current == 1 && server.tokens.current == 1)
  }

  @Test("large answers of one user take no more memory than a bound, and nothing of another user's codes")
  func memory() throws {
    let clock = ManualClock()
    let process = try server().process()
    let client = (process.point.provider as! AdobePassProvider).client
    let codes = PassCodes(clock: clock)
    func profile(_ bytes: Int) -> PassCodes.Answer {
      .profiles([
        PassProfile(
          mvpd: "m", type: "regular", issuer: "m", notBefore: nil, expiresAt: clock.wallNow,
          attributes: ["a": .string(String(repeating: "x", count: bytes))], endsAt: clock.wallNow)
      ])
    }
    func has(_ code: String, _ uid: UInt32) -> Bool { codes.entry(.init(client, code), for: uid).last != nil }
    codes.note(
      profile(10), about: .init(client, "A"), for: .seconds(5),
      of: PassCodes.Poller(uid: 1, device: "", isSecondScreen: false))
    for number in 0..<8 {
      codes.note(
        profile(8 << 20), about: .init(client, "B\(number)"), for: .seconds(5),
        of: PassCodes.Poller(uid: 2, device: "", isSecondScreen: false))
    }
    #expect(has("A", 1) && has("B7", 2) && has("B5", 2) && !has("B0", 2) && !has("B4", 2))
  }

  @Test("a used-up TempPass is a state of its own (TP2)")
  func usedUp() async throws {
    let server = server()
    server.on(Self.poll, .enhanced("temporary_access_duration_limit_exceeded", 403, "none"))
    let profiles = try await server.process().client().profiles(.code("C", wait: .seconds(600)))
    #expect(profiles.state == .temporaryAccessUsedUp)
    #expect(profiles.error?.code == "temporary_access_duration_limit_exceeded" && server.calls.count == 1)
  }
}
