/// How the sidecar finds out whether it can do its work.
public struct HealthConfiguration: Sendable, Equatable {
  /// Whether issuers are asked for their keys before anybody needs them. Default true.
  public var askIssuers: Bool
}

extension HealthConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    askIssuers = keys.value(
      "askIssuers", .boolean, default: true,
      "Whether every issuer is asked for its keys, and again before they expire, once somebody has asked for readiness, so that "
        + "it means something. false: only when a call needs them; an issuer that was not used counts as well then.")
  }
}
