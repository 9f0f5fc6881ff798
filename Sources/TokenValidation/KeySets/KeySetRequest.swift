import HTTPMessages
import JOSE
import OAuthClient
import PosternSupport

/// One request for a key set, and the check of its answer.
struct KeySetRequest: Sendable {
  /// The server's answer.
  enum Answer: Sendable {
    /// A set, with its entity tag and the lifetime its fields allow.
    case keys(JWKSet, entityTag: String?, ttl: Duration?)
    /// The set with `entityTag` is unchanged; the fields give it another lifetime.
    case notModified(entityTag: String, ttl: Duration?)
  }

  static let timeout: Duration = .seconds(5)
  static let limits = JWKSet.Limits()

  let location: JWKSLocation
  let url: HTTPURL
  /// The entity tag of the current set, if it is from this very URL.
  let entityTag: String?
  let scope: CallScope

  /// Sends the request once: no redirects, `https` but for the loopback exception, bounded in time and size.
  func send(over services: Services) async throws(KeySetError) -> Answer {
    guard location.access.plainHTTP.permits(url) else {
      throw KeySetError(.fetchFailed, "the key set's URL is not https")
    }
    var fields = HTTPFields([.init(name: "Accept", value: "application/jwk-set+json, application/json")])
    fields["If-None-Match"] = entityTag
    scope.trace?.add(to: &fields)
    let options = location.transferOptions(
      deadline: Deadline(in: Self.timeout, on: services.clock), connectTimeout: Self.timeout,
      maxBodyBytes: Self.limits.maxBytes, for: scope.user)
    let response: HTTPResponse
    do throws(TransportError) {
      response = try await services.send(
        HTTPRequest(method: "GET", url: url, fields: fields), options: options, for: .keySet(location.name.bounded),
        in: scope)
    } catch {
      throw KeySetError(
        .fetchFailed, "the key set cannot be fetched from \(url.withoutQuery): \(error.cause)",
        status: error.proxy?.status, isRetryable: error.isTransient)
    }
    return try judge(response, at: services.clock.wallNow)
  }

  func judge(_ response: HTTPResponse, at now: Timestamp) throws(KeySetError) -> Answer {
    let ttl = ResponseLifetime.of(response.fields, at: now)
    if response.status == 304, let entityTag { return .notModified(entityTag: entityTag, ttl: ttl) }
    guard (200..<300).contains(response.status) else {
      let isRetryable = TemporaryStatus.includes(response.status)
      let isRedirect = [301, 302, 303, 307, 308].contains(response.status)
      let text = isRedirect ? ", and redirects are not followed" : ""
      throw KeySetError(
        .fetchFailed, "the key set's server answered \(response.status)\(text)", status: response.status,
        isRetryable: isRetryable,
        retryAfter: RetryAfter.of(response.fields, at: now).map { min($0, KeySetState.maxRetryInterval) })
    }
    guard response.body.count <= Self.limits.maxBytes else {
      throw KeySetError(
        .fetchFailed, "the key set is larger than \(Self.limits.maxBytes) bytes", status: response.status)
    }
    do throws(JOSEError) {
      let keys = try JWKSet(text: response.body, origin: .remote, limits: Self.limits)
      return .keys(keys, entityTag: Self.entityTag(of: response.fields), ttl: ttl)
    } catch {
      // A page where the set should be says nothing of the set.
      if let type = response.fields["Content-Type"].flatMap(MediaType.init), type.essence.endsWithBytes(of: "html") {
        throw KeySetError(
          .fetchFailed, "the key set's server answered \(response.status) with a page", status: response.status)
      }
      throw KeySetError(.invalid, error.message, status: response.status)
    }
  }

  /// Reads the entity tag when it is well-formed (RFC 9110 section 8.8.3): it is sent back to the server unchanged.
  private static func entityTag(of fields: HTTPFields) -> String? {
    guard let tag = fields["ETag"], (2...256).contains(tag.utf8.count), HTTPFieldRules.isValue(tag),
      tag.utf8.last == UInt8(ascii: "\"")
    else { return nil }
    let opaque = tag.startsWithBytes(of: "W/") ? tag.utf8.dropFirst(2) : tag.utf8[...]
    return opaque.count >= 2 && opaque.first == UInt8(ascii: "\"") ? tag : nil
  }
}

/// The dependencies that all key sources of one engine share.
final class KeySetContext: Sendable {
  let services: Services
  let discovery: ProviderDiscovery
  let observer: (any KeySetObserver)?
  private let attempts = Locked<UInt64>(0)

