import PosternJSON
import PosternSupport

/// When and how a user logged in.
struct UserAuthentication: Sendable, Equatable {
  /// `auth_time`.
  var time: Timestamp
  /// `acr`.
  var acr: String
  /// `amr` (RFC 8176).
  var amr: [String]
  /// `sid`: the session the login began.
  var sessionID: String

  /// The `acr` values that a login can have: a password alone, and with a second factor.
  static let supportedACRs = ["pwd", "mfa"]

  /// The claims as JSON.
  var claims: JSONObject {
    [
      "auth_time": .integer(time.secondsSinceEpoch),
      "acr": .string(acr),
      "amr": .array(amr.map { .string($0) }),
      "sid": .string(sessionID),
    ]
  }
}

extension UserAuthentication {
  /// The authentication in these claims; nil when they have none.
  init?(claims: JSONObject) {
    guard let time = claims["auth_time"]?.integerValue, let acr = claims["acr"]?.stringValue,
      let amr = claims["amr"]?.arrayValue?.compactMap(\.stringValue), let sessionID = claims["sid"]?.stringValue
    else { return nil }
    self.init(time: Timestamp(secondsSinceEpoch: time), acr: acr, amr: amr, sessionID: sessionID)
  }
}
