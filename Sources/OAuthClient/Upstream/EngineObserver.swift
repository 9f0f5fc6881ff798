/// The port through which the engine tells what it does: metrics and logs are made of it.
///
/// Called on whatever task does the work: be quick, do not block, do not call back into the engine.
public protocol EngineObserver: Sendable {
  /// Something happened.
  func observe(_ event: EngineEvent)
}

/// Observes nothing.
public struct SilentObserver: EngineObserver {
  /// An observer that drops everything.
  public init() {}

  /// Drops `event`.
  public func observe(_ event: EngineEvent) {}
}
