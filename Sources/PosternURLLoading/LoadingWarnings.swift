import Foundation
import PosternSupport

/// Reports mistakes whose only effect is that the engine is not used, each of them once in a process.
struct LoadingWarnings: Sendable {
  var handler: @Sendable (String) -> Void = { text in
    FileHandle.standardError.write(Data("warning: postern: \(text)\n".utf8))
  }
  private var reported: Set<String> = []

  /// Whether `text` has not been reported yet.
  private mutating func isNew(_ text: String) -> Bool { reported.insert(text).inserted }

  static func tell(_ text: String, through warnings: Locked<LoadingWarnings>) {
    let handler = warnings.withLock { $0.isNew(text) ? $0.handler : nil }
    handler?(text)
  }
}
