import HTTPMessages
import PosternSupport

/// Makes the outbound proxy of a configuration, and the access to its servers.
struct OutboundFactory {
  let configuration: PosternConfiguration

  /// The servers that may be reached without TLS.
  func plainHTTP() throws(ConfigurationProblems) -> PlainHTTPRule {
    var rule = PlainHTTPRule(allowsLoopback: configuration.development.plainHTTPOnLoopback)
    for origin in configuration.outbound.plainHTTP {
      rule.origins.insert(try EngineFactory.url(origin, "outbound.plainHTTP").origin)
    }
    return rule
  }

  /// How the server of a section is reached, from its `tls` and `proxy`.
  func access(
    _ trust: TrustConfiguration, _ identity: ClientIdentity?, _ proxy: ProxyChoice
  ) throws(ConfigurationProblems) -> ServerAccess {
    ServerAccess(
      tls: TLSSettings(caFile: trust.caFile, clientIdentity: identity, pins: trust.pins), plainHTTP: try plainHTTP(),
      bypassesProxy: proxy == .none)
  }

  /// Whether the configurations agree on the servers that may be reached without TLS.
  func hasSamePlainHTTP(as other: PosternConfiguration) -> Bool {
    configuration.development == other.development
      && configuration.outbound.plainHTTP == other.outbound.plainHTTP
  }

  /// The proxy; nil where there is none. Files of its credentials are read again when they are replaced.
  func proxy(_ report: @escaping ConfiguredEngine.FileReport) throws(ConfigurationProblems) -> OutboundProxy? {
    guard let given = configuration.outbound.proxy else { return nil }
    var proxy: OutboundProxy
    do throws(OutboundProxy.Problem) {
      proxy = try OutboundProxy(given.url)
    } catch {
      throw EngineFactory.problem("outbound.proxy.url", error.description)
    }
    do throws(ProxyExceptions.Problem) {
      proxy.exceptions = try ProxyExceptions(given.exceptions)
    } catch {
      throw EngineFactory.problem("outbound.proxy.except", error.description)
    }
    proxy.caFile = given.caFile
    switch (given.auth, given.username, given.password) {
    case (.negotiate, _, _): proxy.authentication = .negotiate
    case (.basic, let name?, let password?):
      // A colon ends the name (RFC 7617 section 2).
      let names = Self.source(name, report) { !$0.reveal().utf8.contains(UInt8(ascii: ":")) }
      proxy.authentication = .basic(username: names, password: Self.source(password, report) { _ in true })
    case (.basic, _, _): throw EngineFactory.problem("outbound.proxy", "basic needs usernameFile and passwordFile")
    case (nil, _, _): break
    }
    return proxy
  }

  private static func source(
    _ secret: ConfiguredSecret<String>, _ report: @escaping ConfiguredEngine.FileReport,
    accepts: @escaping @Sendable (Secret<String>) -> Bool
  ) -> OutboundProxy.SecretSource {
    guard case .file(let path) = secret.source else { return { secret.value } }
    let file = SecretFile(path: path, report: report, accepts: accepts)
    // Until it was read once, or while another thread reads it for the first time: the one that was loaded.
    return { file.current() ?? secret.value }
  }
}
