import PosternJSON

extension JOSEHeader {
  /// The names that RFC 7515, 7516 and 7518 define: they must be understood anyway and must not be listed in `crit`.
  private static let registeredNames: Set<String> = [
    "alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit", "enc", "zip", "epk", "apu",
    "apv",
    "iv", "tag", "p2s", "p2c",
  ]

  /// RFC 7515 section 4.1.11: `crit` is a non-empty array of distinct names of extensions, each there in the header and
  /// each understood. No extension is understood here, so that a well-formed `crit` is refused as well; `b64` (RFC
  /// 7797) in particular, whose unencoded payload JWTs must not have (its section 7).
  static func checkCritical(_ parameters: JSONObject) throws(JOSEError) {
    if let unencoded = parameters["b64"], unencoded != .bool(true) {
      throw JOSEError(.unsupportedCrit, "unencoded payloads are not supported", claim: "b64")
    }
    guard let value = parameters["crit"] else { return }
    guard let names = value.arrayValue?.map(\.stringValue), !names.isEmpty, !names.contains(nil) else {
      throw JOSEError(.unsupportedCrit, "crit is not a non-empty array of strings", claim: "crit")
    }
    let present = names.compactMap { $0 }
    guard Set(present).count == present.count, registeredNames.isDisjoint(with: present),
      present.allSatisfy({ parameters[$0] != nil })
    else {
      throw JOSEError(.unsupportedCrit, "crit repeats a name, or names a registered or absent parameter", claim: "crit")
    }
    throw JOSEError(.unsupportedCrit, "crit names an extension that is not understood", claim: "crit")
  }
}
