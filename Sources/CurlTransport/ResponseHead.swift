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
  /// Whether values that are not UTF-8 keep their bytes, as `FieldOctets` has them.
  var keepsOctets = false
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
  /// The length and the codings of the body.
  private(set) var framing = BodyFraming()
  /// Whether the head of the final response is there.
  var isComplete: Bool { phase == .trailers }

  init(limits: Limits) { self.limits = limits }

  /// Before another response, with the same limits.
  mutating func reset() { self = ResponseHead(limits: limits) }

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

  private mutating func consumeStatusLine(_ text: FieldSyntax.Bytes) -> Step {
    guard FieldSyntax.begins(text, "HTTP/"), let space = text.firstIndex(of: 0x20) else {
      return .malformed("no status line")
    }
    let rest = FieldSyntax.Bytes(rebasing: text[(space + 1)...])
    guard rest.count >= 3, let code = FieldSyntax.number(FieldSyntax.Bytes(rebasing: rest[..<3])),
      rest.count == 3 || rest[3] == 0x20
    else { return .malformed("no status code of three digits") }
    status = code
    guard (100..<600).contains(status) else { return .malformed("a status code outside 100 to 599") }
    let phrase = FieldSyntax.trimmed(rest.dropFirst(4))
    guard FieldSyntax.isValue(phrase) else { return .malformed("a control character in the status line") }
    reason = phrase.isEmpty ? nil : FieldSyntax.string(phrase)
    lines.removeAll(keepingCapacity: true)
    lines.reserveCapacity(16)
    framing = BodyFraming()
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
    return .complete
  }

  // MARK: - Field lines (RFC 9110 section 5, RFC 9112 section 5)

  private mutating func consumeField(_ text: FieldSyntax.Bytes) -> Step {
    if ASCII.isSpace(text[0]) { return consumeFold(text) }
    let counted = count()
    guard counted == .more else { return counted }
    guard let colon = text.firstIndex(of: 0x3A) else { return .malformed("a header line without a colon") }
    let name = FieldSyntax.Bytes(rebasing: text[..<colon])
    guard FieldSyntax.isToken(name) else { return .malformed("a field name that is none") }
    let value = FieldSyntax.trimmed(text[(colon + 1)...])
    guard FieldSyntax.isValue(value) else { return .malformed("a control character in a field value") }
    let fault = framing.inspect(name: name, value: value)
    lines.append(HTTPFields.Field(name: FieldSyntax.string(name), value: string(value)))
    return fault.map { .malformed($0) } ?? .more
  }

  /// An obsolete line folding continues the value before it (RFC 9112 section 5.2).
  private mutating func consumeFold(_ text: FieldSyntax.Bytes) -> Step {
    let more = FieldSyntax.trimmed(text[...])
    guard let field = lines.popLast() else { return .malformed("a folded line with nothing before it") }
    guard FieldSyntax.isValue(more) else { return .malformed("a control character in a field value") }
    // What the transport acts upon was looked at already, without what follows here.
    guard
      !["content-encoding", "content-length", "transfer-encoding"].contains(where: {
        field.name.hasSameASCIILetters(as: $0)
      })
    else { return .malformed("a folded line of a field that frames the body") }
    let value = more.isEmpty ? field.value : "\(field.value) \(string(more))"
    lines.append(HTTPFields.Field(name: field.name, value: value))
    return count()
  }

  private mutating func count() -> Step {
    lineCount += 1
    return lineCount <= limits.lines ? .more : .tooLarge("more than \(limits.lines) header fields")
  }

  // MARK: - Bytes

  private func string(_ value: FieldSyntax.Bytes) -> String {
    keepsOctets ? FieldOctets.text(value) : FieldSyntax.string(value)
  }

  private static func withoutLineEnd(_ line: UnsafeBufferPointer<UInt8>) -> FieldSyntax.Bytes {
    var count = line.count
    if count > 0, line[count - 1] == 0x0A { count -= 1 }
    if count > 0, line[count - 1] == 0x0D { count -= 1 }
    return FieldSyntax.Bytes(rebasing: line[..<count])
  }
}

/// The length and the codings of a response's body, by its fields.
struct BodyFraming {
  /// More codings are not undone: libcurl undoes one after the other, and a few kilobytes that were compressed three
  /// times keep the thread that serves everybody busy for seconds.
  static let maxContentCodings = 2
  /// The framing of an upload (Amazon S3, PutObject). S3 removes it; servers of its kind store its name with the object
  /// and repeat it with each download, where clients reject it as a coding that they do not know.
  private static let uploadCoding: StaticString = "aws-chunked"

  /// The lines of a response without that name.
  func withoutUploadCoding(_ lines: [HTTPFields.Field]) -> [HTTPFields.Field] {
    guard namesUploadCoding else { return lines }
    return lines.compactMap { line in
      guard FieldSyntax.isName(line.name.utf8, "content-encoding") else { return line }
      let codings = line.value.split(atByte: ",").map { HTTPFieldRules.trimmed(String($0)) }
      let others = codings.filter { !FieldSyntax.isName($0.utf8, Self.uploadCoding) }
      return others.isEmpty ? nil : HTTPFields.Field(name: line.name, value: others.joined(separator: ", "))
    }
  }

  /// The declared length of the body.
  private(set) var contentLength: Int?
  /// The content codings other than `identity` that were declared, in lower case (RFC 9110 section 8.4), and none
  /// beyond the first too many.
  private(set) var contentCodings: [String] = []
  /// Whether `aws-chunked` was among them, which is not a coding of the body.
  private(set) var namesUploadCoding = false
  /// Whether a content coding was declared.
  var hasContentCoding: Bool { !contentCodings.isEmpty }
  /// Whether a transfer coding was declared: then the declared length means nothing (RFC 9112 section 6.3).
  private(set) var isChunked = false

  /// Notes the fields the transport itself acts upon; what is wrong with one of them, if anything is.
  ///
  /// A body has no transfer coding but `chunked`: libcurl would undo several, too.
  fileprivate mutating func inspect(
    name: FieldSyntax.Bytes, value: FieldSyntax.Bytes
  ) -> String? {
    switch name.count {
    case 14 where FieldSyntax.isName(name, "content-length"):
      // RFC 9112 section 6.3.
      guard let length = FieldSyntax.number(value), contentLength == nil || contentLength == length else {
        return "contradictory or unreadable Content-Length"
      }
      contentLength = length
    case 16 where FieldSyntax.isName(name, "content-encoding"):
      for coding in value.split(separator: UInt8(ascii: ",")).map(FieldSyntax.trimmed)
      where !coding.isEmpty && !FieldSyntax.isName(coding, "identity") {
        if FieldSyntax.isName(coding, Self.uploadCoding) {
          namesUploadCoding = true
        } else if contentCodings.count <= Self.maxContentCodings {
          contentCodings.append(FieldSyntax.string(coding).lowercasedASCII())
        }
      }
    case 17 where FieldSyntax.isName(name, "transfer-encoding"):
      guard !isChunked, FieldSyntax.isName(value, "chunked") else { return "a transfer coding other than chunked" }
      isChunked = true
    default: break
    }
    return nil
  }
}
