/// The part of a list that a call requests.
public struct PageParams: RPCObject {
  /// The most entries of a page, and how many there are where the call does not say.
  public static let (most, usual) = (1000, 100)

  public var limit: Int?
  public var cursor: String?

  public static let memberDocs = [
    "limit": "How many entries at most, from 1 to 1,000; default 100. There may be fewer where they are large",
    "cursor": "The nextCursor of the page before; good for the same user id, until the sidecar restarts",
  ]
}
