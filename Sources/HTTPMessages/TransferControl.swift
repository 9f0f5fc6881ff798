public import PosternSupport

/// Controls a running request: reports progress, pauses and resumes, and streams the body.
///
/// Shared by all exchanges that a request causes, one after the other; each calls `attach` and `detach`. Used by the
/// request's owner, the transport's thread, and the reader of the body.
public final class TransferControl: Sendable {
  /// The bytes of bodies transferred so far.
  public struct Progress: Sendable, Hashable {
    /// Bytes sent.
    public var sent: Int64 = 0
    /// Bytes received, content codings undone.
    public var received: Int64 = 0
  }

  /// A part of a streamed response, in order.
  public enum Part: Sendable {
    /// The head; only where it was requested.
    case head(HTTPResponseHead)
    /// Bytes of the body.
    case piece([UInt8])
  }

  /// Whether the request is paused, and for how long it was.
  private struct Pause {
    var since: MonotonicInstant?
    var before = Duration.zero
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextIdentifier: UInt64 = 0

    func total(at now: MonotonicInstant) -> Duration { before + (since.map { max(.zero, now - $0) } ?? .zero) }
  }

  /// The body on its way from the transport to its reader.
  private struct BodyStream {
    /// Decides by the status whether a response's body is streamed; nil streams none.
    var decides: (@Sendable (Int) -> Bool)?
    var wantsHead = false
    /// Pieces that wait are joined up to this many bytes.
    var pieceBytes = TransferControl.pieceBytes
    var head: HTTPResponseHead?
    var pipe = BytePipe(window: TransferControl.window)
    var isActive = false
    var reader: CheckedContinuation<Part?, Never>?
    /// Called once, when a part waits and nobody reads.
    var whenPending: (@Sendable () -> Void)?
  }

  private struct State {
    var progress = Progress()
    var pause = Pause()
    var stream = BodyStream()
    var upload = BodyUpload()
    /// Notifies the running exchange of a change.
    var wake: (@Sendable () -> Void)?
  }

  /// The number of unread bytes from which on no more are read from the server.
  public static let window = 256 << 10
  /// The largest piece of a message; smaller ones that wait are joined. A multiple of three, so that pieces in base64
  /// need no padding.
  public static let pieceBytes = 48 << 10

  private let state = Locked(State())

  /// A control of no exchange yet; no body is streamed.
  public init() {}

  // MARK: - Progress, pause and resume

  /// The bytes transferred so far.
  public var progress: Progress { state.withLock { $0.progress } }

  /// Whether the request is paused.
  public var isPaused: Bool { state.withLock { $0.pause.since != nil } }

  /// Pauses the request: no bytes are transferred, and its deadline moves on. False when it is paused already.
  @discardableResult
  public func pause(at now: MonotonicInstant) -> Bool {
    change { state in
      guard state.pause.since == nil else { return false }
      state.pause.since = now
      return true
    }
  }

  /// Resumes the request. False when it was not paused.
  @discardableResult
  public func resume(at now: MonotonicInstant) -> Bool {
    var waiters: [CheckedContinuation<Void, Never>] = []
    let isResumed = change { state in
      guard state.pause.since != nil else { return false }
      state.pause.before = state.pause.total(at: now)
      state.pause.since = nil
      waiters = Array(state.pause.waiters.values)
      state.pause.waiters = [:]
      return true
    }
    for waiter in waiters { waiter.resume() }
    return isResumed
  }

  /// The time for which the request has been paused altogether.
  public func pausedTime(at now: MonotonicInstant) -> Duration { state.withLock { $0.pause.total(at: now) } }

