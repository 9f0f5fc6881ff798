import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Pausing a request, the time paused, and streaming with backpressure.
@Suite struct TransferControlTests {
  private func head(_ status: Int) throws -> HTTPResponseHead {
    HTTPResponseHead(status: status, url: try HTTPURL("https://api.test/x"))
  }

  private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }

  @Test("the paused time is the sum of all pauses, and grows during a pause")
  func pausedTime() {
    let control = TransferControl()
    #expect(control.pausedTime(at: at(5)) == .zero)
    #expect(control.pause(at: at(10)) && !control.pause(at: at(11)))
    #expect(control.pausedTime(at: at(13)) == .seconds(3))
    #expect(control.resume(at: at(14)) && !control.resume(at: at(15)))
    #expect(control.pausedTime(at: at(20)) == .seconds(4))
    control.pause(at: at(30))
    #expect(control.pausedTime(at: at(31)) == .seconds(5))
  }

  @Test("waiters are woken by resuming and by cancellation; without a pause there is no wait")
  func gate() async {
    let control = TransferControl()
    await control.waitUntilResumed()
    control.pause(at: at(1))
    let waiters = (0..<20).map { _ in Task { await control.waitUntilResumed() } }
    for waiter in waiters.prefix(10) { waiter.cancel() }
    for waiter in waiters.prefix(10) { await waiter.value }
    control.resume(at: at(2))
    for waiter in waiters { await waiter.value }
  }

  @Test("a full window stops the transport; taking a piece wakes it once there is capacity")
  func backPressure() async throws {
    let wakes = Locked(0)
    let control = TransferControl()
    control.takeBodies { $0 == 200 }
    control.attach { wakes.withLock { $0 += 1 } }
    #expect(!control.begins(try head(404)) && control.takesBytes)
    #expect(control.begins(try head(200)))
    let piece = [UInt8](repeating: 1, count: TransferControl.window / 2)
    control.give(piece)
    #expect(control.takesBytes)
    control.give(piece)
    #expect(!control.takesBytes)
    #expect(await control.piece() == piece)
    #expect(control.takesBytes && wakes.withLock { $0 } == 1)
    #expect(await control.piece() == piece)
    #expect(wakes.withLock { $0 } == 1)
  }

  @Test("pieces come in order to a taker that waits and to one that comes late; then there are no more")
  func order() async {
    let control = TransferControl()
    control.takeBodies { _ in true }
    let taker = Task {
      var body: [UInt8] = []
      while let piece = await control.piece() { body += piece }
      return body
    }
    for number in 0..<100 as Range<UInt8> {
      control.give([number])
      if number % 7 == 0 { await Task.yield() }
    }
    control.finish()
    #expect(await taker.value == Array(0..<100))
    #expect(await control.piece() == nil)
  }

  @Test(
    "the head comes before the pieces, to a taker that waits and to one that comes late, and only where it is wanted")
  func headFirst() async throws {
    for isWanted in [true, false] {
      for isLate in [true, false] {
        let control = TransferControl()
        control.takeBodies(withHead: isWanted) { _ in true }
        let taker = Task { isLate ? nil : await control.next() }
        if !isLate { for _ in 0..<100 { await Task.yield() } }
        #expect(control.begins(try head(206)))
        control.give([1])
        control.finish()
        var parts = [await taker.value].compactMap { $0 }
        while let part = await control.next() { parts.append(part) }
        let statuses = parts.map { part in if case .head(let head) = part { head.status } else { 0 } }
        #expect(statuses == (isWanted ? [206, 0] : [0]), "wanted: \(isWanted), late: \(isLate)")
      }
    }
  }

  @Test("who reads only where a part waits is called once, for a head and for a piece, and not behind the end")
  func pending() throws {
    for parts in ["head", "piece", "none"] {
      let calls = Locked(0)
      let control = TransferControl()
      control.takeBodies(withHead: parts == "head", whenPending: { calls.withLock { $0 += 1 } }) { _ in true }
      #expect(control.begins(try head(200)))
      #expect(calls.withLock { $0 } == 0, "the exchange may end at once")
      if parts == "piece" { control.give([1]) } else { control.handOn() }
      #expect(calls.withLock { $0 } == (parts == "none" ? 0 : 1))
      control.give([2])
      #expect(calls.withLock { $0 } == 1)
      control.finish()
      control.give([3])
      #expect(calls.withLock { $0 } == 1)
    }
    let control = TransferControl()
    control.takeBodies(whenPending: { Issue.record("the exchange has ended") }) { _ in true }
    #expect(control.begins(try head(200)))
    [UInt8](repeating: 1, count: 9).withUnsafeBufferPointer { control.keep($0) }
    control.finish()
    #expect(control.takeWholeBody() == [UInt8](repeating: 1, count: 9))
  }

  @Test("what waits is one piece as far as it fits, and no byte is lost between two")
  func pieces() async {
    let control = TransferControl()
    let part = TransferControl.pieceBytes / 3
    for number in 0..<4 as Range<UInt8> { control.give([UInt8](repeating: number, count: part)) }
    control.give([9])
    control.finish()
    let first = await control.piece()
    #expect(first == (0..<3).flatMap { [UInt8](repeating: $0, count: part) })
    #expect(await control.piece() == [UInt8](repeating: 3, count: part) + [9])
    #expect(await control.piece() == nil)
  }

  @Test("a paused request takes no bytes even when nothing is streamed, and after the exchange wake is not called")
  func pausedTakesNothing() {
    let wakes = Locked(0)
    let control = TransferControl()
    control.attach { wakes.withLock { $0 += 1 } }
    control.pause(at: at(1))
    #expect(!control.takesBytes && wakes.withLock { $0 } == 1)
    control.detach()
    control.resume(at: at(2))
    #expect(control.takesBytes && wakes.withLock { $0 } == 1)
  }
}

