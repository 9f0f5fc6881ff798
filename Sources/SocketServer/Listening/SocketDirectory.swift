import Glibc

/// The directory of the socket, where the configuration says what it is to look like.
public enum SocketDirectory {
  /// Gives the directory of `socketPath` the mode and the group: it is made when it is missing (not its parents). False
  /// when it belongs to another user, who decides: then nothing is changed.
  public static func prepare(
    for socketPath: String, mode: UInt32, group: UInt32?
  ) throws(SocketServerError) -> Bool {
    let path = try UnixAddress(path: socketPath).directory
    // For nobody else until it is as it shall be.
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw .system(call: "mkdir(\(path))", errno: errno) }
    let directory = try Descriptor("open(\(path))", open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    var status = stat()
    guard fstat(directory.number, &status) == 0 else { throw .system(call: "stat(\(path))", errno: errno) }
    guard status.st_uid == geteuid() else { return false }
    // First: the setgid bit needs membership in the group that the directory has then.
    if let group, status.st_gid != group, fchown(directory.number, uid_t.max, group) != 0 {
      throw .groupRefused(path: path, group: group, errno: errno)
    }
    guard status.st_mode & 0o7777 != mode || group != nil else { return true }
    guard fchmod(directory.number, mode) == 0 else { throw .system(call: "chmod(\(path))", errno: errno) }
    return true
  }
}
