import CPosternCurl
import HTTPMessages
import PosternSupport

extension Transfer {
  /// The facts that the options of a handle depend on. A handle whose last exchange had the same shape needs no reset:
  /// URL, fields and body are set every time.
  struct Shape: Equatable {
    let method: String
    let hasBody: Bool
    /// Whether the response's body may be taken in pieces.
    let mayStream: Bool
    let isSecure: Bool
    let allowsPlainHTTP: Bool
    let connectMilliseconds: Int
    /// Nil for plain http.
    let trust: ConnectionTrust?

    init(
      _ exchange: Exchange, _ configuration: CurlTransport.Configuration, _ files: TrustFiles
    ) throws(TransportError) {
      method = exchange.request.method
      hasBody = exchange.request.body != nil || Self.impliesBody(exchange.request.method)
      mayStream = exchange.options.control?.takesBodies == true
      isSecure = exchange.request.url.origin.scheme == "https"
      allowsPlainHTTP = exchange.options.allowsPlainHTTP
      // Zero would be libcurl's default, and its own limit is that of an int.
      connectMilliseconds = Int(min(max(1, exchange.options.connectTimeout.wholeMilliseconds), Int64(Int32.max)))
      trust =
        isSecure
        ? try ConnectionTrust(exchange.options, caFile: configuration.caFile, files: files) : nil
    }

    /// Methods whose request has `Content-Length: 0` when there is no body (RFC 9110 section 8.6).
    private static func impliesBody(_ method: String) -> Bool {
      method == "POST" || method == "PUT" || method == "PATCH"
    }
  }

  /// Sets everything for `exchange`; returns the option that libcurl rejected, if any: the handle is not usable then.
  ///
  /// - Throws: why the exchange cannot be sent, by whatever handle.
  func prepare(
    for exchange: Exchange, configuration: CurlTransport.Configuration, files: TrustFiles,
    now: MonotonicInstant
  ) throws(TransportError) -> Settings.Rejection? {
    self.exchange = exchange
    clock = configuration.clock
    handedOverAt = now
    let request = exchange.request
    let shape = try Shape(exchange, configuration, files)
    if let obstacle = Self.obstacle(to: request, exchange.options, shape: shape) { throw obstacle }
    usesProxy = configuration.proxy != nil
    var settings = Settings(easy: easy)
    if self.shape != shape {
      self.shape = nil
      curl_easy_reset(easy)
      setConstants(configuration, in: &settings)
      setCallbacks(in: &settings)
      setDestination(shape, configuration: configuration, in: &settings)
      setMethod(shape, in: &settings)
      setReception(shape, in: &settings)
      if let problem = setTrust(shape.trust, configuration: configuration, in: &settings) { throw problem }
    }
    errorText[0] = 0
    setConnection(for: exchange, in: &settings)
    settings.set(CURLOPT_URL, request.url.description)
    settings.set(CURLOPT_HTTP_CONTENT_DECODING, shape.mayStream ? 1 : 0)
    // Called often, and only of interest where there is a body and a control.
    let isWatched = exchange.options.control != nil && request.body?.isEmpty == false
    settings.set(CURLOPT_NOPROGRESS, isWatched ? 0 : 1)
    do {
      settings.setFields(try fieldLines.build(request.fields, hasBody: shape.hasBody))
    } catch {
      throw TransportError(
        code: .protocolError, outcome: .notSent, detail: "the request's fields cannot be sent: \(error)")
    }
    if shape.hasBody, shape.method != "HEAD" { setBody(request.body, in: &settings) }
    guard let rejection = settings.rejection else {
      self.shape = shape
      return nil
    }
    if rejection.option == CURLOPT_URL {
      throw TransportError(code: .invalidURL, outcome: .notSent, detail: rejection.text)
    }
    return rejection
  }

  /// Which connections the exchange may take up, and what becomes of its own.
  private func setConnection(for exchange: Exchange, in settings: inout Settings) {
    let options = exchange.options
    let isFresh = !options.reusesConnections || exchange.discards > 0
    settings.set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
    settings.set(CURLOPT_FORBID_REUSE, options.reusesConnections ? 0 : 1)
    // A part of the key by which libcurl keeps connections, and of no effect on addresses that are not link-local: a
    // uid's connections are found by that uid only. `mayRequest` does not rely on it. Zero is the process itself.
    let scope = options.allowsLinkLocal ? 0 : options.peerID.uid &+ 1
    settings.set(CURLOPT_ADDRESS_SCOPE, Int(scope))
  }

  /// The error of a transfer whose every address was rejected, or whose host is such an address.
  static let addressRejection = TransportError(
    code: .addressNotAllowed, outcome: .notSent,
    detail: "the host is, or leads to, a link-local address, which only the configuration itself may name")

  private static func obstacle(
    to request: HTTPRequest, _ options: TransferOptions, shape: Shape
  ) -> TransportError? {
    if request.url.origin.isLinkLocalAddress, !options.allowsLinkLocal { return addressRejection }
    if !shape.isSecure, !shape.allowsPlainHTTP {
      return TransportError(code: .invalidURL, outcome: .notSent, detail: "plain http is not allowed")
    }
    if !shape.isSecure, options.pins != nil {
      return TransportError(code: .pinMismatch, outcome: .notSent, detail: "pins cannot be checked without TLS")
    }
    if !FieldSyntax.isToken(request.method.utf8) {
      return TransportError(code: .protocolError, outcome: .notSent, detail: "the method is no token")
    }
    if request.method == "HEAD", let body = request.body, !body.isEmpty {
      return TransportError(code: .protocolError, outcome: .notSent, detail: "HEAD with a body")
    }
    return nil
  }

