public import AccessManagement
public import Entitlements
public import HTTPMessages
public import KeySets
public import OAuthClient
public import PosternJSON
public import PosternSupport
public import ResourceAccess

// Names that programs may still use.

/// See `RemoteJWKSet`.
@available(*, deprecated, renamed: "RemoteJWKSet")
public typealias PublishedKeySource = RemoteJWKSet

/// See `StaticJWKSet`.
@available(*, deprecated, renamed: "StaticJWKSet")
public typealias FixedKeySource = StaticJWKSet

/// See `DecisionCounts`.
@available(*, deprecated, renamed: "DecisionCounts")
public typealias DecisionTally = DecisionCounts

/// See `DecisionClient`.
@available(*, deprecated, renamed: "DecisionClient")
public typealias DecisionLink = DecisionClient

extension FetchOptions {
  /// See `cookieScope`.
  @available(*, deprecated, renamed: "cookieScope")
  public var cookieOwner: CookieScope? {
    get { cookieScope }
    set { cookieScope = newValue }
  }

  /// See `peerID`.
  @available(*, deprecated, renamed: "peerID")
  public var requester: PeerID {
    get { peerID }
    set { peerID = newValue }
  }
}

/// See `DecisionContextError`.
@available(*, deprecated, renamed: "DecisionContextError")
public typealias DecisionContextComplaint = DecisionContextError

extension DecisionSubject {
  /// See `uid`.
  @available(*, deprecated, renamed: "uid")
  public var owner: UInt32 { uid }

  /// See `init(type:id:properties:uid:)`.
  @available(*, deprecated, renamed: "init(type:id:properties:uid:)")
  public init(type: String? = nil, id: String, properties: JSONObject = JSONObject(), owner: UInt32) {
    self.init(type: type, id: id, properties: properties, uid: owner)
  }
}

extension DecisionSelection {
  /// See `uid`.
  @available(*, deprecated, renamed: "uid")
  public var owner: UInt32? {
    get { uid }
    set { uid = newValue }
  }
}

extension DecisionCounts {
  /// See `wasQueried`.
  @available(*, deprecated, renamed: "wasQueried")
  public var asked: Bool { wasQueried }
}

extension Preauthorizer {
  /// See `forgetInParts`.
  @available(*, deprecated, renamed: "forgetInParts")
  public func forgetInTurns(_ selection: DecisionSelection) async -> Int { await forgetInParts(selection) }
}

extension AccessToken {
  /// See `usableUntil`.
  @available(*, deprecated, renamed: "usableUntil")
  public var renewal: MonotonicInstant { usableUntil }
}

extension AdviceRecognizer.Scope {
  /// See `denials`.
  @available(*, deprecated, renamed: "denials")
  public static var refusals: AdviceRecognizer.Scope { .denials }
}

/// See `DecisionRateLimiter`.
@available(*, deprecated, renamed: "DecisionRateLimiter")
public typealias DecisionPace = DecisionRateLimiter

extension DecisionPoint.Settings {
  /// See `rateLimit`.
  @available(*, deprecated, renamed: "rateLimit")
  public var pace: DecisionRateLimiter? {
    get { rateLimit }
    set { rateLimit = newValue }
  }
}

/// See `CookieScope`.
@available(*, deprecated, renamed: "CookieScope")
public typealias CookieOwner = CookieScope

extension PayloadEncryption {
  /// See `KeyError`.
  @available(*, deprecated, renamed: "KeyError")
  public typealias Misfit = KeyError
}

extension TokenManagementPolicy {
  /// See `requiresRefresh(_:of:)`.
  @available(*, deprecated, renamed: "requiresRefresh(_:of:)")
  public func requiresRenewal(_ response: HTTPResponse, of token: AccessToken) async -> Bool {
    await requiresRefresh(response, of: token)
  }
}

extension FetchAdvice {
  /// See `consultsDelegate`.
  @available(*, deprecated, renamed: "consultsDelegate")
  public var asksAboutAnswers: Bool {
    get { consultsDelegate }
    set { consultsDelegate = newValue }
  }

  /// See `delegateID`.
  @available(*, deprecated, renamed: "delegateID")
  public var asked: UInt64? {
    get { delegateID }
    set { delegateID = newValue }
  }
}
