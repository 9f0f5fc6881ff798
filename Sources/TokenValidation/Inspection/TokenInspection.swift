public import PosternJSON

/// What can be read of a token that nobody has vouched for, and what a validation would find wrong with it.
///
/// For people who look at a token. Nothing in it is verified but what `signature` says.
public struct TokenInspection: Sendable {
  /// What is known of the signature.
  public enum Signature: String, Sendable {
    /// No keys were given, or the token could not be read so far.
    case notChecked
    /// It is one of a given key.
    case valid
    /// It is not; `findings` says why.
    case invalid
  }

  /// Which rules were looked at: `ID token`, `JWT access token`, `logout token`, or `encrypted token`.
  public var kind: String
  /// The protected header, when it can be read.
  public var header: JSONObject?
  /// The claims, when they can be read.
  public var claims: JSONObject?
  /// What is known of the signature.
  public var signature: Signature
  /// Everything a validation would refuse the token for, in the order in which it asks.
  public var findings: [TokenFault]
}
