import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternJSONRPC

/// Answers by the method's name: `long` and `short` with work, `at once` with a long text without.
private final class Dispatcher: CallDispatcher {
  static let long = JSONValue.string(String(repeating: "x", count: JSONRPCConnection.longText))

  func dispatch(_ call: Call) -> Dispatch {
    switch call.method {
    case "long": .work { .success(.value(Self.long)) }
    case "short": .work { .success(.value("done")) }
    default: .answered(.success(.value(Self.long)))
    }
  }

  func rejectedUnread() {}
}

@Suite("Long texts")
struct LongTextTests {
  /// Where connections are served, and where long texts are written.
  private let loop = ManualExecutor()
  private let aside = ManualExecutor()
  /// The lengths of what was written, and `close`.
  private let events = Locked<[String]>([])
  private let pauses = Locked(0)

  private func conversation() -> JSONRPCConnection {
    let (events, pauses, aside) = (events, pauses, aside)
    var output = JSONRPCConnection.Output(
      executor: loop, pause: { begins in pauses.withLock { $0 += begins ? 1 : -1 } },
      write: { bytes in events.withLock { $0.append(bytes.count >= JSONRPCConnection.longText ? "long" : "short") } },
      close: { events.withLock { $0.append("close") } })
    output.longWork = { aside }
    return JSONRPCConnection(limits: ConversationLimits(), dispatcher: Dispatcher(), output: output)
  }

  private static func send(_ text: String, to conversation: JSONRPCConnection) {
    Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
  }

  private static func call(_ method: String, _ id: Int = 1, params: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
  }

  private func runLoop() { while loop.runOne() {} }

  private func runAside() {
    while aside.runOne() {}
    runLoop()
  }

  private var written: [String] { events.withLock { $0 } }

  @Test("a long answer is written on the event loop, where everybody else waits for it")
  func longAnswer() {
    let conversation = conversation()
    Self.send(Self.call("long"), to: conversation)
    runLoop()
    #expect(written.isEmpty && aside.count == 1)
    #expect(pauses.withLock { $0 } == 1)
    runAside()
    #expect(written == ["long"])
    #expect(pauses.withLock { $0 } == 0)
    #expect(conversation.inFlightCount == 0)
  }

  @Test("a long answer without work is written on the event loop")
  func atOnce() {
    let conversation = conversation()
    Self.send(Self.call("at once"), to: conversation)
    #expect(written.isEmpty)
    runAside()
    #expect(written == ["long"])
  }

  @Test("a short answer takes the long way")
  func shortAnswer() {
    let conversation = conversation()
    Self.send(Self.call("short"), to: conversation)
    runLoop()
    #expect(written == ["short"] && aside.count == 0)
  }

  @Test("short answers wait behind a long one that is being written")
  func overtaking() {
    let conversation = conversation()
    Self.send(Self.call("at once", 1), to: conversation)
    Self.send(Self.call("short", 2), to: conversation)
    runLoop()
    #expect(written == ["short"])
    runAside()
    #expect(written == ["short", "long"])
  }

  @Test("the connection is closed before a long answer has been written")
  func closing() {
    let conversation = conversation()
    Self.send(Self.call("at once", 1), to: conversation)
    Self.send(Self.call("short", 2), to: conversation)
    conversation.endInput()
    runLoop()
    #expect(written == ["short"])
    runAside()
    #expect(written == ["short", "long", "close"])
  }

  @Test("a batch with a long answer is written on the event loop when a short one comes last")
  func batch() {
    let conversation = conversation()
    Self.send("[\(Self.call("at once", 1)),\(Self.call("short", 2))]", to: conversation)
    runLoop()
    #expect(written.isEmpty)
    runAside()
    #expect(written == ["long"])
  }

  @Test("a call that came in a long text is carried out on the event loop")
  func longCall() {
    let conversation = conversation()
    let padding = #"{"a":"\#(String(repeating: "x", count: JSONRPCConnection.longText))"}"#
    Self.send(Self.call("short", params: padding), to: conversation)
    runLoop()
    #expect(written.isEmpty && aside.count == 1)
    runAside()
    #expect(written == ["short"])
  }

  @Test("what is looked at to tell a long text grows with the text")
  func weight() {
    let many = JSONValue.array(Array(repeating: .array([1, 2, 3]), count: 1000))
    #expect(many.weight(upTo: 100) < 200)
    #expect(many.weight(upTo: .max) > 10_000)
    #expect(JSONValue.object(["name": "text"]).weight(upTo: .max) == 2 + 8 + 6)
  }
}
