import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension CallMeta {
  /// Takes `meta` out of the params, so that methods see only what is theirs.
  static func split(_ params: JSONValue?) throws(RPCFault) -> (CallMeta, JSONValue?) {
    guard case .object(var object)? = params, let meta = object["meta"] else { return (CallMeta(), params) }
    object["meta"] = nil
    guard meta != .null else { return (CallMeta(), .object(object)) }
    do throws(JSONDecodingError) {
      let meta = try JSONValueDecoder().decode(CallMeta.self, from: meta)
      if let timeout = meta.timeoutMs, timeout < 1 {
        throw JSONDecodingError(path: "/timeoutMs", problem: .invalid("must be at least 1"))
      }
      return (meta, .object(object))
    } catch {
      throw RPCFault(JSONDecodingError(path: "/meta" + error.path, problem: error.problem))
    }
  }
}
