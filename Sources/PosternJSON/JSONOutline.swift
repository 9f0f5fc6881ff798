import Glibc
public import PosternSupport

/// Finds the byte ranges of an object's members, or an array's elements, without parsing them: no memory is used for
/// their values. Checks no more than it needs, so that an accepted text may still be no JSON.
public struct JSONOutline {
  /// The position of one member.
  public struct Member {
    /// The range of its name, without the quotation marks.
    public let name: Range<Int>
    /// The range of its value, possibly with white space after it.
    public let value: Range<Int>
  }

  private let text: UnsafeRawBufferPointer
  private var index = 0

  private init(_ text: UnsafeRawBufferPointer) { self.text = text }

  /// The members of the object in `text`; nil when it is no object or has more than `limit` members.
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

  /// The elements of the array in `text`; nil when it is no array or has more than `limit` elements.
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

  /// The next byte that is not white space.
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

  /// The range of one value of any kind, up to the byte that ends it.
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

  /// Skips a string, from its opening to behind its closing quotation mark: the first with an even number of reverse
  /// solidi before it.
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

extension JSONOutline: ConciseStringConvertible {}

extension JSONOutline.Member: ConciseStringConvertible {
  /// The positions.
  public var description: String { "name at \(name.lowerBound), value at \(value.lowerBound)" }
}
