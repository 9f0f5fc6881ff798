import Glibc
import PosternJSON
import PosternSupport
import Testing

@testable import PosternJSONRPC

/// Each call of `take` claims one descriptor.
private final class Dispatcher: CallDispatcher {
  let claimed = Locked<[String: [CInt]]>([:])

  func dispatch(_ call: Call) -> Dispatch {
    claimed.withLock { $0[call.id.map { "\($0.jsonValue)" } ?? "none"] = call.descriptors.map(\.number) }
    return .answered(.success(.value("done")))
  }

  func descriptorCount(of method: String, _ params: JSONTree?) -> Int { method == "take" ? 1 : 0 }

  func rejectedUnread() {}
}

@Suite("The descriptors of calls")
struct DescriptorClaimTests {
  private let dispatcher = Dispatcher()
  private let waiting = Locked<[PassedDescriptor]>([])

  /// A conversation whose peer has passed so many descriptors, and their numbers.
  private func conversation(_ count: Int) -> (JSONRPCConnection, [CInt]) {
    var numbers = (0..<count).map { _ in open("/dev/null", O_RDONLY) }
    let descriptors = PassedDescriptors(limit: 100)
    let taken = numbers.withUnsafeMutableBufferPointer { descriptors.take(UnsafeBufferPointer($0), of: 1) } ?? []
    let waiting = waiting
    waiting.withLock { $0 = taken }
    var output = JSONRPCConnection.Output(write: { _ in }, close: {})
    output.descriptors = JSONRPCConnection.Output.Descriptors(
      areThere: { waiting.withLock { !$0.isEmpty } },
      take: { count in
        waiting.withLock { waiting in
          defer { waiting.removeFirst(min(count, waiting.count)) }
          return Array(waiting.prefix(count))
        }
      }, send: { _, _, _ in })
    let limits = ConversationLimits(inFlight: 100, batch: 8, messageBytes: 1 << 20)
    return (JSONRPCConnection(limits: limits, dispatcher: dispatcher, output: output), numbers)
  }

  private func send(_ text: String, to conversation: JSONRPCConnection) {
    Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
  }

  private func call(_ id: Int, _ method: String, version: String = "2.0") -> String {
    #"{"jsonrpc":"\#(version)","id":\#(id),"method":"\#(method)"}"#
  }

  @Test("a call gets another one's descriptor, or the claim of a rejected call goes to the next")
  func order() {
    let (conversation, numbers) = conversation(4)
    let batch = [call(1, "take"), call(2, "other"), call(3, "take", version: "1.0"), call(4, "take")]
    send("[" + batch.joined(separator: ",") + "]", to: conversation)
    send(call(5, "take"), to: conversation)
    send(call(6, "take"), to: conversation)
    let claimed = dispatcher.claimed.withLock { $0 }
    #expect(claimed.count == 5)
    #expect(Set(claimed.values) == [[numbers[0]], [], [numbers[2]], [numbers[3]]])
    #expect(claimed.values.count { $0.isEmpty } == 2)
  }

  @Test("after a text that cannot be read the next call takes a descriptor that may be another call's")
  func malformed() {
    let (conversation, _) = conversation(2)
    send("{", to: conversation)
    #expect(waiting.withLock { $0.isEmpty })
    send(call(1, "take"), to: conversation)
    #expect(dispatcher.claimed.withLock { Array($0.values) } == [[]])
  }

  @Test("a large call that would be rejected unread leaves its descriptor to the next")
  func unread() {
    let (conversation, numbers) = conversation(2)
    let padding = String(repeating: "x", count: EnvelopeOutline.threshold)
    send(#"{"jsonrpc":"2.0","id":1,"method":"take","params":{"x":"\#(padding)"}}"#, to: conversation)
    send(call(2, "take"), to: conversation)
    #expect(Set(dispatcher.claimed.withLock { $0.values }) == Set(numbers.map { [$0] }))
  }
}

/// Answers `pass` with a descriptor, each by a task of its own.
private struct PassingDispatcher: CallDispatcher {
  let passed: PassedDescriptors
  /// The numbers of descriptors that could not be passed.
  let takenBack = Locked<[CInt]>([])

  func dispatch(_ call: Call) -> Dispatch {
    guard call.method == "pass" else { return .answered(.success(.value("done"))) }
    return .work { [passed] in
      let number = open("/dev/null", O_RDONLY)
      guard let descriptor = [number].withUnsafeBufferPointer({ passed.take($0, of: 1) })?.first else {
        return .failure(RPCFault(.internalError))
      }
      let passed = PassedResult(descriptor) { [takenBack] in
        takenBack.withLock { $0.append(number) }
        return RPCFault(.overloaded)
      }
      return .success(.passing(.integer(Int64(number)), passed))
    }
  }

  func rejectedUnread() {}
}

@Suite("The descriptors of answers")
struct AnswerDescriptorTests {
  private struct Sent: Sendable {
    let json: JSONValue
    let descriptors: [CInt]
  }

