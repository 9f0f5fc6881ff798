package import HTTPMessages
import PosternSupport

/// Requests to those endpoints of an authorization server at which the client says who it is (RFC 6749 section 2.3):
/// tokens, introspection, revocation.
package struct ProviderClient: Sendable {
  /// What a request was answered.
  package struct Answer: Sendable {
    package let response: HTTPResponse
    /// When the request went out: what its answer says about time counts from here.
    let sent: MonotonicInstant
    /// The proof it answers.
    fileprivate let proof: DPoPProof?
  }

  /// A request's own bound: it runs to its end, whoever still waits for it.
  package static let timeout: Duration = .seconds(30)

  package let upstream: Upstream
  package let discovery: ProviderDiscovery
  private let prover: DPoPProver

  package init(upstream: Upstream, discovery: ProviderDiscovery) {
    self.upstream = upstream
    self.discovery = discovery
    prover = DPoPProver(clock: upstream.clock)
  }

  /// Posts `form` to `endpoint` of `issuer`, authenticated as its client, and with a proof of `key`.
  ///
  /// A server that wants a nonce of its own in the proof (RFC 9449 section 8), or has another clock, is asked once
  /// more, all made anew: client assertions and proofs are good once.
  package func post(
    _ form: [(name: String, value: String)], to endpoint: ProviderEndpoint, of issuer: Issuer,
    accepting mediaType: String = "application/json", maxBytes: Int, for purpose: UpstreamExchange.Purpose,
    key: DPoPKey? = nil, timeout: Duration = timeout, trace: TraceContext?
  ) async throws(TokenError) -> Answer {
    let url = try await url(of: endpoint, at: issuer, trace: trace)
    // One bound for both attempts: nobody waits longer for a server with nonces.
    let options = issuer.transferOptions(
      deadline: Deadline(in: timeout, on: upstream.clock), maxBodyBytes: maxBytes, forCaller: true)
    var fields = HTTPFields([.init(name: "Accept", value: mediaType)])
    trace?.add(to: &fields)
    let template = TokenEndpointRequest(
      endpoint: url, issuer: issuer.identifier, fields: fields, form: form, options: options)
    func attempt(_ terms: DPoPTerms?) async throws(TokenError) -> Answer {
      var request = template
      try issuer.clientAuthentication.authenticate(&request, as: issuer.clientID)
      var message = request.httpRequest
      var proof: DPoPProof?
      if let key { proof = try prover.prove(&message, with: key, by: terms) }
      let sent = upstream.clock.monotonicNow
      do throws(TransportError) {
        let response = try await upstream.send(message, options: request.options, for: purpose, trace: trace)
        return Answer(response: request.withoutEcho(response), sent: sent, proof: proof)
      } catch {
        throw TokenError(.unreachable(error), "the \(endpoint.label) cannot be reached: \(error.cause)")
      }
    }
    let first = try await attempt(nil)
    guard let terms = learned(from: first) else { return first }
    let second = try await attempt(terms)
    _ = learned(from: second)
    return second
  }

  private func learned(from answer: Answer) -> DPoPTerms? {
    answer.proof.flatMap { proof in
      prover.learn(from: answer.response, to: proof, DPoPRejection(ofIssuer: answer.response))
    }
  }

  /// Where `endpoint` is: where the configuration says, else where the metadata says.
  package func url(
    of endpoint: ProviderEndpoint, at issuer: Issuer, trace: TraceContext?
  ) async throws(TokenError) -> HTTPURL {
    if let url = issuer.endpoints[endpoint] {
      guard issuer.accepts(url) else { throw TokenError(.notPossible, "the \(endpoint.label)'s scheme is not https") }
      return url
    }
    guard
      let url = try await metadata(of: issuer, trace: trace).url(
        of: endpoint, usingMutualTLS: issuer.clientIdentity != nil)
    else {
      throw TokenError(.notPossible, "the issuer's metadata names no usable \(endpoint.rawValue)")
    }
    return url
  }

  /// What the issuer says about itself.
  package func metadata(of issuer: Issuer, trace: TraceContext?) async throws(TokenError) -> ProviderMetadata {
    do throws(SingleFlightError<DiscoveryError>) {
      return try await discovery.metadata(for: issuer, trace: trace)
    } catch {
      switch error {
      case .failed(let failure): throw TokenError(.discovery(failure), failure.detail, status: failure.status)
      case .cancelled: throw TokenError(.cancelled, "the wait for the issuer's metadata was cancelled")
      case .deadlineExceeded: throw TokenError(.deadlineExceeded, "the deadline passed while waiting for metadata")
      }
    }
  }
}

extension ProviderEndpoint {
  /// The endpoint's name in a sentence.
  fileprivate var label: String { rawValue.split(atByte: "_").joined(separator: " ") }
}
