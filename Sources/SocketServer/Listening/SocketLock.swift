import Glibc
public import PosternSupport

/// How processes take turns at putting a socket on a path, or taking it away: by `.NAME.lock` beside it. To be made
/// before the process is in a sandbox.
public struct SocketLock: Sendable {
  /// Without it two starts at the same moment may disturb each other, and nothing else.
  public let file: LockFile

  /// How long to wait for another starter.
  private static let patience: (tries: Int, pauseNanoseconds: Int) = (250, 20_000_000)

  /// That of the socket at `socketPath`.
  public init(for socketPath: String) throws(SocketServerError) {
    self.init(try UnixAddress(path: socketPath))
  }

  /// That of the socket at `address`.
  init(_ address: UnixAddress) { file = LockFile(at: "\(address.directory)/.\(address.name).lock") }

  /// Waits until nobody else has the lock.
  func take(in directory: String) throws(SocketServerError) {
    for _ in 0..<Self.patience.tries {
      if file.take() { return }
      var pause = timespec(tv_sec: 0, tv_nsec: Self.patience.pauseNanoseconds)
      nanosleep(&pause, nil)
    }
    throw .directoryLocked(directory: directory)
  }
}
