import Foundation

/// A request as it came over the wire.
struct RawRequest: Sendable {
  /// The request line.
  let line: String
  /// The field lines as sent, without line ends.
  let fields: [String]
  let body: [UInt8]

  var method: String { String(line.prefix { $0 != " " }) }
  var target: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

  /// The values of the fields of that lower-case name.
  func values(of name: String) -> [String] { Self.values(of: name, in: fields) }

  /// Takes one whole request off the front of `buffer`; nil when there is none yet.
  init?(taking buffer: inout [UInt8]) {
    guard let end = Self.endOfHead(buffer) else { return nil }
    let head = String(decoding: buffer[..<(end - 4)], as: UTF8.self).components(separatedBy: "\r\n")
    fields = Array(head.dropFirst())
    line = head.first ?? ""
    let length = Self.values(of: "content-length", in: fields).first.flatMap { Int($0) } ?? 0
    guard buffer.count - end >= length else { return nil }
    body = Array(buffer[end..<(end + length)])
    buffer.removeFirst(end + length)
  }

  private static func values(of name: String, in fields: [String]) -> [String] {
    fields.compactMap { field in
      guard let colon = field.firstIndex(of: ":"), field[..<colon].lowercased() == name else { return nil }
      return String(field[field.index(after: colon)...].drop { $0 == " " })
    }
  }

  private static func endOfHead(_ buffer: [UInt8]) -> Int? {
    guard buffer.count >= 4 else { return nil }
    for index in 3..<buffer.count
    where buffer[index] == 10 && buffer[index - 1] == 13 && buffer[index - 2] == 10 && buffer[index - 3] == 13 {
      return index + 1
    }
    return nil
  }
}
