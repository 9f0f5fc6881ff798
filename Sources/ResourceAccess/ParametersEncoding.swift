/// How parameters become a body.
public enum ParametersEncoding: String, Sendable, Hashable, CaseIterable {
  /// `application/json`.
  case json
  /// `application/x-www-form-urlencoded`.
  case formURL = "formUrl"
}
