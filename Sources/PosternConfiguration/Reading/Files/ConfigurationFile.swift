import Glibc
import PosternSupport

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

/// Reads files from disk, up to a limit.
package enum SystemFiles {
  /// The file at `path`, symbolic links followed (Kubernetes mounts secrets as such).
  package static func read(_ path: String, limit: Int) -> Result<ConfigurationFile, ConfigurationFile.Failure> {
    // Non-blocking, so that a pipe at that path cannot hang the start.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return .failure(failure(errno)) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .failure(failure(errno)) }
    guard status.st_mode & S_IFMT == S_IFREG else { return .failure(.notARegularFile) }
    var bytes: [UInt8] = []
    while bytes.count <= limit {
      let wanted = min(1 << 16, limit + 1 - bytes.count)
      var count = 0
      bytes.append(
        contentsOf: [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
          repeat { count = Glibc.read(descriptor, buffer.baseAddress, wanted) } while count < 0 && errno == EINTR
          initialized = max(0, count)
        })
      guard count >= 0 else { return .failure(failure(errno)) }
      if count == 0 { return .success(ConfigurationFile(bytes: bytes, permissions: status.st_mode & 0o7777)) }
    }
    return .failure(.tooLarge)
  }

  private static func failure(_ code: Int32) -> ConfigurationFile.Failure {
    switch code {
    case ENOENT, ENOTDIR: .notFound
    case EACCES, EPERM: .permissionDenied
    default: .other(SystemError.text(code))
    }
  }
}

/// The machine's user groups.
public enum SystemGroups {
  /// The id of the group called `name`, or written as a number; nil when there is no such group.
  public static func identifier(of name: String) -> UInt32? {
    if name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return UInt32(name).flatMap { $0 == .max ? nil : $0 }
    }
    var group = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 1024)
    while getgrnam_r(name, &group, &buffer, buffer.count, &found) == ERANGE, buffer.count < 1 << 20 {
      buffer = [CChar](repeating: 0, count: buffer.count * 2)
    }
    return found == nil ? nil : group.gr_gid
  }
}
