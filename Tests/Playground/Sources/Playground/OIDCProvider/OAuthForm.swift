/// The form of a request to an OAuth endpoint (RFC 6749 section 3.2, appendix B).
enum OAuthForm {
  /// Parameters that may occur more than once: RFC 8707 section 2, RFC 8693 section 2.1.
  private static let repeatable: Set<String> = ["audience", "resource"]

  /// The parameters of `request`.
  static func parse(_ request: Request) throws(OAuthError) -> FormParameters {
    guard request.mediaType == "application/x-www-form-urlencoded" else {
      throw OAuthError(.invalidRequest, "the body must be application/x-www-form-urlencoded")
    }
    guard let form = FormParameters(parsing: request.body) else {
      throw OAuthError(.invalidRequest, "the form is malformed")
    }
    guard !form.repeats(except: repeatable) else {
      throw OAuthError(.invalidRequest, "a parameter occurs more than once")
    }
    return form
  }
}
