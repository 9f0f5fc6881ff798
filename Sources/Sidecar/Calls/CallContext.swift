import PosternJSONRPC
import PosternSupport

/// What a handler knows about the call it carries out.
struct CallContext: Sendable {
  /// The call's number on its connection.
  let key: UInt64
  /// Whose connection it came on.
  let caller: Caller
  /// The configuration it runs on from beginning to end, whatever is reloaded meanwhile, as far as its rule shows it.
  let runtime: VisibleConfiguration
  /// The bound of `meta.timeoutMs`.
  let deadline: Deadline
  /// The W3C trace context to pass on upstream.
  let trace: CallTrace
  /// Who is told what it causes; nil: nobody.
  var tracer: CallTracer?
  /// What of it is recorded; nil: nothing is.
  var audit: AuditEntry?
}
