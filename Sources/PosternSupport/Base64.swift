/// Standard base64 with padding (RFC 4648 section 4), strict: no white space, padding exactly as long as needed,
/// unused bits zero. Foundation's decoder accepts excess padding and non-zero unused bits.
public enum Base64 {
  private static let alphabet = Base64Alphabet(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", isPadded: true)

  /// The encoding of `bytes`, padded.
  public static func encode(_ bytes: [UInt8]) -> [UInt8] { alphabet.encode(bytes.span.bytes) }

  /// The encoding of `bytes`, padded.
  public static func encode(_ bytes: RawSpan) -> [UInt8] { alphabet.encode(bytes) }

  /// The encoding of `bytes` as a string, padded.
  public static func string(_ bytes: [UInt8]) -> String { alphabet.string(bytes.span.bytes) }

  /// The encoding of `bytes` as a string, padded.
  public static func string(_ bytes: RawSpan) -> String { alphabet.string(bytes) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `encode` makes of them.
  public static func decode(_ text: [UInt8]) -> [UInt8]? { alphabet.decode(text.span.bytes) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `encode` makes of them.
  public static func decode(_ text: RawSpan) -> [UInt8]? { alphabet.decode(text) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `string` makes of them.
  public static func decode(_ text: String) -> [UInt8]? { alphabet.decode(Array(text.utf8).span.bytes) }
}

/// An alphabet of RFC 4648 with its padding rule; both encodings are this one algorithm.
struct Base64Alphabet: Sendable {
  private static let invalid: UInt8 = 0xff
  private static let padding = UInt8(ascii: "=")

  /// The two characters of every 12 bits, in their order in memory.
  private let pairs: [UInt16]
  private let values: [UInt8]
  private let isPadded: Bool

  /// `symbols` are the 64 characters in order of their values.
  init(_ symbols: String, isPadded: Bool) {
    let symbols = Array(symbols.utf8)
    pairs = (0..<4096).map { UInt16(littleEndian: UInt16(symbols[$0 >> 6]) | UInt16(symbols[$0 & 0x3f]) << 8) }
    self.isPadded = isPadded
    var values = [UInt8](repeating: Self.invalid, count: 256)
    for (value, symbol) in symbols.enumerated() { values[Int(symbol)] = UInt8(value) }
    self.values = values
  }

  func encode(_ bytes: RawSpan) -> [UInt8] {
    // An array of no capacity would be the shared empty one, whose count its initializer writes: a race, if a harmless
    // one.
    guard bytes.byteCount > 0 else { return [] }
    // Zeros first: the standard library's uninitialized arrays go through its unspecialized code, which costs more.
    var text = [UInt8](repeating: 0, count: length(of: bytes.byteCount))
    text.withUnsafeMutableBytes { encode(bytes, into: $0) }
    return text
  }

  func string(_ bytes: RawSpan) -> String {
    let length = length(of: bytes.byteCount)
    return String(unsafeUninitializedCapacity: length) { text in
      encode(bytes, into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(text)[..<length]))
      return length
    }
  }

  private func length(of count: Int) -> Int {
    let (whole, rest) = count.quotientAndRemainder(dividingBy: 3)
    return whole * 4 + (rest == 0 ? 0 : (isPadded ? 4 : rest + 1))
  }

  /// Fills `text`, whose size is `length` of that of `bytes`.
  private func encode(_ bytes: RawSpan, into text: UnsafeMutableRawBufferPointer) {
    guard let text = text.baseAddress, bytes.byteCount > 0 else { return }
    let whole = bytes.byteCount / 3
    bytes.withUnsafeBytes { input in
      pairs.withUnsafeBufferPointer { pairs in
        // The bounds are those of `whole` and of 12 bits.
        guard let input = input.baseAddress, let pairs = pairs.baseAddress else { return }
        func byte(_ index: Int) -> Int { Int(input.load(fromByteOffset: index, as: UInt8.self)) }
        var (source, target) = (0, 0)
        while source < whole &* 3 {
          let word = byte(source) &<< 16 | byte(source &+ 1) &<< 8 | byte(source &+ 2)
          text.storeBytes(of: pairs[word &>> 12], toByteOffset: target, as: UInt16.self)
          text.storeBytes(of: pairs[word & 0xfff], toByteOffset: target &+ 2, as: UInt16.self)
          source &+= 3
          target &+= 4
        }
        let rest = bytes.byteCount - source
        guard rest > 0 else { return }
        let word = byte(source) << 16 | (rest == 2 ? byte(source + 1) << 8 : 0)
        text.storeBytes(of: pairs[word >> 12], toByteOffset: target, as: UInt16.self)
        let last = UInt16(littleEndian: pairs[word & 0xfff])
        if rest == 2 { text.storeBytes(of: UInt8(truncatingIfNeeded: last), toByteOffset: target + 2, as: UInt8.self) }
        guard isPadded else { return }
        for offset in rest + 1..<4 { text.storeBytes(of: Self.padding, toByteOffset: target + offset, as: UInt8.self) }
      }
    }
  }

  func decode(_ text: RawSpan) -> [UInt8]? {
    guard text.byteCount > 0 else { return [] }
    var length = text.byteCount
    if isPadded {
      guard length.isMultiple(of: 4) else { return nil }
      var padding = 0
      while padding < 2, length > 0, text.unsafeLoad(fromByteOffset: length - 1, as: UInt8.self) == Self.padding {
        length -= 1
        padding += 1
      }
    }
    let (whole, rest) = length.quotientAndRemainder(dividingBy: 4)
    guard rest != 1, length > 0 else { return nil }
    var isValid = true
    var bytes = [UInt8](repeating: 0, count: whole * 3 + (rest == 0 ? 0 : rest - 1))
    bytes.withUnsafeMutableBufferPointer { output in
      text.withUnsafeBytes { input in
        values.withUnsafeBufferPointer { values in
          // A value above 63 marks a foreign character: collected here, judged once at the end.
          var seen: UInt8 = 0
          var (source, target) = (0, 0)
          while source < whole &* 4 {
            let a = values[Int(input[source])]
            let b = values[Int(input[source &+ 1])]
            let c = values[Int(input[source &+ 2])]
            let d = values[Int(input[source &+ 3])]
            seen |= a | b | c | d
            output[target] = a << 2 | b >> 4
            output[target &+ 1] = b << 4 | c >> 2
            output[target &+ 2] = c << 6 | d
            source &+= 4
            target &+= 3
          }
          if rest > 0 {
            let a = values[Int(input[source])]
            let b = values[Int(input[source &+ 1])]
            let c = rest == 3 ? values[Int(input[source &+ 2])] : 0
            seen |= a | b | c
            output[target] = a << 2 | b >> 4
            if rest == 3 { output[target &+ 1] = b << 4 | c >> 2 }
            isValid = (rest == 3 ? c & 0x3 : b & 0xf) == 0
          }
          if seen > 0x3f { isValid = false }
        }
      }
    }
    return isValid ? bytes : nil
  }
}

/// base64url without padding (RFC 4648 section 5, RFC 7515 appendix C), strict: no `=`, no white space, no character of
/// the standard alphabet, unused bits zero; so that one byte string has exactly one accepted text.
public enum Base64URL {
  private static let alphabet = Base64Alphabet(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", isPadded: false)

  /// The encoding of `bytes`, unpadded.
  public static func encode(_ bytes: [UInt8]) -> [UInt8] { alphabet.encode(bytes.span.bytes) }

  /// The encoding of `bytes`, unpadded.
  public static func encode(_ bytes: RawSpan) -> [UInt8] { alphabet.encode(bytes) }

  /// The encoding of `bytes` as a string, unpadded.
  public static func string(_ bytes: [UInt8]) -> String { alphabet.string(bytes.span.bytes) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `encode` makes of them.
  public static func decode(_ text: [UInt8]) -> [UInt8]? { alphabet.decode(text.span.bytes) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `encode` makes of them.
  public static func decode(_ text: RawSpan) -> [UInt8]? { alphabet.decode(text) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `string` makes of them.
  public static func decode(_ text: String) -> [UInt8]? { alphabet.decode(Array(text.utf8).span.bytes) }
}
