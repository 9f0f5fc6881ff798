import PosternJSON

/// The ids and methods of a large message, read from its envelope without the params.
///
/// It decides nothing by itself. What it does not understand is nil: then the whole message is parsed.
struct EnvelopeOutline {
  /// Parsing a smaller message costs no more than rejecting it.
  static let threshold = 4096
  /// An envelope has four members, and a few unknown ones do no harm.
  private static let members = 8
  /// The longest of the members that are read.
  private static let memberBytes = 4096

  /// The methods that are called.
  private(set) var methods: [String] = []
  /// The message without params.
  private(set) var json = JSONValue.null

  /// Reads one request or a batch of them.
  init?(_ text: UnsafeRawBufferPointer, limits: ConversationLimits) {
    guard let elements = JSONOutline.elements(of: text, atMost: limits.batch) else {
      guard let request = request(text) else { return nil }
      json = request
      return
    }
    var requests: [JSONValue] = []
    for element in elements {
      guard let request = request(UnsafeRawBufferPointer(rebasing: text[element])) else { return nil }
      requests.append(request)
    }
    guard !requests.isEmpty else { return nil }
    json = .array(requests)
  }

  private mutating func request(_ text: UnsafeRawBufferPointer) -> JSONValue? {
    guard let members = JSONOutline.members(of: text, atMost: Self.members) else { return nil }
    var request = JSONObject()
    for member in members {
      // With its quotation marks.
      let quoted = (member.name.lowerBound - 1)..<(member.name.upperBound + 1)
      guard let name = Self.value(text, quoted)?.stringValue, request[name] == nil else { return nil }
      if name == "params" {
        request[name] = .null
      } else {
        guard let value = Self.value(text, member.value) else { return nil }
        request[name] = value
      }
    }
    // Names that begin so are the session's own matter.
    guard let method = request["method"]?.stringValue, !method.utf8.starts(with: "$/".utf8) else { return nil }
    methods.append(method)
    return .object(request)
  }

  private static func value(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) -> JSONValue? {
    let parser = JSONParser(maxBytes: memberBytes, maxDepth: 8, allowsNUL: true, allowsScalar: true)
    return try? parser.parse(UnsafeRawBufferPointer(rebasing: text[range]))
  }
}
