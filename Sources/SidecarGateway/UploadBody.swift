import AuthEngine
import LocalServer
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// The body of a program's request on its way to the resource server: read as fast as the server takes it, and kept
/// meanwhile as long as a retry may need it.
///
/// `run` alone reads from the program: the end of one attempt to send the request must not end the reading, which the
/// next one continues. Not a `BytePipe`, which forgets what was read: this one starts again for a retry.
final class UploadBody: Sendable {
  /// The body as far as it is here.
  private struct State {
    /// The bytes that are kept, or that no attempt has taken yet.
    var bytes: [UInt8] = []
    /// How many of them the current attempt has taken.
    var taken = 0
    /// Whether they stay for another attempt.
    var isKept = false
    /// How many bytes of memory are accounted for.
    var accounted = 0
    /// How it has ended.
    var end: BodySupply.Read?
    /// How often the bytes or the end have changed.
    var changes = 0
    /// Whether nothing more is read.
    var isClosed = false
    /// Whether the next bytes are wanted.
    var isWanted = false
    /// The attempt, which waits for bytes.
    var waiter: CheckedContinuation<Void, Never>?
    /// `run`, which waits until bytes are wanted.
    var reader: CheckedContinuation<Bool, Never>?

    /// What the current attempt has not taken; nil: it has to wait.
    mutating func next() -> BodySupply.Read? {
      guard taken < bytes.count else { return end }
      let rest = taken == 0 ? bytes : Array(bytes[taken...])
      taken = bytes.count
      if !isKept { (bytes, taken) = ([], 0) }
      return .bytes(rest)
    }

    /// Nothing is kept any more; returns how much memory is free for others.
    mutating func drop() -> Int {
      isKept = false
      if taken == bytes.count { (bytes, taken) = ([], 0) }
      defer { accounted = 0 }
      return accounted
    }
  }

  private let source: any GatewayRequestBody
  private let uploads: KeptUploads
  private let uid: UInt32
  /// Watches the server while the body is sent.
  let watch: UploadWatch
  private let state = Locked(State())

  init(_ source: any GatewayRequestBody, in uploads: KeptUploads, for uid: UInt32, clock: any EngineClock) {
    self.source = source
    self.uploads = uploads
    self.uid = uid
    watch = UploadWatch(clock: clock)
  }

  /// How many bytes it has; nil: that is known at its end only.
  var length: Int64? { source.length }

  // MARK: - The program's side

  /// Reads from the program what is wanted, until the body has ended, is closed, or the calling task is cancelled.
  func run() async {
    while await isWanted() {
      let piece = await source.next()
      receive(piece)
      guard case .bytes = piece else { return }
    }
  }

  private func isWanted() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isWanted = state.withLock { state -> Bool? in
          if state.isClosed { return false }
          if state.isWanted { return true }
          state.reader = continuation
          return nil
        }
        if let isWanted { continuation.resume(returning: isWanted) }
      }
    } onCancel: {
      close()
    }
  }

  private func receive(_ piece: GatewayBodyPiece) {
    guard case .bytes(let bytes) = piece else {
      let end: BodySupply.Read =
        if case .failed(let reason) = piece { .failed("the request's body \(reason)") } else { .bytes([]) }
      return change { $0.end = end }
    }
    let mayKeep = state.withLock { $0.isKept && $0.bytes.count + bytes.count <= KeptUploads.maxBytes }
    let isAccounted = mayKeep && uploads.take(bytes.count, for: uid)
    var free = 0
    change { state in
      if isAccounted { state.accounted += bytes.count }
      if !isAccounted || !state.isKept { free = state.drop() }
      if state.bytes.isEmpty { state.bytes = bytes } else { state.bytes += bytes }
    }
    if free > 0 { uploads.giveBack(free, for: uid) }
  }

  /// Changes the state, and lets the attempt look at it.
  private func change(_ body: (inout State) -> Void) {
    let waiter = state.withLock { state in
      body(&state)
      state.changes += 1
      state.isWanted = false
      return state.waiter.take()
    }
    waiter?.resume()
  }

  // MARK: - The server's side

  /// Keeps what is read from now on, as far as there is memory for it.
  func keep() { state.withLock { $0.isKept = length.map { $0 <= KeptUploads.maxBytes } ?? true } }

  /// The next bytes for the attempt to send it; `failed` when the calling task is cancelled.
  func next(patience: Duration) async -> BodySupply.Read {
    watch.programActs()
    defer { watch.serverActs(within: patience) }
    while true {
      let (read, changes) = state.withLock { state in (state.next(), state.changes) }
      if let read { return read }
      guard await wait(for: changes) else { return Self.unwanted }
    }
  }

  /// All of it where it comes at once, as most bodies of `length` bytes do: behind the head of their request. Nil: the
  /// rest has yet to come.
  func atOnce(_ length: Int64) async throws(RPCFault) -> [UInt8]? {
    while true {
      let (bytes, end, changes) = state.withLock { ($0.bytes, $0.end, $0.changes) }
      if case .failed(let reason) = end { throw .invalidParams("The body cannot be read: \(reason)", path: "/body") }
      guard bytes.isEmpty, end == nil else { return bytes.count == length ? bytes : nil }
      guard await wait(for: changes) else { return nil }
    }
  }

  /// Starts again from the beginning, for another attempt; false when it is not kept.
  func rewind() -> Bool {
    state.withLock { state in
      if case .failed = state.end { return false }
      guard state.isKept else { return false }
      state.taken = 0
      return true
    }
  }

  /// All of it, read to its end; nil when it is not kept, or cannot be read.
  func whole() async -> [UInt8]? {
    watch.programActs()
    while true {
      let (bytes, end, isKept, changes) = state.withLock { ($0.bytes, $0.end, $0.isKept, $0.changes) }
      guard isKept else { return nil }
      switch end {
      case .bytes: return bytes
      case .failed: return nil
      case nil: guard await wait(for: changes) else { return nil }
      }
    }
  }

  /// No retry follows: nothing is kept any more.
  func release() { giveBack { $0.drop() } }

  /// Ends the reading, and gives all memory back.
  func close() {
    giveBack { state in
      state.isClosed = true
      if state.end == nil { state.end = Self.unwanted }
      state.taken = state.bytes.count
      return state.drop()
    }
  }

  private func giveBack(_ body: (inout State) -> Int) {
    let (free, waiter, reader) = state.withLock { state in
      let free = body(&state)
      return (free, state.isClosed ? state.waiter.take() : nil, state.isClosed ? state.reader.take() : nil)
    }
    if free > 0 { uploads.giveBack(free, for: uid) }
    waiter?.resume()
    reader?.resume(returning: false)
  }

  private static let unwanted = BodySupply.Read.failed("the request's body is not wanted any more")

  /// Waits until there are more bytes than after so many `changes`, or the body has ended; false when the calling task
  /// is cancelled.
  private func wait(for changes: Int) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (mustWait, reader) = state.withLock { state -> (Bool, CheckedContinuation<Bool, Never>?) in
          guard state.changes == changes, state.end == nil, !Task.isCancelled else { return (false, nil) }
          state.waiter = continuation
          state.isWanted = true
          return (true, state.reader.take())
        }
        if !mustWait { continuation.resume() }
        reader?.resume(returning: true)
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume()
    }
    return !Task.isCancelled
  }
}
