import HTTPMessages

extension AuthenticationChallenge {
  /// What a newer token does not change: its scope (RFC 6750 section 3.1), how the user was authenticated (RFC 9470),
  /// the proof that came with it (RFC 9449 section 7.1).
  private static let beyondRenewal: Set<String> = [
    "insufficient_scope", "insufficient_user_authentication", "invalid_dpop_proof", "use_dpop_nonce",
  ]

  /// Whether a newer token can meet the challenge.
  package var callsForAnotherToken: Bool {
    (isScheme("Bearer") || isScheme("DPoP")) && self["error"].map { !Self.beyondRenewal.contains($0) } ?? true
  }

  /// Whether the proof lacks the server's newest nonce (RFC 9449 section 9).
  var wantsDPoPNonce: Bool { isScheme("DPoP") && self["error"] == "use_dpop_nonce" }

  /// Whether the proof, or the token it came with, is not taken (RFC 9449 section 7.1).
  var refusesDPoPProof: Bool {
    isScheme("DPoP") && (self["error"] == "invalid_dpop_proof" || self["error"] == "invalid_token")
  }
}
