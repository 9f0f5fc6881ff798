public import HTTPMessages
public import PosternSupport
public import Sessions

/// The moment of a fetch about which a policy's delegate decides: a request and its response.
public struct PolicyEvent: Sendable {
  /// The request as it was sent, redirects followed and bodies not encrypted, without what authenticates it: the token,
  /// its proof, and the cookies that are kept for the session.
  public let request: HTTPRequest
  /// The response; nil where there is none: the issuer requires something of the user before it issues a token, or a
  /// fetch is resumed.
  public let response: HTTPResponse?
  /// The task of the fetch, with which a delegate can watch or cancel it; nil where a program sends by itself
  /// (`TokenManagementPolicy.send`).
  public let task: NetworkTask?
  /// The user's session whose token the request carried; nil where no user is logged in.
  public let session: SessionHandle?

  /// The URL of the request.
  public var url: HTTPURL { request.url }

  /// An event of the given parts. Credentials of `request` are left out.
  public init(
    request: HTTPRequest, response: HTTPResponse?, task: NetworkTask? = nil, session: SessionHandle? = nil
  ) {
    var request = request
    if request.fields["Authorization"] != nil { request.fields["Authorization"] = nil }
    if request.fields["DPoP"] != nil { request.fields["DPoP"] = nil }
    self.request = request
    self.response = response
    self.task = task
    self.session = session
  }
}

extension PolicyEvent: ConciseStringConvertible {
  /// The request, and the status of its response.
  public var description: String { Concise.text("\(request)", response.map { "status \($0.status)" }) }
}
