import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternJSONRPC

private final class Dispatcher: CallDispatcher {
  let methods = Locked<[String]>([])

  func dispatch(_ call: Call) -> Dispatch {
    methods.withLock { $0.append(call.method) }
    return .answered(.success(.value("done")))
  }

  func rejectedUnread() {}
}

@Suite("The members of a batch")
struct BatchSchedulingTests {
  private let executor = ManualExecutor()
  private let dispatcher = Dispatcher()
  private let written = Locked<[String]>([])

  private func conversation() -> JSONRPCConnection {
    let written = written
    return JSONRPCConnection(
      limits: ConversationLimits(), dispatcher: dispatcher,
      output: JSONRPCConnection.Output(
        executor: executor, write: { bytes in written.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } },
        close: {}))
  }

  private static func send(_ text: String, to conversation: JSONRPCConnection) {
    Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
  }

  private static func batch(_ count: Int) -> String {
    "[" + (0..<count).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"m\#($0)"}"# }.joined(separator: ",") + "]"
  }

  @Test("all members of a batch are scheduled as one, so that others wait for all of them")
  func members() {
    let conversation = conversation()
    Self.send(Self.batch(64), to: conversation)
    #expect(dispatcher.methods.withLock { $0 } == ["m0"])
    // A call of another connection is scheduled between two members on the loop that they share.
    for number in 1..<64 {
      #expect(written.withLock { $0.isEmpty })
      #expect(executor.runOne())
      #expect(dispatcher.methods.withLock { $0 }.last == "m\(number)")
    }
    #expect(!executor.runOne())
    let answers = written.withLock { $0 }
    #expect(answers.count == 1)
    let ids = (try? JSONParser().parse(answers.first ?? ""))?.arrayValue?.compactMap { $0["id"]?.integerValue }
    #expect(ids == Array(0..<64))
    #expect(conversation.inFlightCount == 0)
  }

  @Test("members that were cancelled meanwhile are still carried out")
  func ended() {
    let conversation = conversation()
    Self.send(Self.batch(10), to: conversation)
    #expect(executor.runOne())
    conversation.close()
    while executor.runOne() {}
    #expect(dispatcher.methods.withLock { $0 } == ["m0", "m1"])
    #expect(conversation.inFlightCount == 0)
  }
}
