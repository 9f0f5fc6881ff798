import HTTPMessages
import PosternJSON
import PosternSupport

/// The answer of a device authorization endpoint (RFC 8628 section 3.2).
package struct DeviceAuthorization: Sendable {
  /// RFC 8628 section 3.2: five seconds where the issuer does not say.
  private static let defaultInterval = Duration.seconds(5)
  /// What servers give, in seconds, where the answer has no life of its own.
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
    guard let code = object["device_code"]?.filledText, let userCode = object["user_code"]?.filledText,
      let uri = (object["verification_uri"] ?? object["verification_url"])?.filledText
    else {
      throw TokenError(
        .malformed, "the device authorization endpoint's answer lacks a member", status: response.status)
    }
    deviceCode = code
    self.userCode = userCode
    verificationURI = uri
    verificationURIComplete = (object["verification_uri_complete"] ?? object["verification_url_complete"])?.filledText
    let life = object["expires_in"]?.leniently.flatMap { $0 > 0 ? $0 : nil } ?? Self.defaultLife
    self.life = .milliseconds(Int64(min(life, Self.longestLife) * 1000))
    let seconds = object["interval"]?.leniently ?? 5
    interval = seconds >= 1 && seconds <= 3600 ? .milliseconds(Int64(seconds * 1000)) : Self.defaultInterval
  }
}

extension ProviderClient {
  /// Requests codes for a user on another device (RFC 8628 section 3.1).
  package func deviceAuthorization(
    of scope: String?, at issuer: Issuer, trace: TraceContext?
  ) async throws(TokenError) -> DeviceAuthorization {
    let response = try await post(
      scope.map { [(name: "scope", value: $0)] } ?? [], to: .deviceAuthorization, of: issuer,
      maxBytes: TokenResponse.maxBytes, for: .token(issuer.name), trace: trace
    ).response
    return try DeviceAuthorization(response)
  }
}
