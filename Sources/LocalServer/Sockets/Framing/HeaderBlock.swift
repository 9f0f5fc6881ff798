import HTTPMessages

/// One header block of the LSP base protocol, line by line.
struct HeaderBlock: Sendable {
  /// The most bytes a block may have, its empty last line included.
  static let maximumLength = 4096

  /// Why a block cannot be used; the connection ends with it.
  enum Violation: Error, Hashable {
    case blockTooLong
    case contentLengthMissing
    case contentLengthNotANumber
    case contentLengthOutOfRange
    case contentLengthRepeated
    case lineEnding
    case malformedLine
    case unknownCharset

    /// One clause for people, with no byte of the input in it.
    var reason: String {
      switch self {
      case .blockTooLong: "the header block is longer than \(HeaderBlock.maximumLength) bytes"
      case .contentLengthMissing: "the header block has no Content-Length"
      case .contentLengthNotANumber: "Content-Length is not a plain decimal number"
      case .contentLengthOutOfRange: "Content-Length is out of range"
      case .contentLengthRepeated: "Content-Length appears more than once"
      case .lineEnding: "a header line does not end in CR LF"
      case .malformedLine: "a header line is not of the form Name: value"
      case .unknownCharset: "Content-Type names another charset than utf-8"
      }
    }
  }

  /// The length of the body, once the line was there.
  private(set) var contentLength: Int?

  /// Takes one line without its CR LF.
  mutating func append(line: ArraySlice<UInt8>) throws(Violation) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line[..<colon].allSatisfy(ASCII.isTokenCharacter), line[colon...].allSatisfy(Self.isValueByte)
    else { throw .malformedLine }
    let value = ASCII.trimmed(line[(colon + 1)...])
    switch Self.lowercased(line[..<colon]) {
    case "content-length":
      guard contentLength == nil else { throw .contentLengthRepeated }
      contentLength = try Self.length(value)
    case "content-type":
      guard Self.isUTF8(value) else { throw .unknownCharset }
    default:
      break  // The LSP base protocol knows the two above; a name we do not know changes nothing.
    }
  }

  /// The length at the end of the block.
  func finish() throws(Violation) -> Int {
    guard let contentLength else { throw .contentLengthMissing }
    return contentLength
  }

  /// Digits to a number, with the bounds looked at before there is one: 18 significant digits always fit.
  private static func length(_ digits: ArraySlice<UInt8>) throws(Violation) -> Int {
    guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") <= 9 }) else { throw .contentLengthNotANumber }
    let significant = digits.drop { $0 == UInt8(ascii: "0") }
    guard significant.count <= 18 else { throw .contentLengthOutOfRange }
    return significant.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Whether a media type leaves the charset out or names UTF-8; `utf8` is what old LSP clients send.
  private static func isUTF8(_ mediaType: ArraySlice<UInt8>) -> Bool {
    for parameter in mediaType.split(separator: UInt8(ascii: ";")).dropFirst() {
      guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { continue }
      guard lowercased(ASCII.trimmed(parameter[..<equals])) == "charset" else { continue }
      var charset = ASCII.trimmed(parameter[(equals + 1)...])
      if charset.count >= 2, charset.first == UInt8(ascii: "\""), charset.last == UInt8(ascii: "\"") {
        charset = charset.dropFirst().dropLast()
      }
      let name = lowercased(charset)
      guard name == "utf-8" || name == "utf8" else { return false }
    }
    return true
  }

  private static func isValueByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.map { $0 &- UInt8(ascii: "A") <= 25 ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
