/// `parseAdvice`: policy advice in an answer, offline.
public enum ParseAdvice: RPCMethod {
  public static let name = "parseAdvice"
  public static let bounds: PeerBounds = []
  public static let summary = "Finds policy advice in an HTTP response, offline"
  public static let explanation =
    "Looks into WWW-Authenticate (SSOADVICE, RFC 9470, UMA), then into the Location of a redirect, then into a JSON body, and ends where it finds something. A body that is an advice map by itself counts at 401 and 403 only."
  public static let resultSummary = "The advices, and which part of the response contained them; none is no error"

  /// The part of a response that contained advices.
  public enum Source: String, SchemaEnumeration, Sendable {
    case header, redirect, body
  }

  public struct Params: RPCObject {
    public var status: Int
    public var headers: [String: HeaderValue]
    public var body: BodyText?

    public static let memberDocs = [
      "status": "The HTTP status, 100 to 599",
      "headers": "Name to value, or to an array of values",
      "body": "The body as text; over 256 KiB it is not looked into",
    ]
  }

  public struct Result: RPCObject {
    public var advices: [PolicyAdviceDescription]
    public var source: Source?

    /// A result of the given parts.
    public init(advices: [PolicyAdviceDescription], source: Source?) {
      self.advices = advices
      self.source = source
    }

    public static let memberDocs = [
      "advices": "In order, each once; at most 16",
      "source": "The part of the response that contained them; only when there are any",
    ]
  }
}
