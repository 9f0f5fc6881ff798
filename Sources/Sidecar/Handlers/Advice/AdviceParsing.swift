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
      source: finding.map { ParseAdvice.Source($0.source) })
  }

  /// A response that a caller received elsewhere; `path` is its path in the params.
  static func response(_ params: ParseAdvice.Params, path: String = "") throws(RPCFault) -> HTTPResponse {
    try HTTPResponse(status: params.status, headers: params.headers, body: params.body, path: path)
  }
}

extension ParseAdvice.Source {
  fileprivate init(_ source: AdviceFinding.Source) {
    self =
      switch source {
      case .header: .header
      case .redirect: .redirect
      case .body: .body
      }
  }
}
