import Glibc

/// The names of full files: the log's own with a number behind it, the newest with the highest.
struct AuditFileNames {
  let path: String

  /// The name that is free after all others.
  var next: String { name(highest + 1) }

  /// The newest full file; nil when there is none.
  var newest: String? { highest > 0 ? name(highest) : nil }

  private func name(_ number: Int) -> String {
    let digits = String(number)
    return "\(path).\(String(repeating: "0", count: max(0, 6 - digits.utf8.count)))\(digits)"
  }

  /// The highest number in use; 0 when none is.
  private var highest: Int {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let prefix = (slash.map { String(path[path.index(after: $0)...]) } ?? path) + "."
    guard let directory = opendir(folder) else { return 0 }
    defer { closedir(directory) }
    var highest = 0
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name.hasPrefix(prefix) else { continue }
      let digits = name.dropFirst(prefix.count)
      guard digits.utf8.count >= 6, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits)
      else { continue }
      highest = max(highest, number)
    }
    return highest
  }
}
