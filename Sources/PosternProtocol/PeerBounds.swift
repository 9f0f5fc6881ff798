/// Which lists of a rule of `peers` bound a method: `resources`, `issuers`, `preauthorization`.
///
/// What such a list hides is reported by the method in the words of what is not configured, and is left out of its
/// results.
public struct PeerBounds: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// The configured resources, and what was begun for them.
  public static let resources = PeerBounds(rawValue: 1 << 0)
  /// The configured issuers, their sessions and what was begun at them.
  public static let issuers = PeerBounds(rawValue: 1 << 1)
  /// The configured decision points.
  public static let preauthorization = PeerBounds(rawValue: 1 << 2)
  /// Every list.
  public static let all: PeerBounds = [.resources, .issuers, .preauthorization]
}
