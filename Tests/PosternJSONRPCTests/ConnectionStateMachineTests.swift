import PosternJSON
import PosternSupport
import Testing

@testable import PosternJSONRPC

/// The machine with its actions written down as text: `invoke:method`, `write:…`, `cancel`, `close`.
private struct Bench {
  var machine: ConnectionStateMachine
  var calls: [Call] = []
  private(set) var log: [String] = []
  private(set) var reportCount = 0
  /// The outcomes in the errors that were written, in order.
  private(set) var outcomes: [String] = []

  init(_ limits: ConversationLimits = ConversationLimits()) { machine = ConnectionStateMachine(limits: limits) }

  mutating func receive(_ text: String, sharesLine: Bool = false) {
    let parser = JSONParser(allowsNUL: true, allowsScalar: true)
    let parsed: Result<JSONTree, JSONParseError>
    do {
      parsed = .success(try parser.tree(of: Array(text.utf8)))
    } catch {
      parsed = .failure(error)
    }
    act { $0.receive(.text(parsed, sharesLine: sharesLine), &$1) }
  }

  mutating func complete(_ method: String, _ outcome: Result<RPCResult, RPCFault> = .success(.value("done"))) {
    guard let position = calls.firstIndex(where: { $0.method == method }) else { return }
    let call = calls.remove(at: position)
    act { $0.completed(call.key, with: outcome, &$1) }
  }

  mutating func act(_ event: (inout ConnectionStateMachine, inout [ConnectionStateMachine.Action]) -> Void) {
    var actions: [ConnectionStateMachine.Action] = []
    event(&machine, &actions)
    for action in actions {
      switch action {
      case .invoke(let call):
        calls.append(call)
        log.append("invoke:\(call.method)")
      case .cancel: log.append("cancel")
      case .rejectedUnread: log.append("unseen")
      case .rejectedMessage: reportCount += 1
      case .write(let text):
        text.withBytes { bytes in
          guard let json = try? JSONParser().parse(bytes) else { return }
          log.append(Self.short(json))
          if let outcome = json["error"]?["data"]?["outcome"]?.stringValue { outcomes.append(outcome) }
        }
      case .resolve(_, let result):
        log.append("resolve:\((try? result.get()).map { JSONWriter().string($0) } ?? "error")")
      case .close: log.append("close")
      }
    }
  }

  mutating func take() -> [String] {
    defer { log = [] }
    return log
  }

  private static func short(_ json: JSONValue) -> String {
    if let members = json.arrayValue { return "[" + members.map(short).joined(separator: " ") + "]" }
    let id = json["id"].map { JSONWriter().string($0) } ?? "-"
    if let code = json["error"]?["code"]?.integerValue { return "\(id):\(code)" }
    return "\(id):ok"
  }
}

