package import HTTPMessages
import PosternJSON
package import PosternSupport

/// A token endpoint's answer (RFC 6749 section 5.1): strict in the token and its type, which decide what is sent.
package struct TokenResponse: Sendable {
  package static let maxBytes = OAuthAnswer.maxBytes
  package static let maxTokenBytes = 16 << 10
  /// The lifetime of a token whose answer has none: short, since nothing is known.
  package static let defaultLifetime: Duration = .seconds(300)
  /// The maximum lifetime, so that a nonsensical number overflows nothing.
  package static let maxLifetime: Duration = .seconds(366 * 86_400)

  package let accessToken: String
  package let type: TokenType
  package let lifetime: Duration
  /// Whether the answer has a lifetime. Without one, a token that cannot be refreshed is used until it is rejected.
  package let statesLifetime: Bool
  package let scope: String?
  /// A new refresh token; nil means that the current one remains valid (RFC 6749 section 6).
  package let refreshToken: String?
  package let idToken: String?
  /// The type of the token by its identifier, which answers to exchanges have (RFC 8693 section 2.2.1).
  let issuedType: String?

  package init(_ response: HTTPResponse, by rules: TokenAnswerRules = TokenAnswerRules()) throws(TokenError) {
    let object = try OAuthAnswer(response).members(having: "access_token", of: "token endpoint")
    func malformed(_ detail: String) -> TokenError {
      TokenError(.malformed, "the token endpoint's answer \(detail)", status: response.status)
    }
    guard let token = object["access_token"]?.stringValue else { throw malformed("has no access_token") }
    guard (1...Self.maxTokenBytes).contains(token.utf8.count), token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw malformed("has an access_token that cannot be sent")
    }
    // RFC 6749 section 7.1: a token of a type that is not understood must not be used.
    let typeName = object["token_type"]?.stringValue
    guard let type = rules.type(named: typeName) else { throw malformed(TokenAnswerRules.fault(type: typeName)) }
    self.type = type
    accessToken = token
    let stated = Self.lifetime(object["expires_in"])
    lifetime = stated ?? Self.defaultLifetime
    statesLifetime = stated != nil
    scope = rules.scope(Self.scope(object["scope"]))
    refreshToken = object["refresh_token"]?.nonEmptyText.flatMap { $0.utf8.count <= Self.maxTokenBytes ? $0 : nil }
    idToken = object["id_token"]?.nonEmptyText
    issuedType = object["issued_token_type"]?.nonEmptyText
  }

  /// The lifetime; anything but a number of seconds counts as absent.
  private static func lifetime(_ value: JSONValue?) -> Duration? {
    guard let seconds = value?.lenientNumber, seconds >= 0 else { return nil }
    return seconds >= 366 * 86_400 ? maxLifetime : .seconds(Int64(seconds))
  }

  /// The scope, which some servers send as a list (Twitch).
  private static func scope(_ value: JSONValue?) -> String? {
    value?.stringValue ?? value?.arrayValue.map { $0.compactMap(\.stringValue).joined(separator: " ") }
  }
}

/// Sends requests to token endpoints.
package struct TokenRequests: Sendable {
  /// A token endpoint's answer, with the time of its request, from which lifetimes count.
  package struct Answer: Sendable {
    package let response: TokenResponse
    let sent: MonotonicInstant
    /// The time of the request by the wall clock.
    package let sentAt: Timestamp
    /// The binding of the token to its sender.
    package let binding: TokenBinding
  }

  package let provider: ProviderClient

  package init(provider: ProviderClient) {
    self.provider = provider
  }

  /// Requests a token from `issuer` with the members of `form`, and with a proof of `key` for a token bound to it (RFC
  /// 9449 section 5). An issuer with bound tokens gets no request without a key.
  package func token(
    _ form: [(name: String, value: String)], at issuer: Issuer, key: DPoPKey?, in scope: CallScope
  ) async throws(TokenError) -> Answer {
    guard key != nil || !issuer.usesDPoP else {
      throw TokenError(.notPossible, "the issuer's tokens are to be bound to a key, and there is none")
    }
    let clock = provider.services.clock
    let answer = try await provider.post(
      form, to: .token, of: issuer, maxBytes: TokenResponse.maxBytes, for: .token(issuer.name), key: key, in: scope)
    let age = clock.monotonicNow - answer.sent
    let response = try TokenResponse(answer.response, by: issuer.answerRules)
    return Answer(
      response: response, sent: answer.sent, sentAt: clock.wallNow + (.zero - age),
      binding: try Self.binding(response.type, key))
  }

  private static func binding(_ type: TokenType, _ key: DPoPKey?) throws(TokenError) -> TokenBinding {
    switch (type, key) {
    case (.bearer, nil): return .none
    case (.bearer, _?): return .declined
    case (.dpop, let key?): return .key(key)
    case (.dpop, nil):
      throw TokenError(
        .malformed, "the token endpoint gave a token of type DPoP to a request without a proof", status: 200)
    }
  }
}
