/// `metrics`: the Prometheus text exposition format, over the socket.
public enum Metrics: RPCMethod {
  public typealias Params = NoParams
  public static let name = "metrics"
  public static let bounds: PeerBounds = .all
  public static let summary = "Counters and histograms in Prometheus' text format"
  public static let resultSummary = "The exposition"

  public struct Result: RPCObject {
    public let text: String

    /// The exposition as one text.
    public init(text: String) { self.text = text }

    public static let memberDocs = ["text": "Prometheus text exposition format 0.0.4"]
  }
}
