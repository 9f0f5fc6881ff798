import Glibc
import PosternSupport

extension FileRecordStore {
  /// Closes the directory and the files of a store to a group that may use them: the kubelet opens whatever is in a
  /// volume to `fsGroup`, at each mount (2770 and 0660). Returns what was done, for the log.
  ///
  /// Nothing but what belongs to this process's user is changed, and nothing that is open to all users: that was nobody's
  /// intention but an attacker's, or a mistake, and is reported when the store is opened.
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
    for name in names(in: directory.number) {
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

  /// The most files that are looked at: a store has fewer than ten.
  private static let mostFiles = 64

  private static func names(in directory: CInt) -> [String] {
    let copy = fcntl(directory, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return [] }
    guard let stream = fdopendir(copy) else {
      Glibc.close(copy)
      return []
    }
    defer { closedir(stream) }
    var names: [String] = []
    while names.count < mostFiles, let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
