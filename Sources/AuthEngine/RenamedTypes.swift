public import Entitlements
public import KeySets
public import OAuthClient

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
