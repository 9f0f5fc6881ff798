import Glibc

/// Where a file is read from, so that it can be read again when something else stands there.
enum FilePlaces {
  /// The directories that have a say in which file `path` is: its own, those of the links on the way, and the one it
  /// really lies in; for a file in the root directory, itself.
  ///
  /// A file that is replaced by renaming is another one under the same name; a Kubernetes volume's is a link into a
  /// directory that is exchanged; a certificate's may be a link into an archive.
  static func directories(ofFile path: String) -> Set<String> {
    var places: Set<String> = []
    add(path, to: &places, linksLeft: 16)
    if let real = resolved(path) { places.insert(directory(of: real)) }
    let tooWide: Set = ["/", "/proc", "/sys", "/dev"]
    return places.isDisjoint(with: tooWide) ? places : places.subtracting(tooWide).union([path])
  }

  /// What stands before the last slash.
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

  private static func add(_ path: String, to places: inout Set<String>, linksLeft: Int) {
    places.insert(directory(of: path))
    // A link on the way may be turned to another directory. One in the root directory, or right under it (/var/run), is
    // the system's and stays.
    var end = path.startIndex
    while linksLeft > 0, let slash = path[end...].dropFirst().firstIndex(of: "/") {
      end = slash
      follow(String(path[..<slash]), of: path, to: &places, linksLeft)
    }
    if linksLeft > 0 { follow(path, of: path, to: &places, linksLeft) }
  }

  private static func follow(_ link: String, of path: String, to places: inout Set<String>, _ linksLeft: Int) {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink(link, &buffer, buffer.count - 1)
    guard count > 0 else { return }
    let parent = directory(of: link)
    if parent.split(separator: "/").count > 1 { places.insert(parent) }
    let target = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard link == path else { return }
    add(target.hasPrefix("/") ? target : "\(parent)/\(target)", to: &places, linksLeft: linksLeft - 1)
  }
}
