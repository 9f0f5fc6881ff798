public import PosternJSON

/// A protected header whose general rules have been checked: one JSON object, `alg` there, the parameters everybody
/// reads of the right type, and nothing critical that is not understood.
///
/// `jwk`, `jku`, `x5u` and `x5c` in it never select or supply a key: they are the sender's word about himself
/// (CVE-2018-0114).
public struct JOSEHeader: Sendable {
  /// All parameters as they came.
  public let parameters: JSONObject
  /// `alg`.
  public let algorithm: String
  /// `kid`: data, never part of a path, a URL or a query.
  public let keyID: String?
  /// `typ`.
  public let type: String?
  /// `cty`.
  public let contentType: String?

  /// Checks the parameters of a header.
  public init(parameters: JSONObject) throws(JOSEError) {
    guard let algorithm = parameters["alg"]?.stringValue else {
      throw JOSEError(.malformedToken, "alg is missing or not a string", claim: "alg")
    }
    self.parameters = parameters
    self.algorithm = algorithm
    keyID = try Self.optionalString("kid", in: parameters)
    type = try Self.optionalString("typ", in: parameters)
    contentType = try Self.optionalString("cty", in: parameters)
    try Self.checkCritical(parameters)
  }

  private static func optionalString(_ name: String, in parameters: JSONObject) throws(JOSEError) -> String? {
    guard let value = parameters[name] else { return nil }
    guard let text = value.stringValue else {
      throw JOSEError(.malformedToken, "\(name) is not a string", claim: name)
    }
    return text
  }
}
