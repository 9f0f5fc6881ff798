public import PosternJSON
public import PosternSupport

/// The device as Adobe Pass is told of it: an id that must outlive everything, and what it is.
public struct AdobePassDevice: Sendable {
  /// The value of `AP-Device-Identifier`.
  let identifier: String
  /// The value of `X-Device-Info`.
  let information: String

  /// The device of that id, described by the members of `information`.
  public init(identifier: Secret<String>, information: JSONObject) {
    self.identifier = "fingerprint \(Base64.string(Array(identifier.reveal().utf8)))"
    self.information = Base64.string(JSONWriter().write(.object(information)))
  }
}
