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
  /// The key that encrypts the records, the bytes of its file as they are; nil means `postern.key` beside the store,
  /// made when it is missing.
  public var key: ConfiguredSecret<[UInt8]>?
  /// Keys the records may have been written with: the store goes over to `key`.
  public var previousKeys: [ConfiguredSecret<[UInt8]>]
  /// The server of `redis`.
  public var redis: RedisConfiguration?

  /// Whether both are about one store, with whatever keys and credentials.
  public func isSamePlace(as other: StoreConfiguration) -> Bool {
    kind == other.kind && path == other.path && redis?.url == other.redis?.url
  }
}

extension StoreConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    kind = keys.value(
      "kind", .choice(Kind.self, placeholder: .file), default: .file,
      "file keeps encrypted records in a directory, memory forgets everything at the end, redis shares them.")
    path = keys.value(
      "path", .place, default: "/var/lib/postern",
      "Directory of the file store; a relative one begins at this file's directory.")
    key = keys.secretBytes(
      "key",
      "File with the key that encrypts the records. Left out: postern.key beside the store, made with mode 0600 when it is missing.",
      exampleFile: .shown("/run/secrets/postern-key"))
    previousKeys = keys.secretBytesFiles(
      "previousKeyFiles",
      "Files with keys that records may have been written with; they are encrypted anew with the key.",
      example: .commented(["/run/secrets/postern-key-before"]))
    redis = keys.optionalSection("redis", RedisConfiguration.self, "The Redis server of kind: redis.", commented: true)
    if kind == .redis, redis == nil { keys.problem("kind: redis needs the section redis", at: "kind") }
    if kind == .file, !["key", "keyFile", "keyEnv"].contains(where: keys.isGiven) {
      keys.warn("keyFile is left out: the key is kept in postern.key beside the store")
    }
  }
}
