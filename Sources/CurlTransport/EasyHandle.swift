import CPosternCurl
import CPosternTLS
import HTTPMessages
import PosternSupport

/// libcurl's easy handle of one `Transfer`: the options it is set to, and what libcurl reports of its exchange.
///
/// Each exchange has a handle of its own, a copy of `template`: libcurl 7.88 keeps some of a handle's state over a
/// reset. It includes a proxy's credentials (CVE-2026-7168) and a pointer to the last field of the response, which is
/// freed by then: a folded first field of the next response is appended to it (curl issue 11101).
///
/// Used on the loop's thread alone: its pointers and references are not checked for exclusive access.
final class EasyHandle {
  /// A handle with the options of `shape` set. It never makes a transfer itself: each exchange uses a copy.
  @exclusivity(unchecked) private var template: UnsafeMutableRawPointer
  /// Nil between exchanges.
  @exclusivity(unchecked) private var copy: UnsafeMutableRawPointer?
  /// The shape that the template is set up for; nil: for none.
  @exclusivity(unchecked) private(set) var shape: RequestShape?
  /// Sets up connections made for the shape's trust; nil where it requires nothing.
  @exclusivity(unchecked) private(set) var guardian: ConnectionGuard?
  /// The way of the exchange to its server.
  let way = ProxyWay()
  private let sessions: TLSSessions
  private let errorText: UnsafeMutablePointer<CChar>
  private let (fieldLines, proxyLines) = (FieldLines(), FieldLines())

