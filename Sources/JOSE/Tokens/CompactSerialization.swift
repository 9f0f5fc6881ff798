import Glibc
public import PosternSupport

/// A token in compact serialization, split at its dots but not decoded (RFC 7515 section 7.1, RFC 7516 section 7.1).
public struct CompactSerialization: Sendable {
  /// The kind of token, by the number of its parts.
  public enum Kind: Sendable, Hashable {
    /// Three parts.
    case jws
    /// Five parts.
    case jwe
  }

  /// The kind of token.
  public let kind: Kind
  let bytes: [UInt8]
  let dots: [Int]

  /// Splits `token`. `token_too_large` beyond the limit, `malformed_token` unless there are exactly two or four dots;
  /// the scan ends at the fifth (CVE-2025-27144).
  public init(_ token: String, limits: TokenLimits = TokenLimits()) throws(JOSEError) {
    guard token.utf8.count <= limits.maxBytes else {
      throw JOSEError(.tokenTooLarge, "token is larger than \(limits.maxBytes) bytes")
    }
    let bytes = Array(token.utf8)
    var dots: [Int] = []
    dots.reserveCapacity(5)
    bytes.withUnsafeBytes { text in
      guard let base = text.baseAddress else { return }
      var start = 0
      while dots.count < 5, let dot = memchr(base + start, Int32(UInt8(ascii: ".")), text.count - start) {
        dots.append(UnsafeRawPointer(dot) - base)
        start = UnsafeRawPointer(dot) - base + 1
      }
    }
    switch dots.count {
    case 2: kind = .jws
    case 4: kind = .jwe
    default: throw JOSEError(.malformedToken, "token has neither three nor five parts")
    }
    self.bytes = bytes
    self.dots = dots
  }

  /// The range of part `index` in `bytes`.
  func range(_ index: Int) -> Range<Int> {
    let start = index == 0 ? 0 : dots[index - 1] + 1
    return start..<(index == dots.count ? bytes.count : dots[index])
  }
}

/// Limits on a token, checked before it is decoded.
public struct TokenLimits: Sendable, Hashable {
  /// The largest token in bytes.
  public var maxBytes: Int
  /// How deep its JSON may nest.
  public var maxDepth: Int

  /// Limits; by default 65,536 bytes and 32 levels.
  public init(maxBytes: Int = 65_536, maxDepth: Int = 32) {
    self.maxBytes = maxBytes
    self.maxDepth = maxDepth
  }
}

extension CompactSerialization: ConciseStringConvertible {
  /// Kind and size: never the token.
  public var description: String { "\(kind) of \(Concise.count(bytes.count, "byte"))" }
}

extension TokenLimits: ConciseStringConvertible {
  /// The limits.
  public var description: String { "at most \(Concise.count(maxBytes, "byte")), \(Concise.count(maxDepth, "level"))" }
}
