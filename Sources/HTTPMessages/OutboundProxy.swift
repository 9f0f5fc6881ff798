public import PosternSupport

/// An HTTP proxy through which requests leave: `https` in a tunnel (CONNECT), with TLS end to end; `http` in absolute
/// form (RFC 9112 section 3.2.2), so that the proxy reads those requests and their answers.
public struct OutboundProxy: Sendable {
  /// Supplies a secret as it is now; nil while there is none that can be used.
  public typealias SecretSource = @Sendable () -> Secret<String>?

  /// How the sidecar authenticates to it.
  public enum Authentication: Sendable {
    /// Not at all.
    case none
    /// A name and a password (RFC 7617), read for each request.
    case basic(username: SecretSource, password: SecretSource)
    /// Kerberos by SPNEGO (RFC 4559), with the credentials that the Kerberos library finds.
    case negotiate
  }

  /// Why a URL is not that of a proxy. Never quotes it: there may be a password in it.
  public struct Problem: Error, Sendable, ConciseStringConvertible {
    /// For people.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// The scheme, `http` or `https`, which is that of the connection to the proxy itself; host; and port.
  public let origin: HTTPURL.Origin
  /// How the sidecar authenticates to it. Default: not at all.
  public var authentication = Authentication.none
  /// PEM file with the certificate authorities to trust for an `https` proxy; nil is the system's.
  public var caFile: String?
  /// The servers that are reached without it. Loopback addresses and `localhost` always are.
  public var exceptions = ProxyExceptions.none

  /// The proxy at `url`, `http://host:port` or `https://host:port`: the port must be there, for there is no usual one.
  public init(_ url: String) throws(Problem) {
    let text = url.lowercasedASCII()
    guard text.startsWithBytes(of: "http://") || text.startsWithBytes(of: "https://") else {
      throw Problem("must begin with http:// or https://: no other kind of proxy is supported")
    }
    let parsed: HTTPURL
    do {
      parsed = try HTTPURL(url)
    } catch {
      guard error.reason != .userInformation else {
        throw Problem("must not hold a user name or password: use usernameFile and passwordFile")
      }
      throw Problem("is not usable: it \(error.phrase)")
    }
    var authority = Array(text.utf8)[(parsed.origin.scheme.utf8.count + 3)...]
    if authority.last == UInt8(ascii: "/") { authority.removeLast() }
    guard parsed.path == "/", !authority.contains(where: { "/?#".utf8.contains($0) }) else {
      throw Problem("must be scheme, host and port only, as in http://proxy.example.com:3128")
    }
    let digits = authority.reversed().prefix(while: ASCII.isDigit)
    guard !digits.isEmpty, authority.dropLast(digits.count).last == UInt8(ascii: ":") else {
      throw Problem("must have a port, as in http://proxy.example.com:3128")
    }
    origin = parsed.origin
  }

  /// Whether the connection to the proxy itself has TLS.
  public var isSecure: Bool { origin.scheme == "https" }

  /// The way of a request to `server`.
  package func route(to server: HTTPURL.Origin) -> ProxyRoute {
    if server.isLocal || exceptions.match(server) { return .direct }
    // Its own address rules end at the proxy, which resolves names: it would reach its own machine's.
    return server.isMetadataService ? .excluded : .proxied
  }
}

/// The way of a request where there is an outbound proxy.
package enum ProxyRoute: Sendable, Hashable {
  /// Through the proxy.
  case proxied
  /// Not through it.
  case direct
  /// None.
  case excluded
}

/// The outbound proxy in force, for transports that use the same: replaced for all at once, for requests from then on.
public final class OutboundProxySetting: Sendable {
  private let state: Locked<OutboundProxy?>

  /// The setting `proxy`; nil is none.
  public init(_ proxy: OutboundProxy? = nil) { state = Locked(proxy) }

  /// The proxy in force.
  public var current: OutboundProxy? { state.withLock { $0 } }

