import PosternJSON
import PosternSupport

/// One member of the traffic, read from its JSON: what it is, and the id even when the rest is broken.
enum Envelope {
  case request(RPCID, method: String, params: JSONTree?)
  case notification(method: String, params: JSONTree?)
  case response(RPCID, Result<JSONValue, PeerError>)
  /// A notification whose params are no object: without an id it gets no response.
  case invalidNotification
  case invalid(RPCID?, RPCFault)

  init(_ json: JSONTree) {
    // Its members borrow from it.
    self = withExtendedLifetime(json) { Self.read(json) }
  }

  /// The members that are of interest.
  private struct Members {
    var isVersion2 = false
    var id: JSONTree.Member?
    var method: JSONTree.Member?
    var params: JSONTree.Member?
    var result: JSONTree.Member?
    var error: JSONTree.Member?

    init(of json: JSONTree) {
      var members = json.members
      while let member = members.next() {
        if member.isNamed("jsonrpc") {
          isVersion2 = member.isString("2.0")
        } else if member.isNamed("id") {
          id = member
        } else if member.isNamed("method") {
          method = member
        } else if member.isNamed("params") {
          params = member
        } else if member.isNamed("result") {
          result = member
        } else if member.isNamed("error") {
          error = member
        }
      }
    }
  }

  private static func read(_ json: JSONTree) -> Envelope {
    guard json.isObject else { return .invalid(nil, RPCFault(.invalidRequest, "A request is a JSON object")) }
    let members = Members(of: json)
    let id = members.id.flatMap(RPCID.init)
    guard members.isVersion2 else {
      return .invalid(id, RPCFault(.invalidRequest, "The member jsonrpc must be \"2.0\""))
    }
    guard let member = members.method else { return response(members, id: id) }
    var name: String?
    guard member.read(&name), let method = name else {
      return .invalid(id, RPCFault(.invalidRequest, "The member method must be a string"))
    }
    if members.id != nil, id == nil {
      return .invalid(nil, RPCFault(.invalidRequest, "An id is a string or an integer"))
    }
    var params: JSONTree?
    if let member = members.params, !member.isNull {
      guard !member.isArray else {
        return rejection(id, .invalidParams("Params go by name: an object, not an array", path: ""))
      }
      guard member.isObject else {
        return rejection(id, RPCFault(.invalidRequest, "The member params must be an object"))
      }
      params = member.tree
    }
    if let id { return .request(id, method: method, params: params) }
    return .notification(method: method, params: params)
  }

  /// The rejection of a request, or of a notification when it has no id.
  private static func rejection(_ id: RPCID?, _ fault: RPCFault) -> Envelope {
    id == nil ? .invalidNotification : .invalid(id, fault)
  }

  private static func response(_ members: Members, id: RPCID?) -> Envelope {
    switch (id, members.result, members.error) {
    case (let id?, let result?, nil): .response(id, .success(result.value))
    case (let id?, nil, let error?): .response(id, .failure(PeerError(error.value)))
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
