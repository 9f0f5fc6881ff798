import Foundation
import PosternSupport

/// Tells of mistakes that have no other effect than that the engine is not used, each of them once in a process.
struct LoadingWarnings: Sendable {
  var handler: @Sendable (String) -> Void = { text in
    FileHandle.standardError.write(Data("warning: postern: \(text)\n".utf8))
  }
  private var told: Set<String> = []

  /// Whether `text` is news.
  private mutating func isNew(_ text: String) -> Bool { told.insert(text).inserted }

  static func tell(_ text: String, through warnings: Locked<LoadingWarnings>) {
    let handler = warnings.withLock { $0.isNew(text) ? $0.handler : nil }
    handler?(text)
  }
}
