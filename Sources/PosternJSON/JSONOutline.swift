import Glibc

/// Finds where the members of an object, or the elements of an array, stand in a text, without reading what is in them:
/// no memory is used for their values. It checks no more than it needs; a text it takes may still be no JSON.
public struct JSONOutline {
  /// Where one member stands.
  public struct Member {
    /// Its name, between the quotation marks.
    public let name: Range<Int>
    /// Its value, perhaps with white space behind it.
    public let value: Range<Int>
  }

  private let text: UnsafeRawBufferPointer
  private var index = 0

  private init(_ text: UnsafeRawBufferPointer) { self.text = text }

  /// The members of the object that `text` is; nil when it is none, or has more than `limit`.
  public static func members(of text: UnsafeRawBufferPointer, atMost limit: Int) -> [Member]? {
    var outline = JSONOutline(text)
    guard outline.take("{") else { return nil }
    var members: [Member] = []
    if outline.take("}") { return members }
    while members.count < limit {
      guard outline.peek() == UInt8(ascii: "\"") else { return nil }
      let start = outline.index
      guard outline.skipString() else { return nil }
      let name = (start + 1)..<(outline.index - 1)
      guard outline.take(":"), let value = outline.value() else { return nil }
      members.append(Member(name: name, value: value))
      if outline.take("}") { return members }
      guard outline.take(",") else { return nil }
    }
    return nil
  }

  /// The elements of the array that `text` is; nil when it is none, or has more than `limit`.
  public static func elements(of text: UnsafeRawBufferPointer, atMost limit: Int) -> [Range<Int>]? {
    var outline = JSONOutline(text)
    guard outline.take("[") else { return nil }
    var elements: [Range<Int>] = []
    if outline.take("]") { return elements }
    while elements.count < limit {
      guard let value = outline.value() else { return nil }
      elements.append(value)
      if outline.take("]") { return elements }
      guard outline.take(",") else { return nil }
    }
    return nil
  }

  /// The next byte that is no white space.
  private mutating func peek() -> UInt8? {
    while index < text.count {
      let byte = text[index]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      index += 1
    }
    return nil
  }

  private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: wanted) else { return false }
    index += 1
    return true
  }

  /// One value of any kind: up to what may follow one.
  private mutating func value() -> Range<Int>? {
    guard peek() != nil else { return nil }
    let start = index
    var depth = 0
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "\""):
        guard skipString() else { return nil }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        index += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard depth > 0 else { return start < index ? start..<index : nil }
        depth -= 1
        index += 1
      case UInt8(ascii: ",") where depth == 0: return start < index ? start..<index : nil
      default: index += 1
      }
    }
    return nil
  }

  /// From the quotation mark at hand behind the one that ends the string: it has an even number of reverse solidi
  /// before it.
  private mutating func skipString() -> Bool {
    guard let base = text.baseAddress else { return false }
    let first = index + 1
    index = first
    while index < text.count, let found = memchr(base + index, Int32(UInt8(ascii: "\"")), text.count - index) {
      let quote = UnsafeRawPointer(found) - base
      var before = quote
      while before > first, text[before - 1] == UInt8(ascii: "\\") { before -= 1 }
      index = quote + 1
      if (quote - before) % 2 == 0 { return true }
    }
    return false
  }
}
