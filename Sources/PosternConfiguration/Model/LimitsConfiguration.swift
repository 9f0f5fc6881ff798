/// Limits on callers.
public struct LimitsConfiguration: Sendable, Equatable {
  /// The longest message in bytes. Default 16 MiB.
  public var messageBytes: Int
  /// How many JSON values a message may have. Default 100,000.
  public var jsonValues: Int
  /// The deepest nesting of a message; `[]` is 1. Default 128.
  public var depth: Int
  /// How many connections there may be. Default 1024.
  public var connections: Int
  /// How many of them one uid may have. Default 256: a quarter of them, or 16 where that is less.
  public var connectionsPerUid: Int
  /// How many requests of one connection may be unanswered. Default 128.
  public var inFlightPerConnection: Int
  /// How many calls of all callers may be under way. Default 1024.
  public var inFlight: Int
  /// The capacity of the queue: how many more may wait for a slot. Default 4096.
  public var queue: Int
  /// How long a call may wait for a slot. Default 1 second.
  public var queueTime: Duration
  /// How many members a batch may have. Default 64.
  public var batch: Int
  /// How many bytes the sessions of one uid may hold in the store. Default 64 MiB.
  public var sessionBytesPerUid: Int
}

extension LimitsConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    messageBytes = keys.value(
      "messageBytes", .size(64...(1 << 30)), default: 16 << 20,
      "Longest message; a longer one is answered with message_too_large and discarded.")
    jsonValues = keys.value(
      "jsonValues", .integer(1000...10_000_000), default: 100_000,
      "JSON values in one message; a message with more is answered with message_too_complex and discarded.")
    depth = keys.value(
      "depth", .integer(1...512), default: 128, "Deepest nesting of a message; a deeper one is a parse error.")
    connections = keys.value(
      "connections", .integer(1...65_536), default: 1024, "Connections at one time, of all callers together.")
    connectionsPerUid = keys.value(
      "connectionsPerUid", .integer(1...65_536), default: min(connections, max(16, connections / 4)),
      "Connections at one time of one user id. Left out: a quarter of connections, but 16 where there are so many.")
    inFlightPerConnection = keys.value(
      "inFlightPerConnection", .integer(1...65_536), default: 128,
      "Unanswered requests of one connection; more are answered with overloaded.")
    inFlight = keys.value(
      "inFlight", .integer(4...65_536), default: 1024,
      "Calls of all callers under way; further ones wait, and slots go to the user with the fewest.")
    queue = keys.value(
      "queue", .integer(0...65_536), default: 4096, "Calls that may wait; more are answered with overloaded.")
    queueTime = keys.value(
      "queueTime", .duration(upTo: .seconds(60)), default: .seconds(1),
      "Longest time a call waits; then it is answered with overloaded.")
    batch = keys.value(
      "batch", .integer(1...10_000), default: 64, "Members of a batch; more are answered with batch_too_large.")
    sessionBytesPerUid = keys.value(
      "sessionBytesPerUid", .size((64 << 10)...(1 << 40)), default: 64 << 20,
      "Bytes of the sessions and logins of one user id in the store; beyond it no session is created (overloaded).")
  }
}
