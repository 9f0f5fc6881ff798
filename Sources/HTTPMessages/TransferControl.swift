public import PosternSupport

/// A hand on a request while it is carried out: how far it is, holding it still, and its body in pieces.
///
/// One for all the exchanges that a request causes, one after the other; each attaches itself and leaves again. Between
/// those who look and hold, the transport's thread, and the one who takes the body.
public final class TransferControl: Sendable {
  /// How many bytes of bodies have gone out and come in.
  public struct Progress: Sendable, Hashable {
    /// Sent.
    public var sent: Int64 = 0
    /// Received, content codings undone.
    public var received: Int64 = 0
  }

  /// What whoever takes a response's body gets, one after the other.
  public enum Part: Sendable {
    /// What comes before the body; only where it was asked for.
    case head(HTTPResponseHead)
    /// A piece of the body.
    case piece([UInt8])
  }

  private struct State {
    /// With which status a response's body is taken in pieces; nil takes none so.
    var streams: (@Sendable (Int) -> Bool)?
    var wantsHead = false
    var head: HTTPResponseHead?
    var progress = Progress()
    var heldSince: MonotonicInstant?
    var heldBefore = Duration.zero
    var gate: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextIdentifier: UInt64 = 0
    /// Tells the exchange under way that something has changed.
    var wake: (@Sendable () -> Void)?
    var pieces: [[UInt8]] = []
    var waitingBytes = 0
    var isStreaming = false
    var hasEnded = false
    var taker: CheckedContinuation<Part?, Never>?
  }

  /// Beyond this many bytes the server has to wait for whoever takes the body.
  public static let window = 256 << 10
  /// The largest piece: of what waits, as much as fits is one. A multiple of three, so that pieces in base64 need no
  /// padding.
  public static let pieceBytes = 48 << 10

  private let state = Locked(State())

  /// A control of nothing yet; no body is taken in pieces.
  public init() {}

  // MARK: - Looking and holding

  /// How many bytes have moved.
  public var progress: Progress { state.withLock { $0.progress } }

  /// Whether it is held.
  public var isHeld: Bool { state.withLock { $0.heldSince != nil } }

  /// Holds it: no bytes move, and its time stands still. False when it is held already.
  @discardableResult
  public func hold(at now: MonotonicInstant) -> Bool {
    change { state in
      guard state.heldSince == nil else { return false }
      state.heldSince = now
      return true
    }
  }

  /// Lets it go on. False when it was not held.
  @discardableResult
  public func release(at now: MonotonicInstant) -> Bool {
    var waiting: [CheckedContinuation<Void, Never>] = []
    let released = change { state in
      guard let since = state.heldSince else { return false }
      state.heldBefore += max(.zero, now - since)
      state.heldSince = nil
      waiting = Array(state.gate.values)
      state.gate = [:]
      return true
    }
    for waiter in waiting { waiter.resume() }
    return released
  }

  /// How long it has been held altogether.
  public func heldTime(at now: MonotonicInstant) -> Duration {
    state.withLock { state in state.heldBefore + (state.heldSince.map { max(.zero, now - $0) } ?? .zero) }
  }

  /// Returns when it is not held, or the calling task is cancelled.
  public func untilReleased() async {
    guard isHeld else { return }
    let identifier = state.withLock { state in
      state.nextIdentifier += 1
      return state.nextIdentifier
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          guard state.heldSince != nil, !Task.isCancelled else { return true }
          state.gate[identifier] = continuation
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.gate.removeValue(forKey: identifier) }?.resume()
    }
  }

  private func change(_ body: (inout State) -> Bool) -> Bool {
    let (changed, wake) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
      let changed = body(&state)
      return (changed, changed ? state.wake : nil)
    }
    wake?()
    return changed
  }

  // MARK: - Taking the body in pieces

  /// From now on the body of a response with a status that `decides` agrees to is taken in pieces, with the response's
  /// head before them if that is wanted. Asked on the transport's thread.
  public func takeBodies(withHead: Bool = false, where decides: @escaping @Sendable (_ status: Int) -> Bool) {
    state.withLock { state in
      state.streams = decides
      state.wantsHead = withHead
    }
  }

  /// Whether any body may be taken in pieces.
  public var takesBodies: Bool { state.withLock { $0.streams != nil } }

  /// The next part; nil when there are no more.
  public func next() async -> Part? {
    await withCheckedContinuation { continuation in
      let (part, isOver, wake) = state.withLock { state -> (Part?, Bool, (@Sendable () -> Void)?) in
        if let head = state.head {
          state.head = nil
          return (.head(head), false, nil)
        }
        guard !state.pieces.isEmpty else {
          if !state.hasEnded { state.taker = continuation }
          return (nil, state.hasEnded, nil)
        }
        let wasFull = state.waitingBytes >= Self.window
        let piece = state.pieces.removeFirst()
        state.waitingBytes -= piece.count
        return (.piece(piece), false, wasFull && state.waitingBytes < Self.window ? state.wake : nil)
      }
      wake?()
      if part != nil || isOver { continuation.resume(returning: part) }
    }
  }

  /// No more pieces will come.
  public func finish() {
    let taker = state.withLock { state in
      state.hasEnded = true
      defer { state.taker = nil }
      return state.taker
    }
    taker?.resume(returning: nil)
  }

  // MARK: - The transport's side

  /// An exchange begins; `wake` is called, on any thread, when the control has changed.
  public func attach(_ wake: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.wake = wake
      state.isStreaming = false
    }
  }

  /// The exchange has ended.
  public func detach() { state.withLock { $0.wake = nil } }

  /// The response's head is there: whether its body is taken in pieces.
  public func begins(_ head: HTTPResponseHead) -> Bool {
    guard let streams = state.withLock({ $0.streams }), streams(head.status) else { return false }
    let taker = state.withLock { state -> CheckedContinuation<Part?, Never>? in
      state.isStreaming = true
      guard state.wantsHead else { return nil }
      guard let taker = state.taker else {
        state.head = head
        return nil
      }
      state.taker = nil
      return taker
    }
    taker?.resume(returning: .head(head))
    return true
  }

  /// Bytes of bodies have moved.
  public func moved(sent: Int64 = 0, received: Int64 = 0) {
    state.withLock { state in
      state.progress.sent += sent
      state.progress.received += received
    }
  }

  /// Whether bytes may arrive: it is not held, and whoever takes the body keeps up.
  public var takesBytes: Bool {
    state.withLock { $0.heldSince == nil && (!$0.isStreaming || $0.waitingBytes < Self.window) }
  }

  /// Gives bytes to whoever takes the body.
  public func give(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { give($0) } }

  /// Gives bytes to whoever takes the body.
  public func give(_ bytes: UnsafeBufferPointer<UInt8>) {
    let taker = state.withLock { state -> CheckedContinuation<Part?, Never>? in
      if let taker = state.taker {
        state.taker = nil
        return taker
      }
      state.waitingBytes += bytes.count
      if let last = state.pieces.indices.last, state.pieces[last].count + bytes.count <= Self.pieceBytes {
        state.pieces[last].append(contentsOf: bytes)
      } else {
        var piece: [UInt8] = []
        piece.reserveCapacity(max(bytes.count, Self.pieceBytes))
        piece.append(contentsOf: bytes)
        state.pieces.append(piece)
      }
      return nil
    }
    taker?.resume(returning: .piece(Array(bytes)))
  }
}

extension TransferControl: Hashable {
  /// The same control.
  public static func == (left: TransferControl, right: TransferControl) -> Bool { left === right }

  /// Feeds its identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
