import CPosternCurl
import HTTPMessages
import PosternSupport

/// The authorities, pins and client certificate of a handle.
extension Transfer {
  /// Sets up the handle for `trust`; returns why that is not possible.
  func setTrust(
    _ trust: ConnectionTrust?, configuration: CurlTransport.Configuration, in settings: inout Settings
  ) -> TransportError? {
    guardian = nil
    guard let trust else { return nil }
    // libcurl sets up the connection to such a proxy in the same way.
    let hasSecureProxy = configuration.proxy?.lowercasedASCII().startsWithBytes(of: "https:") == true
    if !trust.resumesSessions, hasSecureProxy {
      return Self.problem("neither pins nor a client certificate go together with an https proxy")
    }
    if trust.mark != nil {
      guard let path = trust.caFile ?? CurlLibrary.authorities else {
        return Self.problem("libcurl names no file of authorities")
      }
      settings.set(CURLOPT_CAINFO, trust.spelled(path))
    }
    let authorities = hasSecureProxy ? nil : trust.authorities?.loaded
    // With a certificate in memory libcurl leaves the file alone; it adds that one to ours, where it is already.
    if let bytes = authorities?.first ?? trust.authorities?.copy { settings.setAuthorities(bytes) }
    guard let guardian = ConnectionGuard(trust, authorities: authorities) else {
      return Self.problem("OpenSSL gives no memory")
    }
    self.guardian = guardian
    if !trust.resumesSessions { settings.set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
    settings.set(CURLOPT_SSL_CTX_DATA, pointer: Unmanaged.passUnretained(self).toOpaque())
    settings.setTLSSetup { _, context, pointer in
      guard let context, let pointer else { return CURLE_SSL_CERTPROBLEM }
      let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
      return transfer.guardian?.attach(to: context) == true ? CURLE_OK : CURLE_SSL_CERTPROBLEM
    }
    return nil
  }

  /// Whether the connection was made for this very trust: by libcurl's keys it was; this does not rely on them.
  var isOnOwnConnection: Bool {
    guard shape?.isSecure == true else { return true }
    return ConnectionGuard.made(postern_curl_get_tls(easy), as: guardian)
  }

  private static func problem(_ detail: String) -> TransportError {
    TransportError(code: .tlsFailure, outcome: .notSent, detail: detail)
  }
}
