import CPosternCurl
import CPosternTLS
import HTTPMessages
import PosternSupport

/// The outbound proxy as one exchange goes through it: with the credentials, and the authorities, of now.
final class ProxyUse: Equatable {
  let origin: HTTPURL.Origin
  /// Identifies the proxy, its authorities and the credentials: no connection that was made with another is used.
  let mark: [UInt8]
  private let caFile: String?
  /// The authorities for an `https` proxy.
  let authorities: AuthorityFiles.Authorities?
  private let credentials: Credentials

  private enum Credentials {
    case none
    case basic(field: Secret<String>)
    case negotiate
  }

  /// Whether both are the same proxy, with the same credentials and authorities.
  static func == (left: ProxyUse, right: ProxyUse) -> Bool {
    left === right || left.mark == right.mark && left.authorities == right.authorities
  }

  /// The proxy for `exchange`; nil where it goes without.
  ///
  /// - Throws: why it cannot be sent at all: no request goes without the proxy because of a fault.
  static func of(
    _ exchange: Exchange, _ configuration: CurlTransport.Configuration, _ files: TrustFiles
  ) throws(TransportError) -> ProxyUse? {
    guard !exchange.options.access.bypassesProxy, let proxy = configuration.proxy?.current else { return nil }
    switch proxy.route(to: exchange.request.url.origin) {
    case .direct: return nil
    case .proxied: return try ProxyUse(proxy, configuration, files)
    case .excluded:
      throw TransportError(
        code: .addressNotAllowed, outcome: .notSent,
        detail: "a link-local address, or the name of a metadata service, is never requested from the proxy")
    }
  }

  private init(
    _ proxy: OutboundProxy, _ configuration: CurlTransport.Configuration, _ files: TrustFiles
  ) throws(TransportError) {
    origin = proxy.origin
    let path = proxy.isSecure ? proxy.caFile ?? CurlLibrary.authorities : nil
    caFile = path
    authorities = path.map { files.authorities.authorities($0) }
    var text = Self.salt + Array("\(proxy.origin)\u{0}\(path ?? "")\u{0}\(authorities?.stamp?.description ?? "")".utf8)
    switch proxy.authentication {
    case .none: credentials = .none
    case .negotiate:
      credentials = .negotiate
      text += Array("\u{0}negotiate".utf8)
    case .basic(let name, let password):
      guard let name = name(), let password = password() else {
        throw TransportError(
          code: .serverUnreachable, outcome: .notSent,
          detail: "the files with the proxy's user name and password cannot be used (outbound.proxy)",
          proxy: TransportError.ProxyFault(status: nil, isTransient: false))
      }
      let revealed = name.reveal()
      credentials = .basic(field: Secret("Basic " + Base64.string(Array("\(revealed):\(password.reveal())".utf8))))
      // With its length, so that no name and password look like others.
      text += Array("\u{0}basic \(revealed.utf8.count) \(revealed)\(password.reveal())".utf8)
    }
    defer { PEMFile.wipe(&text) }
    var digest = [UInt8](repeating: 0, count: Int(CTLS_DIGEST_SIZE))
    guard ctls_sha256(text, text.count, &digest) == 1 else {
      throw TransportError(code: .tlsFailure, outcome: .notSent, detail: "OpenSSL has no SHA-256")
    }
    mark = digest
  }

