/// The port through which key sets tell what happens to them.
///
/// Called on whatever task does the work: be quick, do not block, do not call back into the engine.
public protocol KeySetObserver: Sendable {
  /// Something happened.
  func observe(_ event: KeySetEvent)
}
