import HTTPMessages
import PosternSupport

/// The ways in which a server may write down secrets that it was sent: as they came, in a form, percent-encoded, in
/// base64 or base64url by themselves or within something longer, all of it in any case.
struct SecretSpellings {
  /// A shorter piece of base64 is found by chance.
  private static let minimumBase64Count = 8

  /// In lower case.
  private let spellings: Set<[UInt8]>

  /// The spellings of `secrets`; what is empty is none.
  init(_ secrets: [String]) {
    let all = secrets.filter { !$0.isEmpty }.flatMap { secret in
      [secret, FormEncoding.encode(secret), PercentEncoding.encode(secret, for: .pathSegment)]
        + Self.base64(Array(secret.utf8))
    }
    spellings = Set(all.map { Array($0.lowercasedASCII().utf8) })
  }

  /// Whether one of them stands in `text`.
  func occur(in text: String) -> Bool {
    let text = text.lowercasedASCII()
    return spellings.contains { text.containsBytes(of: String(decoding: $0, as: UTF8.self)) }
  }

  /// What stands in base64 for `secret` alone, behind any number of other bytes: one text for each place within three
  /// bytes.
  private static func base64(_ secret: [UInt8]) -> [String] {
    (0..<3).flatMap { offset -> [String] in
      let before = [UInt8](repeating: 0, count: offset)
      // Characters that hold bits of what is before or behind are not the secret's alone.
      let whole = (offset + secret.count) * 8 / 6
      let foreign = (offset * 8 + 5) / 6
      guard whole - foreign >= minimumBase64Count else { return [] }
      return [Base64.string(before + secret), Base64URL.string(before + secret)].map { text in
        String(decoding: text.utf8.prefix(whole).dropFirst(foreign), as: UTF8.self)
      }
    }
  }
}
