package import HTTPMessages
import PosternSupport

/// Sends requests to those endpoints of an authorization server at which the client authenticates (RFC 6749 section
/// 2.3): tokens, introspection, revocation.
package struct ProviderClient: Sendable {
  /// The answer to a request.
  package struct Answer: Sendable {
    package let response: HTTPResponse
    /// The time at which the request was sent, from which lifetimes in the answer count.
    let sent: MonotonicInstant
  }

  /// The timeout of a request, which runs to its end even if all waiters leave.
  package static let timeout: Duration = .seconds(30)

  package let services: Services
  package let discovery: ProviderDiscovery

  package init(_ services: Services, discovery: ProviderDiscovery) {
    self.services = services
    self.discovery = discovery
  }

  /// Posts `form` to `endpoint` of `issuer`, with client authentication and a proof of `key`.
  ///
  /// A request whose proof the server rejects, because it lacks a nonce (RFC 9449 section 8) or the server's clock
  /// differs, is retried once, with new client assertions and proofs: both are valid for one use. Where the server does
  /// not accept the client, the request is sent with an assertion that was replaced meanwhile, and with each other
  /// credential of the client: it has not looked at the grant then.
  package func post(
    _ form: [(name: String, value: String)], to endpoint: ProviderEndpoint, of issuer: Issuer,
    accepting mediaType: String = "application/json", maxBytes: Int, for purpose: UpstreamExchange.Purpose,
    key: DPoPKey? = nil, timeout: Duration = timeout, in scope: CallScope
  ) async throws(TokenError) -> Answer {
    // One deadline for all attempts, so that they do not lengthen the wait.
    let options = issuer.transferOptions(
      deadline: Deadline(in: timeout, on: services.clock), maxBodyBytes: maxBytes, for: scope.user)
    var fields = HTTPFields([.init(name: "Accept", value: mediaType)])
    scope.trace?.add(to: &fields)
    var exchange = ClientExchange(
      endpoint: endpoint, issuer: issuer, fields: fields, form: form, options: options, purpose: purpose, key: key,
      scope: scope)
    var rejection: Result<Answer, TokenError>?
    for position in issuer.credentials.order(at: services.clock.monotonicNow) {
      do throws(TokenError) {
        let answer = try await self.answer(to: &exchange, by: issuer.credentials.all[position])
        if case .client? = ClientRejection(answer.response) {
          rejection = rejection ?? .success(answer)
          continue
        }
        note(answer, by: position, at: issuer, scope)
        return answer
      } catch {
        guard case .assertion = error.kind else { throw error }
        rejection = rejection ?? .failure(error)
      }
    }
    guard let rejection else { throw TokenError(.notPossible, "the client has no credential") }
    return try rejection.get()
  }

  /// Sends the request with one credential; another time where the server rejects an assertion that was replaced
  /// meanwhile.
  private func answer(
    to exchange: inout ClientExchange, by authentication: any ClientAuthentication
  ) async throws(TokenError) -> Answer {
    let answer = try await send(&exchange, by: authentication)
    guard authentication.isReadForEachRequest, ClientRejection(answer.response) != nil else { return answer }
    let rejected = exchange.assertion
    var request = try await template(of: exchange, by: authentication)
    guard (try? authentication.authenticate(&request, as: exchange.issuer.clientID)) != nil,
      request.assertion != rejected
    else { return answer }
    services.observer.observe(.assertionReplaced(issuer: exchange.issuer.name), in: exchange.scope)
    return try await send(&exchange, by: authentication)
  }

  private func note(_ answer: Answer, by position: Int, at issuer: Issuer, _ scope: CallScope) {
    guard (200..<300).contains(answer.response.status),
      issuer.credentials.accept(position, at: services.clock.monotonicNow)
    else { return }
    services.observer.observe(.credentialChanged(issuer: issuer.name, position: position), in: scope)
  }

  private func template(
    of exchange: ClientExchange, by authentication: any ClientAuthentication
  ) async throws(TokenError) -> TokenEndpointRequest {
    var options = exchange.options
    if let identity = authentication.clientIdentity { options.access.tls.clientIdentity = identity }
    let url = try await url(of: exchange.endpoint, at: exchange.issuer, by: authentication, in: exchange.scope)
    var request = TokenEndpointRequest(
      endpoint: url, issuer: exchange.issuer.identifier, fields: exchange.fields, form: exchange.form, options: options)
    if exchange.endpoint != .token, authentication.needsTokenEndpoint {
      request.tokenEndpoint = try await self.url(of: .token, at: exchange.issuer, in: exchange.scope)
    }
    return request
  }

  private func send(
    _ exchange: inout ClientExchange, by authentication: any ClientAuthentication
  ) async throws(TokenError) -> Answer {
    let template = try await template(of: exchange, by: authentication)
    var (attempt, assertion) = (exchange.attempts, exchange.assertion)
    defer { (exchange.attempts, exchange.assertion) = (attempt, assertion) }
    let (endpoint, key) = (exchange.endpoint, exchange.key)
    let (issuer, purpose, scope) = (exchange.issuer, exchange.purpose, exchange.scope)
    return try await discovery.prover.retrying(DPoPRejection.init(ofIssuer:)) {
      (terms) async throws(TokenError) -> (answer: Answer, response: HTTPResponse, proof: DPoPProof?) in
      var request = template
      try authentication.authenticate(&request, as: issuer.clientID)
      assertion = request.assertion
      var message = request.httpRequest
      var proof: DPoPProof?
      if let key { proof = try discovery.prover.prove(&message, with: key, by: terms, for: scope.uid) }
      let sent = services.clock.monotonicNow
      attempt += 1
      do throws(TransportError) {
        let response = try await services.send(
          message, options: request.options, for: purpose, attempt: attempt, in: scope)
        return (Answer(response: request.withoutEcho(response), sent: sent), response, proof)
      } catch {
        throw TokenError(
          .unreachable(error),
          "the \(endpoint.label) \(template.endpoint.withoutQuery) cannot be reached: \(error.cause)")
      }
    }
  }

  /// Returns the URL of `endpoint`: the configured one, else that of the metadata, for a client that authenticates by
  /// `authentication`.
  package func url(
    of endpoint: ProviderEndpoint, at issuer: Issuer, by authentication: (any ClientAuthentication)? = nil,
    in scope: CallScope
  ) async throws(TokenError) -> HTTPURL {
    if let url = issuer.endpoints[endpoint] {
      guard issuer.accepts(url) else { throw TokenError(.notPossible, "the \(endpoint.label)'s scheme is not https") }
      return url
    }
    let metadata = try await discovery.metadata(for: issuer, in: scope.unbounded)
    if let algorithm = authentication?.requiredAlgorithm,
      let listed = metadata.tokenEndpointAuthSigningAlgorithmsSupported, !listed.contains(algorithm)
    {
      throw TokenError(.notPossible, "the issuer's metadata does not list \(algorithm) for assertions of clients")
    }
    let hasCertificate = issuer.access.tls.clientIdentity != nil || authentication?.clientIdentity != nil
    guard let url = metadata.url(of: endpoint, usingMutualTLS: hasCertificate) else {
      throw TokenError(.notPossible, "the issuer's metadata names no usable \(endpoint.rawValue)")
    }
    return url
  }
}

extension ProviderEndpoint {
  /// The endpoint's name in a sentence.
  fileprivate var label: String { rawValue.split(atByte: "_").joined(separator: " ") }
}

/// A request as it is before the client authenticates, with what was sent of it so far.
private struct ClientExchange {
  let endpoint: ProviderEndpoint
  let issuer: Issuer
  let fields: HTTPFields
  let form: [(name: String, value: String)]
  let options: TransferOptions
  let purpose: UpstreamExchange.Purpose
  let key: DPoPKey?
  let scope: CallScope
  var attempts = 0
  /// The assertion that was sent last.
  var assertion: String?
}

extension TokenEndpointRequest {
  /// The client's assertion.
  fileprivate var assertion: String? { form.last { $0.name == "client_assertion" }?.value }
}
