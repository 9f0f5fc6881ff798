/// `application/x-www-form-urlencoded` as OAuth uses it (RFC 6749 appendix B): UTF-8, space as `+`.
public enum FormEncoding {
  /// The media type of such a body.
  public static let mediaType = "application/x-www-form-urlencoded"

  /// One name or value: letters, digits and `*-._` stay, a space becomes `+`, everything else is percent-encoded.
  public static func encode(_ text: String) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: " "): result.append(UInt8(ascii: "+"))
      case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): result.append(byte)
      default:
        if ASCII.isLetter(byte) || ASCII.isDigit(byte) {
          result.append(byte)
        } else {
          PercentEncoding.append(byte, to: &result)
        }
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// The fields in order, as a body.
  public static func encode(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array(fields.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&").utf8)
  }
}
