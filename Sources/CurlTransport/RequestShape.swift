import CPosternCurl
import HTTPMessages
import PosternSupport

/// The facts about an exchange that the options of its easy handle depend on, apart from URL, fields and body.
final class RequestShape: Equatable {
  let method: String
  let hasBody: Bool
  /// Whether the body comes from the request's control.
  let streamsBody: Bool
  /// Whether the response's body may be taken in pieces.
  let mayStream: Bool
  /// Whether the codings that `CodedBody` undoes are requested. In a stream one would only cost the server and this
  /// thread time, and a part of a coded representation cannot be undone.
  let wantsCodings: Bool
  /// The value of `Accept-Encoding`.
  var codings: StaticString { wantsCodings ? "gzip, deflate" : "identity" }
  let isSecure: Bool
  let allowsPlainHTTP: Bool
  let connectMilliseconds: Int
  /// Nil without one.
  let proxy: ProxyUse?
  /// Nil for plain http.
  let trust: ConnectionTrust?

  /// The shape of `exchange`.
  ///
  /// - Throws: why the exchange cannot be sent, by whatever handle.
  init(
    _ exchange: Exchange, _ configuration: CurlTransport.Configuration, _ files: TrustFiles
  ) throws(TransportError) {
    method = exchange.request.method
    streamsBody = exchange.request.streamedBody != nil
    hasBody = streamsBody || exchange.request.body != nil || Self.impliesBody(exchange.request.method)
    mayStream = exchange.options.control?.takesBodies == true
    wantsCodings = !mayStream && !exchange.request.keepsCodings && exchange.request.fields["range"] == nil
    isSecure = exchange.request.url.origin.scheme == "https"
    allowsPlainHTTP = exchange.options.access.plainHTTP.allowsAny
    // Zero would be libcurl's default, and its own limit is that of an int.
    connectMilliseconds = Int(min(max(1, exchange.options.connectTimeout.wholeMilliseconds), Int64(Int32.max)))
    if let obstacle = Self.addressObstacle(to: exchange) { throw obstacle }
    proxy = try ProxyUse.of(exchange, configuration, files)
    trust =
      isSecure
      ? try ConnectionTrust(exchange.options.access.tls, caFile: configuration.caFile, through: proxy, files: files)
      : nil
    if configuration.requiresPins, exchange.options.access.tls.pins == nil {
      throw TransportError(
        code: .pinMismatch, outcome: .notSent, detail: "every server needs pins, and none are set for this one")
    }
    if let obstacle = obstacle(to: exchange) { throw obstacle }
  }

  static func == (left: RequestShape, right: RequestShape) -> Bool {
    left === right
      || left.method == right.method && left.hasBody == right.hasBody && left.streamsBody == right.streamsBody
        && left.mayStream == right.mayStream && left.wantsCodings == right.wantsCodings
        && left.isSecure == right.isSecure && left.allowsPlainHTTP == right.allowsPlainHTTP
        && left.connectMilliseconds == right.connectMilliseconds && left.proxy == right.proxy
        && left.trust == right.trust
  }

  /// Methods whose request has `Content-Length: 0` when there is no body (RFC 9110 section 8.6).
  private static func impliesBody(_ method: String) -> Bool {
    method == "POST" || method == "PUT" || method == "PATCH"
  }

  /// Whether connections may carry another exchange. A server may read a body that the method does not imply as one.
  var keepsConnections: Bool {
    (!hasBody || Self.impliesBody(method)) && proxy?.keepsConnections(isSecure: isSecure) ?? true
  }

  private static func addressObstacle(to exchange: Exchange) -> TransportError? {
    guard exchange.request.url.origin.isLinkLocalAddress, !exchange.options.allowsLinkLocal else { return nil }
    return SocketOpener.addressRejection
  }

  private func obstacle(to exchange: Exchange) -> TransportError? {
    if !isSecure, !allowsPlainHTTP {
      return TransportError(code: .invalidURL, outcome: .notSent, detail: "plain http is not allowed")
    }
    if !isSecure, exchange.options.access.tls.pins != nil {
      return TransportError(code: .pinMismatch, outcome: .notSent, detail: "pins cannot be checked without TLS")
    }
    if !FieldSyntax.isToken(method.utf8) {
      return TransportError(code: .protocolError, outcome: .notSent, detail: "the method is no token")
    }
    if method == "HEAD", streamsBody || exchange.request.body?.isEmpty == false {
      return TransportError(code: .protocolError, outcome: .notSent, detail: "HEAD with a body")
    }
    return nil
  }

  // MARK: - Options

  /// Sets the options of the method, the destination and the reception.
  func apply(to settings: inout Settings, sharesConnections: Bool) {
    setMethod(in: &settings)
    settings.set(CURLOPT_PROTOCOLS_STR, allowsPlainHTTP ? "http,https" : "https")
    settings.set(CURLOPT_CONNECTTIMEOUT_MS, connectMilliseconds)
    // Rather share a connection that is about to speak HTTP/2 than open another.
    settings.set(CURLOPT_PIPEWAIT, isSecure && sharesConnections ? 1 : 0)
    // libcurl has the buffer only while a transfer runs; a larger one saves reads of large bodies.
    settings.set(CURLOPT_BUFFERSIZE, 64 << 10)
    // Without it libcurl undoes no coding, whatever `CURLOPT_HTTP_CONTENT_DECODING` is; the line is in the request's own.
    settings.set(CURLOPT_ACCEPT_ENCODING, "\(codings)")
  }

  private func setMethod(in settings: inout Settings) {
    if method == "HEAD" { return settings.set(CURLOPT_NOBODY, 1) }
    if hasBody { settings.set(CURLOPT_POST, 1) }
    if method != (hasBody ? "POST" : "GET") { settings.set(CURLOPT_CUSTOMREQUEST, method) }
  }
}
