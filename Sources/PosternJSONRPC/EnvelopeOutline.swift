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
  init?(_ text: UnsafeRawBufferPointer, limits: SessionLimits) {
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

/// One member of the traffic, read from its JSON: what it is, and the id even when the rest is broken.
enum Envelope {
  case request(RPCID, method: String, params: JSONValue?)
  case notification(method: String, params: JSONValue?)
  case response(RPCID, Result<JSONValue, PeerError>)
  /// A notification whose params are no object: without an id it gets no response.
  case invalidNotification
  case invalid(RPCID?, RPCFault)

  init(_ json: JSONValue) {
    guard case .object(let object) = json else {
      self = .invalid(nil, RPCFault(.invalidRequest, "A request is a JSON object"))
      return
    }
    let id = object["id"].flatMap(RPCID.init)
    guard object["jsonrpc"] == .string("2.0") else {
      self = .invalid(id, RPCFault(.invalidRequest, "The member jsonrpc must be \"2.0\""))
      return
    }
    guard let method = object["method"] else {
      self = Self.response(object, id: id)
      return
    }
    guard case .string(let method) = method, !method.utf8.contains(0) else {
      self = .invalid(id, RPCFault(.invalidRequest, "The member method must be a string"))
      return
    }
    if object["id"] != nil, id == nil {
      self = .invalid(nil, RPCFault(.invalidRequest, "An id is a string or an integer"))
      return
    }
    let params: JSONValue?
    switch object["params"] {
    case nil, .null?: params = nil
    case .object(let members)?: params = .object(members)
    case .array?:
      self = Self.rejection(id, .invalidParams("Params go by name: an object, not an array", path: ""))
      return
    default:
      self = Self.rejection(id, RPCFault(.invalidRequest, "The member params must be an object"))
      return
    }
    self =
      if let id { .request(id, method: method, params: params) } else { .notification(method: method, params: params) }
  }

  /// The rejection of a request, or of a notification when it has no id.
  private static func rejection(_ id: RPCID?, _ fault: RPCFault) -> Envelope {
    id == nil ? .invalidNotification : .invalid(id, fault)
  }

  private static func response(_ object: JSONObject, id: RPCID?) -> Envelope {
    switch (id, object["result"], object["error"]) {
    case (let id?, let result?, nil): .response(id, .success(result))
    case (let id?, nil, let error?): .response(id, .failure(PeerError(error)))
    default: .invalid(id, RPCFault(.invalidRequest, "The member method is missing"))
    }
  }
}
