import HTTPMessages
import PosternSupport

/// The URL to which the issuer sent the user back, taken apart (RFC 6749 section 4.1.2).
package struct AuthorizationCallback: Sendable {
  static let maxBytes = 64 << 10
  /// The parameters that are read. No other decides anything, whatever it is and however often it is there.
  private static let names = ["code", "state", "iss", "error"]

  /// The URL without its query and fragment.
  package let location: String
  private let members: [(name: String, value: String)]

  /// Nil when it is too long, or repeats a parameter that is read (RFC 6749 section 3.1).
  package init?(_ url: String) {
    guard url.utf8.count <= Self.maxBytes else { return nil }
    let parts = url.prefix(beforeBytes: "#").split(atByte: "?", maxSplits: 1, omittingEmptySubsequences: false)
    location = parts.first.map(String.init) ?? ""
    members = FormEncoding.readableFields(of: parts.count > 1 ? String(parts[1]) : "")
    guard Self.names.allSatisfy({ values(of: $0).count <= 1 }) else { return nil }
  }

  package subscript(name: String) -> String? { values(of: name).first }

  /// The values of a parameter, in order.
  func values(of name: String) -> [String] { members.filter { $0.name.hasSameBytes(as: name) }.map(\.value) }

  /// The code, when everything around it is right.
  package func code(
    redirectURI: String, issuer: Issuer, requiresIssuer: Bool
  ) throws(AuthorizationError) -> String {
    guard RedirectURI(redirectURI).isTarget(of: self) else {
      throw AuthorizationError("the callback went to another redirect URI", "redirect_uri_mismatch")
    }
    // RFC 9207 section 2.4: an answer of another issuer, or without its name where the issuer always gives it.
    if let iss = self["iss"] {
      guard iss.isIdentical(to: issuer.identifier) else {
        throw AuthorizationError("the callback is another issuer's", "iss_mismatch")
      }
    } else if requiresIssuer {
      throw AuthorizationError("the callback does not name its issuer", "missing_iss")
    }
    if let error = self["error"], !error.isEmpty {
      let isWord = (1...128).contains(error.utf8.count) && error.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
      throw AuthorizationError("the issuer denied the authorization", isWord ? error : "invalid_error")
    }
    guard let code = self["code"], !code.isEmpty else {
      throw AuthorizationError("the callback has no code", "missing_code")
    }
    return code
  }
}

/// The reason why an authorization request gave no code.
package struct AuthorizationError: Error {
  package let detail: String
  /// The error code of the answer, or one for what is wrong with it.
  package let code: String
  /// Whether the user has to log in again.
  package let isFinal: Bool
  /// The server's failure, where there was no answer to judge.
  package var cause: TokenError?

  package init(_ detail: String, _ code: String, isFinal: Bool = false) {
    self.detail = detail
    self.code = code
    self.isFinal = isFinal
  }

  package init(_ cause: TokenError) {
    self.init(cause.detail, "")
    self.cause = cause
  }
}
