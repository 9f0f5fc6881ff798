import PosternSupport

/// The W3C trace context of one call (https://www.w3.org/TR/trace-context/).
package struct CallTrace: Sendable, Hashable {
  /// 32 lower-case hex digits; `traceId` in errors and logs.
  package let traceID: String
  /// The header to send upstream: a span of ours within the caller's trace, or a new trace.
  package let traceparent: String
  /// The span that the call is, 16 lower-case hex digits.
  package let spanID: String
  /// The caller's span; nil when it began no trace.
  let parentID: String?
  /// Whether the call's spans are exported to a collector.
  let isSampled: Bool

  /// None: for calls that are answered at once and cause nothing upstream.
  package static let none = CallTrace()

  private init() {
    traceID = ""
    traceparent = ""
    spanID = ""
    parentID = nil
    isSampled = false
  }

  /// Continues the caller's trace, or starts one when there is none or it is not valid (as the recommendation
  /// requires).
  ///
  /// With a collector the caller decides whether its trace is sampled, and of traces that start here `ratio` are.
  package init(continuing received: String?, sampling ratio: Double? = nil) {
    let generator = NonSecretRandom.shared
    let parts = received.flatMap(Self.parse)
    traceID = parts?.traceID ?? Self.hex(generator.next()) + Self.hex(generator.next() | 1)
    spanID = Self.hex(generator.next() | 1)
    parentID = parts?.parentID
    let begins = ratio.map { Double(generator.next() >> 11) * 0x1p-53 < $0 } ?? false
    let flags = parts?.flags ?? (begins ? "01" : "00")
    isSampled = ratio != nil && (UInt8(flags, radix: 16) ?? 0) & 1 == 1
    var header = "00-"
    header.reserveCapacity(Self.headerByteCount)
    header += traceID
    header += "-"
    header += spanID
    header += "-"
    header += flags
    traceparent = header
  }

  /// `00-<32 hex>-<16 hex>-<2 hex>`, lower case, ids not all zero (section 3.2).
  package static func parse(_ header: String) -> (traceID: String, parentID: String, flags: String)? {
    let parts = header.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].count == 2, parts[1].count == 32, parts[2].count == 16, parts[3].count == 2 else {
      return nil
    }
    let isHex = parts[0..<4].allSatisfy { $0.allSatisfy(Hexadecimal.isLowercaseDigit) }
    let zero = UInt8(ascii: "0")
    guard isHex, !parts[1].allSatisfy({ $0 == zero }), !parts[2].allSatisfy({ $0 == zero }) else { return nil }
    let version = String(parts[0])
    // Version 00 has exactly four fields; later ones may add some; ff is forbidden.
    guard let version, version != "ff", version != "00" || parts.count == 4 else { return nil }
    guard let traceID = String(parts[1]), let parentID = String(parts[2]), let flags = String(parts[3]) else {
      return nil
    }
    return (traceID, parentID, flags)
  }

  private static let headerByteCount = 55

  /// A new span's id.
  static func newSpanID() -> String { hex(NonSecretRandom.shared.next() | 1) }

  /// 16 digits. Each call that may wait makes three: much cheaper than `String(_:radix:)` and padding.
  private static func hex(_ value: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { digits in
      for index in 0..<16 {
        let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)) & 0xf
        digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
      }
      return 16
    }
  }
}
