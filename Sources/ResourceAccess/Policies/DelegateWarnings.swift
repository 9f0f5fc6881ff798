import Glibc
import PosternSupport

/// Warnings about types of delegates that lack what they are for: to Swift a misspelt method of a protocol is a method
/// like any other.
public enum DelegateWarnings {
  private struct State {
    var told: Set<ObjectIdentifier> = []
    var handler: @Sendable (String) -> Void
  }

  private static let state = Locked(State(handler: write))

  /// Takes the warnings, one for each type. They are written to the standard error by default.
  public static var handler: @Sendable (String) -> Void {
    get { state.withLock { $0.handler } }
    set { state.withLock { $0.handler = newValue } }
  }

  static func tell(_ type: Any.Type, _ fault: String) {
    guard state.withLock({ $0.told.insert(ObjectIdentifier(type)).inserted }) else { return }
    handler("\(type) \(fault)")
  }

  private static func write(_ text: String) {
    let line = Array("warning: postern: \(text)\n".utf8)
    _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
