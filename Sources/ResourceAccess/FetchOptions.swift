public import HTTPMessages
public import OAuthClient
public import PosternSupport
public import Sessions

/// What a caller may decide about one fetch.
public struct FetchOptions: Sendable {
  /// Whose token the request carries; nil: as the resource server says.
  public var authentication: ResourceServer.Authentication?
  /// The session whose token the request carries, with `user` and `implicit`.
  public var session: FetchSession?
  /// How long the whole fetch may take, token, redirects and retry included; nil: as the resource server says. At most
  /// `ResourceServer.maxTimeout`.
  public var timeout: Duration?
  /// When the caller's own patience ends, whatever `timeout` says.
  public var deadline: Deadline
  /// Whether redirects are followed.
  public var followsRedirects: Bool
  /// The caller's place in a distributed trace.
  public var trace: TraceContext?
  /// Decides whether a response means that the token must be renewed; nil: as the resource's rule says.
  public var tokenDelegate: (any TokenManagementPolicyDelegate)?
  /// Which requests carry the token, and who decides that it must be renewed, in the place of the resource's own rules
  /// and `tokenDelegate`; never for URLs that are not the resource server's. Nil: all of the server's.
  public var tokenPolicy: TokenManagementPolicy?
  /// Whose cookies go along, where the resource keeps any; nil: those of `session`, where that names one.
  public var cookieOwner: CookieOwner?
  /// For whom the fetch is: where fetches wait for each other, those of whoever has fewest under way go first.
  public var requester = Requester.process
  /// Who satisfies policy advice that the fetch meets, with a user's session, where the resource server has rules for
  /// it; nil: nobody, it is an answer like any other.
  public var advice: FetchAdvice?
  /// The task as which the fetch can be watched, held and ended, a task for each fetch; nil: nobody does.
  public var task: NetworkTask?
  /// Where long bodies are encrypted and decrypted; nil: where the fetch is carried out.
  public var longWork: LongWork?
  /// Takes the body in pieces, in order, before the response is returned, which has none then; nil: the response has
  /// it. What does not return lets the server wait; false ends the transfer, and the fetch as `request_cancelled`.
  public var deliver: (@Sendable ([UInt8]) async -> Bool)?
  /// With `deliver`: takes the response's head, once, before the first piece and as soon as it is certain that no other
  /// request follows. False ends the fetch as it does there.
  public var deliverHead: (@Sendable (HTTPResponseHead) async -> Bool)?

  /// Options; the defaults are those of a caller that says nothing.
  public init(
    authentication: ResourceServer.Authentication? = nil, timeout: Duration? = nil, deadline: Deadline = .never,
    followsRedirects: Bool = true, trace: TraceContext? = nil
  ) {
    self.authentication = authentication
    self.timeout = timeout
    self.deadline = deadline
    self.followsRedirects = followsRedirects
    self.trace = trace
  }

  /// Whether somebody is asked about answers.
  var asksDelegate: Bool {
    tokenDelegate != nil || tokenPolicy?.hasDelegate == true || advice?.asksAboutAnswers == true
  }

  /// The same with that token, and no other session's.
  package func authenticated(_ authentication: ResourceServer.Authentication, _ session: FetchSession? = nil)
    -> FetchOptions
  {
    var options = self
    options.authentication = authentication
    options.session = session
    return options
  }
}
