import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension CallMeta {
  /// Takes `meta` out of the params, so that methods see only what is theirs.
  static func split(_ params: JSONTree?) throws(RPCFault) -> (CallMeta, JSONTree?) {
    guard let (meta, rest) = params?.split(off: "meta") else { return (CallMeta(), params) }
    guard !meta.isNull else { return (CallMeta(), rest) }
    do throws(JSONDecodingError) {
      let meta = try JSONValueDecoder().decode(CallMeta.self, from: meta)
      if let timeout = meta.timeoutMs, timeout < 1 {
        throw JSONDecodingError(path: "/timeoutMs", problem: .invalid("must be at least 1"))
      }
      return (meta, rest)
    } catch {
      throw RPCFault(JSONDecodingError(path: "/meta" + error.path, problem: error.problem))
    }
  }
}
