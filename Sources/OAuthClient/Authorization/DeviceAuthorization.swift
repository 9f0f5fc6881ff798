import HTTPMessages
import PosternJSON
import PosternSupport

/// The answer of a device authorization endpoint (RFC 8628 section 3.2).
package struct DeviceAuthorization: Sendable {
  /// RFC 8628 section 3.2: five seconds where the issuer does not say.
  private static let defaultInterval = Duration.seconds(5)
  /// The life, in seconds, of a code whose answer does not state one.
  private static let defaultLife = 900.0
  /// The longest accepted life of a device code.
  private static let longestLife = 86_400.0

  package let deviceCode: String
  package let userCode: String
  package let verificationURI: String
  package let verificationURIComplete: String?
  package let life: Duration
  package let interval: Duration

  init(_ response: HTTPResponse) throws(TokenError) {
    let object = try OAuthAnswer(response).members(having: "device_code", of: "device authorization endpoint")
    guard let code = object["device_code"]?.nonEmptyText, let userCode = object["user_code"]?.nonEmptyText,
      let uri = object["verification_uri"]?.nonEmptyText ?? object["verification_url"]?.nonEmptyText
    else {
      throw TokenError(
        .malformed, "the device authorization endpoint's answer lacks a member", status: response.status)
    }
    deviceCode = code
    self.userCode = userCode
    verificationURI = uri
    verificationURIComplete =
      object["verification_uri_complete"]?.nonEmptyText ?? object["verification_url_complete"]?.nonEmptyText
    let life = object["expires_in"]?.lenientNumber.flatMap { $0 > 0 ? $0 : nil } ?? Self.defaultLife
    self.life = .milliseconds(Int64(min(life, Self.longestLife) * 1000))
    let seconds = object["interval"]?.lenientNumber ?? 5
    interval = seconds >= 1 && seconds <= 3600 ? .milliseconds(Int64(seconds * 1000)) : Self.defaultInterval
  }
}

extension ProviderClient {
  /// Requests codes for a user on another device (RFC 8628 section 3.1).
  package func deviceAuthorization(
    of scope: String?, at issuer: Issuer, in call: CallScope
  ) async throws(TokenError) -> DeviceAuthorization {
    let response = try await post(
      scope.map { [(name: "scope", value: $0)] } ?? [], to: .deviceAuthorization, of: issuer,
      maxBytes: TokenResponse.maxBytes, for: .token(issuer.name), in: call
    ).response
    return try DeviceAuthorization(response)
  }
}
