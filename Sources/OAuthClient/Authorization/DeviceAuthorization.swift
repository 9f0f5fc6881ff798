import HTTPMessages
import PosternJSON
import PosternSupport

/// The answer of a device authorization endpoint (RFC 8628 section 3.2).
package struct DeviceAuthorization: Sendable {
  /// RFC 8628 section 3.2: five seconds where the issuer does not say.
  private static let defaultInterval = Duration.seconds(5)
  /// The longest accepted life of a device code.
  private static let longestLife = 86_400.0

  package let deviceCode: String
  package let userCode: String
  package let verificationURI: String
  package let verificationURIComplete: String?
  package let life: Duration
  package let interval: Duration

  init(_ response: HTTPResponse) throws(TokenError) {
    let document = try? JSONParser(maxBytes: TokenResponse.maxBytes, maxDepth: 16).parse(response.body)
    guard let code = document?["device_code"]?.stringValue, let userCode = document?["user_code"]?.stringValue,
      let uri = document?["verification_uri"]?.stringValue ?? document?["verification_url"]?.stringValue,
      let life = document?["expires_in"]?.numberValue, life > 0
    else {
      throw TokenError(
        .malformed, "the device authorization endpoint's answer lacks a member", status: response.status)
    }
    deviceCode = code
    self.userCode = userCode
    verificationURI = uri
    verificationURIComplete = document?["verification_uri_complete"]?.stringValue
    self.life = .milliseconds(Int64(min(life, Self.longestLife) * 1000))
    let seconds = document?["interval"]?.numberValue ?? 5
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
    guard response.status == 200 else { throw TokenResponse.failure(response, of: "device authorization endpoint") }
    return try DeviceAuthorization(response)
  }
}
