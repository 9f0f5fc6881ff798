import AuthEngine
import HTTPMessages
import JSONRPC
import Protocol

/// `parseAdvice`.
enum AdviceParsing {
  static func parse(_ params: ParseAdvice.Params) throws(RPCFault) -> ParseAdvice.Result {
    let response = try HTTPResponse(status: params.status, headers: params.headers, body: params.body)
    let finding = AdviceRecognizer(scope: .everyAnswer).finding(in: response)
    return ParseAdvice.Result(
      advices: (finding?.advices ?? []).map { PolicyAdviceDescription($0) },
      source: finding.flatMap { ParseAdvice.Source(rawValue: $0.source.rawValue) })
  }
}
