package import PosternJSON
import PosternSupport

/// Reads enhanced errors, as leniently as servers write them.
package enum EnhancedError {
  /// The maximum length in bytes of a text that is passed on.
  package static let maxTextBytes = 4096
  /// The actions that are published.
  package static let actions: Set<String> = [
    "none", "configuration", "application-registration", "authentication", "authorization", "degradation", "retry",
    "retry-after",
  ]

  /// Returns the error in `document`: the document itself, `error`, or the first of `errors`; nil when none has a code.
  /// `status` is used where the error has none.
  package static func read(in document: JSONValue, status: Int, trace: String? = nil) -> Status? {
    let candidates = [document, document["error"], document["errors"]?.arrayValue?.first]
    return candidates.lazy.compactMap { $0 }.compactMap { read($0, status: status, trace: trace) }.first
  }

  /// Reads one error; nil when it has no code.
  package static func read(_ error: JSONValue, status: Int, trace: String? = nil) -> Status? {
    guard let code = error["code"]?.stringValue, !code.isEmpty else { return nil }
    let known = EnhancedErrorTable[code]
    func text(_ name: String) -> String? { error[name]?.stringValue.map(shortened) }
    // 0 would mean that the decision point did not answer.
    let given = error["status"]?.integerValue.flatMap { (1...999).contains($0) ? Int($0) : nil }
    return Status(
      status: given ?? (status >= 400 ? status : known?.status ?? 403), code: shortened(code),
      action: text("action") ?? known?.action ?? "none", message: text("message") ?? "", details: text("details"),
      helpURL: text("helpUrl"), trace: text("trace") ?? trace)
  }

  /// Whether the error means that there is no decision, and not that the decision is a deny.
  package static func isFault(_ status: Status) -> Bool {
    status.action == "retry" || status.action == "retry-after" || status.status >= 500 || status.status == 429
  }

  /// Returns the verdict for an error of one resource.
  package static func verdict(_ status: Status) -> DecisionVerdict {
    guard isFault(status) else { return .deny(status, lifetime: nil) }
    let isRetryable = status.action == "retry" || status.action == "retry-after"
    return .fault(DecisionFault(status, retry: isRetryable ? .after(nil) : .never, isWhole: false))
  }

  /// Returns at most `maxTextBytes` bytes of `text`, cut between Unicode scalars.
  package static func shortened(_ text: String) -> String {
    guard text.utf8.count > maxTextBytes else { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: maxTextBytes)
    while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }
}

/// The known codes of enhanced errors, with the status and the action that are published for them.
///
/// They complete errors that a decision point sends without them. Where editions differ, the newest counts; what the
/// decision point sends takes precedence, and unknown codes pass through.
package enum EnhancedErrorTable {
  /// One row.
  package struct Row: Sendable, Hashable {
    package let status: Int
    package let action: String
  }

  /// Returns the row of `code`; nil when it is not known.
  package static subscript(code: String) -> Row? { rows[code] }

  /// All known codes.
  static var codes: [String] { Array(rows.keys) }

  private static let rows: [String: Row] = {
    var rows: [String: Row] = [:]
    for (status, action, codes) in groups {
      for code in codes.split(atByte: " ") { rows[String(code)] = Row(status: status, action: action) }
    }
    return rows
  }()

  private static let groups: [(Int, String, String)] = [
    // The first published edition; the rows below override it.
    (
      400, "none",
      """
      bad_request invalid_client_time invalid_custom_scheme invalid_domain invalid_header invalid_parameter_value \
      invalid_resource_value missing_authentication_header missing_resource_mapping unsupported_client_version \
      unknown_programmer unknown_application
      """
    ),
    (404, "none", "invalid_registration_code"),
    (405, "none", "invalid_http_method"),
    (500, "none", "invalid_service_configuration"),
    (
      503, "none",
      "individualization_service_unavailable registration_code_service_unavailable service_unavailable"
    ),
    (403, "none", "authorization_denied_by_programmer preauthorization_denied_by_programmer network_required_ssl"),
    (401, "none", "unknown_software_statement"),
    (401, "application-registration", "access_token_expired invalid_access_token_signature invalid_client_id"),
    (403, "authorization", "device_identifier_mismatch"),
    (403, "retry", "network_connection_failure"),
    (429, "retry-after", "too_many_requests user_rate_limit_exceeded"),
    // REST v1 and the SDKs.
    (
      400, "none",
      "invalid_requestor invalid_device_info invalid_device_id missing_resource malformed_authz_request"
    ),
    (500, "none", "internal_error"),
    (400, "configuration", "unknown_integration"),
    (400, "authentication", "authentication_session_issuer_mismatch"),
    (
      403, "authentication",
      "authentication_session_invalidated authentication_session_missing authentication_session_expired"
    ),
    (
      412, "authentication",
      "preauthorization_authentication_session_missing preauthorization_authentication_session_expired"
    ),
    (403, "authorization", "authorization_not_found"),
    (410, "authorization", "authorization_expired"),
    // REST v2.
    (
      400, "none",
      """
      invalid_parameter_service_provider invalid_parameter_mvpd invalid_parameter_code invalid_parameter_resources \
      invalid_parameter_redirect_url invalid_parameter_partner invalid_parameter_saml_response \
      invalid_header_device_info invalid_header_device_identifier invalid_header_identity_for_temporary_access \
      invalid_header_pfs_permission_access_not_present invalid_header_pfs_permission_access_not_determined \
      invalid_header_pfs_permission_access_not_granted invalid_header_pfs_provider_id_not_determined \
      invalid_header_pfs_provider_id_mismatch invalid_header_pfs_provider_info_expired invalid_integration \
      invalid_authentication_session
      """
    ),
    (
      403, "none",
      """
      preauthorization_denied_by_mvpd authorization_denied_by_mvpd authorization_denied_by_parental_controls \
      authorization_denied_by_degradation_rule
      """
    ),
    (500, "none", "internal_server_error"),
    (403, "configuration", "too_many_resources"),
    (
      500, "configuration",
      """
      invalid_configuration_user_metadata_certificate invalid_configuration_temporary_access \
      invalid_configuration_platform invalid_configuration_platform_id invalid_configuration_platform_trait \
      invalid_configuration_platform_category_trait invalid_configuration_platform_services \
      invalid_configuration_mvpd_platform invalid_configuration_mvpd_platform_boarding_status \
      invalid_configuration_mvpd_platform_profile_exchange
      """
    ),
    (
      401, "application-registration",
      "invalid_access_token_service_provider invalid_access_token_client_application"
    ),
    (
      403, "authentication",
      """
      authenticated_profile_missing authenticated_profile_expired authenticated_profile_invalidated \
      temporary_access_duration_limit_exceeded temporary_access_resources_limit_exceeded \
      authorization_denied_by_hba_policies authorization_denied_by_session_invalidated identity_not_recognized_by_mvpd
      """
    ),
    (403, "retry", "network_received_error network_connection_timeout maximum_execution_time_exceeded"),
    // The numeric codes of the oldest SDKs.
    (403, "none", "Z100"),
    (403, "configuration", "P100"),
    (429, "retry-after", "CFG429"),
    (401, "application-registration", "R401"),
    (403, "authentication", "SEC412"),
  ]
}
