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

  package let upstream: Upstream
  package let discovery: ProviderDiscovery

  package init(upstream: Upstream, discovery: ProviderDiscovery) {
    self.upstream = upstream
    self.discovery = discovery
  }

  /// Posts `form` to `endpoint` of `issuer`, with client authentication and a proof of `key`.
  ///
  /// A request whose proof the server rejects, because it lacks a nonce (RFC 9449 section 8) or the server's clock
  /// differs, is retried once, with new client assertions and proofs: both are valid for one use.
  package func post(
    _ form: [(name: String, value: String)], to endpoint: ProviderEndpoint, of issuer: Issuer,
    accepting mediaType: String = "application/json", maxBytes: Int, for purpose: UpstreamExchange.Purpose,
    key: DPoPKey? = nil, timeout: Duration = timeout, trace: TraceContext?
  ) async throws(TokenError) -> Answer {
    let url = try await url(of: endpoint, at: issuer, trace: trace)
    // One deadline for both attempts, so that nonces do not lengthen the wait.
    let options = issuer.transferOptions(
      deadline: Deadline(in: timeout, on: upstream.clock), maxBodyBytes: maxBytes, forCaller: true)
    var fields = HTTPFields([.init(name: "Accept", value: mediaType)])
    trace?.add(to: &fields)
    let template = TokenEndpointRequest(
      endpoint: url, issuer: issuer.identifier, fields: fields, form: form, options: options)
    var attempt = 0
    return try await discovery.prover.retrying(DPoPRejection.init(ofIssuer:)) {
      (terms) async throws(TokenError) -> (answer: Answer, response: HTTPResponse, proof: DPoPProof?) in
      var request = template
      try issuer.clientAuthentication.authenticate(&request, as: issuer.clientID)
      var message = request.httpRequest
      var proof: DPoPProof?
      if let key { proof = try discovery.prover.prove(&message, with: key, by: terms) }
      let sent = upstream.clock.monotonicNow
      attempt += 1
      do throws(TransportError) {
        let response = try await upstream.send(
          message, options: request.options, for: purpose, attempt: attempt, trace: trace)
        return (Answer(response: request.withoutEcho(response), sent: sent), response, proof)
      } catch {
        throw TokenError(
          .unreachable(error), "the \(endpoint.label) \(url.withoutQuery) cannot be reached: \(error.cause)")
      }
    }
  }

  /// Returns the URL of `endpoint`: the configured one, else that of the metadata.
  package func url(
    of endpoint: ProviderEndpoint, at issuer: Issuer, trace: TraceContext?
  ) async throws(TokenError) -> HTTPURL {
    if let url = issuer.endpoints[endpoint] {
      guard issuer.accepts(url) else { throw TokenError(.notPossible, "the \(endpoint.label)'s scheme is not https") }
      return url
    }
    guard
      let url = try await discovery.metadata(for: issuer, trace: trace).url(
        of: endpoint, usingMutualTLS: issuer.clientIdentity != nil)
    else {
      throw TokenError(.notPossible, "the issuer's metadata names no usable \(endpoint.rawValue)")
    }
    return url
  }
}

extension ProviderEndpoint {
  /// The endpoint's name in a sentence.
  fileprivate var label: String { rawValue.split(atByte: "_").joined(separator: " ") }
}