  /// Returns when the request is not paused, or the calling task is cancelled.
  public func waitUntilResumed() async {
    guard isPaused else { return }
    let identifier = state.withLock { state in
      state.pause.nextIdentifier += 1
      return state.pause.nextIdentifier
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isRunning = state.withLock { state in
          guard state.pause.since != nil, !Task.isCancelled else { return true }
          state.pause.waiters[identifier] = continuation
          return false
        }
        if isRunning { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.pause.waiters.removeValue(forKey: identifier) }?.resume()
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

  // MARK: - The reader of the body

  /// Streams the body of each later response whose status `decides` accepts, in pieces of at most `bytes`, with the
  /// response's head before it if `withHead`. `decides` is called on the transport's thread; so is `whenPending`, once,
  /// when a part waits for its reader while the exchange goes on: before that nobody need read.
  public func takeBodies(
    piecesOf bytes: Int = pieceBytes, withHead: Bool = false, whenPending: (@Sendable () -> Void)? = nil,
    where decides: @escaping @Sendable (_ status: Int) -> Bool
  ) {
    state.withLock { state in
      state.stream.whenPending = whenPending
      state.stream.pieceBytes = bytes
      state.stream.decides = decides
      state.stream.wantsHead = withHead
    }
  }

  /// Whether a body may be streamed.
  public var takesBodies: Bool { state.withLock { $0.stream.decides != nil } }

  /// The next part; nil when there are no more.
  public func next() async -> Part? {
    await withCheckedContinuation { continuation in
      let (part, isOver, wake) = state.withLock { state -> (Part?, Bool, (@Sendable () -> Void)?) in
        if let head = state.stream.head {
          state.stream.head = nil
          return (.head(head), false, nil)
        }
        let wasFull = state.stream.pipe.isFull
        guard let piece = state.stream.pipe.read() else {
          let isOver = state.stream.pipe.end != nil
          if !isOver { state.stream.reader = continuation }
          return (nil, isOver, nil)
        }
        return (.piece(piece), false, wasFull && !state.stream.pipe.isFull ? state.wake : nil)
      }
      wake?()
      if part != nil || isOver { continuation.resume(returning: part) }
    }
  }

  /// Ends the stream: no more pieces will come.
  public func finish() { handOn(isOver: true) }

  /// How many bytes of the body nobody has read.
  package var unreadBytes: Int { state.withLock { $0.stream.pipe.count } }

  /// All bytes of the body, for an exchange that has ended before anything was read. Its head is that of the response.
  package func takeWholeBody() -> [UInt8] {
    state.withLock { state in
      state.stream.head = nil
      var body = state.stream.pipe.read() ?? []
      while let piece = state.stream.pipe.read() { body += piece }
      return body
    }
  }

  // MARK: - The transport

  /// Starts an exchange. `wake` is called, on any thread, when the control has changed.
  public func attach(_ wake: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.wake = wake
      state.stream.isActive = false
    }
  }

  /// Ends the exchange.
  public func detach() { state.withLock { $0.wake = nil } }

  /// Receives the response's head; returns whether the body is streamed.
  public func begins(_ head: HTTPResponseHead) -> Bool {
    guard let decides = state.withLock({ $0.stream.decides }), decides(head.status) else { return false }
    let reader = state.withLock { state -> CheckedContinuation<Part?, Never>? in
      state.stream.isActive = true
      guard state.stream.wantsHead else { return nil }
      if let reader = state.stream.reader.take() { return reader }
      state.stream.head = head
      return nil
    }
    reader?.resume(returning: .head(head))
    return true
  }

  /// Counts transferred bytes of bodies.
  public func moved(sent: Int64 = 0, received: Int64 = 0) {
    state.withLock { state in
      state.progress.sent += sent
      state.progress.received += received
    }
  }

  /// Whether bytes may be received: the request is not paused, and the reader of the body keeps up.
  public var takesBytes: Bool {
    state.withLock { $0.pause.since == nil && !($0.stream.isActive && $0.stream.pipe.isFull) }
  }

  /// Passes bytes of the body to its reader.
  public func give(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { give($0) } }

  /// Passes bytes of the body to its reader, and counts them.
  public func give(_ bytes: UnsafeBufferPointer<UInt8>) {
    keep(bytes)
    handOn()
  }

  /// Keeps and counts bytes of the body for its reader, who gets them with `handOn`: many small pieces then wake it
  /// once.
  public func keep(_ bytes: UnsafeBufferPointer<UInt8>) {
    state.withLock { state in
      state.progress.received += Int64(bytes.count)
      state.stream.pipe.write(bytes, joiningUpTo: state.stream.pieceBytes)
    }
  }

  /// Passes the first of the pieces that were kept to the reader, where it waits for one. Called also behind a head.
  public func handOn() { handOn(isOver: false) }

  private func handOn(isOver: Bool) {
    var wake: (@Sendable () -> Void)?
    let (reader, piece) = state.withLock { state -> (CheckedContinuation<Part?, Never>?, [UInt8]?) in
      if isOver {
        state.stream.pipe.finish(.complete)
        state.stream.whenPending = nil
      } else if state.stream.head != nil || state.stream.pipe.isReadable {
        wake = state.stream.whenPending.take()
      }
      guard state.stream.pipe.isReadable, let reader = state.stream.reader.take() else { return (nil, nil) }
      let wasFull = state.stream.pipe.isFull
      let piece = state.stream.pipe.read()
      // The transport has stopped receiving.
      if wasFull, !state.stream.pipe.isFull { wake = state.wake }
      return (reader, piece)
    }
    wake?()
    reader?.resume(returning: piece.map { .piece($0) })
  }
}

// MARK: - The request's body

extension TransferControl {
  /// Starts the body of one request; the body before, if there was one, is gone.
  public func beginUpload() {
    state.withLock { state in
      let source = state.upload.source.take()
      state.upload = BodyUpload()
      return source
    }?.resume(returning: false)
  }

