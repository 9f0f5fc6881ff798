import HTTPMessages
import PosternJSON
public import PosternSupport

/// How requests leave the machine.
public struct OutboundConfiguration: Sendable, Equatable {
  /// The HTTP proxy; nil: requests leave directly.
  public var proxy: ProxyConfiguration?
  /// The origins that may be reached without TLS. Default none.
  public var plainHTTP: [String]
}

extension OutboundConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    proxy = keys.optionalSection(
      "proxy", ProxyConfiguration.self,
      "An HTTP proxy through which everything leaves, except to loopback addresses. Left out: none. The environment's proxies are never used.",
      commented: true)
    plainHTTP = keys.list(
      "plainHTTP", of: .plainHTTPOrigin, default: [],
      """
      Origins that may be reached without TLS, compared exactly by scheme, host and port: for networks that encrypt by themselves. Each \
      warns at start and shows in getInfo.
      """,
      example: .commented(["http://orders.shop.svc.cluster.local:8080"]))
    for (index, origin) in plainHTTP.enumerated() {
      let path = keys.path.key("plainHTTP").index(index)
      keys.context.warn("\(origin) is reached without TLS: tokens and responses can be read on the way", at: path)
    }
  }

  /// The origins as `getInfo` shows them.
  public var activeExceptions: [String] { plainHTTP.map { "outbound.plainHTTP \($0)" } }
}

/// An HTTP proxy.
public struct ProxyConfiguration: Sendable, Equatable {
  /// The kind of authentication.
  public enum Authentication: String, Sendable, Hashable, CaseIterable {
    /// A user name and a password (RFC 7617).
    case basic
    /// Kerberos (RFC 4559).
    case negotiate
  }

  /// The proxy's own URL: scheme, host and port.
  public var url: String
  /// The kind of authentication; nil: none.
  public var auth: Authentication?
  /// The user name, for `basic`.
  public var username: ConfiguredSecret<String>?
  /// The password, for `basic`.
  public var password: ConfiguredSecret<String>?
  /// PEM file of the authorities that may vouch for an `https` proxy; nil for the system's.
  public var caFile: String?
  /// The servers that are reached without it, as `ProxyExceptions` has it. Default none.
  public var exceptions: [String]
}

extension ProxyConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    url = keys.required(
      "url", .proxyURL, "The proxy's URL: http or https, host and port.",
      example: .shown("http://proxy.corp.example:3128"))
    let auth = keys.optional(
      "auth", .choice(Authentication.self, placeholder: .basic),
      "How to authenticate to it: basic, or negotiate (Kerberos). Default: basic with a user name, else not at all.",
      example: .commented("basic"))
    username = keys.secret(
      "username", .line, "File with the user name for basic authentication.",
      exampleFile: .shown("/run/secrets/proxy-username"))
    password = keys.secret(
      "password", .line, "File with the password; it is read again when it is replaced.",
      exampleFile: .shown("/run/secrets/proxy-password"))
    caFile = keys.optional(
      "caFile", .file, "PEM file of certificate authorities to trust for an https proxy instead of the system's.",
      example: .commented("/etc/postern/proxy-ca.pem"))
    exceptions = keys.list(
      "except", of: .proxyException, default: [],
      """
      Servers that are reached without it: host, .suffix for every name below, an address, or a network of literal addresses, each with or \
      without a port. Names are never resolved for it.
      """,
      example: .commented([".svc.cluster.local", "10.0.0.0/8"]))
    func isGiven(_ name: String) -> Bool { [name, "\(name)File", "\(name)Env"].contains(where: keys.isGiven) }
    self.auth = auth ?? (isGiven("username") ? .basic : nil)
    if isGiven("username") != isGiven("password") || auth == .basic && !isGiven("username") {
      keys.problem("usernameFile and passwordFile belong together, and basic needs both")
    }
    if auth == .negotiate, isGiven("username") {
      keys.problem("negotiate takes its credentials from Kerberos: leave usernameFile and passwordFile out", at: "auth")
    }
    if username?.value.reveal().utf8.contains(UInt8(ascii: ":")) == true {
      keys.problem("a user name with a colon cannot be sent (RFC 7617)", at: "username")
    }
    if caFile != nil, !url.lowercased().hasPrefix("https:") {
      keys.problem("has no effect without an https proxy: the authorities of servers are in tls.caFile", at: "caFile")
    }
  }
}

/// Whether requests of a part of the configuration leave through the outbound proxy.
public enum ProxyChoice: String, Sendable, Hashable, CaseIterable {
  /// Through it, where there is one.
  case outbound
  /// Directly.
  case none

  /// The key `proxy` of an issuer, a resource or a decision point.
  package static func read(_ keys: SectionReader) -> ProxyChoice {
    keys.value(
      "proxy", .choice(ProxyChoice.self, placeholder: .outbound), default: .outbound,
      "none: requests leave without outbound.proxy.", example: .commented("none"))
  }
}

extension ValueForm where Value == String {
  /// A proxy's URL.
  fileprivate static var proxyURL: Self {
    text(schema: { ["type": "string", "format": "uri", "pattern": "^https?://[^/]+:[0-9]+/?$"] }) {
      text, context throws(ValueProblem) in
      do throws(OutboundProxy.Problem) {
        let proxy = try OutboundProxy(text)
        context.note(port: UInt16(clamping: proxy.origin.port))
        return text
      } catch {
        throw ValueProblem(error.description)
      }
    }
  }

  /// A server that is reached without the proxy.
  fileprivate static var proxyException: Self {
    text(schema: { ["type": "string", "minLength": 1] }) { text, _ throws(ValueProblem) in
      do throws(ProxyExceptions.Problem) {
        _ = try ProxyExceptions([text])
        return text
      } catch {
        throw ValueProblem(error.description)
      }
    }
  }

  /// An origin without TLS.
  fileprivate static var plainHTTPOrigin: Self {
    text(schema: { ["type": "string", "format": "uri", "pattern": "^http://"] }) { text, context throws(ValueProblem) in
      context.note(port: try URLRules.plainHTTPOrigin(text).webPort)
      return text
    }
  }
}
