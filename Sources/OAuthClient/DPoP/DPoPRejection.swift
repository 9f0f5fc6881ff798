package import HTTPMessages
import PosternJSON

/// Why a server did not take a proof.
package enum DPoPRejection: Sendable {
  /// It wants its newest nonce in it (RFC 9449 sections 8 and 9).
  case nonce
  /// Something about the proof or its token: the server's clock may be another one.
  case proof

  /// What an authorization server says (RFC 9449 sections 5 and 8).
  init?(ofIssuer response: HTTPResponse) {
    guard response.status == 400 || response.status == 401 else { return nil }
    let document = try? JSONParser(maxBytes: TokenResponse.maxBytes, maxDepth: 16).parse(response.body)
    switch document?["error"]?.stringValue {
    case "use_dpop_nonce": self = .nonce
    case "invalid_dpop_proof": self = .proof
    default: return nil
    }
  }

  /// What a resource server says (RFC 9449 sections 7.1 and 9).
  package init?(ofResource response: HTTPResponse) {
    guard response.status == 401 else { return nil }
    let challenges = AuthenticationChallenge.all(in: response.fields)
    if challenges.contains(where: \.wantsDPoPNonce) {
      self = .nonce
    } else if challenges.contains(where: \.refusesDPoPProof) {
      self = .proof
    } else {
      return nil
    }
  }
}
