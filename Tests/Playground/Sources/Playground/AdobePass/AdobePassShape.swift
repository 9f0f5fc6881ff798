import PosternJSON

/// Answers to a request for decisions as they have been recorded, each good for one.
enum AdobePassShape: String, Sendable, CaseIterable {
  /// 401 with an empty body.
  case unauthorized
  /// 401 `access_token_expired`, with the action of the first published edition: `application-registration`.
  case staleToken
  /// 401 `invalid_access_token_client_application`.
  case foreignClient
  /// 429 with a page.
  case throttled
  /// 200 with a page.
  case html
  /// 200 with JSON that is cut off.
  case truncated
  /// 200 with an empty list.
  case emptyList
  /// 200 with an error in place of decisions.
  case errorAsSuccess
  /// 451 with text.
  case unavailableForLegalReasons
  /// 500 with an error.
  case internalError
  /// 502 with a page.
  case badGateway
  /// 400 about the MVPD.
  case unknownMVPD
  /// 403: no user has logged in on the device.
  case noLogin
  /// 403 `too_many_resources`, whatever their number.
  case tooMany

  /// The answer.
  func reply(_ values: AdobePassSettings.Values) -> Reply {
    let page = Array("<html><head><title>openresty</title></head><body>openresty</body></html>\r\n".utf8)
    switch self {
    case .unauthorized: return Reply(status: 401)
    case .staleToken:
      return AdobePassError("access_token_expired", 401, "application-registration").reply(values.errorShape)
    case .foreignClient:
      return AdobePassError("invalid_access_token_client_application", 401, "application-registration")
        .reply(values.errorShape)
    case .throttled:
      let headers = values.retryAfterSeconds.map { [("retry-after", "\($0)")] } ?? []
      return Reply(status: 429, type: "text/html", bytes: page, headers: headers)
    case .html: return Reply(type: "text/html", bytes: page)
    case .truncated:
      return Reply(type: "application/json", bytes: Array(#"{"decisions":[{"resource":"a","authorized":tr"#.utf8))
    case .emptyList: return Reply(json: ["decisions": []])
    case .errorAsSuccess:
      var reply = AdobePassError("invalid_parameter_mvpd", 400, "none").reply(values.errorShape)
      reply.status = 200
      return reply
    case .unavailableForLegalReasons:
      return Reply(
        status: 451, type: "text/plain", bytes: Array("Unavailable For Legal Reasons".utf8),
        headers: [("adobe-request-id", "request-451")])
    case .internalError: return AdobePassError("internal_server_error", 500, "none").reply(values.errorShape)
    case .badGateway: return Reply(status: 502, type: "text/html", bytes: page)
    case .unknownMVPD: return AdobePassError("invalid_parameter_mvpd", 400, "none").reply(values.errorShape)
    case .noLogin:
      return AdobePassError("authenticated_profile_missing", 403, "authentication").reply(values.errorShape)
    case .tooMany: return AdobePassError("too_many_resources", 403, "configuration").reply(values.errorShape)
    }
  }
}
