/// A request as far as a misbehaving server reads it.
struct RawRequest: Sendable {
  /// The path's first segment.
  let name: String
  /// The query's parameters.
  private let query: FormParameters?
  /// How many requests came before it on its connection.
  let number: Int

  /// Takes a whole request, header block and body of the length given there, off the front of `bytes`; nil when it is
  /// not all there.
  init?(takingFrom bytes: inout [UInt8], number: Int) {
    guard let end = Self.endOfHead(in: bytes) else { return nil }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    let length = lines.lazy.compactMap { line -> Int? in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
      return Int(parts[1].drop { $0 == " " })
    }.first
    let size = end + min(max(0, length ?? 0), Limits.bodyBytes)
    guard bytes.count >= size else { return nil }
    bytes.removeFirst(size)
    let words = lines.first?.split(separator: " ") ?? []
    let target = words.count > 1 ? words[1] : "/"
    let path = target.prefix { $0 != "?" }
    name = String(path.split(separator: "/").first ?? "")
    query = FormParameters(parsing: Array(target.dropFirst(path.count + 1).utf8))
    self.number = number
  }

  private static func endOfHead(in bytes: [UInt8]) -> Int? {
    let mark = Array("\r\n\r\n".utf8)
    guard bytes.count >= mark.count else { return nil }
    return (mark.count...bytes.count).first { bytes[$0 - mark.count..<$0].elementsEqual(mark) }
  }

  /// A number of the query, or a default.
  func number(_ name: String, _ fallback: Int, upTo most: Int) -> Int {
    query?.integer(name, in: 0...most) ?? fallback
  }

  /// A text of the query.
  func text(_ name: String) -> String? { query?[name] }
}
