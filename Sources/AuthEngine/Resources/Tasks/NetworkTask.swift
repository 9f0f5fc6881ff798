public import HTTPMessages
public import Support

/// One fetch as others see it while it runs: the seed's `NetworkTask`.
///
/// It runs from the beginning. `suspend` acts on a running task, `resume` on a suspended one, `cancel` on both; every other call does
/// nothing. While it is suspended no bytes move and its time stands still.
public final class NetworkTask: Sendable {
  /// Where it stands.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// On its way.
    case running
    /// Held still.
    case suspended
    /// Ended by `cancel`, before it had come to anything.
    case cancelled
    /// Ended with a response or an error.
    case completed
  }

  private struct Contents {
    var url: HTTPURL?
    var outcome: Result<ResourceResponse, ResourceError>?
    var end: (@Sendable () -> Void)?
  }

  /// What it is called.
  public let identifier: String
  /// What was asked.
  public let request: ResourceRequest
  /// When it began.
  public let startedAt: Timestamp

  let control: TransferControl
  private let clock: any EngineClock
  private let contents = Locked(Contents())

  /// A task that begins now. `streams` tells with which status a response's body is taken in pieces as it comes; see
  /// `FetchOptions.deliver`.
  public init(
    identifier: String, request: ResourceRequest, clock: any EngineClock,
    streams: (@Sendable (Int) -> Bool)? = nil
  ) {
    self.identifier = identifier
    self.request = request
    self.clock = clock
    startedAt = clock.wallNow
    control = TransferControl(streams: streams)
  }

  /// Where it stands. Whether it is held only the control knows, so that suspending and resuming at once never come apart.
  public var state: State {
    switch contents.withLock({ $0.outcome }) {
    case nil: control.isHeld ? .suspended : .running
    case .failure(let error)? where error.code == .requestCancelled: .cancelled
    default: .completed
    }
  }

  /// The response; nil while there is none.
  public var response: ResourceResponse? { contents.withLock { try? $0.outcome?.get() } }

  /// Why there is no response; nil while that is open.
  public var error: ResourceError? {
    contents.withLock { contents in
      guard case .failure(let error)? = contents.outcome else { return nil }
      return error
    }
  }

  /// The URL it asks, once the request has been found in order; redirects do not change it.
  public var url: HTTPURL? { contents.withLock { $0.url } }

  /// How many bytes of bodies have moved.
  public var progress: TransferControl.Progress { control.progress }

  /// Holds it still.
  public func suspend() {
    if !hasEnded { control.hold(at: clock.monotonicNow) }
  }

  /// Lets it go on.
  public func resume() {
    if !hasEnded { control.release(at: clock.monotonicNow) }
  }

  /// Ends it: whoever waits for it gets `request_cancelled`, unless it has ended before.
  public func cancel() {
    let (isFirst, end) = contents.withLock { contents -> (Bool, (@Sendable () -> Void)?) in
      guard contents.outcome == nil else { return (false, nil) }
      contents.outcome = .failure(ResourceError(.requestCancelled, "the task was cancelled"))
      return (true, contents.end)
    }
    guard isFirst else { return }
    end?()
    // Nothing waits for a release that nobody will ask for any more.
    control.release(at: clock.monotonicNow)
  }

  private var hasEnded: Bool { contents.withLock { $0.outcome != nil } }

  /// What ends it from outside; called at once when it has been cancelled already.
  public func onCancel(_ end: @escaping @Sendable () -> Void) {
    let isTooLate = contents.withLock { contents in
      contents.end = end
      guard case .failure(let error)? = contents.outcome else { return false }
      return error.code == .requestCancelled
    }
    if isTooLate { end() }
  }

  /// The request was found in order.
  func began(_ url: HTTPURL) { contents.withLock { $0.url = url } }

  /// It came to an end; returns what counts: a task that was cancelled before stays so.
  func completed(
    _ outcome: Result<ResourceResponse, ResourceError>
  ) -> Result<ResourceResponse, ResourceError> {
    contents.withLock { contents in
      if let known = contents.outcome { return known }
      contents.outcome = outcome
      contents.end = nil
      return outcome
    }
  }
}
