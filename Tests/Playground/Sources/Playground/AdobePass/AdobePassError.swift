import PosternJSON

/// An enhanced error.
struct AdobePassError: Error, Sendable {
  let code: String
  let status: Int
  let action: String
  /// Text of the provider or operator.
  var details: String?

  init(_ code: String, _ status: Int, _ action: String, details: String? = nil) {
    self.code = code
    self.status = status
    self.action = action
    self.details = details
  }

  /// An error of the published table, with its status and action; 400 and `none` for another code.
  init(_ code: String) {
    let row = Self.rows.first { $0.codes.contains(code) }
    self.init(code, row?.status ?? 400, row?.action ?? "none")
  }

  /// The error as an object.
  var json: JSONValue {
    var json: JSONObject = [
      "action": .string(action), "status": .integer(Int64(status)), "code": .string(code),
      "message": .string("The double reports \(code)."), "helpUrl": "https://playground.test/errors",
      "trace": .string("trace-\(code)"),
    ]
    if let details { json["details"] = .string(details) }
    return .object(json)
  }

  /// The error as the answer to a whole request.
  func reply(_ shape: AdobePassSettings.ErrorShape) -> Reply {
    let document: JSONValue =
      switch shape {
      case .bare: json
      case .error: ["error": json]
      case .errors: ["errors": [json]]
      }
    return Reply(status: status, json: document)
  }

  private struct Row {
    let status: Int
    let action: String
    let codes: Set<String>
  }

  /// The published table, but for what has 400 and `none`.
  private static let rows = [
    Row(
      status: 403, action: "none",
      codes: [
        "preauthorization_denied_by_mvpd", "authorization_denied_by_mvpd", "authorization_denied_by_parental_controls",
        "authorization_denied_by_degradation_rule",
      ]),
    Row(status: 500, action: "none", codes: ["internal_server_error"]),
    Row(status: 403, action: "configuration", codes: ["too_many_resources"]),
    Row(
      status: 500, action: "configuration",
      codes: [
        "invalid_configuration_user_metadata_certificate", "invalid_configuration_temporary_access",
        "invalid_configuration_platform", "invalid_configuration_platform_id", "invalid_configuration_platform_trait",
        "invalid_configuration_platform_category_trait", "invalid_configuration_platform_services",
        "invalid_configuration_mvpd_platform", "invalid_configuration_mvpd_platform_boarding_status",
        "invalid_configuration_mvpd_platform_profile_exchange",
      ]),
    Row(
      status: 401, action: "application-registration",
      codes: [
        "access_token_expired", "invalid_access_token_service_provider", "invalid_access_token_client_application",
      ]),
    Row(
      status: 403, action: "authentication",
      codes: [
        "authenticated_profile_missing", "authenticated_profile_expired", "authenticated_profile_invalidated",
        "temporary_access_duration_limit_exceeded", "temporary_access_resources_limit_exceeded",
        "authorization_denied_by_hba_policies", "authorization_denied_by_session_invalidated",
        "identity_not_recognized_by_mvpd",
      ]),
    Row(
      status: 403, action: "retry",
      codes: ["network_received_error", "network_connection_timeout", "maximum_execution_time_exceeded"]),
  ]
}
