import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Steps that are answered without the user: each once, waits as often as they come, and not before their delay.
@Suite struct JourneyAnswersTests {
  private static func wait(_ milliseconds: String) -> String {
    #"{"type":"PollingWaitCallback","output":[{"name":"waitTime","value":\#(milliseconds)}],"input":[]}"#
  }

  private static let answers: JSONObject = ["NameCallback": "alice", "PasswordCallback": "wrong"]

  @Test("A wrong password is tried again and again where name and password have pages of their own")
  func pagesInTurn() async throws {
    let bench = try JourneyBench()
    let name = JourneyBench.callback("NameCallback", prompt: "User")
    for _ in 0..<20 {
      bench.thenPage(name)
      bench.thenPage(JourneyBench.password)
    }
    let step = try #require(try await bench.login(answers: Self.answers).step)
    #expect(step.callbacks.first?["type"] == "NameCallback" && bench.submissions.count == 3)
    // And from a step that the caller answers itself.
    let next = try #require(try await bench.resume(step, answers: Self.answers).step)
    #expect(next.callbacks.first?["type"] == "NameCallback" && bench.submissions.count == 5)
  }

  @Test("A journey that never ends is walked without end")
  func rounds() async throws {
    let bench = try JourneyBench()
    for number in 0..<100 { bench.thenPage(JourneyBench.callback("NameCallback", prompt: "Question \(number)")) }
    let step = try await bench.login(answers: Self.answers).step
    #expect(step != nil && bench.submissions.count <= 65)
    for _ in 0..<100 { bench.thenPage(Self.wait("0")) }
    let before = bench.submissions.count
    _ = try await bench.resume(#require(step), answers: Self.answers)
    #expect(bench.submissions.count - before <= 64)
  }

  @Test(
    "The access manager gets a request before the time it named, or a hostile delay is observed",
    arguments: [
      (#""8000""#, 8.0), ("250", 0.25), (#""-5""#, 0), (#""soon""#, 0), ("1e300", 0), (#""9223372036854775807""#, 60),
      (#""99999999999999999999""#, 0),
    ])
  func polling(text: String, seconds: Double) async throws {
    let bench = try JourneyBench()
    bench.thenPage(Self.wait(text))
    let step = try #require(try await bench.login("Push").step)
    bench.thenPage()
    let began = bench.grants.clock.monotonicNow
    let call = Task { try await bench.resume(step.continuation, nil) }
    if seconds > 0 {
      #expect(await eventually { bench.grants.clock.sleeperCount > 0 })
      bench.grants.clock.advance(by: .milliseconds(Int64(seconds * 1000) - 1))
      for _ in 0..<50 { await Task.yield() }
      #expect(bench.submissions.count == 1, "too early")
      bench.grants.clock.advance(by: .milliseconds(1))
    }
    #expect(try await call.value.step != nil)
    #expect(bench.grants.clock.monotonicNow - began == .milliseconds(Int64(seconds * 1000)))
    #expect(bench.submissions.count == 2)
  }

  @Test("A call without a deadline waits for the user's other device for an hour instead of handing the step back")
  func patience() async throws {
    let bench = try JourneyBench()
    let clock = bench.grants.clock
    for _ in 0..<10 { bench.thenPage(Self.wait("50000")) }
    let began = clock.monotonicNow
    let call = Task { try await bench.login(answers: Self.answers) }
    for _ in 0..<3 {
      #expect(await eventually { clock.sleeperCount > 0 })
      clock.advance(by: .seconds(50))
    }
    #expect(try await call.value.step?.callbacks.first?["type"] == "PollingWaitCallback")
    #expect(clock.monotonicNow - began == .seconds(150) && bench.submissions.count == 4)
  }

  @Test("A wait that is cancelled, or longer than the call, uses the continuation up or makes it last longer")
  func cutWaits() async throws {
    let bench = try JourneyBench()
    let clock = bench.grants.clock
    bench.thenPage(Self.wait("8000"))
    let step = try #require(try await bench.login("Push").step)
    let short = Deadline(in: .seconds(2), on: clock)
    #expect(
      await JourneyBench.word { try await bench.resume(step.continuation, nil, deadline: short) } == "deadline")
    let call = Task { await JourneyBench.word { try await bench.resume(step.continuation, nil) } }
    #expect(await eventually { clock.sleeperCount > 0 })
    #expect(await JourneyBench.word { try await bench.resume(step.continuation, nil) } == "unknown", "it is in use")
    clock.advance(by: .seconds(7))
    call.cancel()
    #expect(await call.value == "cancelled" && bench.submissions.count == 1)
    // It is valid again, for the stated time.
    clock.advance(by: .seconds(172))
    bench.thenPage(Self.wait("0"))
    #expect(await JourneyBench.word { try await bench.resume(step.continuation, nil) } == "callbacks")
    let second = try #require(
      try await {
        bench.thenPage(Self.wait("8000")); return try await bench.login()
      }().step)
    clock.advance(by: .seconds(100))
    bench.grants.answer(JourneyBench.authenticate) { _, _ throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
    }
    #expect(
      await JourneyBench.word { try await bench.resume(second.continuation, nil) } == "unreachable not_sent")
    clock.advance(by: .seconds(81))
    #expect(await JourneyBench.word { try await bench.resume(second.continuation, nil) } == "unknown")
  }

  @Test("An answer that fits a callback by number, name, id or text is not found, or fills another")
  func filling() async throws {
    let choice =
      #"{"type":"ChoiceCallback","_id":3,"output":[{"name":"prompt","value":"How"},{"name":"choices","value":["sms","app"]}],"input":[{"name":"IDToken1","value":0}]}"#
    let hidden =
      #"{"type":"HiddenValueCallback","output":[{"name":"id","value":"print"}],"input":[{"name":"IDToken2","value":"print"}]}"#
    let attribute =
      #"{"type":"StringAttributeInputCallback","output":[{"name":"name","value":"mail"}],"input":[{"name":"IDToken3","value":""},{"name":"IDToken3validateOnly","value":false}]}"#
    let bench = try JourneyBench()
    for answers in [
      ["ChoiceCallback": "app", "print": "p", "mail": "a@b"],
      ["3": 1, "IDToken2": "p", "StringAttributeInputCallback": ["IDToken3": "a@b"]],
    ] as [JSONObject] {
      bench.thenPage("\(choice),\(hidden),\(attribute)")
      bench.thenPage()
      _ = try await bench.login(answers: answers)
      let body = try JSONParser(maxDepth: 16).parse(bench.submissions.last?.body ?? [])
      let values = (body["callbacks"]?.arrayValue ?? []).map { $0["input"]?.arrayValue?.first?["value"] }
      #expect(values == [1, "p", "a@b"])
      let inputs = body["callbacks"]?.arrayValue?.last?["input"]?.arrayValue
      #expect(inputs?.last == ["name": "IDToken3validateOnly", "value": false])
    }
    let count = bench.submissions.count
    bench.thenPage("\(choice),\(hidden)")
    #expect(try await bench.login(answers: ["ChoiceCallback": "app"]).step?.callbacks.count == 2)
    #expect(bench.submissions.count == count + 1, "one without an answer leaves the page to the caller")
  }
}