  /// Nil when libcurl has no memory.
  init?(_ sessions: TLSSessions) {
    guard let template = curl_easy_init() else { return nil }
    self.template = template
    self.sessions = sessions
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  /// The handle of the exchange, while there is one.
  var pointer: UnsafeMutableRawPointer { copy ?? template }

  /// After an exchange; libcurl must not be working on the handle any more.
  func reset() {
    endCopy()
    fieldLines.reset()
    guardian?.forget()
    way.forget()
  }

  /// The end, called by the loop.
  func cleanUp() {
    endCopy()
    curl_easy_cleanup(template)
    fieldLines.release()
    proxyLines.release()
    errorText.deallocate()
  }

  private func endCopy() {
    curl_easy_cleanup(copy)
    copy = nil
  }

  // MARK: - Options

  /// Sets everything for `exchange`, which has this `shape`; `attach` sets the callbacks, the same each time. Returns
  /// the option that libcurl rejected, if any: the handle is not usable then.
  ///
  /// - Throws: why the exchange cannot be sent, by whatever handle.
  func prepare(
    for exchange: Exchange, _ shape: RequestShape, _ configuration: CurlTransport.Configuration,
    attach: (inout Settings) -> Void
  ) throws(TransportError) -> Settings.Rejection? {
    if self.shape != shape, let rejection = try setTemplate(shape, configuration, attach: attach) { return rejection }
    endCopy()
    guard let copy = curl_easy_duphandle(template) else { throw Self.noHandle }
    self.copy = copy
    errorText[0] = 0
    var settings = Settings(easy: copy)
    // A copy has no share.
    if let sessions = sessions.pointer { settings.set(CURLOPT_SHARE, pointer: sessions) }
    try setRequest(exchange, shape, in: &settings)
    guard let rejection = settings.rejection else { return nil }
    if rejection.option == CURLOPT_URL {
      throw TransportError(code: .invalidURL, outcome: .notSent, detail: rejection.text)
    }
    return rejection
  }

  private static let noHandle = TransportError(
    code: .internalError, outcome: .notSent, detail: "libcurl gives no handle")

  /// Makes a template for `shape`; returns the option that libcurl rejected, if any.
  private func setTemplate(
    _ shape: RequestShape, _ configuration: CurlTransport.Configuration, attach: (inout Settings) -> Void
  ) throws(TransportError) -> Settings.Rejection? {
    guard let new = curl_easy_init() else { throw Self.noHandle }
    curl_easy_cleanup(template)
    template = new
    self.shape = nil
    var settings = Settings(easy: template)
    setConstants(configuration, in: &settings)
    attach(&settings)
    shape.apply(to: &settings, sharesConnections: configuration.multiplexesHTTP2)
    if let problem = setTrust(shape, in: &settings) { throw problem }
    guard let rejection = settings.rejection else {
      self.shape = shape
      return nil
    }
    return rejection
  }

  private func setConstants(_ configuration: CurlTransport.Configuration, in settings: inout Settings) {
    settings.set(CURLOPT_ERRORBUFFER, pointer: errorText)
    settings.set(CURLOPT_NOSIGNAL, 1)
    // Ending an exchange must not wait for its name look-up: it would stop the whole loop. `TransferLoop.abort` waits
    // instead.
    settings.set(CURLOPT_QUICK_EXIT, 1)
    settings.set(CURLOPT_TCP_KEEPALIVE, 1)
    settings.set(CURLOPT_MAXAGE_CONN, Self.seconds(configuration.idleLifetime))
    settings.set(CURLOPT_MAXLIFETIME_CONN, Self.seconds(configuration.connectionLifetime))
    settings.set(CURLOPT_PATH_AS_IS, 1)
    settings.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    let version = configuration.allowsHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
    settings.set(CURLOPT_HTTP_VERSION, version)
    // An empty string, unlike none, keeps the environment's proxies and exceptions out.
    settings.set(CURLOPT_PROXY, "")
    settings.set(CURLOPT_NOPROXY, "")
    settings.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    // TLS 1.2 with elliptic curves only: the prime of a Diffie-Hellman group is the server's choice, and one of 10,000
    // bits takes this thread a second for each handshake.
    settings.set(CURLOPT_SSL_CIPHER_LIST, Self.ciphers)
    settings.set(CURLOPT_SSL_VERIFYPEER, 1)
    settings.set(CURLOPT_SSL_VERIFYHOST, 2)
    // Without this the system's directory would be trusted next to the file; and only without it are parsed
    // authorities kept.
    settings.set(CURLOPT_CAPATH, nil)
    settings.set(CURLOPT_CA_CACHE_TIMEOUT, 300)
    settings.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
  }

  static let ciphers = "DEFAULT:!kDHE"

  private static func seconds(_ duration: Duration) -> Int {
    Int(min(max(0, duration.components.seconds), Int64(Int32.max)))
  }

  /// Sets up the handle for the trust, and the proxy, of `shape`; returns why that is not possible.
  private func setTrust(_ shape: RequestShape, in settings: inout Settings) -> TransportError? {
    guardian = nil
    way.proxyGuardian = shape.proxy?.guardian
    shape.proxy?.apply(to: &settings, proxyLines)
    if shape.proxy?.isSecure == true {
      guard way.proxyGuardian != nil else { return Self.problem("OpenSSL gives no memory") }
      setTLSSetup(in: &settings)
    }
    guard let trust = shape.trust else { return nil }
    if trust.mark != nil {
      guard let path = trust.caFile ?? CurlLibrary.authorities else {
        return Self.problem("libcurl names no file of authorities")
      }
      settings.set(CURLOPT_CAINFO, trust.spelled(path))
    }
    let authorities = trust.authorities?.loaded
    // With a certificate in memory libcurl leaves the file alone; it adds that one to ours, where it is already.
    if let bytes = authorities?.first ?? trust.authorities?.copy { settings.setAuthorities(bytes) }
    guard let guardian = ConnectionGuard(trust, authorities: authorities) else {
      return Self.problem("OpenSSL gives no memory")
    }
    self.guardian = guardian
    if !trust.resumesSessions { settings.set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
    setTLSSetup(in: &settings)
    return nil
  }

  private func setTLSSetup(in settings: inout Settings) {
    settings.set(CURLOPT_SSL_CTX_DATA, pointer: Unmanaged.passUnretained(self).toOpaque())
    settings.setTLSSetup { _, context, pointer in
      guard let context, let pointer else { return CURLE_SSL_CERTPROBLEM }
      let handle = Unmanaged<EasyHandle>.fromOpaque(pointer).takeUnretainedValue()
      let guardian = handle.way.guardianOfNextContext(server: handle.guardian)
      return guardian?.attach(to: context) == true ? CURLE_OK : CURLE_SSL_CERTPROBLEM
    }
  }

  private static func problem(_ detail: String) -> TransportError {
    TransportError(code: .tlsFailure, outcome: .notSent, detail: detail)
  }

  /// Sets what differs between exchanges of one shape, where it is not what a new handle has.
  private func setRequest(
    _ exchange: Exchange, _ shape: RequestShape, in settings: inout Settings
  ) throws(TransportError) {
    let (request, options) = (exchange.request, exchange.options)
    // Which connections the exchange may take up, and what becomes of its own.
    let isKept = options.reusesConnections && shape.keepsConnections
    let isFresh = !isKept || exchange.discards > 0
    if isFresh { settings.set(CURLOPT_FRESH_CONNECT, 1) }
    if !isKept { settings.set(CURLOPT_FORBID_REUSE, 1) }
    // A part of the key by which libcurl keeps connections, and of no effect on addresses that are not link-local:
    // connections are found for their own use only. `ConnectionCheck` does not rely on it.
    if !options.allowsLinkLocal { settings.set(CURLOPT_ADDRESS_SCOPE, Int(exchange.use.scope)) }
    settings.set(CURLOPT_URL, request.url.description)
    // Called often, and only of interest where there is a body and a control.
    let isWatched = options.control != nil && (shape.streamsBody || request.body?.isEmpty == false)
    way.prepare(boundsTunnel: shape.proxy != nil && shape.isSecure)
    if isWatched || shape.proxy != nil { settings.set(CURLOPT_NOPROGRESS, 0) }
    do {
      settings.setFields(
        try fieldLines.build(
          request.fields, codings: shape.codings, hasBody: shape.hasBody, keepsCodings: request.keepsCodings))
    } catch {
      throw TransportError(
        code: .protocolError, outcome: .notSent, detail: "the request's fields cannot be sent: \(error)")
    }
    if let body = request.streamedBody {
      // Without fields libcurl calls the read function; without a length it sends chunks.
      settings.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: curl_off_t(body.length ?? -1))
    } else if shape.hasBody, shape.method != "HEAD" {
      setBody(request.body, in: &settings)
    }
  }

  /// libcurl reads the body where it lies until the transfer ends.
  ///
  /// The pointer outlives the closure on purpose: the array's storage is a heap object that does not move,
  /// `Exchange.request` is immutable and holds it, and the transfer keeps the exchange until libcurl has released it.
  private func setBody(_ body: [UInt8]?, in settings: inout Settings) {
    let address = body?.withUnsafeBytes { $0.baseAddress }
    settings.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: curl_off_t(body?.count ?? 0))
    // libcurl takes a null pointer for "ask the read callback".
    let bytes = address ?? UnsafeRawPointer(Self.emptyBody.utf8Start)
    settings.set(CURLOPT_POSTFIELDS, pointer: UnsafeMutableRawPointer(mutating: bytes))
  }

