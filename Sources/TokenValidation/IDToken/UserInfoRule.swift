public import PosternJSON
import PosternSupport

/// What ties a UserInfo answer to an ID token (OpenID Connect Core section 5.3.2).
public enum UserInfoRule {
  /// Why `userInfo` must not be used beside the claims of a valid ID token; nil when both speak of one subject.
  ///
  /// `missing_claim` when the answer names none, `sub_mismatch` when it names another.
  public static func fault(of userInfo: JSONObject, besideIDToken claims: JSONObject) -> TokenFault? {
    guard let subject = userInfo["sub"]?.stringValue else {
      return TokenFault(.missingClaim, "the UserInfo response has no sub", claim: "sub")
    }
    guard let expected = claims["sub"]?.stringValue, subject.isIdentical(to: expected) else {
      return TokenFault(.subMismatch, "the UserInfo response speaks of another subject", claim: "sub")
    }
    return nil
  }
}
