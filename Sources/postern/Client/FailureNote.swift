import Glibc

/// A sentence on standard error.
enum FailureNote {
  static func print(_ text: String) {
    let line = Array("postern: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
  }
}
