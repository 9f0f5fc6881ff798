import Glibc
import PosternSupport
import SessionRecords

/// The directory of a file store: ours alone, and locked against other processes while this value lives.
final class StoreDirectory: Sendable {
  static let lockName = "sessions.lock"

  /// The path without symbolic links.
  let path: String
  private let directory: FileDescriptor
  private let lock: FileDescriptor

  /// Makes the directory when it is missing, with mode 0700, checks it and takes the lock.
  ///
  /// A symbolic link is rejected, but for the one that systemd makes for a state directory of a dynamic user:
  /// `stateDirectories` are those of `$STATE_DIRECTORY` (systemd.exec(5)).
  init(path given: String, stateDirectories: [String] = []) throws(StoreError) {
    let path = Self.opened(given, stateDirectories)
    if mkdir(path, 0o700) == 0 {
      try Self.synchronizeParent(of: path)
    } else if errno != EEXIST {
      throw Self.failure("cannot make the directory", path)
    }
    var status = stat()
    guard lstat(path, &status) == 0 else { throw Self.failure("cannot look at the directory", path) }
    if status.st_mode & S_IFMT == S_IFLNK { throw Self.rejection(path, "is a symbolic link") }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw Self.rejection(path, "is not a directory") }
    let opened = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard opened >= 0 else { throw Self.failure("cannot open the directory", path) }
    directory = FileDescriptor(opened)
    // The opened directory is checked, and not its name.
    guard fstat(opened, &status) == 0 else { throw Self.failure("cannot look at the directory", path) }
    guard status.st_uid == geteuid() else {
      throw Self.rejection(path, "belongs to user \(status.st_uid), not to \(geteuid()), who runs this process")
    }
    guard status.st_mode & 0o022 == 0 else {
      let mode = String(status.st_mode & 0o7777, radix: 8)
      throw Self.rejection(path, "can be written by others (mode \(mode)): chmod 700")
    }
    guard let real = realpath(path, nil) else { throw Self.failure("cannot resolve", path) }
    self.path = String(cString: real)
    free(real)
    lock = try Self.lock(in: directory, path: path)
  }

  /// The path that is opened for `given`. A slash at the end would make a symbolic link look like what it leads to.
  static func opened(_ given: String, _ stateDirectories: [String]) -> String {
    followed(given.hasSuffix("/") ? String(given.reversed().drop { $0 == "/" }.reversed()) : given, stateDirectories)
  }

  /// Returns the target of a link that only root can have made: it belongs to root and is in a directory that no other
  /// user can write.
  private static func followed(_ path: String, _ stateDirectories: [String]) -> String {
    var status = stat()
    guard stateDirectories.contains(path), lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK,
      status.st_uid == 0, let slash = path.lastIndex(of: "/"),
      stat(slash == path.startIndex ? "/" : String(path[..<slash]), &status) == 0, status.st_uid == 0,
      status.st_mode & 0o022 == 0, let real = realpath(path, nil)
    else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// The path of a file in it.
  func path(of name: String) -> String { "\(path)/\(name)" }

  /// Checks a file of the store: regular, ours, without access for others. False when it is missing.
  func holds(_ name: String) throws(StoreError) -> Bool {
    var status = stat()
    guard fstatat(directory.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return false }
      throw Self.failure("cannot look at", path(of: name))
    }
    try Self.check(status, path(of: name))
    return true
  }

  /// Opens a file in it, made with mode 0600 when `flags` say so.
  func open(_ name: String, _ flags: Int32) throws(StoreError) -> FileDescriptor {
    let opened = openat(directory.number, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw Self.failure("cannot open", path(of: name)) }
    let file = FileDescriptor(opened)
    if flags & O_CREAT != 0, fchmod(opened, 0o600) != 0 { throw Self.failure("cannot protect", path(of: name)) }
    var status = stat()
    guard fstat(opened, &status) == 0 else { throw Self.failure("cannot look at", path(of: name)) }
    try Self.check(status, path(of: name))
    return file
  }

  /// Removes a file if it is there.
  func remove(_ name: String) throws(StoreError) {
    if unlinkat(directory.number, name, 0) != 0, errno != ENOENT { throw Self.failure("cannot remove", path(of: name)) }
  }

  /// Gives a finished file its name, for good.
  func publish(_ name: String, as final: String) throws(StoreError) {
    guard renameat(directory.number, name, directory.number, final) == 0 else {
      throw Self.failure("cannot make", path(of: final))
    }
    try synchronize()
  }

  private func synchronize() throws(StoreError) {
    if fsync(directory.number) != 0 { throw Self.failure("cannot write", path) }
  }

  /// A new directory is there after a loss of power only if its name is.
  private static func synchronizeParent(of path: String) throws(StoreError) {
    let parent = FileDescriptor(Glibc.open("\(path)/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    guard parent.number >= 0, fsync(parent.number) == 0 else { throw failure("cannot write next to", path) }
  }

  private static func lock(in directory: FileDescriptor, path: String) throws(StoreError) -> FileDescriptor {
    let opened = openat(directory.number, lockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw failure("cannot open the lock file in", path) }
    let file = FileDescriptor(opened)
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw failure("cannot lock", path) }
      let digits = file.read(atMost: 16).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      let user = digits.isEmpty ? "another process" : "process \(String(decoding: digits, as: UTF8.self))"
      throw StoreError(.locked, "\(path) is in use by \(user); a store belongs to one process")
    }
    // For people only: the lock is what counts, and it ends with the process.
    _ = ftruncate(opened, 0)
    file.write(Array("\(getpid())\n".utf8), at: 0)
    return file
  }

  private static func check(_ status: stat, _ path: String) throws(StoreError) {
    guard status.st_mode & S_IFMT == S_IFREG else { throw rejection(path, "is not a regular file") }
    guard status.st_uid == geteuid() else {
      throw rejection(path, "belongs to user \(status.st_uid), not to \(geteuid()), who runs this process")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw rejection(path, "is open to others (mode \(String(status.st_mode & 0o7777, radix: 8))): chmod 600")
    }
  }

  private static func rejection(_ path: String, _ problem: String) -> StoreError {
    StoreError(.unusable, "\(path) \(problem)")
  }

  private static func failure(_ what: String, _ path: String) -> StoreError {
    let code = errno
    let isTemporary = [ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, EINTR].contains(code)
    return StoreError(isTemporary ? .unavailable : .unusable, "\(what) \(path): \(SystemError.text(code))")
  }
}
