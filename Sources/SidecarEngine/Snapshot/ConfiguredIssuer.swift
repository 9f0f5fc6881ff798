package import AuthEngine

/// A configured issuer with the requirements on its tokens and keys.
package struct ConfiguredIssuer: Sendable {
  package let issuer: Issuer
  /// Nil where the issuer only serves to validate tokens.
  package let clientID: String?
  package let tokens: IDTokenConfiguration
  let keySets: KeySetPolicy
  /// The scope to ask for when a call does not say.
  let scope: String?
  /// How registered profiles are logged in; nil where that is not set up.
  let implicit: ImplicitAccess?
  /// The access manager behind it; nil where there is none.
  let accessManager: AccessManager?
  /// Where codes of logins without a caller's own redirect URI are sent.
  let redirectURI: String?
}
