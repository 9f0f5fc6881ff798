/// What a call turns into: an answer at once, or work.
public enum Dispatch: Sendable {
  /// Answered without waiting for anything.
  case answered(Result<RPCResult, RPCFault>)
  /// Work that may wait; cancelled through its task.
  case work(@Sendable () async -> Result<RPCResult, RPCFault>)
}

/// Who carries out the calls of one connection.
public protocol CallDispatcher: Sendable {
  /// Looks at `call` and answers or starts it. Called in the order of arrival; must not block.
  func dispatch(_ call: Call) -> Dispatch
  /// Whether a call of `method` would be refused now whatever its params are. Asked of large messages before they are
  /// parsed.
  func refuses(method: String) -> Bool
  /// A call was refused without being looked at: as many are under way as the connection may have.
  func refusedUnseen()
}

extension CallDispatcher {
  /// Looks at the whole call.
  public func refuses(method: String) -> Bool { false }
}
