public import PosternSupport

/// A resource as callers write it, compared by its bytes: Swift's own comparison takes `é` as one scalar and as two for
/// equal.
public struct ResourceName: Sendable, Hashable {
  /// The resource: an id or an MRSS fragment.
  public let text: String

  /// The resource `text`.
  public init(_ text: String) { self.text = text }

  /// Whether both have the same bytes.
  public static func == (left: ResourceName, right: ResourceName) -> Bool { left.text.hasSameBytes(as: right.text) }

  /// Feeds the bytes.
  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

/// A resource that is an MRSS fragment: the channel's title and the rating, read out of it as text.
///
/// They are additional information for a decision point; the fragment itself remains the resource. Unreadable parts are
/// left out.
struct MRSSResource {
  /// The channel's title.
  let title: String
  /// `media:rating`.
  let rating: String?

  /// Reads `text`; nil when it is no such fragment.
  init?(_ text: String) {
    // Hardly any resource is a fragment; the first byte shows it.
    guard let start = text.utf8.firstIndex(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }),
      text.utf8[start] == UInt8(ascii: "<")
    else { return nil }
    let trimmed = text[start...]
    guard trimmed.utf8.starts(with: "<rss".utf8) || trimmed.utf8.starts(with: "<?xml".utf8),
      let title = Self.content(of: "title", in: trimmed), !title.isEmpty
    else { return nil }
    self.title = title
    rating = Self.content(of: "media:rating", in: trimmed)
  }

  private static func content(of name: String, in text: Substring) -> String? {
    let bytes = Array(text.utf8)
    guard let opening = find("<\(name)", in: bytes, from: 0) else { return nil }
    var start = opening + name.utf8.count + 1
    guard start < bytes.count, bytes[start] == UInt8(ascii: ">") || bytes[start] == UInt8(ascii: " ") else {
      return nil
    }
    while start < bytes.count, bytes[start] != UInt8(ascii: ">") { start += 1 }
    start += 1
    guard start <= bytes.count, let end = find("</\(name)>", in: bytes, from: start) else { return nil }
    let content = bytes[start..<end]
    let marker = Array("<![CDATA[".utf8)
    if content.starts(with: marker), content.count >= marker.count + 3 {
      return String(decoding: content.dropFirst(marker.count).dropLast(3), as: UTF8.self)
    }
    return decoded(String(decoding: content, as: UTF8.self))
  }

  private static func find(_ needle: String, in bytes: [UInt8], from start: Int) -> Int? {
    let needle = Array(needle.utf8)
    guard bytes.count >= needle.count, start <= bytes.count - needle.count else { return nil }
    return (start...(bytes.count - needle.count)).first { bytes[$0] == needle[0] && bytes[$0...].starts(with: needle) }
  }

  /// The five entities that XML itself has; `&amp;` last, so that nothing is decoded twice.
  private static func decoded(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
    let entities = [("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("amp", "&")]
    return entities.reduce(text) { text, entity in
      var result = ""
      var rest = text[...]
      while let range = rest.firstRange(of: "&\(entity.0);") {
        result += rest[..<range.lowerBound] + entity.1
        rest = rest[range.upperBound...]
      }
      return result + rest
    }
  }
}

extension ResourceName: ConciseStringConvertible {
  /// The name.
  public var description: String { Concise.name(text) }
}
