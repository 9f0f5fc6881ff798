public import PosternSupport

/// The call that work is done for: who called, when the caller stops waiting, and the trace to continue. Functions that
/// wait, send requests or report events take one.
public struct CallScope: Sendable {
  /// The method and trace of a call, as its log lines have them.
  package struct Label: Sendable {
    /// Its RPC method.
    package let method: String
    /// Its position in a trace, as upstream servers get it.
    private let traceparent: String

    package init(method: String, traceparent: String) {
      self.method = method
      self.traceparent = traceparent
    }

    /// Its trace, as in the error that it may end with.
    package var traceID: String { String(decoding: traceparent.utf8.dropFirst(3).prefix(32), as: UTF8.self) }
  }

  /// The uid that called: sessions and cached answers belong to it.
  public private(set) var uid: UInt32
  /// The peer in whose queues and allowances the work counts; `process` where these are not divided.
  public private(set) var peer: PeerID
  /// When the caller stops waiting.
  public private(set) var deadline: Deadline
  /// The trace to continue, if any.
  public private(set) var trace: TraceContext?
  /// The executor of the call's connection, which is fair between uids, for tasks that the call starts. nil: the
  /// runtime's own threads, which work in order of arrival, so that one uid's work delays all others'.
  public private(set) var executor: (any TaskExecutor)?

  /// The method and trace that the call's log lines have; nil for work that belongs to no call.
  package var label: Label?

  /// The scope of a program that has the engine to itself, for `uid`: by default its own, without a deadline and without
  /// a trace.
  public init(uid: UInt32 = PeerID.ownUID, deadline: Deadline = .never, trace: TraceContext? = nil) {
    self.init(peer: .process, deadline: deadline, trace: trace)
    self.uid = uid
  }

  /// The scope of a call of `peer`, which shares the engine with others.
  public init(
    peer: PeerID, deadline: Deadline = .never, trace: TraceContext? = nil, executor: (any TaskExecutor)? = nil
  ) {
    uid = peer.uid
    self.peer = peer
    self.deadline = deadline
    self.trace = trace
    self.executor = executor
  }

  /// What the process does of its own accord, or for all users.
  public static let process = CallScope(peer: .process)

  /// The peer without its connection: what a uid's connections share is not divided between them.
  package var user: PeerID { PeerID(uid: peer.uid, connection: 0) }

  /// Returns the scope with `deadline`, unless its own is earlier.
  public func until(_ deadline: Deadline) -> CallScope {
    var scope = self
    scope.deadline = self.deadline.earlier(deadline)
    return scope
  }

  /// Returns the scope of work within `span`.
  package func within(_ span: any EngineSpan) -> CallScope {
    var scope = self
    scope.trace = span.context
    return scope
  }

  /// The scope of work that is completed whether or not the caller still waits: the same user, without a deadline.
  package var unbounded: CallScope {
    var scope = self
    scope.deadline = .never
    return scope
  }

  /// Returns the scope of the same call for `uid`, which a program with several users has named.
  package func of(_ uid: UInt32) -> CallScope {
    guard uid != self.uid else { return self }
    var scope = self
    scope.uid = uid
    if peer != .process { scope.peer = PeerID(uid: uid, connection: 0) }
    return scope
  }

  /// The scope without a trace: for requests that are not part of the call's trace. Its log lines still are the call's.
  package var untraced: CallScope {
    var scope = self
    scope.trace = nil
    return scope
  }

  /// The scope of work whose outcome users share: it waits in no user's queue, and keeps the trace and the label of
  /// the call that began it.
  package var shared: CallScope {
    var scope = CallScope(peer: .process, trace: trace)
    scope.label = label
    return scope
  }

  /// Runs `body` in a span about a token, as a child of the span that waits for it; its requests belong to that span.
  /// An error of `body` is reported as `no_token`.
  package func waitingForToken<Value, Failure: Error>(
    of issuer: String, _ body: (CallScope) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard let span = trace?.tracer?.begin(.token(issuer: issuer)) else { return try await body(self) }
    do throws(Failure) {
      let value = try await body(within(span))
      span.end(.done)
      return value
    } catch {
      span.end(.failed("no_token"))
      throw error
    }
  }

  /// Starts a task of the call, which may outlive it, on the executor of its connection.
  @discardableResult
  package func task<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
    Task(executorPreference: executor, operation: body)
  }
}

extension CallScope: ConciseStringConvertible {
  /// The uid.
  public var description: String { "call of uid \(uid)" }
}

extension SingleFlight {
  /// The outcome of the run of `key` that is under way, or else of `operation`, begun now in the scope that it gets:
  /// one without a deadline, and of no uid where runs serve everybody.
  package func value(
    for key: Key, in scope: CallScope,
    _ operation: @escaping @Sendable (CallScope) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let run = servesEverybody ? scope.shared : scope.unbounded
    return try await value(for: key, deadline: scope.deadline, on: run.executor) { () async throws(Failure) in
      try await operation(run)
    }
  }
}