  /// Sends `texts`, and waits for so many texts from the conversation.
  private func answers(_ texts: [String], _ count: Int) async throws -> [Sent] {
    let (stream, continuation) = AsyncStream.makeStream(of: Sent.self)
    @Sendable func add(_ bytes: UnsafeRawBufferPointer, _ descriptors: [PassedDescriptor]) {
      let parser = JSONParser(maxBytes: 1 << 20, maxDepth: 8)
      let json = (try? parser.parse(bytes)) ?? .null
      continuation.yield(Sent(json: json, descriptors: descriptors.map(\.number)))
    }
    var output = JSONRPCConnection.Output(write: { add($0, []) }, close: {})
    output.descriptors = JSONRPCConnection.Output.Descriptors(
      areThere: { false }, take: { _ in [] }, send: { bytes, passed, _ in add(bytes, passed) })
    let limits = ConversationLimits(inFlight: 100, batch: 8, messageBytes: 1 << 20)
    let conversation = JSONRPCConnection(
      limits: limits, dispatcher: PassingDispatcher(passed: PassedDescriptors(limit: 100)), output: output)
    for text in texts { Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) } }
    var sent: [Sent] = []
    for await text in stream {
      sent.append(text)
      if sent.count == count { break }
    }
    return sent
  }

  @Test("a descriptor goes with another answer than its own, or in another order than the answers of a batch")
  func order() async throws {
    let call = { (id: Int, method: String) in #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)"}"# }
    let batch = "[" + [call(1, "pass"), call(2, "other"), call(3, "pass")].joined(separator: ",") + "]"
    let sent = try await answers([call(9, "other"), batch, call(8, "pass")], 3)
    for text in sent {
      let members = if case .array(let members) = text.json { members } else { [text.json] }
      #expect(members.compactMap { $0["result"]?.integerValue } == text.descriptors.map { Int64($0) })
    }
    #expect(sent.map(\.descriptors.count).sorted() == [0, 1, 2])
  }

  // An answer of a batch that promises a descriptor which never comes, or an error for an answer without one.
  @Test(
    "where descriptors cannot be passed, errors stand for the answers that they belong to", arguments: [true, false])
  func notPassed(isThereATransport: Bool) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: JSONValue.self)
    @Sendable func add(_ bytes: [UInt8]?) {
      continuation.yield(bytes.flatMap { try? JSONParser(maxBytes: 1 << 20, maxDepth: 8).parse($0) } ?? .null)
    }
    var output = JSONRPCConnection.Output(write: { add(Array($0)) }, close: {})
    if isThereATransport {
      output.descriptors = JSONRPCConnection.Output.Descriptors(
        areThere: { false }, take: { _ in [] }, send: { _, _, otherwise in add(otherwise()) })
    }
    let dispatcher = PassingDispatcher(passed: PassedDescriptors(limit: 100))
    let conversation = JSONRPCConnection(
      limits: ConversationLimits(inFlight: 100, batch: 8, messageBytes: 1 << 20), dispatcher: dispatcher, output: output
    )
    let text =
      #"[{"jsonrpc":"2.0","id":1,"method":"pass"},{"jsonrpc":"2.0","id":2,"method":"other"},{"jsonrpc":"2.0","id":3,"method":"pass"}]"#
    Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
    var answers = stream.makeAsyncIterator()
    let batch = try #require(await answers.next()?.arrayValue)
    #expect(batch.map { $0["id"]?.integerValue } == [1, 2, 3])
    #expect(batch.map { $0["error"]?["code"]?.integerValue } == [-32009, nil, -32009])
    #expect(batch[1]["result"] == "done")
    #expect(dispatcher.takenBack.withLock { $0.count } == 2)
  }

  // A long batch that is kept twice, in case its descriptors cannot be passed.
  @Test("the connection goes with a long text whose descriptors cannot be passed, and their calls are taken back")
  func longNotPassed() async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    var output = JSONRPCConnection.Output(write: { _ in }, close: {})
    output.descriptors = JSONRPCConnection.Output.Descriptors(
      areThere: { false }, take: { _ in [] }, send: { _, _, otherwise in continuation.yield(otherwise() == nil) })
    let dispatcher = PassingDispatcher(passed: PassedDescriptors(limit: 100))
    let conversation = JSONRPCConnection(
      limits: ConversationLimits(inFlight: 100, batch: 8, messageBytes: 1 << 20), dispatcher: dispatcher, output: output
    )
    let identifier = String(repeating: "x", count: JSONRPCConnection.longText)
    let text = #"[{"jsonrpc":"2.0","id":"\#(identifier)","method":"pass"}]"#
    Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
    var answers = stream.makeAsyncIterator()
    #expect(await answers.next() == true)
    #expect(dispatcher.takenBack.withLock { $0.count } == 1)
  }

  @Test("the descriptor of a notification's answer is passed")
  func notification() async throws {
    let sent = try await answers(
      [#"{"jsonrpc":"2.0","method":"pass"}"#, #"{"jsonrpc":"2.0","id":1,"method":"other"}"#], 1)
    #expect(sent.map(\.descriptors) == [[]])
  }
}
