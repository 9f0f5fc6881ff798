import Glibc
import PosternSupport

/// The tokens to validate: one a line, with the nonce and the access token that it must fit.
struct TokenFile {
  struct Line {
    let token: String
    let nonce: String
    let accessToken: Secret<String>
  }

  let lines: [Line]

  init(path: String) throws(Failure) {
    lines = try Self.bytes(of: path).split(separator: UInt8(ascii: "\n")).map { (line) throws(Failure) in
      let columns = line.split(separator: UInt8(ascii: "\t")).map { String(decoding: $0, as: UTF8.self) }
      guard columns.count >= 3 else { throw Failure("\(path): a line of less than three columns") }
      return Line(token: columns[0], nonce: columns[1], accessToken: Secret(columns[2]))
    }
    guard !lines.isEmpty else { throw Failure("\(path): no tokens") }
  }

  static func bytes(of path: String) throws(Failure) -> [UInt8] {
    guard let file = fopen(path, "r") else { throw Failure("\(path): cannot be opened") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
    }
  }
}
