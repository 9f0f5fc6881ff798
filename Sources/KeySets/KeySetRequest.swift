import HTTPMessages
import JOSE
import OAuthClient
import PosternSupport

/// One request for a key set and the judgement of its answer.
struct KeySetRequest: Sendable {
  /// What the server said.
  enum Answer: Sendable {
    /// A set, with its entity tag and the lifetime its fields allow.
    case keys(JWKSet, entityTag: String?, ttl: Duration?)
    /// What was held under `entityTag` is still right; the fields give it another lifetime.
    case notModified(entityTag: String, ttl: Duration?)
  }

  static let timeout: Duration = .seconds(5)
  static let limits = JWKSet.Limits()

  let place: JWKSLocation
  let url: HTTPURL
  /// The entity tag of the set that is held from this very URL.
  let entityTag: String?
  let trace: TraceContext?

  /// Asks once. No redirects, `https` but for the loopback switch, bounded in time and size.
  func send(over upstream: Upstream) async throws(KeySetError) -> Answer {
    guard url.isSecure(allowingPlainHTTPOnLoopback: place.allowsPlainHTTPOnLoopback) else {
      throw KeySetError(.fetchFailed, "the key set's URL is not https")
    }
    var fields = HTTPFields([.init(name: "Accept", value: "application/jwk-set+json, application/json")])
    fields["If-None-Match"] = entityTag
    trace?.add(to: &fields)
    let options = place.transferOptions(
      deadline: Deadline(in: Self.timeout, on: upstream.clock), connectTimeout: Self.timeout,
      maxBodyBytes: Self.limits.maxBytes)
    let response: HTTPResponse
    do throws(TransportError) {
      response = try await upstream.send(
        HTTPRequest(method: "GET", url: url, fields: fields), options: options, for: .keySet(place.name.bounded),
        trace: trace)
    } catch {
      throw KeySetError(
        .fetchFailed, "the key set cannot be fetched: \(error.cause)", isRetryable: error.isTransient)
    }
    return try judge(response, at: upstream.clock.wallNow)
  }

  func judge(_ response: HTTPResponse, at now: Timestamp) throws(KeySetError) -> Answer {
    let ttl = ResponseLifetime.of(response.fields, at: now)
    if response.status == 304, let entityTag { return .notModified(entityTag: entityTag, ttl: ttl) }
    guard response.status == 200 else {
      let isRetryable = response.status >= 500 || response.status == 429 || response.status == 408
      let isRedirect = [301, 302, 303, 307, 308].contains(response.status)
      let text = isRedirect ? "redirects are not followed" : "that is not 200"
      throw KeySetError(
        .fetchFailed, "the key set's server answered \(response.status): \(text)", status: response.status,
        isRetryable: isRetryable,
        retryAfter: RetryAfter.of(response.fields, at: now).map { min($0, KeySetState.maxRetryInterval) })
    }
    guard let type = response.fields["Content-Type"].flatMap(MediaType.init), type.isJSON else {
      throw KeySetError(.fetchFailed, "the key set's content type is not JSON", status: 200)
    }
    guard response.body.count <= Self.limits.maxBytes else {
      throw KeySetError(.fetchFailed, "the key set is larger than \(Self.limits.maxBytes) bytes", status: 200)
    }
    do throws(JOSEError) {
      let keys = try JWKSet(text: response.body, origin: .remote, limits: Self.limits)
      return .keys(keys, entityTag: Self.entityTag(of: response.fields), ttl: ttl)
    } catch {
      throw KeySetError(.invalid, error.message, status: 200)
    }
  }

  /// The entity tag when it is one (RFC 9110 section 8.8.3): it goes back to the server as it came.
  private static func entityTag(of fields: HTTPFields) -> String? {
    guard let tag = fields["ETag"], (2...256).contains(tag.utf8.count), HTTPFieldRules.isValue(tag),
      tag.utf8.last == UInt8(ascii: "\"")
    else { return nil }
    let opaque = tag.startsWithBytes(of: "W/") ? tag.utf8.dropFirst(2) : tag.utf8[...]
    return opaque.count >= 2 && opaque.first == UInt8(ascii: "\"") ? tag : nil
  }
}
