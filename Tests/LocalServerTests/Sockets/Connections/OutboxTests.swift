import Testing

@testable import LocalServer

@Suite("Outbox")
struct OutboxTests {
  private func append(_ text: String, to outbox: inout Outbox) -> Outbox.Outcome {
    Array(text.utf8).withUnsafeBytes { outbox.append($0) }
  }

  @Test(
    "messages are framed as the connection speaks, in order, and one drain is owed for all of them",
    arguments: [
      (Framing.stream, "{}\n[1]\n\n"),
      (.headers, "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]Content-Length: 0\r\n\r\n"),
    ])
  func frames(framing: Framing, expected: String) {
    var outbox = Outbox(pendingLimit: 1000, highWaterMark: 100)
    outbox.framing = framing
    #expect(append("{}", to: &outbox) == .drainNeeded)
    #expect(append("[1]", to: &outbox) == .queued)
    #expect(append("", to: &outbox) == .queued)
    #expect(MessageBytes(outbox.messages.buffer).bytes == Array(expected.utf8))
  }

  @Test("a long message is lost, changes its position, or has another frame", arguments: [Framing.stream, .headers])
  func pieces(framing: Framing) {
    let long = String(repeating: "x", count: 2 * OutboundMessages.pieceBytes + 1)
    var (outbox, whole) = (Outbox(pendingLimit: .max, highWaterMark: 100), Outbox(pendingLimit: .max, highWaterMark: 1))
    (outbox.framing, whole.framing) = (framing, framing)
    for text in ["[1]", long, "[2]"] { _ = append(text, to: &whole) }
    #expect(append("[1]", to: &outbox) == .drainNeeded)
    let pieces = Array(long.utf8).withUnsafeBytes { OutboundMessages.pieces(of: $0, framing: framing) }
    #expect(pieces.allSatisfy { MessageBytes($0).count <= OutboundMessages.pieceBytes })
    #expect(outbox.append(pieces) == .queued)
    #expect(append("[2]", to: &outbox) == .queued)
    #expect(outbox.pendingBytes == whole.pendingBytes)
    var last = OutboundMessages().buffer
    let taken = outbox.take(&last)
    #expect(
      (taken.map(\.bytes) + [last]).flatMap { MessageBytes($0).bytes } == MessageBytes(whole.messages.buffer).bytes)
    #expect(outbox.pendingBytes == 0 && outbox.take(&last).isEmpty)
  }

  @Test("over the limit nothing more is taken, but a single large message is")
  func limit() {
    var outbox = Outbox(pendingLimit: 10, highWaterMark: 5)
    #expect(append("0123456789abcdef", to: &outbox) == .drainNeeded)
    #expect(append("x", to: &outbox) == .overflow)
    #expect(outbox.pendingBytes == 17)
  }

  @Test("what the socket does not take counts as waiting")
  func channelBytes() {
    var outbox = Outbox(pendingLimit: 10, highWaterMark: 5)
    outbox.backlog.bytes = 11
    #expect(append("x", to: &outbox) == .overflow)
  }

  @Test("writable means: open, the socket keeps up, and little waits")
  func writable() {
    var outbox = Outbox(pendingLimit: 100, highWaterMark: 5)
    #expect(outbox.isWritable)
    outbox.backlog.isWritable = false
    #expect(!outbox.isWritable)
    outbox.backlog.isWritable = true
    _ = append("01234", to: &outbox)
    #expect(!outbox.isWritable)
  }

  @Test("closing keeps what is here and takes nothing more; closed drops everything")
  func phases() {
    var outbox = Outbox(pendingLimit: 100, highWaterMark: 5)
    _ = append("{}", to: &outbox)
    let begins = outbox.beginClosing()
    let beginsAgain = outbox.beginClosing()
    #expect(begins && !beginsAgain)
    #expect(append("{}", to: &outbox) == .dropped)
    #expect(outbox.pendingBytes == 3)
    let waiters = outbox.close()
    #expect(waiters.isEmpty)
    #expect(outbox.pendingBytes == 0)
    #expect(append("{}", to: &outbox) == .dropped)
    let beginsClosed = outbox.beginClosing()
    #expect(!beginsClosed)
  }
}