  /// libcurl does not come to read the body any more, and must not find it when it is gone.
  func forgetBody() {
    guard shape?.streamsBody != true else { return }
    var settings = Settings(easy: pointer)
    setBody(nil, in: &settings)
  }

  private static let emptyBody: StaticString = ""

  /// libcurl reads it whenever it looks at the time.
  func setConnectTime(_ milliseconds: Int) {
    _ = postern_curl_set_long(pointer, CURLOPT_CONNECTTIMEOUT_MS, min(milliseconds, Int(Int32.max)))
  }

  /// No further exchange goes over the connection. libcurl closes a connection of HTTP/2 on its own only when the
  /// protocol was broken.
  func forbidReuse() { _ = postern_curl_set_long(pointer, CURLOPT_FORBID_REUSE, 1) }

  // MARK: - What libcurl knows

  func number(_ info: CURLINFO) -> Int {
    var value = 0
    return postern_curl_get_long(pointer, info, &value) == CURLE_OK ? value : 0
  }

  func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    return postern_curl_get_offset(pointer, info, &value) == CURLE_OK ? Int64(value) : 0
  }

  /// OpenSSL's SSL of the connection; nil without TLS.
  var tls: UnsafeMutableRawPointer? { shape?.isSecure == true ? postern_curl_get_tls(pointer) : nil }

  var speaksHTTP2: Bool { tls.map { ctls_speaks_http2($0) == 1 } ?? false }

  /// Whether the connection was made for this very trust: by libcurl's keys it was; this does not rely on them.
  var isOnOwnConnection: Bool {
    guard shape?.isSecure == true else { return true }
    return ConnectionGuard.made(postern_curl_get_tls(pointer), as: guardian)
  }

  /// libcurl's words about a failure, with the authorities' file as it was given.
  var failureText: String {
    let text = String(cString: errorText)
    guard let trust = shape?.trust, let path = trust.caFile ?? CurlLibrary.authorities, trust.mark != nil else {
      return text
    }
    return text.replacing(trust.spelled(path), with: path)
  }
}
