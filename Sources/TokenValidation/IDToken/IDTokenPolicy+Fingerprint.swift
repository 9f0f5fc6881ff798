import JOSE
import PosternSupport

extension IDTokenPolicy {
  /// What a verdict depends on. Neither the client secret, on which no verdict that is kept rests, nor the time, which
  /// is asked again at every use.
  var fingerprint: PolicyFingerprint {
    var fingerprint = PolicyFingerprint(kind: "id_token")
    configuration.add(to: &fingerprint)
    expectations.add(to: &fingerprint)
    return fingerprint
  }
}

extension IDTokenConfiguration {
  func add(to fingerprint: inout PolicyFingerprint) {
    fingerprint.add(issuer)
    fingerprint.add(algorithms.map(\.name))
    fingerprint.add(clockSkew)
    fingerprint.add(trustedAudiences)
    fingerprint.add(requiresAuthorizedParty)
    fingerprint.add(maximumTokenAge)
    fingerprint.add(clientSecret != nil)
    fingerprint.add(encryption.isRequired)
    fingerprint.add(encryption.keys.map { $0.thumbprint ?? "" })
    fingerprint.add(encryption.keys.map { $0.keyID ?? "" })
    fingerprint.add(encryption.algorithms.map(\.name))
    fingerprint.add(encryption.encryptions.map(\.name))
  }
}

extension IDTokenExpectations {
  fileprivate func add(to fingerprint: inout PolicyFingerprint) {
    fingerprint.add(clientID)
    fingerprint.add(nonce)
    fingerprint.add(authorizationCode?.reveal())
    fingerprint.add(accessToken?.reveal())
    fingerprint.add(state)
    fingerprint.add(maxAge)
    fingerprint.add(acrValues)
    fingerprint.add(algorithms != nil)
    fingerprint.add((algorithms ?? []).map(\.name))
    fingerprint.add(flow.fingerprint)
    fingerprint.add(trustedAudiences != nil)
    fingerprint.add(trustedAudiences ?? [])
    fingerprint.add(clockSkew)
    fingerprint.add(requiresAuthorizedParty.map { $0 ? "true" : "false" })
  }
}

extension TokenFlow {
  fileprivate var fingerprint: [String] {
    switch self {
    case .code: ["code"]
    case .implicit: ["implicit"]
    case .hybrid(let other): ["hybrid"] + (other.map { [$0] } ?? [])
    case .refresh(let previous): ["refresh", previous]
    }
  }
}
