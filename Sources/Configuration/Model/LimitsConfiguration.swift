/// What callers may ask of the sidecar.
public struct LimitsConfiguration: Sendable, Equatable {
  /// The longest message in bytes. Default 16 MiB.
  public var messageBytes: Int
  /// The deepest nesting of a message; `[]` is 1. Default 128.
  public var depth: Int
  /// How many connections there may be. Default 1024.
  public var connections: Int
  /// How many of them one uid may have. Default 256.
  public var connectionsPerUid: Int
  /// How many requests of one connection may be unanswered. Default 128.
  public var inFlightPerConnection: Int
  /// How many members a batch may have. Default 64.
  public var batch: Int
}

extension LimitsConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    messageBytes = keys.value(
      "messageBytes", .size(64...(1 << 30)), default: 16 << 20,
      "Longest message; a longer one is answered with message_too_large and discarded.")
    depth = keys.value(
      "depth", .integer(1...512), default: 128, "Deepest nesting of a message; a deeper one is a parse error.")
    connections = keys.value(
      "connections", .integer(1...65_536), default: 1024, "Connections at one time, of all callers together.")
    connectionsPerUid = keys.value(
      "connectionsPerUid", .integer(1...65_536), default: 256, "Connections at one time of one user id.")
    inFlightPerConnection = keys.value(
      "inFlightPerConnection", .integer(1...65_536), default: 128,
      "Unanswered requests of one connection; more are answered with overloaded.")
    batch = keys.value(
      "batch", .integer(1...10_000), default: 64, "Members of a batch; more are answered with batch_too_large.")
  }
}
