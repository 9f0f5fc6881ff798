public import PosternSupport
public import Sessions

/// How the advice that a fetch meets is satisfied, and where the fetch is stored meanwhile.
public struct FetchAdvice: Sendable {
  /// Satisfies it; nil: a user's fetch ends with the advice, and without a session the response is the result.
  public var delegate: (any AuthorizationPolicyDelegate)?
  /// The policy that replaces `delegate`: it covers none but the resource server's URLs, and no advice of another
  /// access manager than the server's. Nil: `delegate`, for all URLs of the server. A server without `advice` rules
  /// permits all advice that an authentication can satisfy; where the rules permit none, a fetch of a URL that the
  /// policy covers ends with `invalid_params`, and nothing is sent.
  public var policy: AuthorizationPolicy?
  /// Whether the delegate decides about responses in which no advice is recognised: their bodies are not streamed then.
  public var consultsDelegate: Bool
  /// How far a fetch had come that is resumed now.
  public var progress: AdviceProgress?
  /// Keeps the fetch under a continuation; nil when it cannot be kept.
  public var hold: @Sendable (AdviceStop) async -> String?
  /// The fetch continues by itself, or has ended: releases its continuation.
  public var release: @Sendable (_ continuation: String) -> Void
  /// No caller waits for the fetch any more, though its continuation was handed out: releases it, unless it is to
  /// outlive its caller.
  public var abandon: @Sendable (_ continuation: String) -> Void
  /// The continuation is good for the whole time from now on. False when it is gone.
  public var extend: @Sendable (_ continuation: String) -> Bool
  /// The session of a user who has logged in for the advice; asked where the fetch had no session before. Nil: the fetch
  /// goes on without one.
  public var newSession: @Sendable () async -> SessionRef? = { nil }
  /// Identifies the delegate: one that does not answer is silent for its own fetches only. Nil: there is none.
  public var delegateID: UInt64?

  /// No delegate, and no store.
  public init(
    delegate: (any AuthorizationPolicyDelegate)? = nil, consultsDelegate: Bool = false,
    progress: AdviceProgress? = nil, delegateID: UInt64? = 0,
    hold: @escaping @Sendable (AdviceStop) async -> String? = { _ in nil },
    release: @escaping @Sendable (String) -> Void = { _ in },
    extend: @escaping @Sendable (String) -> Bool = { _ in true },
    abandon: (@Sendable (String) -> Void)? = nil
  ) {
    self.delegate = delegate
    self.consultsDelegate = consultsDelegate
    self.progress = progress
    self.hold = hold
    self.release = release
    self.extend = extend
    self.abandon = abandon ?? release
    self.delegateID = delegateID
  }
}

extension FetchAdvice: ConciseStringConvertible {}
