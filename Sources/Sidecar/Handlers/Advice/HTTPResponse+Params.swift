import HTTPMessages
import PosternJSONRPC
import PosternProtocol

extension HTTPResponse {
  /// A response that a caller received elsewhere.
  init(
    status: Int, headers: [String: HeaderValue], body: BodyText?, path: String = ""
  ) throws(RPCFault) {
    guard (100...599).contains(status) else {
      throw .invalidParams("status must be from 100 to 599", path: "\(path)/status")
    }
    var fields = HTTPFields()
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      for value in value.values { fields.append(name, value) }
    }
    self.init(status: status, fields: fields, body: body.map { Array($0.text.utf8) } ?? [])
  }
}
