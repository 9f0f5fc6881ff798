import HTTPMessages
import PosternJSON
public import PosternSupport

/// HTTP for programs that cannot be changed, and for front proxies.
public struct GatewayConfiguration: Sendable, Equatable {
  /// Where programs connect; nil: nowhere.
  public var listen: GatewayListenConfiguration?
  /// The APIs whose requests front proxies let Postern check, by name. Default none.
  public var protect: [String: ProtectedAPIConfiguration] = [:]

  /// Whether programs send requests for resources, or fronts ask about theirs.
  package var isUsed: Bool { listen != nil || !protect.isEmpty }

  /// Whether nothing differs that is used at start only.
  func hasSameListener(as other: GatewayConfiguration) -> Bool {
    guard let listen, let otherListen = other.listen else { return listen == nil && other.listen == nil }
    return listen.isSameListener(as: otherListen)
  }
}

extension GatewayConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    listen = keys.optionalSection(
      "listen", GatewayListenConfiguration.self,
      "Where programs send HTTP/1.1 requests for resources: a Unix socket, a loopback address, or both. Left out: nowhere.",
      commented: true)
    protect = keys.map(
      "protect", of: ProtectedAPIConfiguration.self,
      """
      Forward authentication: the APIs behind nginx, Caddy, Traefik, HAProxy, Envoy or Apache whose requests Postern checks, by the name \
      in /.postern/auth/NAME.
      """, exampleName: "orders")
  }
}

/// Where the gateway listens.
public struct GatewayListenConfiguration: Sendable, Equatable {
  /// The socket's path, at most 107 bytes; nil for no socket.
  public var path: String?
  /// The socket's permission bits. Default 0600.
  public var mode: UInt32
  /// The socket's group by name or number; nil leaves the process's own.
  public var group: String?
  /// `host:port` of a loopback address; nil for no address.
  public var address: String?
  /// The key that programs on the address need: the file's first content, and where it is read again.
  public var key: ConfiguredSecret<String>?

  /// Whether nothing differs that is used at start only. The content of the key's file may change at any time.
  func isSameListener(as other: GatewayListenConfiguration) -> Bool {
    path == other.path && mode == other.mode && group == other.group && address == other.address
      && key?.source == other.key?.source
  }
}

extension GatewayListenConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    path = keys.optional(
      "path", .socketPath,
      """
      Path of the Unix socket, at most 107 bytes; a relative one begins at this file's directory. Its callers are peers, as those of \
      listen.path.
      """, example: .shown("/run/postern/http.sock"))
    mode = keys.value(
      "mode", .mode, default: 0o600,
      "Permission bits of the socket in octal, in force before anybody can connect.")
    group = keys.optional(
      "group", .group, "Group of the socket, by name or number. Left out: the sidecar's own.",
      example: .commented("app"))
    address = keys.optional(
      "address", .listenAddress,
      "A loopback address with a port, for programs that cannot use a Unix socket. Each of their requests needs the key.",
      example: .commented("127.0.0.1:7080"))
    key = keys.secret(
      "key", .line,
      """
      File with the key for address, at least 16 characters: sent as Postern-Key, or where programs keep the key of a server anyway \
      (a bearer token, the password of Basic, X-Api-Key). It is read again when it changes.
      """, exampleFile: .commented("/etc/postern/gateway-key"))
    // A value that is none has a problem of its own, and is no reason for others.
    let hasAddress = keys.isGiven("address")
    let hasKey = ["key", "keyFile", "keyEnv"].contains(where: keys.isGiven)
    if !keys.isGiven("path"), !hasAddress { keys.problem("needs path, address, or both") }
    if hasAddress, !hasKey {
      keys.problem("needs keyFile: every program of this machine, and every web page, can reach it", at: "address")
    }
    if !hasAddress, hasKey { keys.problem("goes with address only", at: "keyFile") }
    if hasAddress, !keys.isGiven("path") {
      for (name, isSet) in [("group", group != nil), ("mode", mode != 0o600)] where isSet {
        keys.problem("goes with path only", at: name)
      }
    }
    if let key, key.value.reveal().utf8.count < Self.leastKey {
      keys.problem("the key has fewer than \(Self.leastKey) characters", at: "keyFile")
    }
    if mode & 0o002 != 0 { keys.warn("every user of this machine can connect to the socket", at: "mode") }
    guard let address else { return }
    let host = String(address.prefix { $0 != ":" || address.hasPrefix("[") }.prefix { $0 != "]" })
    if host != "localhost", !HTTPHost.isLoopbackAddress(host.hasPrefix("[") ? host + "]" : host) {
      keys.problem("must be a loopback address", at: "address")
    }
  }

  /// Characters that a key has at least.
  package static let leastKey = 16
}
