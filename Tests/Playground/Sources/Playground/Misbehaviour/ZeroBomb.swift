/// Zeros without end in very little (RFC 1951): a thousand bytes of it are a hundred and fifty thousand.
enum ZeroBomb {
  /// An answer whose body is that, in a gzip member (RFC 1952), inside `layers` layers of gzip.
  ///
  /// The outer layers hold what is in them in stored blocks, so that every decoder gets through to the innermost; they
  /// are of ten million zeros.
  static func steps(layers: Int) -> [FaultStep] {
    let codings = Array(repeating: "gzip", count: layers).joined(separator: ", ")
    let head = FaultStep.head("200 OK", "Content-Type: text/plain", "Content-Encoding: \(codings)")
    let thousand = (0..<1000).flatMap { _ in matches }
    guard layers > 1 else { return [head, .send(beginning), .flood(thousand, times: Limits.floodTimes), .stall] }
    var content = beginning + (0..<5).flatMap { _ in thousand }
    for _ in 1..<layers { content = StoredGzip.encode(content) }
    return [head, .send(content), .close]
  }

  /// Length 258 at distance 1 in the fixed codes (RFC 1951 section 3.2.6).
  private static let match: [UInt8] = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]

  /// The header of a gzip member, and of a last block of fixed codes; a literal zero, and a match that fills the last
  /// byte.
  private static let beginning: [UInt8] =
    [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + packed([1, 1, 0] + [0, 0, 1, 1, 0, 0, 0, 0] + match)

  /// Eight matches.
  private static let matches: [UInt8] = packed((0..<8).flatMap { _ in match })

  /// Bits to bytes, the first one the lowest.
  private static func packed(_ bits: [UInt8]) -> [UInt8] {
    stride(from: 0, to: bits.count, by: 8).map { start in
      (0..<8).reduce(0) { $0 | bits[start + $1] << UInt8($1) }
    }
  }
}
