import Foundation

/// A directory for configurations and the ids of devices, removed with the test.
final class Folder {
  let path: String

  init() throws {
    path = "\(NSTemporaryDirectory())/pass-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  /// Writes the file `name`, in place of the one that is there.
  func write(_ text: String, to name: String) throws {
    try text.write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8)
  }

  /// Whether there is a file at `path`.
  func holds(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