  /// Puts `proxy` in force; connections through the one before carry no new request.
  public func replace(by proxy: OutboundProxy?) { state.withLock { $0 = proxy } }
}

extension OutboundProxy: ConciseStringConvertible {
  /// The address and the kind of authentication.
  public var description: String { Concise.text("proxy \(origin)", "\(authentication)", "\(exceptions)") }
}

extension OutboundProxy.Authentication: ConciseStringConvertible {
  /// The kind, never a name or a password.
  public var description: String {
    switch self {
    case .none: "no authentication"
    case .basic: "basic authentication"
    case .negotiate: "negotiate authentication"
    }
  }
}

extension OutboundProxySetting: ConciseStringConvertible {
  /// The proxy in force.
  public var description: String { current.map { "\($0)" } ?? "no proxy" }
}

/// The servers that are reached without the outbound proxy, by rules on the URL alone: a name is never resolved to
/// compare its address.
///
/// A rule is a host name, which means that name only; `.name`, which means every name below it and not the name itself;
/// an address; or a network of addresses such as `10.0.0.0/8`, which means URLs with a literal address in it. Each may
/// have a port behind a colon; an IPv6 address or network is in brackets then. Case and one dot at the end of a name do
/// not count.
public struct ProxyExceptions: Sendable, Hashable {
  /// Why a text is no rule.
  public struct Problem: Error, Sendable, ConciseStringConvertible {
    /// For people.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  private enum Target: Hashable {
    case name(String)
    case below(suffix: String)
    case network(AddressBlock)
  }

  private struct Rule: Hashable {
    let target: Target
    /// Nil is every port.
    let port: Int?
  }

  private let rules: Set<Rule>

  /// The given rules; throws at the first that is none.
  public init(_ texts: [String] = []) throws(Problem) {
    var rules: Set<Rule> = []
    for text in texts { rules.insert(try Self.rule(text)) }
    self.rules = rules
  }

  /// No exception.
  public static let none = ProxyExceptions(rules: [])

  private init(rules: Set<Rule>) { self.rules = rules }

  /// How many there are.
  public var count: Int { rules.count }

  /// Whether one of the rules means `origin`.
  public func match(_ origin: HTTPURL.Origin) -> Bool {
    guard !rules.isEmpty else { return false }
    let address = IPAddress(host: origin.host)
    return rules.contains { rule in
      guard rule.port == nil || rule.port == origin.port else { return false }
      return switch rule.target {
      case .name(let name): address == nil && origin.host == name
      case .below(let suffix): address == nil && origin.host.endsWithBytes(of: suffix)
      case .network(let block): address.map(block.contains) ?? false
      }
    }
  }

  // MARK: - Reading

  private typealias Bytes = ArraySlice<UInt8>

  private static func rule(_ text: String) throws(Problem) -> Rule {
    let (host, port) = try parts(Array(text.lowercasedASCII().utf8)[...])
    if let slash = host.lastIndex(of: UInt8(ascii: "/")) {
      let block = try AddressBlock(host[..<slash], bits: host[(slash + 1)...])
      return Rule(target: .network(block), port: port)
    }
    if let address = IPAddress(string(host)) { return Rule(target: .network(AddressBlock(address)), port: port) }
    guard !host.contains(UInt8(ascii: "*")) else {
      throw Problem("* is not read: write .example.com for every name below example.com")
    }
    let isSuffix = host.first == UInt8(ascii: ".")
    var name = isSuffix ? host.dropFirst() : host
    if name.last == UInt8(ascii: "."), name.count > 1 { name = name.dropLast() }
    guard name.first != UInt8(ascii: "["), let canonical = try? HTTPHost.canonical(name), IPAddress(canonical) == nil
    else {
      throw Problem("must be a name, .name for all below it, an address, or a network such as 10.0.0.0/8")
    }
    return Rule(target: isSuffix ? .below(suffix: ".\(canonical)") : .name(canonical), port: port)
  }

