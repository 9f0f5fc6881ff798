public import PosternSupport
public import Sessions

/// How many cookies of a resource are kept. Every policy has jars of its own; a copy shares them.
public struct CookiePolicy: Sendable, Hashable, ConciseStringConvertible {
  /// The most cookies of one scope.
  public var maxCookies: Int
  /// The most bytes of names, values, domains and paths of one scope.
  public var maxBytes: Int
  /// The limits.
  public var description: String {
    "at most \(Concise.count(maxCookies, "cookie")), \(Concise.count(maxBytes, "byte"))"
  }
  /// Identifies the jars.
  let store = UInt64.random(in: .min ... .max)

  /// New, empty jars with these bounds.
  public init(maxCookies: Int = 50, maxBytes: Int = 64 << 10) {
    self.maxCookies = maxCookies
    self.maxBytes = maxBytes
  }
}

/// The uid and session whose cookies are sent with a request. Cookies of one scope are never sent in another.
public struct CookieScope: Sendable, Hashable, ConciseStringConvertible {
  /// The peer.
  public let uid: UInt32
  /// The session whose token is sent with the request, if one is.
  public let session: SessionHandle?
  /// Uid and session.
  public var description: String { Concise.text("cookies of uid \(uid)", session.map { "session \($0)" }) }

  /// A scope of the given parts.
  public init(uid: UInt32 = PeerID.ownUID, session: SessionHandle? = nil) {
    self.uid = uid
    self.session = session
  }
}
