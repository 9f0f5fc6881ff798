import PosternJSON
import PosternSupport

/// The status of a partner's framework, from `AP-Partner-Framework-Status`.
struct AdobePassPartnerStatus: Sendable {
  private let status: JSONValue

  /// The status in the header `text`: base64 of an object.
  init(_ text: String) throws(AdobePassError) {
    guard let bytes = Base64.decode(text), let status = try? JSONParser(maxDepth: 8).parse(bytes),
      status.objectValue != nil
    else { throw AdobePassError("invalid_header_pfs_permission_access_not_present") }
    self.status = status
  }

  /// The MVPD that the framework's provider stands for, whatever the user permits.
  var mvpd: AdobePassMVPD? {
    guard let id = status["frameworkProviderInfo"]?["id"]?.stringValue else { return nil }
    return AdobePassMVPD.all.first { $0.platformMappingID == id }
  }

  /// The fault of the status at `now`, for a call about `mvpd` where there is one; nil when it is good.
  func fault(for mvpd: String?, at now: Int64) -> AdobePassError? {
    switch status["frameworkPermissionInfo"]?["accessStatus"]?.stringValue {
    case nil: return AdobePassError("invalid_header_pfs_permission_access_not_present")
    case "granted"?: break
    case "notDetermined"?: return AdobePassError("invalid_header_pfs_permission_access_not_determined")
    default: return AdobePassError("invalid_header_pfs_permission_access_not_granted")
    }
    guard let provider = self.mvpd else { return AdobePassError("invalid_header_pfs_provider_id_not_determined") }
    guard mvpd == nil || mvpd == provider.id else { return AdobePassError("invalid_header_pfs_provider_id_mismatch") }
    guard let end = status["frameworkProviderInfo"]?["expirationDate"]?.stringValue.flatMap({ Int64($0) }), now < end
    else { return AdobePassError("invalid_header_pfs_provider_info_expired") }
    return nil
  }
}