@Suite("Session machine: the envelope rules of the wire contract")
struct ConnectionStateMachineTests {
  @Test(
    "each broken envelope gets its code, with the id where it can be determined",
    arguments: [
      ("{}", "null:-32600"), ("[]", "null:-32600"), ("1", "null:-32600"), (#""x""#, "null:-32600"),
      (#"{"jsonrpc":"2.0"}"#, "null:-32600"), (#"{"jsonrpc":"2.0","id":7}"#, "7:-32600"),
      (#"{"jsonrpc":"1.0","id":7,"method":"m"}"#, "7:-32600"), (#"{"id":7,"method":"m"}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":[],"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":1e2,"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":false,"method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":2.0,"id":7,"method":"m"}"#, "7:-32600"), (#"{"jsonrpc":null,"id":7,"method":"m"}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"method":null}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"method":["m"]}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"method":"m","params":[]}"#, "7:-32602"),
      (#"{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"method":"m","params":true}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":"a\u0000","method":"m"}"#, "null:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"method":1}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"method":"m\u0000"}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#, "7:-32602"),
      (#"{"jsonrpc":"2.0","id":7,"method":"m","params":1}"#, "7:-32600"),
      (#"{"jsonrpc":"2.0","id":7,"id":8,"method":"m"}"#, "null:-32700"), (#"{"jsonrpc":"#, "null:-32700"),
      (#"[1,{}]"#, "[null:-32600 null:-32600]"), (#"[[]]"#, "[null:-32600]"),
    ])
  func brokenEnvelopes(text: String, expected: String) {
    var bench = Bench()
    bench.receive(text)
    #expect(bench.take() == [expected])
  }

  @Test(
    "ids are echoed exactly, with a result to be written and with one that has been",
    arguments: [
      "0", "1", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", #""""#, #""0""#, #""null""#,
      #""é""#,
      #""ü中😀""#, #""\"\\""#, "\"\(String(repeating: "x", count: 1000))\"",
    ], [true, false])
  func ids(id: String, isWritten: Bool) {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":\#(id),"method":"m"}"#)
    bench.complete("m", .success(isWritten ? .text(JSONText(["a": 1])) : .value(["a": 1])))
    #expect(bench.take() == ["invoke:m", "\(id):ok"])
  }

  @Test("null params and absent params are the same", arguments: [#","params":null"#, "", #","params":{}"#])
  func noParams(params: String) {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"m"\#(params)}"#)
    #expect(bench.calls.first?.params?.value.objectValue?.isEmpty ?? true)
    #expect(bench.take() == ["invoke:m"])
  }

  @Test("notifications are carried out and never answered, not even with an error")
  func notifications() {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","method":"m"}"#)
    bench.complete("m", .failure(RPCFault(.methodNotFound)))
    #expect(bench.take() == ["invoke:m"])
  }

  @Test(
    "a notification is not answered whatever its params are, alone and in a batch; what is none is",
    arguments: ["[1]", "[]", "1", #""text""#, #"{"unknown":1}"#], ["$/cancelRequest", "m"])
  func notificationsOfEveryKind(params: String, method: String) {
    let text = #"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"#
    var bench = Bench()
    bench.receive(text)
    bench.receive("[\(text),\(text)]")
    for _ in 0..<3 { bench.complete("m", .failure(RPCFault(.methodNotFound))) }
    #expect(bench.take().allSatisfy { $0 == "invoke:m" })
    bench.receive(#"[\#(text),{"jsonrpc":"2.0","params":\#(params)}]"#)
    bench.complete("m")
    #expect(bench.take().filter { $0 != "invoke:m" } == ["[null:-32600]"])
  }

  @Test("a batch is answered as one array in the order of its members, whatever the order of completion")
  func batch() {
    var bench = Bench()
    bench.receive(
      #"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"n"},7,{"jsonrpc":"2.0","id":2,"method":"b"}]"#
    )
    bench.complete("b")
    #expect(bench.take() == ["invoke:a", "invoke:n", "invoke:b"])
    bench.complete("a")
    #expect(bench.take() == ["[1:ok null:-32600 2:ok]"])
  }

  @Test("a batch of notifications answers nothing; one over the limit is rejected whole")
  func batchEdges() {
    var bench = Bench(ConversationLimits(batch: 2))
    bench.receive(#"[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","method":"o"}]"#)
    bench.complete("n")
    bench.complete("o")
    #expect(bench.take() == ["invoke:n", "invoke:o"])
    bench.receive(#"[{"jsonrpc":"2.0","method":"n"},1,1]"#)
    #expect(bench.take() == ["null:-32010"])
  }

  @Test("requests over the in-flight limit are rejected at once, and capacity comes back")
  func inFlightLimit() {
    var bench = Bench(ConversationLimits(inFlight: 1))
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    bench.receive(#"[{"jsonrpc":"2.0","id":2,"method":"b"},{"jsonrpc":"2.0","method":"n"}]"#)
    #expect(bench.take() == ["invoke:a", "unseen", "unseen", "[2:-32009]"])
    bench.complete("a")
    bench.receive(#"{"jsonrpc":"2.0","id":3,"method":"c"}"#)
    #expect(bench.take() == ["1:ok", "invoke:c"])
  }

  @Test("cancel answers once with -32800; a completion that lost the race writes nothing; unknown ids are ignored")
  func cancel() {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    bench.receive(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"1"}}"#)
    #expect(bench.take() == ["invoke:a"])
    bench.receive(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#)
    #expect(bench.take() == ["cancel", "1:-32800"])
    bench.receive(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#)
    bench.complete("a")
    bench.receive(#"{"jsonrpc":"2.0","method":"$/cancelRequest"}"#)
    #expect(bench.take() == [])
  }

  @Test("a cancelled call counts towards the limit until it has really ended")
  func cancelledStillCounts() {
    var bench = Bench(ConversationLimits(inFlight: 1))
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    bench.receive(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#)
    bench.receive(#"{"jsonrpc":"2.0","id":2,"method":"b"}"#)
    #expect(bench.take() == ["invoke:a", "cancel", "1:-32800", "unseen", "2:-32009"])
    bench.complete("a")
    bench.receive(#"{"jsonrpc":"2.0","id":3,"method":"c"}"#)
    #expect(bench.take() == ["invoke:c"])
  }

  @Test("ids are compared by their bytes: a cancel of a look-alike cancels nothing")
  func cancelOfLookAlike() {
    var bench = Bench()
    bench.receive("{\"jsonrpc\":\"2.0\",\"id\":\"\u{E9}\",\"method\":\"a\"}")
    bench.receive("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":\"e\u{301}\"}}")
    #expect(bench.take() == ["invoke:a"])
  }

  @Test("a cancel in the same batch as its request works")
  func cancelInBatch() {
    var bench = Bench()
    bench.receive(
      #"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]"#)
    #expect(bench.take() == ["invoke:a", "cancel", "[1:-32800]"])
  }
}

@Suite("Session machine: malformed input and ends")
struct ConnectionStateMachineEndTests {
  @Test("a rejected text spoils what shares its line, and only that")
  func spoiledLine() {
    var bench = Bench()
    bench.receive(#"{"a":1,"a":2}"#)
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, sharesLine: true)
    bench.act { $0.receive(.malformed("x", sharesLine: true), &$1) }
    #expect(bench.take() == ["null:-32700"])
    bench.receive(#"{"jsonrpc":"2.0","id":2,"method":"b"}"#)
    #expect(bench.take() == ["invoke:b"])
  }

  @Test("the sixteenth malformed text in a row ends the connection; a good one in between resets the count")
  func sixteen() {
    var bench = Bench()
    for _ in 0..<15 { bench.receive("{]") }
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    for _ in 0..<15 { bench.receive("{]") }
    #expect(!bench.take().contains("close"))
    bench.receive("{]")
    #expect(bench.take() == ["null:-32700", "cancel", "close"])
    bench.receive(#"{"jsonrpc":"2.0","id":2,"method":"b"}"#)
    bench.complete("a")
    #expect(bench.take() == [])
  }

  @Test("of each kind of error in messages only the first one of a connection is reported, also after good ones")
  func reportedOnce() {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    #expect(bench.reportCount == 0)
    for _ in 0..<3 { bench.receive("{]") }
    bench.receive(#"{"jsonrpc":"2.0","id":2,"method":"b"}"#)
    bench.act { $0.receive(.violation("x"), &$1) }
    #expect(bench.reportCount == 1)
  }

  @Test("a message that is no request is reported, a call is not")
  func reportedKinds() {
    var bench = Bench(ConversationLimits(inFlight: 1, batch: 1))
    for text in ["[]", "[1]", "[1,2]", #"{"jsonrpc":"2.0","id":1,"method":"a"}"#] { bench.receive(text) }
    #expect(bench.reportCount == 2)
    bench.act { $0.receive(.oversized(limit: 1, sharesLine: false), &$1) }
    bench.act { $0.receive(.tooComplex(limit: 1, sharesLine: false), &$1) }
    #expect(bench.reportCount == 4)
  }

  @Test("after a half-close pending answers are written, then the connection closes")
  func halfClose() {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    bench.receive(#"{"jsonrpc":"2.0","method":"n"}"#)
    bench.act { $0.endInput(&$1) }
    bench.complete("a")
    #expect(bench.take() == ["invoke:a", "invoke:n", "1:ok"])
    bench.complete("n")
    #expect(bench.take() == ["close"])
  }

  @Test("a half-close with nothing pending closes at once")
  func idleHalfClose() {
    var bench = Bench()
    bench.act { $0.endInput(&$1) }
    #expect(bench.take() == ["close"])
  }

  @Test("a lost connection cancels what it alone owned and writes nothing more")
  func lost() {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    bench.act { $0.connectionClosed(&$1) }
    bench.complete("a")
    #expect(bench.take() == ["invoke:a", "cancel"])
  }

  @Test("draining rejects new requests with -32021, finishes the pending ones, then closes")
  func drain() {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    bench.act { $0.drain(&$1) }
    bench.receive(#"{"jsonrpc":"2.0","id":2,"method":"b"}"#)
    #expect(bench.take() == ["invoke:a", "2:-32021"])
    // Clients send it to the successor, whatever it does: a rejected call must be reported as not sent.
    #expect(bench.outcomes == ["not_sent"])
    bench.complete("a")
    #expect(bench.take() == ["1:ok", "close"])
  }

  @Test("when the time to drain is over every pending call is answered once, batches too, and what ends later is not")
  func finish() {
    var bench = Bench()
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    bench.receive(#"[{"jsonrpc":"2.0","id":2,"method":"b"},{"jsonrpc":"2.0","id":3,"method":"c"}]"#)
    bench.receive(#"{"jsonrpc":"2.0","method":"d"}"#)
    bench.complete("b")
    bench.act { $0.drain(&$1) }
    _ = bench.take()
    bench.act { $0.finish(&$1) }
    #expect(bench.take() == ["cancel", "1:-32021", "cancel", "[2:ok 3:-32021]", "cancel", "close"])
    bench.complete("a")
    bench.complete("c")
    bench.act { $0.finish(&$1) }
    bench.receive(#"{"jsonrpc":"2.0","id":4,"method":"e"}"#)
    #expect(bench.take().isEmpty)
  }

  @Test("an oversized message is named with the limit and costs nothing else")
  func oversized() {
    var bench = Bench()
    bench.act { $0.receive(.oversized(limit: 10, sharesLine: false), &$1) }
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    #expect(bench.take() == ["null:-32007", "invoke:a"])
  }

  @Test("a message of too many values is named with the limit and costs nothing else")
  func tooComplex() {
    var bench = Bench()
    bench.act { $0.receive(.tooComplex(limit: 10, sharesLine: false), &$1) }
    bench.receive(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
    #expect(bench.take() == ["null:-32025", "invoke:a"])
  }

  @Test(
    "a notification is not answered, whatever its params are, alone and in a batch",
    arguments: ["[1]", "[]", "1", #""text""#, "true"], ["$/cancelRequest", "a"])
  func invalidNotification(params: String, method: String) {
    var bench = Bench()
    let text = #"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"#
    bench.receive(text)
    bench.receive("[\(text),\(text)]")
    #expect(bench.take().isEmpty)
    bench.receive(#"[\#(text),{"jsonrpc":"2.0","id":1,"method":"b","params":\#(params)},{"jsonrpc":"2.0"}]"#)
    let code = params.hasPrefix("[") ? -32602 : -32600
    #expect(bench.take() == ["[1:\(code) null:-32600]"])
  }

  @Test("a violation is answered once and ends the connection")
  func violation() {
    var bench = Bench()
    bench.act { $0.receive(.violation("GET is HTTP"), &$1) }
    #expect(bench.take() == ["null:-32700", "close"])
  }

  @Test(
    "requests of ours are matched with their answers, rejected when the caller cannot answer, and given up at the end")
  func outgoing() {
    var bench = Bench(ConversationLimits(outgoing: 2))
    var keys: [UInt64?] = []
    for _ in 0..<3 { bench.act { keys.append($0.request("delegate.x", [:], &$1)) } }
    #expect(keys.map { $0 != nil } == [true, true, false])
    #expect(bench.take() == [#""postern-1":ok"#, #""postern-2":ok"#])
    bench.receive(#"{"jsonrpc":"2.0","id":"postern-1","result":{"refresh":true}}"#)
    bench.receive(#"{"jsonrpc":"2.0","id":"postern-1","result":1}"#)
    bench.receive(#"{"jsonrpc":"2.0","id":"stranger","result":1}"#)
    #expect(bench.take() == [#"resolve:{"refresh":true}"#])
    bench.act { $0.endInput(&$1) }
    #expect(bench.take() == ["resolve:error", "close"])
  }
}
