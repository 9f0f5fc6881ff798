import Foundation

/// Tokens as another implementation reads them: Foundation, which shares no code with the product.
enum SecondReading {
  static let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The text of one part.
  static func part(_ token: String, _ index: Int) -> String? {
    let parts = token.utf8.split(separator: 0x2e, omittingEmptySubsequences: false)
    return index < parts.count ? String(parts[index]) : nil
  }

  /// Decodes one part, by the laxer rules of Foundation.
  static func bytes(_ token: String, part index: Int) -> [UInt8]? {
    guard var text = part(token, index) else { return nil }
    text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return Data(base64Encoded: text).map(Array.init)
  }

  /// The members of a JSON object.
  static func object(_ text: [UInt8]) -> [String: Any]? {
    (try? JSONSerialization.jsonObject(with: Data(text))) as? [String: Any]
  }

  /// A number that is no boolean, which Foundation would take for one.
  static func number(_ value: Any?) -> Double? {
    guard let number = value as? NSNumber, String(cString: number.objCType) != "c" else { return nil }
    return number.doubleValue
  }
}