  /// Host or network without brackets, and the port behind it.
  private static func parts(_ text: Bytes) throws(Problem) -> (host: Bytes, port: Int?) {
    let colon = UInt8(ascii: ":")
    if text.first == UInt8(ascii: "[") {
      guard let end = text.firstIndex(of: UInt8(ascii: "]")) else { throw Problem("lacks the closing bracket") }
      guard text[..<end].contains(colon) else { throw Problem("only IPv6 addresses are in brackets") }
      // `[fd00::]/8` is read like `[fd00::/8]`.
      let rest = text[(end + 1)...]
      let bits = rest.first == UInt8(ascii: "/") ? rest.prefix { $0 != colon } : []
      let host = Array(text.dropFirst()[..<end] + bits)[...]
      let tail = rest.dropFirst(bits.count)
      guard let first = tail.first else { return (host, nil) }
      guard first == colon else { throw Problem("only a port may follow the brackets") }
      return (host, try port(tail.dropFirst()))
    }
    guard let first = text.firstIndex(of: colon), text.lastIndex(of: colon) == first else { return (text, nil) }
    return (text[..<first], try port(text[(first + 1)...]))
  }

  private static func string(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func port(_ digits: Bytes) throws(Problem) -> Int {
    guard !digits.isEmpty, digits.count <= 5, digits.allSatisfy(ASCII.isDigit), let port = Int(string(digits)),
      (1...65535).contains(port)
    else { throw Problem("its port must be a number from 1 to 65535") }
    return port
  }
}

/// A network of addresses (RFC 4632): those that have the first bits in common.
private struct AddressBlock: Hashable {
  private let bytes: [UInt8]
  private let bits: Int

  /// The one address.
  init(_ address: IPAddress) {
    bytes = address.unmapped
    bits = bytes.count * 8
  }

  init(_ text: ArraySlice<UInt8>, bits: ArraySlice<UInt8>) throws(ProxyExceptions.Problem) {
    guard let address = IPAddress(String(decoding: text, as: UTF8.self)) else {
      throw .init("has no address before its slash")
    }
    guard !bits.isEmpty, bits.count <= 3, bits.allSatisfy(ASCII.isDigit),
      let count = Int(String(decoding: bits, as: UTF8.self)), count <= address.bytes.count * 8
    else { throw .init("must have a number of bits behind its slash, as in 10.0.0.0/8 or [fd00::]/8") }
    bytes = address.bytes
    self.bits = count
    guard (count..<bytes.count * 8).allSatisfy({ bytes[$0 / 8] & (0x80 >> UInt8($0 % 8)) == 0 }) else {
      throw .init("its address has bits beyond the first \(count): write the network's own address")
    }
  }

  func contains(_ address: IPAddress) -> Bool {
    let other = bytes.count == 4 ? address.unmapped : address.bytes
    guard other.count == bytes.count else { return false }
    return (0..<bits).allSatisfy { (bytes[$0 / 8] ^ other[$0 / 8]) & (0x80 >> UInt8($0 % 8)) == 0 }
  }
}

extension IPAddress {
  /// The bytes; of an IPv4 address that is mapped into IPv6 (RFC 4291 section 2.5.5.2), its four.
  fileprivate var unmapped: [UInt8] {
    let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    return isMapped ? Array(bytes[12...]) : bytes
  }
}

extension HTTPURL.Origin {
  /// Whether a request to it stays on this machine, by its URL: a loopback address, also one that is mapped into IPv6,
  /// or `localhost` and the names below it (RFC 6761 section 6.3).
  package var isLocal: Bool {
    isLoopbackAddress || host == "localhost" || host.endsWithBytes(of: ".localhost")
      || IPAddress(host: host)?.unmapped.first == 127 && IPAddress(host: host)?.unmapped.count == 4
  }

  /// Whether it is where a cloud's machines get their credentials: a link-local address, or one of the names.
  package var isMetadataService: Bool { isLinkLocalAddress || Self.metadataNames.contains(host) }

  /// The names by which the resolvers of Google Cloud, Amazon EC2, Alibaba Cloud and OpenStack know it.
  private static let metadataNames: Set<String> = [
    "metadata", "metadata.google.internal", "metadata.goog", "metadata.internal", "instance-data",
    "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.openstack.internal",
  ]
}

extension ProxyExceptions: ConciseStringConvertible {
  /// The number of rules.
  public var description: String { Concise.count(count, "exception") }
}
