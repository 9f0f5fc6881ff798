/// The inside of a JSON string (RFC 8259 section 7): quotation mark, reverse solidus and control characters escaped, all else as it is.
enum JSONEscaping {
  private static let chunk = 4096
  /// The longest escape, `\u00XX`.
  private static let longest = 6

  /// Gives the escaped text of `string` to `write`, a chunk at a time through a buffer that is large enough for the worst case.
  static func escape(_ string: String, _ write: (UnsafeRawBufferPointer) -> Void) {
    var string = string
    string.withUTF8 { text in
      let text = UnsafeRawBufferPointer(text)
      withUnsafeTemporaryAllocation(byteCount: chunk * longest, alignment: 8) { buffer in
        var start = 0
        while start < text.count {
          let end = min(start + chunk, text.count)
          let count = escape(UnsafeRawBufferPointer(rebasing: text[start..<end]), into: buffer)
          write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
          start = end
        }
      }
    }
  }

  /// Escapes `text` into `buffer`, which has room for six times as much; returns how much was written. Eight bytes at a time where none
  /// of them needs an escape.
  private static func escape(_ text: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var read = 0
    var written = 0
    while read < text.count {
      if read + 8 <= text.count {
        let word = text.loadUnaligned(fromByteOffset: read, as: UInt64.self)
        if !needsEscape(word) {
          buffer.storeBytes(of: word, toByteOffset: written, as: UInt64.self)
          read += 8
          written += 8
          continue
        }
      }
      // The word holds an escape, or these are the last bytes.
      for byte in text[read..<min(read + 8, text.count)] {
        if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
          buffer[written] = byte
          written += 1
        } else {
          written += writeEscape(of: byte, at: written, into: buffer)
        }
      }
      read = min(read + 8, text.count)
    }
    return written
  }

  /// Whether any byte of `word` is below 0x20, a quotation mark or a reverse solidus ("Bit Twiddling Hacks", haszero and hasless). May say
  /// yes for a byte behind such a one, never no for one.
  private static func needsEscape(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let high: UInt64 = 0x8080_8080_8080_8080
    func zeroBytes(_ value: UInt64) -> UInt64 { (value &- ones) & ~value & high }
    let control = (word &- ones &* 0x20) & ~word & high
    let quote = zeroBytes(word ^ (ones &* UInt64(UInt8(ascii: "\""))))
    let solidus = zeroBytes(word ^ (ones &* UInt64(UInt8(ascii: "\\"))))
    return control | quote | solidus != 0
  }

  private static func writeEscape(of byte: UInt8, at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let short: UInt8
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): short = byte
    case 0x0A: short = UInt8(ascii: "n")
    case 0x0D: short = UInt8(ascii: "r")
    case 0x09: short = UInt8(ascii: "t")
    default:
      let digit = byte & 15
      buffer[offset] = UInt8(ascii: "\\")
      buffer[offset + 1] = UInt8(ascii: "u")
      buffer[offset + 2] = UInt8(ascii: "0")
      buffer[offset + 3] = UInt8(ascii: "0")
      buffer[offset + 4] = UInt8(ascii: "0") + (byte >> 4)
      buffer[offset + 5] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
      return 6
    }
    buffer[offset] = UInt8(ascii: "\\")
    buffer[offset + 1] = short
    return 2
  }
}
