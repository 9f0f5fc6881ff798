import HTTPMessages
import PosternSupport

/// Reads the header section line by line as libcurl hands it over: interim responses dropped, trailers dropped, both
/// counted.
struct ResponseHead {
  /// Bounds of what a peer may send before, between and after bodies.
  struct Limits {
    var bytes: Int
    var lines: Int
    var interim: Int
  }

  /// The outcome of a line.
  enum Step: Equatable {
    /// More lines to come, or a line of no interest.
    case more
    /// The blank line of the final response: `status`, `fields` and the rest are valid.
    case complete
    /// The peer broke HTTP, in the way of the text.
    case malformed(String)
    /// The peer sent more than the limit that the text names.
    case tooLarge(String)
  }

  private enum Phase {
    case status, fields, trailers
  }

  private let limits: Limits
  private var phase = Phase.status
  private var bytes = 0
  private var lineCount = 0
  private var interimCount = 0

  /// The status of the latest response that began; the final one after `complete`.
  private(set) var status = 0
  /// The reason phrase, unless it was empty.
  private(set) var reason: String?
  /// The field lines so far.
  private(set) var lines: [HTTPFields.Field] = []
  /// The declared length of the body.
  private(set) var contentLength: Int?
  /// The content codings other than `identity` that were declared, in lower case (RFC 9110 section 8.4), and none
  /// beyond the first too many.
  private(set) var contentCodings: [String] = []
  /// Whether a content coding was declared.
  var hasContentCoding: Bool { !contentCodings.isEmpty }
  /// More are not undone: libcurl undoes one after the other, and a few kilobytes that were compressed three times keep
  /// the thread that serves everybody busy for seconds.
  private static let maxContentCodings = 2
  /// Whether a transfer coding was declared: then the declared length means nothing (RFC 9112 section 6.3).
  private(set) var isChunked = false
  /// Whether the head of the final response is there.
  var isComplete: Bool { phase == .trailers }

  init(limits: Limits) { self.limits = limits }

  /// Takes one line, its line end included.
  mutating func consume(_ line: UnsafeBufferPointer<UInt8>) -> Step {
    bytes += line.count
    guard bytes <= limits.bytes else { return .tooLarge("more than \(limits.bytes) bytes of header fields") }
    let text = Self.withoutLineEnd(line)
    switch phase {
    case .status: return consumeStatusLine(text)
    case .fields: return text.isEmpty ? finishSection() : consumeField(text)
    case .trailers: return text.isEmpty ? .more : count()
    }
  }

  // MARK: - Status line (RFC 9112 section 4, and libcurl's rendering of HTTP/2)

