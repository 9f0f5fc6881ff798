/// A file as the loader sees it.
public struct ConfigurationFile: Sendable, Hashable {
  /// Its bytes.
  public var bytes: [UInt8]
  /// Its permission bits (`st_mode & 07777`).
  public var permissions: UInt32

  /// A file; by default private to its user.
  public init(bytes: [UInt8], permissions: UInt32 = 0o600) {
    self.bytes = bytes
    self.permissions = permissions
  }

  /// Why a file could not be read.
  public enum Failure: Error, Sendable, Hashable {
    /// There is none.
    case notFound
    /// This process may not read it.
    case permissionDenied
    /// A directory, a socket, a pipe, a device.
    case notARegularFile
    /// Longer than the limit that was given.
    case tooLarge
    /// It is outside of the sandbox that this process entered when it started.
    case outsideSandbox
    /// Anything else, as `strerror` puts it.
    case other(String)

    /// The failure in words.
    public var message: String {
      switch self {
      case .notFound: "there is no such file"
      case .permissionDenied: "permission to read the file is denied"
      case .outsideSandbox:
        "it is outside of the directories that the running process may read since its start: restart it (hardening.landlock)"
      case .notARegularFile: "this is not a regular file"
      case .tooLarge: "the file is too large"
      case .other(let reason): "the file cannot be read: \(reason)"
      }
    }
  }
}

extension ConfigurationFile {
  /// Reads a file that the configuration names; nil when it cannot be read or is larger than `limit` bytes.
  public static func contents(of path: String, limit: Int) -> [UInt8]? {
    guard case .success(let file) = SystemFiles.read(path, limit: limit) else { return nil }
    return file.bytes
  }
}
