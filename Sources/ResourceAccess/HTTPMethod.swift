import OAuthClient
import PosternSupport

/// The methods a fetch may use.
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
  /// GET.
  case get = "GET"
  /// POST.
  case post = "POST"
  /// PUT.
  case put = "PUT"
  /// PATCH.
  case patch = "PATCH"
  /// HEAD.
  case head = "HEAD"
  /// DELETE.
  case delete = "DELETE"

  /// The method of that name in any case; throws `method_not_allowed`.
  init(named name: String) throws(ResourceError) {
    guard let method = HTTPMethod(rawValue: name.uppercasedASCII()) else {
      throw ResourceError(
        .methodNotAllowed, "the method must be one of GET, POST, PUT, PATCH, HEAD, DELETE", path: ["method"])
    }
    self = method
  }

  /// Whether parameters go into the query rather than into the body.
  var takesParametersInQuery: Bool { self == .get || self == .head || self == .delete }

  /// Whether doing it twice is doing it once (RFC 9110 section 9.2.2).
  var isIdempotent: Bool { self != .post && self != .patch }
}
