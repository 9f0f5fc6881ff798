import JSON

/// A Redis server.
public struct RedisConfiguration: Sendable, Equatable {
  /// `rediss://host:port/database`, or `redis://` without TLS.
  public var url: String
  /// The password; nil for none.
  public var password: ConfiguredSecret<String>?
}

extension RedisConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    url = keys.required(
      "url", .redisURL, "rediss://host:port/database; redis:// speaks without TLS.",
      example: .shown("rediss://cache:6379/0"))
    password = keys.secret(
      "password", .line, "File with the server's password. Left out: none.",
      exampleFile: .shown("/run/secrets/redis-password"))
    if url.lowercased().hasPrefix("redis://"), let parts = try? URLText(url), !parts.isLoopback {
      keys.warn("redis:// to another machine speaks in the clear; use rediss://", at: "url")
    }
  }
}
