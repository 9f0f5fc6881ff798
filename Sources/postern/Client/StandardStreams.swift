import Glibc

/// A sentence on standard error.
enum FailureNote {
  static func print(_ text: String) { write("postern: \(text)") }

  /// Writes `line` to standard error as it is, for what is no sentence.
  static func write(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress?.advanced(by: written), $0.count - written) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      written += count
    }
  }
}

/// Standard input, or another descriptor, read to its end.
enum StandardInput {
  static func readAll(from descriptor: Int32 = 0, atMost limit: Int = .max) -> [UInt8] {
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while text.count < limit {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return text }
      text.append(contentsOf: chunk[..<count])
    }
    return text
  }
}
