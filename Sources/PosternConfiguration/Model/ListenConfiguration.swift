import PosternJSON

/// Where callers connect.
public struct ListenConfiguration: Sendable, Equatable {
  /// The socket's path, at most 107 bytes; nil when the file leaves it out.
  public var path: String?
  /// The socket's permission bits. Default 0600.
  public var mode: UInt32
  /// The socket's group by name or number, known to this machine when the configuration was loaded; nil leaves the
  /// process's own. `SystemGroups.identifier(of:)` gives its id.
  public var group: String?
  /// The mode that the socket's directory is given when it is missing or belongs to the sidecar's user, and `group`
  /// with it; nil leaves it alone.
  public var directoryMode: UInt32?
  /// How long pending calls may take after SIGTERM. Default 30 s.
  public var drain: Duration

  /// The path to listen at: the configured one, else `defaultSocketPath(environment:)`.
  public func socketPath(environment: [String: String]) -> String {
    path ?? Self.defaultSocketPath(environment: environment)
  }

  /// The default path of the socket for callers and sidecar: `$POSTERN_SOCKET`, else
  /// `$XDG_RUNTIME_DIR/postern.sock`, else `/run/postern/postern.sock`. Empty variables count as not set; a relative
  /// `$XDG_RUNTIME_DIR` too (XDG Base Directory Specification).
  public static func defaultSocketPath(environment: [String: String]) -> String {
    if let path = environment["POSTERN_SOCKET"], !path.isEmpty { return path }
    if let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") {
      return directory.hasSuffix("/") ? "\(directory)postern.sock" : "\(directory)/postern.sock"
    }
    return "/run/postern/postern.sock"
  }
}

extension ListenConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    path = keys.optional(
      "path", .socketPath,
      """
      Path of the Unix socket, at most 107 bytes; a relative one begins at this file's directory. --socket and systemd socket activation take \
      precedence. Left out: $POSTERN_SOCKET, else $XDG_RUNTIME_DIR/postern.sock, else /run/postern/postern.sock.
      """, example: .shown("/run/postern/postern.sock"))
    mode = keys.value(
      "mode", .mode, default: 0o600,
      "Permission bits of the socket in octal, in force before anybody can connect.")
    group = keys.optional(
      "group", .group, "Group of the socket, by name or number. Left out: the sidecar's own.",
      example: .commented("app"))
    directoryMode = keys.optional(
      "directoryMode", .directoryMode,
      """
      Permission bits of the socket's directory in octal, as "2770" for a directory that another user's group shares: it is made when it is \
      missing, and given this mode and the group when it belongs to the sidecar's user. Left out: the directory is left alone.
      """, example: .commented("2770"))
    drain = keys.value(
      "drain", .duration(.zero ... .seconds(600)), default: .seconds(30),
      "How long pending calls may take after SIGTERM; the others are then answered with shutting_down.")
    if mode & 0o002 != 0 { keys.warn("every user of this machine can connect to the socket", at: "mode") }
  }
}