  private func setConstants(_ configuration: CurlTransport.Configuration, in settings: inout Settings) {
    settings.set(CURLOPT_PRIVATE, pointer: Unmanaged.passUnretained(self).toOpaque())
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
    // An empty string, unlike none, keeps the environment's proxies out.
    settings.set(CURLOPT_PROXY, configuration.proxy ?? "")
    if configuration.proxy != nil {
      settings.set(CURLOPT_NOPROXY, "")
      // The proxy sees none of the request's fields, and its answer does not pass for the server's.
      settings.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
      settings.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }
  }

  private static func seconds(_ duration: Duration) -> Int {
    Int(min(max(0, duration.components.seconds), Int64(Int32.max)))
  }

  private func setDestination(
    _ shape: Shape, configuration: CurlTransport.Configuration, in settings: inout Settings
  ) {
    settings.set(CURLOPT_PROTOCOLS_STR, shape.allowsPlainHTTP ? "http,https" : "https")
    settings.set(CURLOPT_CONNECTTIMEOUT_MS, shape.connectMilliseconds)
    settings.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    // TLS 1.2 with elliptic curves only: the prime of a Diffie-Hellman group is the server's choice, and one of 10,000
    // bits takes this thread a second for each handshake.
    settings.set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:!kDHE")
    settings.set(CURLOPT_SSL_VERIFYPEER, 1)
    settings.set(CURLOPT_SSL_VERIFYHOST, 2)
    // Without this the system's directory would be trusted next to the file; and only without it are parsed
    // authorities kept.
    settings.set(CURLOPT_CAPATH, nil)
    settings.set(CURLOPT_CA_CACHE_TIMEOUT, 300)
    // Rather share a connection that is about to speak HTTP/2 than open another.
    settings.set(CURLOPT_PIPEWAIT, shape.isSecure && configuration.multiplexesHTTP2 ? 1 : 0)
  }

  private func setReception(_ shape: Shape, in settings: inout Settings) {
    // libcurl has the buffer only while a transfer runs; a larger one saves reads of large bodies. What is read at once
    // is decoded at once, and a reader who does not take it leaves it with libcurl.
    settings.set(CURLOPT_BUFFERSIZE, shape.mayStream ? CodedStreams.readBytes : 64 << 10)
    // What `CodedBody` undoes; or none, and yet libcurl undoes it.
    settings.set(CURLOPT_ACCEPT_ENCODING, shape.mayStream ? "identity" : "gzip, deflate")
  }

  private func setMethod(_ shape: Shape, in settings: inout Settings) {
    if shape.method == "HEAD" { return settings.set(CURLOPT_NOBODY, 1) }
    if shape.hasBody { settings.set(CURLOPT_POST, 1) }
    if shape.method != (shape.hasBody ? "POST" : "GET") { settings.set(CURLOPT_CUSTOMREQUEST, shape.method) }
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
    var settings = Settings(easy: easy)
    settings.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: 0)
    settings.set(CURLOPT_POSTFIELDS, pointer: UnsafeMutableRawPointer(mutating: Self.emptyBody.utf8Start))
  }

  private static let emptyBody: StaticString = ""

  private func setCallbacks(in settings: inout Settings) {
    let this = Unmanaged.passUnretained(self).toOpaque()
    settings.set(CURLOPT_WRITEDATA, pointer: this)
    settings.setSink(CURLOPT_WRITEFUNCTION) { Transfer.receive($0, $1 * $2, $3) { $0.receiveBody($1) } }
    settings.set(CURLOPT_HEADERDATA, pointer: this)
    settings.setSink(CURLOPT_HEADERFUNCTION) { Transfer.receive($0, $1 * $2, $3) { $0.receiveLine($1) } }
    settings.set(CURLOPT_XFERINFODATA, pointer: this)
    settings.note(
      postern_curl_set_progress(easy) { pointer, _, _, _, sent in Transfer.progress(pointer, sent: sent) },
      CURLOPT_XFERINFOFUNCTION)
    settings.set(CURLOPT_PREREQDATA, pointer: this)
    settings.note(
      postern_curl_set_before_request(easy) { pointer, remote, local, remotePort, localPort in
        let path = ConnectionPath(
          remoteAddress: remote.map { String(cString: $0) } ?? "", remotePort: remotePort,
          localAddress: local.map { String(cString: $0) } ?? "", localPort: localPort)
        return Transfer.beforeRequest(pointer, at: path)
      }, CURLOPT_PREREQFUNCTION)
    settings.set(CURLOPT_RESOLVER_START_DATA, pointer: this)
    settings.note(
      postern_curl_set_resolver_start(easy) { _, _, pointer in Transfer.beginLookUp(pointer) },
      CURLOPT_RESOLVER_START_FUNCTION)
    settings.set(CURLOPT_OPENSOCKETDATA, pointer: this)
    settings.note(
      postern_curl_set_open_socket(easy) { pointer, _, address in Transfer.openSocket(pointer, address) },
      CURLOPT_OPENSOCKETFUNCTION)
    connections.attach(to: easy, in: &settings)
  }
}
