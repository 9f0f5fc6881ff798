import AuthEngine
import JOSE
package import PosternJSON
package import PosternJSONRPC
import PosternProtocol
package import PosternSupport

extension OfflineMethods {
  /// The content of `token` and the reasons for which a validation would reject it, as JSON for people; nothing in it
  /// is trusted.
  package static func inspect(
    _ token: String, issuer: String?, audience: String?, keySet: JSONValue?, clock: some EngineClock
  ) throws(RPCFault) -> JSONValue {
    var expectations = TokenInspector.Expectations(issuer: issuer, audience: audience)
    do throws(JOSEError) {
      expectations.keys = try keySet.map { set throws(JOSEError) in try JWKSet(json: set, origin: .local) }
    } catch {
      throw RPCFault(.jwksInvalid, error.message)
    }
    let inspection = TokenInspector(clock: clock).inspect(token, expecting: expectations)
    var report: JSONObject = ["trusted": false, "looksLike": .string(inspection.kind)]
    if let header = inspection.header { report["header"] = .object(header) }
    if let claims = inspection.claims { report["claims"] = .object(claims) }
    report["signature"] = .string(inspection.signature.rawValue)
    report["wouldFail"] = .array(inspection.findings.map { .object(VerdictResult.error($0)) })
    return .object(report)
  }
}
