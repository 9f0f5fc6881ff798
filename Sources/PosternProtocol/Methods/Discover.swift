public import PosternJSON

/// `rpc.discover` (OpenRPC 1.3, service discovery).
public enum Discover: RPCMethod {
  public typealias Params = NoParams
  public typealias Result = JSONValue
  public static let name = "rpc.discover"
  public static let bounds: PeerBounds = []
  public static let summary = "The OpenRPC document of this sidecar"
  public static let resultSummary = "An OpenRPC 1.3 document"
}