  private mutating func consumeStatusLine(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Step {
    guard text.starts(with: "HTTP/".utf8), let space = text.firstIndex(of: 0x20) else {
      return .malformed("no status line")
    }
    let rest = text[(space + 1)...]
    let digits = rest.prefix(3)
    guard digits.count == 3, digits.allSatisfy(Self.isDigit), rest.dropFirst(3).first ?? 0x20 == 0x20 else {
      return .malformed("no status code of three digits")
    }
    status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    guard (100..<600).contains(status) else { return .malformed("a status code outside 100 to 599") }
    let phrase = Self.trimmed(rest.dropFirst(4))
    guard !phrase.contains(where: Self.isForbidden) else { return .malformed("a control character in the status line") }
    reason = phrase.isEmpty ? nil : Self.string(phrase)
    lines.removeAll(keepingCapacity: true)
    lines.reserveCapacity(16)
    contentLength = nil
    contentCodings = []
    isChunked = false
    phase = .fields
    return .more
  }

  private mutating func finishSection() -> Step {
    guard status >= 200 else {
      // 101 accepts an upgrade that was not requested: what follows is not HTTP (RFC 9110 section 7.8).
      if status == 101 { return .malformed("a switch of protocols that was not requested") }
      interimCount += 1
      guard interimCount <= limits.interim else { return .malformed("more than \(limits.interim) interim responses") }
      phase = .status
      return .more
    }
    phase = .trailers
    guard contentCodings.count <= Self.maxContentCodings else {
      return .tooLarge("more than \(Self.maxContentCodings) content codings")
    }
    return .complete
  }

  // MARK: - Field lines (RFC 9110 section 5, RFC 9112 section 5)

  private mutating func consumeField(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Step {
    if text[text.startIndex] == 0x20 || text[text.startIndex] == 0x09 { return consumeFold(text) }
    let counted = count()
    guard counted == .more else { return counted }
    guard let colon = text.firstIndex(of: 0x3A) else { return .malformed("a header line without a colon") }
    let name = text[..<colon]
    guard FieldSyntax.isToken(name) else { return .malformed("a field name that is none") }
    let value = Self.trimmed(text[(colon + 1)...])
    guard !value.contains(where: Self.isForbidden) else { return .malformed("a control character in a field value") }
    let fault = inspect(name: name, value: value)
    lines.append(HTTPFields.Field(name: Self.string(name), value: Self.string(value)))
    return fault.map { .malformed($0) } ?? .more
  }

  /// An obsolete line folding continues the value before it (RFC 9112 section 5.2).
  private mutating func consumeFold(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Step {
    let more = Self.trimmed(text)
    guard let field = lines.popLast() else { return .malformed("a folded line with nothing before it") }
    guard !more.contains(where: Self.isForbidden) else { return .malformed("a control character in a field value") }
    // What the transport acts upon was looked at already, without what follows here.
    guard
      !["content-encoding", "content-length", "transfer-encoding"].contains(where: {
        field.name.hasSameASCIILetters(as: $0)
      })
    else { return .malformed("a folded line of a field that frames the body") }
    let value = more.isEmpty ? field.value : "\(field.value) \(Self.string(more))"
    lines.append(HTTPFields.Field(name: field.name, value: value))
    return count()
  }

  /// Notes the fields the transport itself acts upon; what is wrong with one of them, if anything is.
  ///
  /// A body has no transfer coding but `chunked`: libcurl would undo several, too.
  private mutating func inspect(
    name: Slice<UnsafeBufferPointer<UInt8>>, value: Slice<UnsafeBufferPointer<UInt8>>
  ) -> String? {
    switch name.count {
    case 14 where FieldSyntax.isName(name, "content-length"):
      // RFC 9112 section 6.3.
      guard let length = Self.number(value), contentLength == nil || contentLength == length else {
        return "contradictory or unreadable Content-Length"
      }
      contentLength = length
    case 16 where FieldSyntax.isName(name, "content-encoding"):
      for coding in value.split(separator: UInt8(ascii: ",")).map(Self.trimmed)
      where !coding.isEmpty && !FieldSyntax.isName(coding, "identity")
        && contentCodings.count <= Self.maxContentCodings
      {
        contentCodings.append(Self.string(coding).lowercasedASCII())
      }
    case 17 where FieldSyntax.isName(name, "transfer-encoding"):
      guard !isChunked, FieldSyntax.isName(value, "chunked") else { return "a transfer coding other than chunked" }
      isChunked = true
    default: break
    }
    return nil
  }

  private mutating func count() -> Step {
    lineCount += 1
    return lineCount <= limits.lines ? .more : .tooLarge("more than \(limits.lines) header fields")
  }

  // MARK: - Bytes

  private static func withoutLineEnd(_ line: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>> {
    var text = line[...]
    if text.last == 0x0A { text = text.dropLast() }
    if text.last == 0x0D { text = text.dropLast() }
    return text
  }

  private static func trimmed(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>> {
    var text = text
    while let first = text.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
    while let last = text.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
    return text
  }

  private static func number(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
    guard !text.isEmpty, text.count <= 18, text.allSatisfy(isDigit) else { return nil }
    return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  /// NUL, CR and LF inside a value are how responses are split (RFC 9110 section 5.5).
  private static func isForbidden(_ byte: UInt8) -> Bool { byte == 0 || byte == 0x0D || byte == 0x0A }

  /// UTF-8 where it is, otherwise ISO 8859-1, so that no byte is lost.
  private static func string(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> String {
    let bytes = UnsafeBufferPointer(rebasing: text)
    // The usual case first: the validating initialiser is several times slower.
    if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
    if let string = String(validating: bytes, as: UTF8.self) { return string }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
