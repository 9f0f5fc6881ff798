import Support

/// The names of running tasks, per uid: a name in use cannot be taken again.
final class TaskNames: Sendable {
  private struct Name: Hashable {
    let uid: UInt32
    let name: String
  }

  private let running = Locked<Set<Name>>([])

  /// Takes `name`, or a generated one; nil when it is in use.
  func take(_ name: String?, for uid: UInt32) -> String? {
    let name = name ?? Self.generated()
    return running.withLock { $0.insert(Name(uid: uid, name: name)).inserted } ? name : nil
  }

  /// Gives `name` back.
  func release(_ name: String, of uid: UInt32) {
    running.withLock { _ = $0.remove(Name(uid: uid, name: name)) }
  }

  private static func generated() -> String {
    "task-" + String(NonSecretRandom.shared.next(), radix: 36)
  }
}
