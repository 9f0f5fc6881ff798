/// Stands for a long string in a text that jansson writes: jansson looks at strings character by character (about 6 ms
/// for 1 MiB), so long ones are put in by `JSONEscaping`.
///
/// The mark holds 128 random bits of this process that never leave it: nobody can send a string that is taken for one.
enum SplicePoint {
  /// From this many bytes on a string is put in afterwards.
  static let threshold = 1024

  private static let prefix: [UInt8] = {
    let random =
      String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    return Array("splice-\(random)-".utf8)
  }()

  /// The string to write in place of number `index`.
  static func mark(_ index: Int) -> String { String(decoding: prefix, as: UTF8.self) + String(index) }

  /// Which string `piece`, as jansson wrote it, stands for; nil when it is no mark.
  static func index(of piece: UnsafeRawBufferPointer) -> Int? {
    guard piece.count > prefix.count, piece.starts(with: prefix) else { return nil }
    return Int(String(decoding: piece[prefix.count...], as: UTF8.self))
  }
}
