import PosternCrypto
public import PosternSupport
public import SessionRecords

/// The 256-bit key that a store's own keys are derived from. Never printed.
public struct StoreKey: Sendable {
  /// How many bytes a key has.
  public static let byteCount = 32

  let material: SymmetricKey

  /// A new random key.
  public static func random() -> StoreKey { StoreKey(material: .random(byteCount: byteCount)) }

  /// The key in the contents of a key file: 32 bytes as they are, or as 64 hexadecimal digits or in base64, with white
  /// space around them.
  ///
  /// - Throws: `unusable` for anything else.
  public init(contents: [UInt8]) throws(StoreError) {
    guard let bytes = Self.parse(contents) else {
      throw StoreError(.unusable, "the key file does not hold a key: 32 bytes, or these in hexadecimal or base64")
    }
    guard Set(bytes).count > 1 else {
      throw StoreError(.unusable, "the key file holds one byte over and over: openssl rand -base64 32 makes a key")
    }
    material = SymmetricKey(bytes)
  }

  private init(material: SymmetricKey) { self.material = material }

  private static func parse(_ contents: [UInt8]) -> [UInt8]? {
    if contents.count == byteCount { return contents }
    let spaces = Set(" \t\r\n".utf8)
    let text = Array(contents.drop(while: spaces.contains).reversed().drop(while: spaces.contains).reversed())
    if text.count == 2 * byteCount { return Hexadecimal.decode(text) }
    return Base64.decode(text).flatMap { $0.count == byteCount ? $0 : nil }
  }
}

extension StoreKey: ConciseStringConvertible {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
}
