public import HTTPMessages
public import PosternSupport

/// One fetch as others see it while it runs: the seed's `NetworkTask`.
///
/// It runs from the start. `suspend` acts on a running task, `resume` on a suspended one, `cancel` on both; every other
/// call does nothing. While it is suspended no bytes move and its time does not pass. However these calls, the fetch's
/// end and the end of the task that waits for it race, there is one outcome, and it never changes afterwards.
public final class NetworkTask: Sendable {
  /// The state of a task.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// On its way.
    case running
    /// Paused.
    case suspended
    /// Ended without a result: by `cancel`, with the task that waited for it, or because its body was no longer taken.
    case cancelled
    /// Ended with a response or an error.
    case completed
  }

  private enum Course {
    case open
    /// It will end as cancelled; its fetch has not ended yet.
    case ending(String)
    case ended(Result<ResourceResponse, ResourceError>)
  }

  private struct Contents {
    var url: HTTPURL?
    var course = Course.open
    /// Whether a fetch has taken it as its own.
    var isTaken = false
    /// That fetch, until it has ended.
    var call: FetchCall?
    /// The task that waits for the course to be decided.
    var waiter: CheckedContinuation<Void, Never>?

    /// The state that it stays in; nil while that is open.
    var finalState: State? {
      switch course {
      case .open: nil
      case .ending: .cancelled
      case .ended(.failure(let error)): error.code == .requestCancelled ? .cancelled : .completed
      case .ended(.success): .completed
      }
    }
  }

  /// Its name.
  public let identifier: String
  /// The request.
  public let request: ResourceRequest
  /// When it started.
  public let startedAt: Timestamp

  let control = TransferControl()
  private let clock: any EngineClock
  private let contents = Locked(Contents())

  /// A task that starts now, for one fetch.
  public init(
    identifier: String = NetworkTask.generatedIdentifier(), request: ResourceRequest, clock: any EngineClock
  ) {
    self.identifier = identifier
    self.request = request
    self.clock = clock
    startedAt = clock.wallNow
  }

  /// A name for a task that was given none: `task-` and ten digits or letters. A String of up to 15 bytes needs no
  /// memory.
  public static func generatedIdentifier() -> String {
    String(unsafeUninitializedCapacity: 15) { bytes in
      _ = bytes.initialize(from: "task-".utf8)
      var number = NonSecretRandom.shared.next()
      for index in 5..<15 {
        let digit = UInt8(truncatingIfNeeded: number % 36)
        bytes[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        number /= 36
      }
      return 15
    }
  }

  /// The state. Only the control knows whether it is paused, so that concurrent calls of `suspend` and `resume` never
  /// contradict each other.
  public var state: State {
    contents.withLock { $0.finalState } ?? (control.isPaused ? .suspended : .running)
  }

  /// The response; nil while there is none.
  public var response: ResourceResponse? {
    guard case .ended(.success(let response)) = contents.withLock({ $0.course }) else { return nil }
    return response
  }

  /// Why there is no response; nil while that is open. Until the fetch of a cancelled task has ended, its `outcome` is
  /// the worst that may have happened.
  public var error: ResourceError? {
    switch contents.withLock({ $0.course }) {
    case .ending(let reason): ResourceError(.requestCancelled, reason, outcome: .sentNoReply)
    case .ended(.failure(let error)): error
    case .open, .ended(.success): nil
    }
  }

  /// The URL of the request, once that has been checked; redirects do not change it.
  public var url: HTTPURL? { contents.withLock { $0.url } }

  /// How many bytes of bodies have moved.
  public var progress: TransferControl.Progress { control.progress }

  /// Pauses it.
  public func suspend() {
    if isOpen { control.pause(at: clock.monotonicNow) }
  }

  /// Resumes it.
  public func resume() {
    if isOpen { control.resume(at: clock.monotonicNow) }
  }

  /// Ends it, wherever its fetch is, suspended or not: the task that waits for it gets `request_cancelled`. Returns at
  /// once; what is under way ends in its own time.
  public func cancel() { end(because: "the task was cancelled") }

  private var isOpen: Bool { contents.withLock { $0.finalState == nil } }
}

