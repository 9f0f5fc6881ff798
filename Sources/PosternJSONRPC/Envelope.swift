import PosternJSON
import PosternSupport

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

/// The error with which the caller answered a request of ours.
public struct PeerError: Error, Sendable {
  /// The caller's code, where it gave one.
  public let code: Int64?
  /// The caller's message, where it gave one.
  public let message: String?

  init(_ json: JSONValue) {
    code = json["code"]?.integerValue
    message = json["message"]?.stringValue
  }

  init(message: String) {
    code = nil
    self.message = message
  }
}
