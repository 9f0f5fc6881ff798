import HTTPMessages

/// Reads the extensions of one chunk, behind their first semicolon (RFC 9112 section 7.1.1). They mean nothing here, and
/// are well-formed: every reader sees their end in the same byte, whatever is in quotation marks.
struct ChunkExtensions: Sendable {
  private enum Part: Sendable {
    case nameBegin, name, valueBegin, value, quoted, escaped, quotedEnd
  }

  /// The grammar has it, and widespread parsers have not.
  static let whiteSpace = RequestRejection(
    "white space next to a chunk's size or in its extensions is read in different ways: leave it out")

  private var part = Part.nameBegin
  /// How many bytes there are, the semicolon included.
  private(set) var count = 1

  /// Reads the next byte; true when it is the CR behind the extensions.
  mutating func isEnd(_ byte: UInt8) throws(RequestRejection) -> Bool {
    count += 1
    switch part {
    case .quoted where byte == UInt8(ascii: "\""): part = .quotedEnd
    case .quoted where byte == UInt8(ascii: "\\"): part = .escaped
    case .quoted, .escaped:
      guard byte == 0x09 || byte >= 0x20 && byte != 0x7F else {
        throw RequestRejection("a quoted value of a chunk's extension has a control character, or no end")
      }
      part = .quoted
    case .nameBegin, .name, .valueBegin, .value, .quotedEnd: return try isEndUnquoted(byte)
    }
    return false
  }

  private mutating func isEndUnquoted(_ byte: UInt8) throws(RequestRejection) -> Bool {
    let isWhole = part == .name || part == .value || part == .quotedEnd
    switch byte {
    case 0x0D where isWhole: return true
    case UInt8(ascii: ";") where isWhole: part = .nameBegin
    case UInt8(ascii: "=") where part == .name: part = .valueBegin
    case UInt8(ascii: "\"") where part == .valueBegin: part = .quoted
    case 0x20, 0x09: throw Self.whiteSpace
    default:
      guard part != .quotedEnd, ASCII.isTokenCharacter(byte) else {
        throw RequestRejection("a chunk's extensions are not names and values")
      }
      part = part == .nameBegin || part == .name ? .name : .value
    }
    return false
  }
}
