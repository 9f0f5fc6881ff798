import Glibc

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
