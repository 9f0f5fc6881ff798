import AuthEngine
import HTTPMessages
import PosternJSONRPC
import PosternProtocol

/// `parseAdvice`.
enum AdviceParsing {
  static func parse(_ params: ParseAdvice.Params) throws(RPCFault) -> ParseAdvice.Result {
    let response = try response(params)
    let finding = AdviceRecognizer(scope: .everyAnswer).finding(in: response)
    return ParseAdvice.Result(
      advices: (finding?.advices ?? []).map { PolicyAdviceDescription($0) },
      source: finding?.source)
  }

  /// A response that a caller received elsewhere; `path` is its path in the params.
  static func response(_ params: ParseAdvice.Params, path: String = "") throws(RPCFault) -> HTTPResponse {
    guard (100...599).contains(params.status) else {
      throw .invalidParams("status must be from 100 to 599", path: "\(path)/status")
    }
    var fields = HTTPFields()
    for (name, value) in params.headers.sorted(by: { $0.key < $1.key }) {
      for value in value.values { fields.append(name, value) }
    }
    return HTTPResponse(
      status: params.status, fields: fields, body: params.body.map { Array($0.text.utf8) } ?? [])
  }
}
