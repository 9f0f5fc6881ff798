import Foundation

/// A folder that goes with the last reference.
final class TemporaryFolder: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/postern-store-XXXXXX".utf8CString)
    path = String(cString: mkdtemp(&template))
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Where the store goes: not there yet.
  var store: String { "\(path)/store" }

  func file(_ name: String) -> String { "\(store)/\(name)" }

  func bytes(of name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: file(name)))) }

  func overwrite(_ name: String, with bytes: [UInt8]) throws {
    // In place: mode and owner stay.
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file(name)))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
  }
}
