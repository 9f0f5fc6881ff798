import PosternJSON
public import PosternSupport

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
  init(reading keys: SectionReader) {
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
