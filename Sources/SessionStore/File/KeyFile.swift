import Glibc
import PosternCrypto
import PosternSupport
import SessionRecords

/// The key that is generated with a file store when none is configured.
enum KeyFile {
  static let name = "postern.key"
  static let unfinished = "postern.key.new"

  /// The key in `directory`; nil when there is none.
  static func read(in directory: StoreDirectory) throws(StoreError) -> StoreKey? {
    guard try directory.holds(name) else { return nil }
    let contents = try directory.open(name, O_RDONLY).read(atMost: 1024)
    do throws(StoreError) { return try StoreKey(contents: contents) } catch {
      throw StoreError(error.kind, "\(directory.path(of: name)): \(error.detail)")
    }
  }

  /// A new key, on disk before it is used.
  static func make(in directory: StoreDirectory) throws(StoreError) -> StoreKey {
    let key = StoreKey.random()
    try directory.remove(unfinished)
    let file = try directory.open(unfinished, O_WRONLY | O_CREAT | O_EXCL)
    guard file.write(key.material.reveal(), at: 0), fsync(file.number) == 0 else {
      throw StoreError(.unavailable, "cannot write \(directory.path(of: name)): \(SystemError.text())")
    }
    try directory.publish(unfinished, as: name)
    return key
  }
}
