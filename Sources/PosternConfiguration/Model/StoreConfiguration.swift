import PosternJSON
public import PosternSupport

/// Where sessions are kept.
public struct StoreConfiguration: Sendable, Equatable {
  /// The kinds of store.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Encrypted files in a directory of the sidecar's own.
    case file
    /// Nothing outlives the process.
    case memory
    /// A Redis server, the records encrypted.
    case redis
  }

  /// The kind. Default `file`.
  public var kind: Kind
  /// The directory of `file`. Default `/var/lib/postern`.
  public var path: String
  /// The key that encrypts the records, the bytes of its file as they are; nil means `postern.key` in the
  /// store's directory, created when it is missing.
  public var key: ConfiguredSecret<[UInt8]>?
  /// Keys the records may have been written with: the store changes over to `key`.
  public var previousKeys: [ConfiguredSecret<[UInt8]>]
  /// The server of `redis`.
  public var redis: RedisConfiguration?

  /// Whether both name the same store; keys and credentials may differ.
  public func isSameLocation(as other: StoreConfiguration) -> Bool {
    kind == other.kind && path == other.path && redis?.url == other.redis?.url
  }
}

extension StoreConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    kind = keys.value(
      "kind", .choice(Kind.self, placeholder: .file), default: .file,
      "file keeps encrypted records in a directory, memory forgets everything at the end, redis shares them.")
    path = keys.value(
      "path", .writablePath, default: "/var/lib/postern",
      "Directory of the file store; a relative one begins at this file's directory.")
    key = keys.secretBytes(
      "key",
      "File with the key that encrypts the records. Left out: postern.key in the store's directory, created with mode 0600 when it is missing.",
      exampleFile: .shown("/run/secrets/postern-key"))
    previousKeys = keys.secretBytesFiles(
      "previousKeyFiles",
      "Files with keys that records may have been written with; they are encrypted again with the key.",
      example: .commented(["/run/secrets/postern-key-before"]))
    redis = keys.optionalSection("redis", RedisConfiguration.self, "The Redis server of kind: redis.", commented: true)
    let ofRecords = [
      ("path", path != "/var/lib/postern"), ("keyFile", key != nil), ("previousKeyFiles", !previousKeys.isEmpty),
    ]
    for (name, isSet) in ofRecords where isSet && kind == .memory {
      keys.warn("has no effect: kind: memory writes nothing", at: name)
    }
    if kind == .redis, redis == nil { keys.problem("kind: redis needs the section redis", at: "kind") }
    if kind == .file, !["key", "keyFile", "keyEnv"].contains(where: keys.isGiven) {
      keys.warn("keyFile is left out: the key is kept in postern.key in the store's directory")
    }
  }
}

/// A Redis server.
public struct RedisConfiguration: Sendable, Equatable {
  /// `rediss://host:port/database`, `redis://` without TLS, or `unix:///path?db=0`.
  public var url: String
  /// The user to log in as; nil for the server's default one.
  public var username: String?
  /// The password; nil for none.
  public var password: ConfiguredSecret<String>?
  /// PEM file of the authorities that may vouch for the server; nil for the system's.
  public var caFile: String?
}

extension RedisConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    url = keys.required(
      "url", .redisURL, "rediss://host:port/database; redis:// speaks without TLS; or unix:///path?db=0.",
      example: .shown("rediss://cache:6379/0"))
    username = keys.optional(
      "username", .text, "User to log in as. Left out: the server's default user.", example: .commented("postern"))
    password = keys.secret(
      "password", .line, "File with the server's password. Left out: none.",
      exampleFile: .shown("/run/secrets/redis-password"))
    caFile = keys.optional(
      "caFile", .file, "PEM file of certificate authorities to trust instead of the system's.",
      example: .commented("/etc/postern/redis-ca.pem"))
    if username != nil, password == nil { keys.problem("a user without a password cannot log in", at: "username") }
    if caFile != nil, !url.lowercased().hasPrefix("rediss:") {
      keys.warn("it is used with rediss:// only", at: "caFile")
    }
    if url.lowercased().hasPrefix("redis://"), let parts = try? URLText(url), !parts.isLoopback {
      keys.warn("redis:// to another machine speaks in the clear; use rediss://", at: "url")
    }
  }
}