// MARK: - The fetch's side

extension NetworkTask {
  /// Carries `work` out, whose result its fetch needs, and ends it when the task is cancelled: then it returns nil, and
  /// the fetch ends at once. An error of `work` ends the task; `failure` is how others see it.
  public func preparing<Value: Sendable, Failure: Error>(
    failure: (Failure) -> ResourceError, _ work: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    let result = Locked<Result<Value, Failure>?>(nil)
    await withTaskGroup(of: Void.self) { group in
      group.addImmediateTask {
        let outcome: Result<Value, Failure>
        do throws(Failure) { outcome = .success(try await work()) } catch { outcome = .failure(error) }
        result.withLock { $0 = outcome }
        self.contents.withLock { $0.waiter.take() }?.resume()
      }
      await wait { result.withLock { $0 == nil } }
      group.cancelAll()
    }
    let outcome = result.withLock { $0 }
    let isCancelled = contents.withLock { contents in
      guard case .open = contents.course else { return true }
      if case .failure(let error)? = outcome { contents.course = .ended(.failure(failure(error))) }
      return false
    }
    return isCancelled ? nil : try outcome?.get()
  }

  /// The request has been checked.
  func began(_ url: HTTPURL) { contents.withLock { $0.url = url } }

  /// Ends it as cancelled, unless it has ended.
  func end(because reason: String) {
    let (waiter, call) = contents.withLock { contents -> (CheckedContinuation<Void, Never>?, FetchCall?) in
      guard case .open = contents.course else { return (nil, nil) }
      contents.course = contents.isTaken ? .ending(reason) : .ended(.failure(Self.cancelled(reason)))
      return (contents.waiter.take(), contents.call)
    }
    waiter?.resume()
    call?.cancel()
  }

  private static func cancelled(
    _ reason: String, _ outcome: TransportError.Outcome = .notSent
  ) -> ResourceError {
    ResourceError(.requestCancelled, reason, outcome: outcome)
  }

  /// Makes this the task of `call`, which it can cancel. Returns an outcome instead if the fetch must not begin.
  func take(_ call: FetchCall) -> Result<ResourceResponse, ResourceError>? {
    contents.withLock { contents in
      guard !contents.isTaken else { return .failure(Self.cancelled("the task is another fetch's")) }
      contents.isTaken = true
      guard case .ended(let outcome) = contents.course else {
        contents.call = call
        return nil
      }
      return outcome
    }
  }

  /// Returns when the course is decided, or nothing is under way any more: that resumes the waiter.
  private func wait(while isUnderWay: @Sendable () -> Bool) async {
    await withCheckedContinuation { continuation in
      let mustWait = contents.withLock { contents in
        guard case .open = contents.course, isUnderWay() else { return false }
        contents.waiter = continuation
        return true
      }
      if !mustWait { continuation.resume() }
    }
  }

  /// The fetch has ended. Returns what the task has come to: one that was cancelled before stays so, with the outcome of
  /// the request.
  package func completed(
    _ result: Result<ResourceResponse, ResourceError>
  ) -> Result<ResourceResponse, ResourceError> {
    contents.withLock { contents in
      contents.call = nil
      guard case .ending(let reason) = contents.course else {
        contents.course = .ended(result)
        return result
      }
      let reached: TransportError.Outcome =
        switch result {
        case .success: .replied
        case .failure(let error): error.outcome
        }
      let outcome: Result<ResourceResponse, ResourceError> = .failure(Self.cancelled(reason, reached))
      contents.course = .ended(outcome)
      return outcome
    }
  }
}

extension NetworkTask: ConciseStringConvertible {
  /// State and request.
  public var description: String { "\(state.rawValue) task: \(request)" }
}