extension TransferControl {
  /// The next part, which is a piece, or nil.
  fileprivate func piece() async -> [UInt8]? {
    guard case .piece(let piece) = await next() else { return nil }
    return piece
  }
}

@Suite("Pieces that are kept for the reader of a body")
struct KeptPieceTests {
  private func keep(_ bytes: [UInt8], in control: TransferControl) {
    bytes.withUnsafeBufferPointer { control.keep($0) }
  }

  @Test("a waiting reader gets small pieces one by one, or misses what was kept when the stream ends")
  func joined() async {
    let control = TransferControl()
    async let first = control.next()
    for _ in 0..<100 { await Task.yield() }
    keep([1, 2], in: control)
    keep([3], in: control)
    control.handOn()
    guard case .piece(let bytes) = await first else { return #expect(Bool(false)) }
    #expect(bytes == [1, 2, 3])
    async let second = control.next()
    for _ in 0..<100 { await Task.yield() }
    keep([4], in: control)
    control.finish()
    guard case .piece(let rest) = await second else { return #expect(Bool(false)) }
    #expect(rest == [4])
    let last = await control.next()
    #expect(last == nil)
  }
}

@Suite("A request's body through its control")
struct BodyUploadTests {
  private func take(_ control: TransferControl, _ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    switch bytes.withUnsafeMutableBytes({ control.takeUpload(into: $0) }) {
    case .bytes(let length): return Array(bytes.prefix(length))
    case .waiting, .failed: return nil
    }
  }

  @Test("bytes are lost or doubled between pieces, or the end comes before the last of them")
  func pieces() async {
    let control = TransferControl()
    control.beginUpload()
    #expect(take(control, 4) == nil && !control.hasUpload && !control.hasBegunUpload)
    for piece: [UInt8] in [[1, 2, 3], [4], [5, 6]] { #expect(await control.upload(piece)) }
    #expect(control.hasUpload)
    #expect(take(control, 2) == [1, 2])
    control.endUpload(.complete)
    #expect(take(control, 3) == [3, 4, 5])
    #expect(take(control, 3) == [6])
    #expect(take(control, 3) == [] && control.hasBegunUpload)
  }

  @Test("a source does not wait for the transport, or waits for ever for one that has ended")
  func capacity() async {
    let control = TransferControl()
    control.beginUpload()
    let big = [UInt8](repeating: 7, count: TransferControl.window)
    async let first = control.upload(big)
    while !control.hasUpload { await Task.yield() }
    #expect(take(control, 1000)?.count == 1000)
    #expect(await first)
    async let second = control.upload(big)
    while take(control, 1000)?.count == 1000, control.hasUpload { await Task.yield() }
    control.finishUpload()
    _ = await second
    #expect(await !control.upload([1]))
  }

  @Test("a body that cannot be read to its end passes for a whole one")
  func failure() async {
    let control = TransferControl()
    control.beginUpload()
    #expect(await control.upload([1, 2]))
    control.endUpload(.failed)
    #expect(take(control, 10) == nil)
    // The next request of the fetch starts from the beginning.
    control.beginUpload()
    #expect(await control.upload([3]))
    #expect(take(control, 10) == [3])
  }
}
