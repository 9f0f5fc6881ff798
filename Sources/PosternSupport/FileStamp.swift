import Glibc

/// By what a replaced file is told from the one before it, without reading it.
public struct FileStamp: Hashable {
  private let device: UInt64
  private let node: UInt64
  private let size: Int64
  private let modified: [Int]

  /// The file at `path`, symbolic links followed; nil when nothing can be said about it.
  public init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    node = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
  }

  /// As text, for a digest.
  public var description: String { "\(device) \(node) \(size) \(modified)" }
}
