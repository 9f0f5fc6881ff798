import JOSE
import PosternJSON
import PosternSupport

/// A signed token that has been parsed and not verified; the checks of encoding and types end here.
struct TokenReading: Sendable {
  let jws: CompactJWS
  let claims: JWTClaims
  /// An error of the header other than its encoding, which is reported in the order of the header's checks.
  let headerFault: JOSEError?

  /// Parses `token`: `token_too_large`, `malformed_token`, `duplicate_claim` or `invalid_claim_type`.
  init(_ token: OpenedToken, stringClaims: [String] = [], limits: TokenLimits) throws(JOSEError) {
    let fault: JOSEError?
    do throws(JOSEError) {
      let serialization =
        if let known = token.serialization { known } else { try CompactSerialization(token.text, limits: limits) }
      jws = try CompactJWS(serialization, limits: limits)
      fault = nil
    } catch {
      (jws, fault) = (try Self.readable(token.text, but: error, limits: limits), error)
    }
    // An unsecured token fails by its algorithm, and not by its missing signature.
    headerFault = fault?.code == .unsupportedCrit ? fault : nil
    claims = try JWTClaims(jws.unverifiedClaims())
    for name in stringClaims {
      guard claims.members[name]?.stringValue != nil || claims.members[name] == nil else {
        throw JOSEError(.invalidClaimType, "\(name) is not a string", claim: name)
      }
    }
  }

  /// Returns a substitute for a token that cannot be parsed because of its header: the checks that come before the
  /// header's still see the rest of it. Rethrows `fault` where it is one of encoding.
  private static func readable(
    _ token: String, but fault: JOSEError, limits: TokenLimits
  ) throws(JOSEError) -> CompactJWS {
    switch fault.code {
    case .unsupportedCrit where fault.claim != "b64":
      return try CompactJWS(
        withoutExtensions(token, limits: limits, else: fault), limits: TokenLimits(maxBytes: limits.maxBytes * 2))
    case .malformedToken where token.utf8.last == UInt8(ascii: "."):
      // RFC 7518 section 3.6: the empty signature belongs to `none`, whatever its spelling.
      guard let unsigned = try? CompactJWS(token + "AA", limits: limits),
        unsigned.header.algorithm.hasSameASCIILetters(as: "none")
      else { throw fault }
      return unsigned
    default: throw fault
    }
  }

  /// Returns the token with a header without `crit` and `b64`.
  private static func withoutExtensions(
    _ token: String, limits: TokenLimits, else fault: JOSEError
  ) throws(JOSEError) -> String {
    let parser = JSONParser(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth)
    guard let dot = token.utf8.firstIndex(of: UInt8(ascii: ".")),
      let text = Base64URL.decode(String(token[..<dot])),
      var parameters = (try? parser.parse(text))?.objectValue, parameters["b64"] == nil
    else { throw fault }
    parameters["crit"] = nil
    return Base64URL.string(JSONWriter().write(.object(parameters))) + token[dot...]
  }
}
