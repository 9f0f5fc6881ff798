import Glibc

/// Finds the directories that a file is read from, so that it can be read again after it was replaced.
enum FileLocations {
  /// The directories that decide which file `path` is: its own, those of the links on the way, and the one it
  /// really lies in; for a file in the root directory, itself.
  ///
  /// A file that is replaced by renaming is another one under the same name; a Kubernetes volume's is a link into a
  /// directory that is exchanged; a certificate's may be a link into an archive.
  static func directories(ofFile path: String) -> Set<String> {
    var directories: Set<String> = []
    add(path, to: &directories, linksLeft: 16)
    if let real = resolved(path) { directories.insert(directory(of: real)) }
    let tooWide: Set = ["/", "/proc", "/sys", "/dev"]
    return directories.isDisjoint(with: tooWide) ? directories : directories.subtracting(tooWide).union([path])
  }

  /// The part before the last slash.
  static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// `path` without links; nil when there is nothing.
  static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  private static func add(_ path: String, to directories: inout Set<String>, linksLeft: Int) {
    directories.insert(directory(of: path))
    // A link on the way may be turned to another directory. One in the root directory, or right under it (/var/run), is
    // the system's and stays.
    var end = path.startIndex
    while linksLeft > 0, let slash = path[end...].dropFirst().firstIndex(of: "/") {
      end = slash
      follow(String(path[..<slash]), of: path, to: &directories, linksLeft)
    }
    if linksLeft > 0 { follow(path, of: path, to: &directories, linksLeft) }
  }

  private static func follow(_ link: String, of path: String, to directories: inout Set<String>, _ linksLeft: Int) {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink(link, &buffer, buffer.count - 1)
    guard count > 0 else { return }
    let parent = directory(of: link)
    if parent.split(separator: "/").count > 1 { directories.insert(parent) }
    let target = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard link == path else { return }
    add(target.hasPrefix("/") ? target : "\(parent)/\(target)", to: &directories, linksLeft: linksLeft - 1)
  }
}
