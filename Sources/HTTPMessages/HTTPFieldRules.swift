import PosternSupport

/// The rules for header fields that a caller may set: grammar and reserved names.
public enum HTTPFieldRules {
  /// Whether `name` is a field name: a token (RFC 9110 section 5.1), at most 256 bytes.
  public static func isName(_ name: String) -> Bool {
    (1...256).contains(name.utf8.count) && ASCII.withBytes(of: name) { $0.allSatisfy(ASCII.isTokenCharacter) }
  }

  /// The methods that are never sent: one makes a tunnel, the others show a program the fields of its request, and the
  /// credential among them (`TRACK` is Microsoft's `TRACE`).
  package static let excludedMethods: Set<String> = ["CONNECT", "TRACE", "TRACK"]

  /// Whether `value` may be a field's value: no CR, LF, NUL or other control byte but the tab (RFC 9110 section 5.5).
  public static func isValue(_ value: String) -> Bool {
    ASCII.withBytes(of: value) { $0.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 } }
  }

  /// Whether `name` belongs to the sidecar or to the connection: `Authorization`, `User-Agent`, `Host`, `DPoP`, message
  /// framing, hop-by-hop fields (RFC 9110 section 7.6.1), every `Proxy-…` and every `Postern-…`, one of which is a
  /// session's handle. Compared by `canonical(_:)`.
  public static func isReserved(_ name: String) -> Bool {
    isReserved(canonical: canonical(name))
  }

  /// The same of a canonical name.
  package static func isReserved(canonical: String) -> Bool {
    reserved.contains(canonical) || canonical.startsWithBytes(of: "proxy-")
      || canonical.startsWithBytes(of: "postern-")
  }

  /// Whether a credential may be sent as that field: `Authorization`, and every field that is not reserved and has no
  /// purpose of its own (target, content, conditions, cookies, traces). Compared by `canonical(_:)`.
  public static func mayCarryCredential(_ name: String) -> Bool {
    let canonical = canonical(name)
    if canonical == "authorization" { return true }
    guard !isReserved(name), !overridingNames.contains(canonical), !crossesOrigins(canonical) else { return false }
    return !otherPurpose.contains(canonical)
      && !["content-", "if-", "sec-"].contains(where: { canonical.startsWithBytes(of: $0) })
  }

  /// Whether the field overrides the request's target, method or host: a gateway might authorize the one, and a server
  /// behind it serve the other. `Forwarded` (RFC 7239) does when its value has a `host`. Names are compared by
  /// `canonical(_:)`.
  public static func overridesRequest(_ name: String, value: String) -> Bool {
    let canonical = canonical(name)
    guard canonical == "forwarded" else { return overriding.contains(canonical) }
    return value.lowercasedASCII().containsBytes(of: "host")
  }

  /// The canonical names of the fields that may override the request, sorted.
  public static let overridingNames: [String] = (overriding.union(["forwarded"])).sorted()

  /// The name for comparisons: in lower case, with `-` for everything but letters and digits. CGI and its successors
  /// make one variable of `X-Original-URL` and `X_Original_URL` (RFC 3875 section 4.1.18).
  public static func canonical(_ name: String) -> String {
    ASCII.withBytes(of: name) { bytes in
      String(unsafeUninitializedCapacity: bytes.count) { result in
        for (index, byte) in bytes.enumerated() {
          let isKept = ASCII.isLetter(byte) || ASCII.isDigit(byte)
          result.initializeElement(at: index, to: isKept ? ASCII.lowercased(byte) : UInt8(ascii: "-"))
        }
        return bytes.count
      }
    }
  }

  /// Whether the field may be sent to another origin after a redirect: fields that describe the content and the trace,
  /// none that identifies a user or client.
  public static func crossesOrigins(_ name: String) -> Bool {
    let lowercased = name.lowercasedASCII()
    return lowercased.startsWithBytes(of: "accept") || crossing.contains(lowercased)
  }

  /// `value` without spaces and tabs around it (RFC 9110 section 5.5).
  public static func trimmed(_ value: String) -> String {
    guard value.utf8.first.map(ASCII.isSpace) == true || value.utf8.last.map(ASCII.isSpace) == true else {
      return value
    }
    return String(decoding: ASCII.trimmed(value.utf8), as: UTF8.self)
  }

  /// The fields of one hop, in lower case (RFC 9110 section 7.6.1), without those named by `Connection` and `Proxy-…`.
  package static let hopByHop: Set<String> = [
    "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  private static let reserved = hopByHop.union([
    "authorization", "content-length", "dpop", "expect", "host", "http2-settings", "user-agent",
  ])

  /// The fields that override the target, the method and the host, in this order.
  private static let overriding: Set<String> = [
    "x-envoy-original-path", "x-forwarded-path", "x-forwarded-uri", "x-http-path-override", "x-original-path",
    "x-original-uri", "x-original-url", "x-override-url", "x-rewrite-uri", "x-rewrite-url",
    // WSGI programs behind a prefix cut it off the path; gunicorn takes the two without `x-` from a front by default
    // (forwarder_headers).
    "path-info", "script-name", "x-forwarded-script-name", "x-script-name",
    "x-forwarded-method", "x-http-method", "x-http-method-override", "x-method-override", "x-original-method",
    "x-forwarded-host", "x-host", "x-http-host-override", "x-original-host",
  ]

  private static let otherPurpose: Set<String> = [
    "baggage", "cache-control", "cookie", "cookie2", "date", "forwarded", "from", "location", "max-forwards", "origin",
    "pragma", "range", "referer", "set-cookie", "via", "www-authenticate", "x-authenticate-response",
    "x-forwarded-for", "x-forwarded-proto", "x-requested-with",
  ]

  private static let crossing: Set<String> = [
    "b3", "content-type", "traceparent", "tracestate", "user-agent",
  ]
}