  /// Without it the mark of a short password could be found by trying.
  private static let salt: [UInt8] = {
    var generator = SystemRandomNumberGenerator()
    return (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }()

  var isSecure: Bool { origin.scheme == "https" }

  /// Whether a connection through it may carry another exchange. One for `http` has no TLS whose context could be
  /// compared. With an `https` proxy bytes that the server has sent too early are out of sight: OpenSSL has them for
  /// the proxy's connection.
  func keepsConnections(isSecure: Bool) -> Bool { isSecure && !self.isSecure }

  /// The trust of connections to the proxy itself; nil without TLS.
  var guardian: ConnectionGuard? {
    isSecure ? ConnectionGuard(mark: mark, authorities: authorities?.loaded) : nil
  }

  // MARK: - Options

  /// Sets the options; `lines` are for the credentials, and last as long as they are used.
  func apply(to settings: inout Settings, _ lines: FieldLines) {
    settings.set(CURLOPT_PROXY, url)
    // The proxy sees none of the request's fields in a tunnel, and its answer does not pass for the server's.
    settings.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    settings.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    switch credentials {
    case .none: settings.set(CURLOPT_PROXYAUTH, Self.basic)
    case .basic(let field):
      // One bit: with several libcurl would choose by what the proxy offers.
      settings.set(CURLOPT_PROXYAUTH, Self.basic)
      // As a field: of a name and a password libcurl 7.88 decodes the percent signs, and once more for each retry.
      let fields = HTTPFields([.init(name: "Proxy-Authorization", value: field.reveal())])
      if let list = try? lines.build(fields, hasBody: false) { settings.set(CURLOPT_PROXYHEADER, pointer: list) }
    case .negotiate:
      settings.set(CURLOPT_PROXYAUTH, Self.negotiate)
      settings.set(CURLOPT_PROXYUSERPWD, ":")
    }
    guard isSecure else { return }
    settings.set(CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    settings.set(CURLOPT_PROXY_SSL_CIPHER_LIST, EasyHandle.ciphers)
    settings.set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
    settings.set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
    settings.set(CURLOPT_PROXY_CAPATH, nil)
    if let caFile { settings.set(CURLOPT_PROXY_CAINFO, caFile) }
    if let bytes = authorities?.loaded?.first ?? authorities?.copy {
      settings.setAuthorities(bytes, CURLOPT_PROXY_CAINFO_BLOB)
    }
  }

  /// With its port, whatever it is: libcurl takes 1080 for a proxy without one.
  private var url: String { "\(origin.scheme)://\(origin.host):\(origin.port)" }

  // CURLAUTH_BASIC and CURLAUTH_NEGOTIATE, macros that Swift does not import.
  private static let basic = 1
  private static let negotiate = 1 << 2

  /// Whether nothing is sent that the proxy could know the sidecar by.
  var isAnonymous: Bool {
    if case .none = credentials { return true }
    return false
  }
}

/// How far an exchange has come on its way to the server, where the way may lead through a proxy.
final class ProxyWay {
  /// libcurl 7.88 reads the answer to CONNECT byte by byte, reports its progress after each, and has no bound of its
  /// own for a body in it.
  private static let longestAnswer = 32 << 10

  /// Sets up TLS of connections to the proxy itself; nil where they have none.
  var proxyGuardian: ConnectionGuard?
  /// Whether the proxy has been passed: a failure from then on is the server's, or of the way to it.
  private(set) var isOpen = false
  /// Whether the next TLS context of libcurl is the one for the proxy: that is the first of each new connection.
  private var isProxyNext = false
  private var boundsTunnel = false
  private var steps = 0

  /// Before an exchange.
  func prepare(boundsTunnel: Bool) {
    self.boundsTunnel = boundsTunnel
    isOpen = false
    steps = 0
  }

  /// After an exchange.
  func forget() {
    proxyGuardian?.forget()
    isOpen = false
    isProxyNext = false
    steps = 0
  }

  /// A socket for a new connection is opened. libcurl opens the last one before the first context.
  func begin() {
    isProxyNext = true
    isOpen = false
  }

  /// The request is about to go to the server.
  func open() { isOpen = true }

  /// Counts a step of libcurl's; false when it is not to go on.
  func step() -> Bool {
    guard boundsTunnel, !isOpen else { return true }
    steps += 1
    return !isAnswerTooLong
  }

  /// Whether it has read too much of the answer to CONNECT.
  var isAnswerTooLong: Bool { steps > Self.longestAnswer }

  /// The fault of the proxy's certificates; empty when there is none.
  var certificateProblem: String { proxyGuardian?.problem ?? "" }

  /// The guard that sets up the TLS context that libcurl has just made; `server` for the one to the server.
  func guardianOfNextContext(server: ConnectionGuard?) -> ConnectionGuard? {
    if let proxyGuardian, isProxyNext {
      isProxyNext = false
      return proxyGuardian
    }
    isOpen = true
    return server
  }
}
