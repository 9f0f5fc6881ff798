import HTTPMessages
import OAuthClient
public import PosternSupport

/// The method of a fetch: any token (RFC 9110 section 16.1) but CONNECT, TRACE and TRACK, which a client with a credential
/// never sends.
public struct HTTPMethod: RawRepresentable, Sendable, Hashable {
  /// The token, as it is sent.
  public let rawValue: String

  /// GET.
  public static let get = HTTPMethod(known: "GET")
  /// POST.
  public static let post = HTTPMethod(known: "POST")
  /// PUT.
  public static let put = HTTPMethod(known: "PUT")
  /// PATCH.
  public static let patch = HTTPMethod(known: "PATCH")
  /// HEAD.
  public static let head = HTTPMethod(known: "HEAD")
  /// DELETE.
  public static let delete = HTTPMethod(known: "DELETE")
  /// OPTIONS.
  public static let options = HTTPMethod(known: "OPTIONS")
  /// QUERY: a safe one with a body.
  public static let query = HTTPMethod(known: "QUERY")

  /// The method of that name, byte by byte; nil for anything but a token, and for CONNECT, TRACE and TRACK.
  public init?(rawValue: String) {
    guard HTTPFieldRules.isName(rawValue), !HTTPFieldRules.excludedMethods.contains(rawValue.uppercasedASCII()) else {
      return nil
    }
    self.rawValue = rawValue
  }

  private init(known name: String) { rawValue = name }

  /// The method of that name in any case, as methods are registered in capitals; throws `method_not_allowed`.
  init(named name: String) throws(ResourceError) {
    switch name {
    // The usual ones as they are written.
    case "GET": self = .get
    case "POST": self = .post
    default: try self.init(exactly: name.uppercasedASCII())
    }
  }

  /// The method of exactly that name; throws `method_not_allowed`.
  init(exactly name: String) throws(ResourceError) {
    guard let method = HTTPMethod(rawValue: name) else {
      throw ResourceError(
        .methodNotAllowed, "the method must be a token (RFC 9110 section 9.1) other than CONNECT and TRACE",
        path: ["method"])
    }
    self = method
  }

  /// Whether parameters go into the query rather than into the body.
  var takesParametersInQuery: Bool { self == .get || self == .head || self == .delete }

  /// Whether doing it twice is doing it once, as far as that is registered (RFC 9110 sections 9.2.2 and 18.2).
  var isIdempotent: Bool { Self.idempotent.contains(rawValue) }

  private static let idempotent: Set<String> = [
    "COPY", "DELETE", "GET", "HEAD", "MKCALENDAR", "MKCOL", "MOVE", "OPTIONS", "PROPFIND", "PROPPATCH", "PUT", "QUERY",
    "REPORT", "SEARCH",
  ]
}

extension HTTPMethod: ConciseStringConvertible {
  /// The token.
  public var description: String { Concise.name(rawValue) }
}
