import Glibc
import PosternSupport

/// Warnings about mistakes in a program that no call can report: a misspelt method of a delegate, which Swift takes for
/// a method like any other, or a policy that nothing uses. Each is reported once in a process.
public enum LibraryWarnings {
  private struct State {
    var reported: Set<String> = []
    var handler: @Sendable (String) -> Void
  }

  private static let state = Locked(State(handler: write))

  /// Takes the warnings. They are written to standard error unless another function is set here.
  public static var handler: @Sendable (String) -> Void {
    get { state.withLock { $0.handler } }
    set { state.withLock { $0.handler = newValue } }
  }

  /// Reports `text`, unless that has been reported.
  package static func report(_ text: String) {
    let handler = state.withLock { $0.reported.insert(text).inserted ? $0.handler : nil }
    handler?(text)
  }

  private static func write(_ text: String) {
    let line = Array("warning: postern: \(text)\n".utf8)
    _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
