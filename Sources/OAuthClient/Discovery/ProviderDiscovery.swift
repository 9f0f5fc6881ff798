public import HTTPMessages
import PosternJSON
public import PosternSupport

/// Fetches and caches authorization servers' metadata.
///
/// Requests are in single-flight. A copy is fresh for an hour and is fetched again afterwards, at most every thirty
/// seconds while that fails: an outage of the metadata alone must not end what still works, so the old copy is used for
/// up to a day.
public final class ProviderDiscovery: Sendable {
  private struct Entry: Sendable {
    let metadata: ProviderMetadata
    let fetchedAt: MonotonicInstant
    var freshUntil: MonotonicInstant
    let usableUntil: MonotonicInstant
  }

  static let freshness: Duration = .seconds(3600)
  static let retryInterval: Duration = .seconds(30)
  static let staleness: Duration = .seconds(86_400)
  static let timeout: Duration = .seconds(15)
  static let maxBytes = 256 << 10
  static let capacity = 1024

  private let services: Services
  /// The proofs for all authorization servers, so that their nonces are learnt once.
  let prover: DPoPProver
  private let entries = Locked(BoundedCache<Issuer, Entry>(capacity: capacity))
  private let flights: SingleFlight<Issuer, ProviderMetadata, TokenError>

  package init(_ services: Services) {
    self.services = services
    prover = DPoPProver(clock: services.clock)
    flights = SingleFlight(clock: services.clock, servesEverybody: true) { end in
      switch end {
      case .cancelled: TokenError(.cancelled, "the wait for the issuer's metadata was cancelled")
      case .deadlineExceeded: TokenError(.deadlineExceeded, "the deadline passed while waiting for metadata")
      }
    }
  }

  /// Returns the metadata of `issuer`; throws a `TokenError` of the kind `discovery` when there is none. Cancelling the
  /// caller or reaching its deadline ends the wait, not the request.
  public func metadata(
    for issuer: Issuer, in scope: CallScope = CallScope()
  ) async throws(TokenError) -> ProviderMetadata {
    if let entry = freshEntry(for: issuer) { return entry.metadata }
    return try await flights.value(for: issuer, in: scope) { [self] scope async throws(TokenError) in
      if let entry = freshEntry(for: issuer) { return entry.metadata }
      return try await refresh(issuer, in: scope)
    }
  }

  /// Reports that an endpoint of the metadata does not exist: the metadata is fetched again before it is used again, at
  /// most every thirty seconds.
  package func doubt(_ issuer: Issuer) {
    let now = services.clock.monotonicNow
    entries.withLock { entries in
      guard var entry = entries[issuer], entry.freshUntil > now + Self.retryInterval,
        entry.fetchedAt + Self.retryInterval <= now
      else { return }
      entry.freshUntil = now
      entries[issuer] = entry
    }
  }

  private func freshEntry(for issuer: Issuer) -> Entry? {
    let now = services.clock.monotonicNow
    return entries.withLock { entries in
      entries[issuer].flatMap { $0.freshUntil > now ? $0 : nil }
    }
  }

  private func refresh(_ issuer: Issuer, in scope: CallScope) async throws(TokenError) -> ProviderMetadata {
    do throws(DiscoveryError) {
      let metadata = try await fetch(issuer, in: scope)
      let now = services.clock.monotonicNow
      let entry = Entry(
        metadata: metadata, fetchedAt: now, freshUntil: now + Self.freshness,
        usableUntil: now + Self.freshness + Self.staleness)
      entries.withLock { $0[issuer] = entry }
      services.observer.observe(.metadataLoaded(issuer: issuer.name), in: scope)
      return metadata
    } catch {
      let stale = staleMetadata(of: issuer)
      services.observer.observe(
        .metadataFailed(issuer: issuer.name, error: error, servesStaleCopy: stale != nil), in: scope)
      guard let stale else { throw TokenError(.discovery(error), error.detail, status: error.status) }
      return stale
    }
  }

  /// Returns the old copy, which is used for another retry interval.
  private func staleMetadata(of issuer: Issuer) -> ProviderMetadata? {
    let now = services.clock.monotonicNow
    return entries.withLock { entries in
      guard var entry = entries[issuer], entry.usableUntil > now else { return nil }
      entry.freshUntil = now + Self.retryInterval
      entries[issuer] = entry
      return entry.metadata
    }
  }

