public import PosternSupport

/// Where a secret was found.
public enum ConfiguredSecretSource: Sendable, Hashable {
  /// In a file, by its resolved path, so that a rotation can be followed.
  case file(String)
  /// In an environment variable, by its name.
  case environment(String)
  /// In the configuration itself.
  case inline
}

/// A secret as it was when the configuration was loaded. Compared by value, never printed.
public struct ConfiguredSecret<Value: SecretContent>: Sendable, Hashable {
  /// The secret.
  public let value: Secret<Value>
  /// Where it was found.
  public let source: ConfiguredSecretSource

  /// A secret from `source`.
  public init(_ value: Secret<Value>, from source: ConfiguredSecretSource) {
    self.value = value
    self.source = source
  }
}
