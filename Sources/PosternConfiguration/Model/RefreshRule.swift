import PosternJSON

/// When an answer means that the token must be renewed.
public struct RefreshRule: Sendable, Equatable {
  /// These statuses, whatever the challenge.
  public var status: [Int]

  /// A rule about statuses.
  public init(status: [Int]) { self.status = status }
}

extension RefreshRule: ConfigurationSection {
  init(reading keys: SectionReader) {
    status = keys.requiredList(
      "status", of: .integer(400...599), "Statuses that mean it, whatever the challenge.", example: .shown([401]))
  }
}
