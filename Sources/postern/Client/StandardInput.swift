import Glibc

/// Standard input, read to its end.
enum StandardInput {
  static func readAll() -> [UInt8] {
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(0, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return text }
      text.append(contentsOf: chunk[..<count])
    }
  }
}
