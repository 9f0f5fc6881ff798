import PosternSupport

/// The W3C trace context of one call (https://www.w3.org/TR/trace-context/). Numbers: text is made of them only for
/// what shows it.
package struct CallTrace: Sendable, Hashable {
  private let high: UInt64
  private let low: UInt64
  private let span: UInt64
  /// The caller's span; 0 when it began no trace.
  private let parent: UInt64
  private let flags: UInt8
  /// Whether the call's spans are exported to a collector.
  let isSampled: Bool

  /// None: for calls that are answered at once and cause nothing upstream.
  package static let none = CallTrace()

  private init() {
    (high, low, span, parent, flags, isSampled) = (0, 0, 0, 0, 0, false)
  }

  /// Continues the caller's trace, or starts one when there is none or it is not valid (as the recommendation
  /// requires).
  ///
  /// With a collector the caller decides whether its trace is sampled, and of traces that start here `ratio` are.
  package init(continuing received: String?, sampling ratio: Double? = nil) {
    let generator = NonSecretRandom.shared
    let parts = received.flatMap(Self.parse)
    high = parts?.high ?? generator.next()
    low = parts?.low ?? generator.next() | 1
    span = generator.next() | 1
    parent = parts?.parent ?? 0
    let begins = ratio.map { Double(generator.next() >> 11) * 0x1p-53 < $0 } ?? false
    flags = parts?.flags ?? (begins ? 1 : 0)
    isSampled = ratio != nil && flags & 1 == 1
  }

  /// Whether the call has no trace.
  package var isNone: Bool { high | low == 0 }

  /// 32 lower-case hex digits; `traceId` in errors and logs. Empty without a trace.
  package var traceID: String {
    guard !isNone else { return "" }
    return String(unsafeUninitializedCapacity: 32) { text in
      Self.write(high, to: text, at: 0)
      Self.write(low, to: text, at: 16)
      return 32
    }
  }

  /// The span that the call is, 16 lower-case hex digits.
  package var spanID: String { Self.text(span) }

  /// The caller's span; nil when it began no trace.
  var parentID: String? { parent == 0 ? nil : Self.text(parent) }

  /// The header to send upstream: a span of ours within the caller's trace, or a new trace. Empty without a trace.
  package var traceparent: String {
    guard !isNone else { return "" }
    return String(unsafeUninitializedCapacity: Self.headerByteCount) { text in
      text.initialize(repeating: UInt8(ascii: "-"))
      Self.write(0, digits: 2, to: text, at: 0)
      Self.write(high, to: text, at: 3)
      Self.write(low, to: text, at: 19)
      Self.write(span, to: text, at: 36)
      Self.write(UInt64(flags), digits: 2, to: text, at: 53)
      return Self.headerByteCount
    }
  }

  /// `00-<32 hex>-<16 hex>-<2 hex>`, lower case, ids not all zero (section 3.2).
  private static func parse(_ header: String) -> (high: UInt64, low: UInt64, parent: UInt64, flags: UInt8)? {
    var header = header
    return header.withUTF8 { text in
      guard text.count >= headerByteCount, [2, 35, 52].allSatisfy({ text[$0] == UInt8(ascii: "-") }),
        let version = number(text[0..<2]), let high = number(text[3..<19]), let low = number(text[19..<35]),
        let parent = number(text[36..<52]), let flags = number(text[53..<55])
      else { return nil }
      guard high | low != 0, parent != 0 else { return nil }
      // Version 00 has exactly four fields; later ones may add some; ff is forbidden.
      let isWhole = text.count == headerByteCount
      guard version != 0xff, isWhole || version != 0 && text[headerByteCount] == UInt8(ascii: "-") else { return nil }
      return (high, low, parent, UInt8(flags))
    }
  }

  /// The number that lower-case digits stand for; nil if there is another byte.
  private static func number(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
    var number: UInt64 = 0
    for byte in text {
      guard Hexadecimal.isLowercaseDigit(byte), let digit = Hexadecimal.value(byte) else { return nil }
      number = number << 4 | UInt64(digit)
    }
    return number
  }

  private static let headerByteCount = 55

  /// A new span's id.
  static func newSpanID() -> String { text(NonSecretRandom.shared.next() | 1) }

  private static func text(_ value: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { text in
      write(value, to: text, at: 0)
      return 16
    }
  }

  /// The last `digits` digits of `value`. Much cheaper than `String(_:radix:)` and padding.
  private static func write(
    _ value: UInt64, digits: Int = 16, to text: UnsafeMutableBufferPointer<UInt8>, at start: Int
  ) {
    for index in 0..<digits {
      let digit = UInt8(truncatingIfNeeded: value >> UInt64(4 * (digits - 1 - index))) & 0xf
      text[start + index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
  }
}
