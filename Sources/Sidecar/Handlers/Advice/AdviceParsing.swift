import AuthEngine
import HTTPMessages
import JSONRPC
import Protocol

/// `parseAdvice`.
enum AdviceParsing {
  static func parse(_ params: ParseAdvice.Params) throws(RPCFault) -> ParseAdvice.Result {
    let response = try response(params)
    let finding = AdviceRecognizer(scope: .everyAnswer).finding(in: response)
    return ParseAdvice.Result(
      advices: (finding?.advices ?? []).map { PolicyAdviceDescription($0) },
      source: finding.flatMap { ParseAdvice.Source(rawValue: $0.source.rawValue) })
  }

  /// A response that a caller got elsewhere; `path` is where it stands in the call.
  static func response(_ params: ParseAdvice.Params, path: String = "") throws(RPCFault) -> HTTPResponse {
    try HTTPResponse(status: params.status, headers: params.headers, body: params.body, path: path)
  }
}