  /// Requests the well-known locations one after the other; the next one only when the server has nothing at this one.
  private func fetch(_ issuer: Issuer, in scope: CallScope) async throws(DiscoveryError) -> ProviderMetadata {
    guard issuer.accepts(issuer.url) else { throw DiscoveryError(.failed, "the issuer's scheme is not https") }
    var telling: (location: HTTPURL, response: HTTPResponse)?
    for location in try Self.locations(of: issuer) {
      let response = try await get(location, for: issuer, in: scope)
      if (200..<300).contains(response.status),
        let document = try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(response.body),
        document.objectValue != nil
      {
        return try ProviderMetadata(document, for: issuer)
      }
      // The error reports the first location that has anything at all.
      if telling.map({ [404, 410].contains($0.response.status) }) ?? true { telling = (location, response) }
      if TemporaryStatus.includes(response.status) { break }
    }
    guard let telling else { throw DiscoveryError(.failed, "no location of the issuer's metadata can be requested") }
    throw DiscoveryError(
      .failed, "no metadata of the issuer: \(telling.location.withoutQuery) \(Self.cause(telling.response))",
      status: telling.response.status)
  }

  /// What an answer without metadata was.
  private static func cause(_ response: HTTPResponse) -> String {
    let answered = "answered \(response.status)"
    switch response.status {
    case 200..<300: return "\(answered), and the answer is not a JSON object"
    case 300..<400: return "\(answered), and redirects are not followed"
    default: return answered
    }
  }

  private func get(
    _ location: HTTPURL, for issuer: Issuer, in scope: CallScope
  ) async throws(DiscoveryError) -> HTTPResponse {
    var fields = HTTPFields([.init(name: "Accept", value: "application/json")])
    scope.trace?.add(to: &fields)
    let options = issuer.transferOptions(
      deadline: Deadline(in: Self.timeout, on: services.clock), maxBodyBytes: Self.maxBytes, for: .process)
    do throws(TransportError) {
      return try await services.send(
        HTTPRequest(method: "GET", url: location, fields: fields), options: options, for: .discovery(issuer.name),
        in: scope)
    } catch {
      throw DiscoveryError(
        .failed, "the issuer's metadata cannot be fetched from \(location.withoutQuery): \(error.cause)",
        transport: error)
    }
  }

  /// Returns `.well-known/openid-configuration` behind the issuer's path (OpenID Connect Discovery section 4), then
  /// `.well-known/oauth-authorization-server` before it (RFC 8414 section 3.1). A slash at the path's end is left out
  /// in both.
  static func locations(of issuer: Issuer) throws(DiscoveryError) -> [HTTPURL] {
    let path =
      issuer.url.path.utf8.last == UInt8(ascii: "/")
      ? String(Substring(issuer.url.path.utf8.dropLast())) : issuer.url.path
    do throws(HTTPURLError) {
      return [
        try issuer.url.replacingPath("\(path)/.well-known/openid-configuration"),
        try issuer.url.replacingPath("/.well-known/oauth-authorization-server\(path)"),
      ]
    } catch {
      throw DiscoveryError(.failed, "the issuer \(error.phrase)")
    }
  }
}

/// The reason why an authorization server's metadata is not available.
public struct DiscoveryError: Error, Sendable {
  /// The kind of fault.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// Not reachable, no metadata there, or metadata that cannot be read.
    case failed
    /// The metadata is that of another issuer (RFC 8414 section 3.3).
    case issuerMismatch

    /// The code of an error of this kind.
    public var code: ErrorCode { self == .failed ? .discoveryFailed : .discoveryIssuerMismatch }
  }

  /// The kind of fault.
  public let kind: Kind
  /// The last status the server answered with, when it answered.
  public let status: Int?
  /// The transport's error, when there was no answer.
  public let transport: TransportError?
  /// For people and logs.
  public let detail: String

  /// An error of the given parts.
  init(_ kind: Kind, _ detail: String, status: Int? = nil, transport: TransportError? = nil) {
    self.kind = kind
    self.status = status
    self.transport = transport
    self.detail = detail
  }

  /// Whether the same request may succeed later without a change of the configuration.
  public var isRetryable: Bool {
    if let transport { return transport.isTransient }
    return status.map(TemporaryStatus.includes) ?? false
  }
}

extension DiscoveryError: ConciseStringConvertible {
  /// `reason: detail`.
  public var description: String { "\(kind.code.reason): \(detail)" }
}

extension TransportError {
  /// A description for errors with this cause.
  package var cause: String { "\(code.rawValue), \(detail)" }

  /// Whether the cause is the state of the network or the server, rather than the server's identity or its answer.
  public var isTransient: Bool {
    proxy?.isTransient ?? [.networkUnreachable, .serverUnreachable, .timedOut, .descriptorsOut].contains(code)
  }
}

extension ProviderDiscovery: ConciseStringConvertible {}