  /// Passes bytes of the body to the transport, and waits until it has capacity for more; false when the request has
  /// ended. Called by one task at a time, which `endUpload` resumes.
  public func upload(_ bytes: [UInt8]) async -> Bool {
    await withCheckedContinuation { continuation in
      let (isOver, wake) = state.withLock { state -> (Bool?, (@Sendable () -> Void)?) in
        guard state.upload.pipe.end == nil else { return (false, nil) }
        let wasEmpty = !state.upload.pipe.isReadable
        state.upload.pipe.write(bytes)
        let isFull = state.upload.pipe.isFull
        if isFull { state.upload.source = continuation }
        return (isFull ? nil : true, wasEmpty ? state.wake : nil)
      }
      wake?()
      if let isOver { continuation.resume(returning: isOver) }
    }
  }

  /// The source has ended, or the request has: nothing more comes.
  public func endUpload(_ end: BodyEnd) {
    let (source, wake) = state.withLock { state in
      state.upload.pipe.finish(end)
      return (state.upload.source.take(), state.wake)
    }
    source?.resume(returning: false)
    wake?()
  }

  /// The request has ended: what is left of its body is not needed.
  public func finishUpload() {
    let source = state.withLock { state in
      let source = state.upload.source.take()
      state.upload = BodyUpload(hasBegun: state.upload.hasBegun)
      state.upload.pipe.finish(.complete)
      return source
    }
    source?.resume(returning: false)
  }

  /// Whether the transport would get something of the request's body now.
  public var hasUpload: Bool { state.withLock { $0.upload.pipe.isReadable } }

  /// Whether the transport has got any byte of the request's body.
  public var hasBegunUpload: Bool { state.withLock { $0.upload.hasBegun } }

  /// Copies the next bytes of the request's body.
  public func takeUpload(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    let (read, source) = state.withLock { state -> (UploadRead, CheckedContinuation<Bool, Never>?) in
      let end = state.upload.pipe.end
      if case .failed = end { return (.failed, nil) }
      guard state.upload.pipe.count > 0 else { return (end == nil ? .waiting : .bytes(0), nil) }
      let count = state.upload.pipe.read(into: buffer)
      state.upload.hasBegun = true
      return (.bytes(count), state.upload.pipe.isFull ? nil : state.upload.source.take())
    }
    source?.resume(returning: true)
    return read
  }
}

extension TransferControl: Hashable {
  /// The same control.
  public static func == (left: TransferControl, right: TransferControl) -> Bool { left === right }

  /// Feeds its identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
