/// `meta`, which every request may carry in its params (wire.md section 2).
public struct CallMeta: RPCObject, Equatable {
  /// The W3C trace context, passed on to every upstream request.
  public var traceparent: String?
  /// Bounds the whole call in milliseconds; ends in `deadline_exceeded`.
  public var timeoutMs: Int?

  /// Meta of the given parts.
  public init(traceparent: String? = nil, timeoutMs: Int? = nil) {
    self.traceparent = traceparent
    self.timeoutMs = timeoutMs
  }

  /// The members' meanings.
  public static let memberDocs = [
    "traceparent": "W3C trace context, passed on to every upstream request this call causes",
    "timeoutMs": "Bounds the whole call, in milliseconds, at least 1; -32022 when it runs out",
  ]
}