  init(services: Services, discovery: ProviderDiscovery, observer: (any KeySetObserver)?) {
    self.services = services
    self.discovery = discovery
    self.observer = observer
  }

  /// Returns a number above every earlier one, across sources: a source that is dropped and made again never uses a
  /// sequence number twice.
  func nextAttempt() -> UInt64 {
    attempts.withLock { attempts in
      attempts += 1
      return attempts
    }
  }
}

/// The lifetime of a response by its header fields (RFC 9111 sections 4.2 and 5.2.2), before it is clamped.
enum ResponseLifetime {
  /// The upper bound of lifetimes, above every policy's; keeps arithmetic far from overflow.
  private static let maxSeconds: Int64 = 1 << 31

  /// Returns the remaining lifetime; nil when the fields give none. `no-store` and `no-cache` are zero.
  static func of(_ fields: HTTPFields, at now: Timestamp) -> Duration? {
    guard let total = total(of: fields, at: now) else { return nil }
    let age = fields["Age"].flatMap(seconds) ?? 0
    return .seconds(max(0, total - age))
  }

  private static func total(of fields: HTTPFields, at now: Timestamp) -> Int64? {
    var maxAge: Int64?
    for directive in directives(of: fields) {
      switch directive.name {
      case "no-store", "no-cache": return 0
      case "max-age":
        // A duplicate or unreadable value: the shorter lifetime, as RFC 9111 section 4.2.1 requires.
        maxAge = min(maxAge ?? maxSeconds, directive.value.flatMap(seconds) ?? 0)
      default: break
      }
    }
    if let maxAge { return maxAge }
    guard let expires = fields["Expires"] else { return nil }
    guard let end = HTTPDate.parse(expires) else { return 0 }
    let start = fields["Date"].flatMap({ HTTPDate.parse($0) }) ?? now
    return min(max(0, end.secondsSinceEpoch - start.secondsSinceEpoch), maxSeconds)
  }

  private static func directives(of fields: HTTPFields) -> [(name: String, value: String?)] {
    fields.values(of: "Cache-Control").flatMap { $0.split(atByte: ",") }.prefix(64).map { part in
      let pieces = part.split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = HTTPFieldRules.trimmed(String(pieces[0])).lowercasedASCII()
      return (name, pieces.count == 2 ? HTTPFieldRules.trimmed(String(pieces[1])) : nil)
    }
  }

  /// Reads `delta-seconds`, quoted or not; a number that is too large counts as very long (RFC 9111 section 1.2.2).
  private static func seconds(_ text: String) -> Int64? {
    var digits = text.utf8[...]
    if digits.count >= 2, digits.first == UInt8(ascii: "\""), digits.last == UInt8(ascii: "\"") {
      digits = digits.dropFirst().dropLast()
    }
    guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return digits.reduce(into: Int64(0)) { value, digit in
      value = min(maxSeconds, value * 10 + Int64(digit - 0x30))
    }
  }
}

/// The location of a key set, with everything that decides what is trusted there: a change in any part makes another
/// location, with a cache of its own.
enum JWKSLocation: Sendable, Hashable {
  /// The configured endpoint of an issuer, or the one in its metadata.
  case issuer(Issuer)
  /// A URL that a caller named and the configuration allows.
  case location(HTTPURL, ServerAccess)

  var name: KeySetName {
    switch self {
    case .issuer(let issuer): .issuer(issuer.name)
    case .location(let url, _): .location(url.withoutQuery)
    }
  }

  /// Whether users share the set. A set that a caller names is cached for each user, and requested in the user's name:
  /// such requests would otherwise take the connections of all users.
  var isShared: Bool {
    switch self {
    case .issuer: true
    case .location: false
    }
  }

  /// The options of requests: on a connection of its own, as every request whose result is shared
  /// (`Issuer.transferOptions`).
  func transferOptions(deadline: Deadline, connectTimeout: Duration, maxBodyBytes: Int, for user: PeerID)
    -> TransferOptions
  {
    switch self {
    case .issuer(let issuer):
      issuer.transferOptions(
        deadline: deadline, connectTimeout: connectTimeout, maxBodyBytes: maxBodyBytes, for: .process)
    case .location(let url, let access):
      TransferOptions(
        to: access, deadline: deadline, connectTimeout: connectTimeout, maxBodyBytes: maxBodyBytes,
        allowsLinkLocal: url.origin.isLinkLocalAddress, peerID: user, reusesConnections: false)
    }
  }

  var access: ServerAccess {
    switch self {
    case .issuer(let issuer): issuer.access
    case .location(_, let access): access
    }
  }
}
