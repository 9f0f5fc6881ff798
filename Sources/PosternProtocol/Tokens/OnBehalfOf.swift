/// The inbound token on whose user's behalf a call is made.
public struct OnBehalfOf: RPCObject {
  /// The token that a client has sent to the calling program.
  public var token: String
  /// The audience that it must be for.
  public var audience: String?

  public static let memberDocs = [
    "token":
      "The access token that the caller received from its own client, at most 64 KiB; validated before it is exchanged",
    "audience": "The audience it must be for; default: the first of the resource's exchange.inboundAudience",
  ]
}
