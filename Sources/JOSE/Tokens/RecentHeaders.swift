import Glibc
import PosternSupport

/// The headers that were parsed last, by their text: the tokens of one issuer have the same few headers, and parsing
/// one is half of what reading a token costs.
///
/// Parsing depends on the text and the limits alone, both of which are compared whole. Few and small, whoever sends
/// them.
final class RecentHeaders: Sendable {
  /// Those of this process.
  static let shared = RecentHeaders()

  private static let capacity = 8
  private static let maximumByteCount = 512

  private struct Entry {
    let text: [UInt8]
    let limits: TokenLimits
    let header: JOSEHeader
  }

  private struct State {
    var entries: [Entry] = []
    var oldest = 0
  }

  private let state = Locked(State())

  /// The header of `text`, parsed with `parse` unless it is one of the last.
  func header(
    of text: RawSpan, limits: TokenLimits, parse: () throws(JOSEError) -> JOSEHeader
  ) throws(JOSEError) -> JOSEHeader {
    guard text.byteCount > 0, text.byteCount <= Self.maximumByteCount else { return try parse() }
    let known = text.withUnsafeBytes { text in
      state.withLock { state in
        state.entries.first { $0.limits == limits && Self.isSame($0.text, text) }?.header
      }
    }
    if let known { return known }
    let header = try parse()
    let entry = Entry(text: text.withUnsafeBytes { Array($0) }, limits: limits, header: header)
    state.withLock { state in
      guard state.entries.count == Self.capacity else { return state.entries.append(entry) }
      state.entries[state.oldest] = entry
      state.oldest = (state.oldest + 1) % Self.capacity
    }
    return header
  }

  private static func isSame(_ kept: [UInt8], _ text: UnsafeRawBufferPointer) -> Bool {
    guard kept.count == text.count, let text = text.baseAddress else { return false }
    return memcmp(kept, text, kept.count) == 0
  }
}
