import Glibc

/// The names of full files: the log's own with a number behind it, the newest with the highest.
struct AuditFileNames {
  let path: String

  /// The name that is free after all others.
  var next: String {
    var number = highest + 1
    while access(name(number), F_OK) == 0 { number += 1 }
    return name(number)
  }

  /// The name of the file by which processes take turns at the log.
  var lock: String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ".\(path).lock" }
    return "\(path[...slash]).\(path[path.index(after: slash)...]).lock"
  }

  private func name(_ number: Int) -> String {
    let digits = String(number)
    return "\(path).\(String(repeating: "0", count: max(0, 6 - digits.utf8.count)))\(digits)"
  }

  /// The highest number in use; 0 when none is. Numbers beyond, as dates are, are somebody else's.
  private var highest: Int {
    others.lazy.map { $0.utf8.dropFirst(path.utf8.count + 1) }.filter { digits in
      (6...7).contains(digits.count) && digits.allSatisfy { (0x30...0x39).contains($0) }
    }.compactMap { Int(String(decoding: $0, as: UTF8.self)) }.max() ?? 0
  }

  /// The paths of the files beside it that are named after it, whoever has given them their names.
  var others: [String] {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let prefix = (slash.map { String(path[path.index(after: $0)...]) } ?? path) + "."
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var others: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasPrefix(prefix) { others.append("\(path).\(name.dropFirst(prefix.count))") }
    }
    return others
  }
}
