public import OAuthClient
import PosternJSON
public import PosternSupport
public import Sessions

/// A step of a journey with typed callbacks, and the way to the next one.
///
/// A value: a program fills its callbacks and calls `next()`. What is filled in lasts as long as the node; passwords
/// are kept as `Secret` until they are sent, and `Journeys` keeps none of them. A node is valid once: a second `next()`
/// is an error, unless the first one sent nothing.
public struct JourneyNode: Sendable {
  /// The outcome of a step.
  public enum Outcome: Sendable {
    /// The next step.
    case node(JourneyNode)
    /// The journey is completed.
    case completed(JourneyEnd)
    /// The access manager rejected the login.
    case failed(JourneyFailure)

    fileprivate init(
      _ outcome: JourneyOutcome, of journeys: Journeys, issuer: @escaping IssuerLookup, in scope: CallScope
    ) {
      self =
        switch outcome {
        case .callbacks(let step): .node(JourneyNode(step, of: journeys, issuer: issuer, in: scope))
        case .completed(let end): .completed(end)
        case .failed(let failure): .failed(failure)
        }
    }
  }

  /// The step, with the access manager's own JSON.
  public let step: JourneyStep
  /// The callbacks to fill, in the order of the step. Types that are not known are `JourneyCallback`.
  public var callbacks: [any TypedCallback]
  private let journeys: Journeys
  private let issuer: IssuerLookup
  /// The caller whose node it is.
  private let scope: CallScope

  /// The node of a step that `journeys` returned for the same issuer and peer.
  public init(_ step: JourneyStep, of journeys: Journeys, at issuer: SessionIssuer, in scope: CallScope) {
    self.init(step, of: journeys, issuer: { _ in issuer }, in: scope)
  }

  /// Returns the issuer of a configured name, as it is configured now.
  public typealias IssuerLookup = @Sendable (_ name: String) throws(SessionError) -> SessionIssuer

  /// The node of a step, whose issuer is looked up when it continues: where it has been reconfigured, nothing is sent.
  public init(_ step: JourneyStep, of journeys: Journeys, issuer: @escaping IssuerLookup, in scope: CallScope) {
    self.step = step
    callbacks = step.typedCallbacks
    self.journeys = journeys
    self.issuer = issuer
    self.scope = scope.unbounded.untraced
  }

  /// The page's name in the tree; nil where it has none.
  public var stage: String? { step.stage }

  /// The page's heading; nil where it has none.
  public var pageHeader: String? { step.header }

  /// The page's text; nil where it has none.
  public var pageDescription: String? { step.description }

  /// The expiry of the node.
  public var expiresAt: Timestamp { step.expiresAt }

  /// The first callback of that type; nil where the step has none.
  public func first<Callback: TypedCallback>(_ type: Callback.Type) -> Callback? {
    callbacks.lazy.compactMap { $0 as? Callback }.first
  }

  /// Changes the first callback of that type. Throws what `change` throws, and where the step has none.
  public mutating func fill<Callback: TypedCallback>(
    _ type: Callback.Type, _ change: (inout Callback) throws(JourneyError) -> Void
  ) throws(JourneyError) {
    for index in callbacks.indices {
      guard var callback = callbacks[index] as? Callback else { continue }
      try change(&callback)
      callbacks[index] = callback
      return
    }
    throw JourneyError(.invalid(path: ["callbacks"]), "the step has no \(Callback.self)")
  }

  /// Sends the callbacks, and returns what follows. A wait that the access manager requested is over then.
  ///
  /// The deadline of `scope` bounds the call; a request that has been sent runs to its end all the same. Without a
  /// `scope` the call is that of the node.
  public func next(
    in scope: CallScope? = nil
  ) async throws(JourneyError) -> Outcome {
    try await next(callbacks, in: scope)
  }

  /// Sends `callbacks` in place of the node's own: as many as the step has, of the same types in the same order.
  public func next(
    _ callbacks: [any TypedCallback], in scope: CallScope? = nil
  ) async throws(JourneyError) -> Outcome {
    let scope = scope ?? self.scope
    let outcome = try await journeys.resume(
      step.continuation, callbacks: step.callbacks.isEmpty && callbacks.isEmpty ? nil : callbacks.map(\.filled.json),
      issuer: issuer, answers: Self.returning(callbacks), in: scope)
    return Outcome(outcome, of: journeys, issuer: issuer, in: scope)
  }

  /// Does what the asynchronous form does, and calls `completion` once, from a task of its own. Cancelling the task
  /// ends the call early.
  @discardableResult
  public func next(
    completion: @escaping @Sendable (Result<Outcome, JourneyError>) -> Void
  ) -> Task<Void, Never> {
    scope.task { [self] in
      do throws(JourneyError) {
        completion(.success(try await next()))
      } catch {
        completion(.failure(error))
      }
    }
  }

  /// The URLs with which a browser or an e-mail led back. They have no input: the request has their parameters.
  private static func returning(_ callbacks: [any TypedCallback]) -> JourneyAnswers {
    var answers = JSONObject()
    for callback in callbacks {
      if let url = (callback as? RedirectCallback)?.callbackURL {
        answers[JourneyAnswers.redirect] = .string(url.reveal())
      }
      if let uri = (callback as? SuspendedTextOutputCallback)?.resumeURI {
        answers[JourneyAnswers.suspended] = .string(uri.reveal())
      }
    }
    return JourneyAnswers(once: answers)
  }
}

extension JourneyNode: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The stage and the callbacks' types.
  public var description: String {
    Concise.text("\(stage.map { "\(Concise.name($0)): " } ?? "")\(callbacks.map(\.type).joined(separator: ", "))")
  }

  /// The description.
  public var debugDescription: String { description }

  /// A mirror without children: the continuation is not printed, nor what the user entered.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension JourneyStep {
  /// The callbacks as values of their types; filled, the `json` of their `filled` continues the journey.
  public var typedCallbacks: [any TypedCallback] { callbacks.compactMap { JourneyCallback($0)?.typed } }
}

/// The name that the mobile SDKs have for `JourneyNode`.
public typealias Node = JourneyNode

extension Journeys {
  /// Starts a journey of the caller, step by step, and continues it as far as `answers` reach. `lookup` returns
  /// the issuer as it is configured when the journey continues; nil: the same.
  public func start(
    _ request: JourneyRequest, at issuer: SessionIssuer, answers: JourneyAnswers = JourneyAnswers(),
    lookup: JourneyNode.IssuerLookup? = nil, in scope: CallScope = CallScope()
  ) async throws(JourneyError) -> JourneyNode.Outcome {
    JourneyNode.Outcome(
      try await begin(request, at: issuer, answers: answers, in: scope),
      of: self, issuer: lookup ?? { _ in issuer }, in: scope)
  }
}

extension JourneyNode.Outcome: ConciseStringConvertible {
  /// The node, the end or the rejection.
  public var description: String {
    switch self {
    case .node(let node): node.debugDescription
    case .completed(let end): "\(end)"
    case .failed(let failure): "\(failure)"
    }
  }
}
