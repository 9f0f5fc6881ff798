/// What happens to tokens.
public struct TokensConfiguration: Sendable, Equatable {
  /// Whether `getAccessToken` hands tokens out. Default false.
  public var leaveTheSidecar: Bool
}

extension TokensConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    leaveTheSidecar = keys.value(
      "leaveTheSidecar", .boolean, default: false, "Whether getAccessToken hands access tokens to callers.")
  }
}
