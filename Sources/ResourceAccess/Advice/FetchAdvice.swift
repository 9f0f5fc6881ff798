/// Who satisfies the advice that a fetch meets, and where the fetch is kept meanwhile.
public struct FetchAdvice: Sendable {
  /// Satisfies it; nil: the fetch ends with the advice.
  public var delegate: (any AuthorizationPolicyDelegate)?
  /// For which answers, and by whom, in the place of `delegate`; never for URLs that are not the resource server's, and
  /// no other access manager's advice than its. Nil: `delegate`, for all of the server's. With a policy that covers the
  /// URL a fetch needs the rest, too: a user's token and the server's `advice` rules; without them it ends with
  /// `invalid_params`, and nothing is sent.
  public var policy: AuthorizationPolicy?
  /// Whether the delegate is to be asked about answers that are none of advice by themselves: their bodies are not
  /// streamed then.
  public var asksAboutAnswers: Bool
  /// How far a fetch had come that is resumed now.
  public var progress: AdviceProgress?
  /// Keeps the fetch under a continuation; nil when it cannot be kept.
  public var hold: @Sendable (AdviceStop) -> String?
  /// The fetch goes on by itself, or has ended: its continuation is of no use any more.
  public var release: @Sendable (_ continuation: String) -> Void
  /// Nobody waits for the fetch any more, though its continuation has been told: it is to be released, unless it is to
  /// outlive its caller.
  public var abandon: @Sendable (_ continuation: String) -> Void
  /// The continuation is good for the whole time from now on. False when it is gone.
  public var extend: @Sendable (_ continuation: String) -> Bool
  /// Who the delegate asks: one that does not answer is silent for its own fetches only. Nil: nobody is asked.
  public var asked: UInt64?

  /// Nobody, and nowhere.
  public init(
    delegate: (any AuthorizationPolicyDelegate)? = nil, asksAboutAnswers: Bool = false,
    progress: AdviceProgress? = nil, asked: UInt64? = 0,
    hold: @escaping @Sendable (AdviceStop) -> String? = { _ in nil },
    release: @escaping @Sendable (String) -> Void = { _ in },
    extend: @escaping @Sendable (String) -> Bool = { _ in true },
    abandon: (@Sendable (String) -> Void)? = nil
  ) {
    self.delegate = delegate
    self.asksAboutAnswers = asksAboutAnswers
    self.progress = progress
    self.hold = hold
    self.release = release
    self.extend = extend
    self.abandon = abandon ?? release
    self.asked = asked
  }
}
