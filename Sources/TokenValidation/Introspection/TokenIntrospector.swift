import HTTPMessages
import JOSE
public import OAuthClient
import PosternJSON
public import PosternSupport

/// Sends introspection requests to an authorization server (RFC 7662), and checks its answers, plain or signed (RFC
/// 9701).
///
/// Answers are not cached: a revocation is seen by the next call. Equal calls of one user at the same time share one
/// request.
public final class TokenIntrospector: Sendable {
  /// The parameters of a request, with its user; equal calls of one user share a request. Calls of several users do
  /// not: there can be as many requests as tokens, so that each has to wait in its own user's queue.
  struct Question: Hashable, Sendable {
    let uid: UInt32
    let issuer: Issuer
    let token: Secret<String>
    let hint: String?
  }

  /// The media type of a signed answer (RFC 9701 section 4).
  static let signedType = "application/token-introspection+jwt"
  static let maxTokenBytes = 65_536
  static let maxBytes = 256 << 10

  private let provider: ProviderClient
  private let checker: IntrospectionChecker
  /// The requests in flight.
  let flights: SingleFlight<Question, HTTPResponse, TokenError>

  /// Endpoints that the configuration does not give come from `discovery`.
  package init(_ services: Services, discovery: ProviderDiscovery) {
    provider = ProviderClient(services, discovery: discovery)
    checker = IntrospectionChecker(clock: services.clock, limits: TokenLimits(maxBytes: Self.maxBytes))
    flights = SingleFlight(clock: services.clock, cancelsAbandonedRuns: true) { end in
      switch end {
      case .cancelled: TokenError(.cancelled, "the wait for an introspection was cancelled")
      case .deadlineExceeded: TokenError(.deadlineExceeded, "the deadline passed while waiting for an introspection")
      }
    }
  }

  /// Returns the verdict on `token`; `hint` may name its kind (`access_token`).
  ///
  /// An inactive token is a verdict. Throws only when the server gives no usable answer.
  public func verdict(
    on token: Secret<String>, hint: String? = nil, issuer: Issuer, expecting expectations: IntrospectionExpectations,
    configuration: IDTokenConfiguration, keys: any KeySource, in scope: CallScope = CallScope()
  ) async throws(IntrospectionError) -> IntrospectionVerdict {
    guard token.reveal().utf8.count <= Self.maxTokenBytes else {
      return .invalid(TokenFault(JOSEError(.tokenTooLarge, "token is larger than \(Self.maxTokenBytes) bytes")))
    }
    guard !issuer.clientID.isEmpty else {
      throw .unanswered(TokenError(.notPossible, "the issuer is configured without clientId"))
    }
    let observer = provider.services.observer
    do throws(IntrospectionError) {
      let question = Question(uid: scope.uid, issuer: issuer, token: token, hint: hint)
      let response = try await answer(to: question, scope)
      let verdict = try await judge(response, issuer, expectations, configuration, keys, scope)
      observer.observe(.introspected(issuer: issuer.name), in: scope)
      return verdict
    } catch {
      if let fault = error.fault {
        observer.observe(.introspectionFailed(issuer: issuer.name, error: fault), in: scope)
      }
      throw error
    }
  }

  /// Why the issuer says that a JWT, which is valid by itself, is not to be accepted; nil where it says that it is active.
  public func rejection(
    of token: Secret<String>, issuer: Issuer, configuration: IDTokenConfiguration, keys: any KeySource,
    in scope: CallScope = CallScope()
  ) async throws(IntrospectionError) -> TokenFault? {
    // The token's own claims have been judged by the caller's expectations.
    let verdict = try await verdict(
      on: token, issuer: issuer, expecting: IntrospectionExpectations(), configuration: configuration, keys: keys,
      in: scope)
    guard case .invalid(let fault) = verdict else { return nil }
    return fault
  }

  private func judge(
    _ response: HTTPResponse, _ issuer: Issuer, _ expectations: IntrospectionExpectations,
    _ configuration: IDTokenConfiguration, _ keys: any KeySource, _ scope: CallScope
  ) async throws(IntrospectionError) -> IntrospectionVerdict {
    guard response.fields["Content-Type"].flatMap(MediaType.init)?.essence == Self.signedType else {
      return try checker.verdict(body: response.body, expecting: expectations, configuration: configuration)
    }
    guard let text = String(validating: response.body, as: UTF8.self) else {
      throw .malformed("signed introspection response is not text")
    }
    return try await checker.verdict(
      signedBody: text, resourceServer: issuer.clientID, expecting: expectations, configuration: configuration,
      keys: keys, in: scope)
  }

  private func answer(
    to question: Question, _ scope: CallScope
  ) async throws(IntrospectionError) -> HTTPResponse {
    do throws(TokenError) {
      return try await flights.value(for: question, in: scope) {
        [provider] scope async throws(TokenError) in try await Self.ask(question, provider, scope)
      }
    } catch {
      throw .unanswered(error)
    }
  }

  private static func ask(
    _ question: Question, _ provider: ProviderClient, _ scope: CallScope
  ) async throws(TokenError) -> HTTPResponse {
    var form = [(name: "token", value: question.token.reveal())]
    if let hint = question.hint { form.append((name: "token_type_hint", value: hint)) }
    let issuer = question.issuer
    // The server chooses: one that does not sign its answers does not know the first type (RFC 9110 section 12.5.1).
    let response = try await provider.post(
      form, to: .introspection, of: issuer, accepting: "\(signedType), application/json;q=0.9", maxBytes: maxBytes,
      for: .introspection(issuer.name), in: scope
    ).response
    try OAuthAnswer(response).requireSuccess(of: "introspection endpoint", having: "active")
    return response
  }
}

/// The reason why an introspection has no result.
public enum IntrospectionError: Error, Sendable {
  /// The authorization server could not be reached, or did not answer with a success.
  case unanswered(TokenError)
  /// The answer violates RFC 7662 section 2.2. The text is for logs and quotes nothing.
  case malformed(String)
  /// A signed answer that is not the authorization server's, or not for this resource server (RFC 9701 section 5).
  case unverified(TokenFault)
  /// There are no keys to verify a signed answer with.
  case undecided(KeySetError)

  /// The code of the error, by the step that failed.
  public var code: ErrorCode {
    switch self {
    case .undecided(let error): error.kind.code
    case .malformed, .unverified: .introspectionFailed
    case .unanswered(let error):
      switch error.kind {
      case .cancelled, .deadlineExceeded, .discovery: error.kind.code
      case .rejected, .unavailable, .unreachable, .malformed, .notPossible, .assertion: .introspectionFailed
      }
    }
  }
}

extension IntrospectionError {
  /// The issuer's fault; nil where the caller gave up, or the fault is the key set's, which is reported by itself.
  var fault: TokenError? {
    switch self {
    case .unanswered(let error):
      switch error.kind {
      case .cancelled, .deadlineExceeded: nil
      default: error
      }
    case .malformed(let detail): TokenError(.malformed, detail)
    case .unverified(let fault):
      TokenError(.malformed, "the signed introspection response is invalid: \(fault.code.rawValue)")
    case .undecided: nil
    }
  }
}

extension TokenIntrospector: ConciseStringConvertible {}

extension IntrospectionError: ConciseStringConvertible {
  /// The error of the step that failed: `reason: detail`.
  public var description: String {
    switch self {
    case .unanswered(let error): "\(error)"
    case .malformed(let detail): "introspection_failed: \(detail)"
    case .unverified(let fault):
      "introspection_failed: the signed introspection response is not the issuer's: \(fault.message)"
    case .undecided(let error): "\(error)"
    }
  }
}
