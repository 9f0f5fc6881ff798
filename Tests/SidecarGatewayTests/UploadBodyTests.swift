import AuthEngine
import LocalServer
import PosternSupport
import PosternTestSupport
import Testing

@testable import SidecarGateway

/// A body of the given pieces.
final class KeptBody: GatewayRequestBody {
  let length: Int64?
  private let pieces: Locked<[GatewayBodyPiece]>

  init(_ length: Int64?, _ pieces: [GatewayBodyPiece] = []) {
    self.length = length
    self.pieces = Locked(pieces)
  }

  func next() async -> GatewayBodyPiece {
    pieces.withLock { $0.isEmpty ? .end : $0.removeFirst() }
  }
}

/// A body whose pieces come when the test sends them.
private final class SlowBody: GatewayRequestBody {
  private struct State {
    var pieces: [GatewayBodyPiece] = []
    var reader: CheckedContinuation<GatewayBodyPiece, Never>?
    var isCancelled = false
  }

  let length: Int64?
  private let state = Locked(State())

  init(_ length: Int64? = nil) { self.length = length }

  /// Whether the reading was given up, after which no body can be read.
  var isCancelled: Bool { state.withLock { $0.isCancelled } }
  var isAwaited: Bool { state.withLock { $0.reader != nil } }

  func send(_ piece: GatewayBodyPiece) {
    let reader = state.withLock { state in
      if state.reader == nil { state.pieces.append(piece) }
      return state.reader.take()
    }
    reader?.resume(returning: piece)
  }

  func next() async -> GatewayBodyPiece {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let piece = state.withLock { state -> GatewayBodyPiece? in
          if !state.pieces.isEmpty { return state.pieces.removeFirst() }
          if !state.isCancelled { state.reader = continuation }
          return state.isCancelled ? .failed("is not wanted any more") : nil
        }
        if let piece { continuation.resume(returning: piece) }
      }
    } onCancel: {
      let reader = state.withLock { state in
        state.isCancelled = true
        return state.reader.take()
      }
      reader?.resume(returning: .failed("is not wanted any more"))
    }
  }
}

@Suite("A body is read as fast as it is sent, and kept as long as a retry may need it")
struct UploadBodyTests {
  private let uploads = KeptUploads()
  private let clock = ManualClock()

  private func upload(_ body: any GatewayRequestBody, for uid: UInt32 = 1) -> UploadBody {
    let upload = UploadBody(body, in: uploads, for: uid, clock: clock)
    upload.keep()
    return upload
  }

  private func next(_ upload: UploadBody) async -> [UInt8]? {
    guard case .bytes(let bytes) = await upload.next(patience: .seconds(1)) else { return nil }
    return bytes
  }

  /// Catches a retry whose body lacks what the attempt before had taken, or read and not taken; and the end of an
  /// attempt that ends the reading.
  @Test("An attempt that ends within the body leaves nothing to the next one")
  func attempts() async throws {
    let body = SlowBody()
    let upload = upload(body)
    async let reading: Void = upload.run()
    body.send(.bytes([1]))
    #expect(await next(upload) == [1])
    let waiting = Task { await upload.next(patience: .seconds(1)) }
    let isAwaited = await eventually { body.isAwaited }
    #expect(isAwaited)
    waiting.cancel()
    guard case .failed = await waiting.value else {
      Issue.record("it goes on although nobody waits")
      return
    }
    #expect(!body.isCancelled && upload.rewind())
    #expect(await next(upload) == [1])
    async let second = next(upload)
    body.send(.bytes([2]))
    #expect(await second == [2])
    #expect(upload.rewind())
    #expect(await next(upload) == [1, 2])
    body.send(.end)
    #expect(await next(upload) == [])
    #expect(upload.rewind())
    #expect(await next(upload) == [1, 2])
    #expect(await next(upload) == [])
    await reading
  }

  /// Catches a body that is read faster than the server takes it.
  @Test("Bytes are read that nobody has asked for")
  func pressure() async {
    let body = SlowBody()
    let upload = upload(body)
    let reading = Task { await upload.run() }
    async let first = next(upload)
    body.send(.bytes([1]))
    #expect(await first == [1])
    for _ in 0..<100 { await Task.yield() }
    #expect(!body.isAwaited)
    upload.close()
    await reading.value
    #expect(await next(upload) == nil && !upload.rewind())
  }

  /// Catches memory that grows with a body of unknown length.
  @Test("A body that turns out to be too long is kept, or cannot be sent any more")
  func tooLong() async {
    let piece = [UInt8](repeating: 7, count: 1 << 18)
    let upload = upload(KeptBody(nil, Array(repeating: .bytes(piece), count: 5)))
    async let reading: Void = upload.run()
    for number in 1...5 {
      #expect(await next(upload) == piece)
      guard number == 4 else { continue }
      #expect(upload.rewind())
      let whole = await next(upload)
      #expect(whole?.count == 1 << 20)
    }
    #expect(!upload.rewind())
    #expect(await next(upload) == [])
    await reading
    #expect(uploads.take(KeptUploads.maxBytes, for: 1))
  }

  /// Catches one user's bodies that never end and take all memory, or that of another user, and memory that is lost.
  @Test("Two users share the memory for bodies, or one has more than its bound")
  func twoUsers() async {
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    let greedy = (0..<40).map { _ in upload(KeptBody(1 << 20, [.bytes(piece)]), for: 1) }
    let readings = greedy.map { upload in Task { await upload.run() } }
    for upload in greedy { #expect(await next(upload) == piece) }
    #expect(greedy.filter { $0.rewind() }.count == 32)
    let other = upload(KeptBody(1 << 20, [.bytes(piece)]), for: 2)
    async let reading: Void = other.run()
    #expect(await next(other) == piece)
    #expect(other.rewind())
    // What has begun to be answered, and what is over, is given back.
    greedy[0].release()
    greedy[1].close()
    #expect(!greedy[0].rewind() && !greedy[1].rewind())
    #expect(uploads.take(2 << 20, for: 1) && !uploads.take(1, for: 1))
    other.close()
    await reading
    for upload in greedy { upload.close() }
    for reading in readings { await reading.value }
    uploads.giveBack(2 << 20, for: 1)
    #expect(uploads.take(32 << 20, for: 2))
  }

  /// Catches a watch that costs each request a timer, or never begins.
  @Test("A body that is not sent while it is read is watched")
  func watching() async {
    let upload = upload(KeptBody(1, [.bytes([1])]))
    let watching = Task { await upload.watch.hasStalled() }
    for _ in 0..<100 { await Task.yield() }
    #expect(clock.sleeperCount == 0)
    upload.watch.serverActs(within: .seconds(5))
    let isAsleep = await eventually { [clock] in clock.sleeperCount == 1 }
    #expect(isAsleep)
    watching.cancel()
    #expect(await watching.value == false)
  }
}
