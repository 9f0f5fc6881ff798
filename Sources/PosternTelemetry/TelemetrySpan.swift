/// One finished piece of work within a trace, as OpenTelemetry has it.
public struct TelemetrySpan: Sendable {
  /// Which side of a call it is.
  public enum Kind: Int, Sendable, Hashable {
    /// Within the process.
    case `internal` = 1
    /// The answering side.
    case server = 2
    /// The asking side.
    case client = 3
  }

  /// What an attribute may be.
  public enum Value: Sendable, Hashable {
    /// A text.
    case string(String)
    /// A whole number.
    case integer(Int64)
    /// True or false.
    case boolean(Bool)
  }

  /// 32 lower-case hexadecimal digits.
  public var traceID: String
  /// 16 lower-case hexadecimal digits.
  public var spanID: String
  /// The span that caused it; nil for the first of a trace.
  public var parentID: String?
  /// What it is, from a small set.
  public var name: String
  /// Which side of a call it is.
  public var kind: Kind
  /// When it began, in nanoseconds since the epoch.
  public var start: Int64
  /// When it ended, in nanoseconds since the epoch.
  public var end: Int64
  /// What is known about it.
  public var attributes: [(name: String, value: Value)]
  /// Why it failed; nil when it did not.
  public var failure: String?

  /// A span of the given parts.
  public init(
    traceID: String, spanID: String, parentID: String?, name: String, kind: Kind, start: Int64, end: Int64,
    attributes: [(name: String, value: Value)] = [], failure: String? = nil
  ) {
    self.traceID = traceID
    self.spanID = spanID
    self.parentID = parentID
    self.name = name
    self.kind = kind
    self.start = start
    self.end = end
    self.attributes = attributes
    self.failure = failure
  }
}
