/// Something that happened to a published key set. Holds names, codes and public thumbprints.
public enum KeySetEvent: Sendable {
  /// A set was fetched, or confirmed by the server as unchanged.
  case loaded(source: KeySetName, keyCount: Int)
  /// No set could be had; with `servesOlderSet` the one in force stays so.
  case failed(source: KeySetName, error: KeySetError, servesOlderSet: Bool)
  /// The published keys are others than before: the RFC 7638 thumbprints that came and those that went, sorted.
  case rotated(source: KeySetName, added: [String], removed: [String])
}
