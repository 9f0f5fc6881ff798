import Glibc
import PosternSupport

extension FileRecordStore {
  /// Closes the directory and the files of a store to a group that may use them: the kubelet opens whatever is in a
  /// volume to `fsGroup`, at each mount (2770 and 0660). Returns what was done, for the log.
  ///
  /// Only the store's own files are changed, if they belong to this process's user and are not open to all users: an
  /// attack or a mistake opens them to everybody, and is reported when the store is opened.
  package static func closeToGroup(_ configuration: Configuration) -> [String] {
    let path = StoreDirectory.opened(configuration.directory, configuration.stateDirectories)
    let number = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard number >= 0 else { return [] }
    let directory = FileDescriptor(number)
    var notes: [String] = []
    if let mode = close(directory.number, to: 0o700, where: 0o020, kind: S_IFDIR) {
      notes.append("\(path) could be written by its group (mode \(mode)): now 700")
    }
    guard isOwn(directory.number) else { return notes }
    var closed = 0
    for name in ownNames {
      let opened = openat(directory.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard opened >= 0 else { continue }
      let file = FileDescriptor(opened)
      if close(file.number, to: 0o600, where: 0o070, kind: S_IFREG) != nil { closed += 1 }
    }
    if closed > 0 { notes.append("\(path): files were open to their group: now 600") }
    return notes
  }

  /// Gives what is opened the mode `mode` where its group has one of the rights `rights`; returns the mode before, where
  /// that was done.
  private static func close(_ descriptor: CInt, to mode: mode_t, where rights: mode_t, kind: mode_t) -> String? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == kind, status.st_uid == geteuid(),
      status.st_mode & rights != 0, status.st_mode & (kind == S_IFDIR ? 0o002 : 0o007) == 0,
      fchmod(descriptor, mode) == 0
    else { return nil }
    return String(status.st_mode & 0o7777, radix: 8)
  }

  /// Whether the directory is closed by now, so that nobody else renames files in it meanwhile.
  private static func isOwn(_ directory: CInt) -> Bool {
    var status = stat()
    return fstat(directory, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o022 == 0
  }

  private static let ownNames = [
    StoreDirectory.lockName, FileFormat.name, FileFormat.unfinished, FileFormat.logName, KeyFile.name,
    KeyFile.unfinished,
  ]
}
