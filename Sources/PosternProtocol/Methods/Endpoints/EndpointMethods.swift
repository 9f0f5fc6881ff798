public import PosternJSON

/// `createEndpoint`: a socket that can do a part of what its maker can.
public enum CreateEndpoint: RPCMethod {
  public static let name = "createEndpoint"
  public static let bounds: PeerBounds = .resources
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = .needsNoApproval
  public static let summary = "Makes a socket that can do a part of what this connection can"
  public static let explanation = """
    A list that is left out is the maker's, an empty one is nothing; more than the maker has is -32020. What is outside of the lists \
    is answered as what does not exist, methods as -32020. The endpoint ends when it is revoked, expires, or what it is bound to \
    ends, and takes with it the endpoints that were made through it.
    """
  public static let resultSummary = "The endpoint"

  public struct Params: RPCObject {
    public var resources: [String]?
    public var methods: [String]?
    public var httpMethods: [String]?
    public var paths: [String]?
    public var sessions: [String]?
    public var rate: EndpointRate?
    public var concurrency: Int?
    public var expiresInMs: Int64?
    public var bindTo: EndpointBinding?
    public var label: String?
    public var session: String?
    public var approval: EndpointApproval?
    public var descriptor: Bool?
    public var http: Bool?

    /// The lists and limits.
    public var limits: EndpointLimits {
      EndpointLimits(
        resources: resources, methods: methods, httpMethods: httpMethods, paths: paths, sessions: sessions, rate: rate,
        concurrency: concurrency)
    }

    public static let memberDocs = EndpointLimits.memberDocs.merging([
      "expiresInMs": "How long it lives, in milliseconds, at least 1; no longer than its maker's endpoint",
      "bindTo":
        "`connection`: it ends with the connection that made it; `{pid}`: only that process may connect, and it ends with it",
      "label": "A name for people, in lists, questions and the audit log: 1 to 64 printable characters",
      "session":
        "The session of its calls, which then need not name one: a handle, or `only`, the creator's only live one now. Excludes sessions",
      "approval":
        "`ask`: each call that acts for the user is put to the maker's connection first (`delegate.approveCall`)",
      "descriptor":
        "Whether a connected descriptor comes with the answer (SCM_RIGHTS), for a child that cannot reach the path",
      "http": "Whether it has a second socket that speaks HTTP as the gateway does",
    ]) { $1 }
  }

  public struct Result: RPCObject {
    public var endpoint: String
    public var path: String?
    public var expiresAt: String?
    public var http: EndpointHTTP?

    public init(endpoint: String, path: String?, expiresAt: String? = nil, http: EndpointHTTP? = nil) {
      self.endpoint = endpoint
      self.path = path
      self.expiresAt = expiresAt
      self.http = http
    }

    public static let memberDocs = [
      "endpoint": "The endpoint's handle",
      "path": "The socket's path; left out where the sidecar can make no socket file",
      "expiresAt": "When it ends; left out when it has no end of its own",
      "http": "Where it speaks HTTP; with `http` only",
    ]
  }
}

/// `narrow`: the same for the connection itself.
public enum Narrow: RPCMethod {
  public static let name = "narrow"
  public static let bounds: PeerBounds = .resources
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = [.givesRightsUp, .needsConnection]
  public static let summary = "Gives up a part of what this connection can do, for good"
  public static let explanation =
    "The lists are those of createEndpoint. It holds for everything behind it, also in the same write; calls that came before go on."
  public static let resultSummary = "Nothing"
  public typealias Params = EndpointLimits
  public typealias Result = NoParams
}

/// `listEndpoints`.
public enum ListEndpoints: RPCMethod {
  public static let name = "listEndpoints"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = [.needsNoSlot, .needsNoApproval]
  public static let summary =
    "Lists endpoints: on the main socket those of the caller's uid, on an endpoint those made through it"
  public static let resultSummary = "A page of them, the oldest first; and where the next page begins"
  public typealias Params = PageParams

  public struct Result: PageResult {
    public let endpoints: [PageEntry<EndpointDescription>]
    public let nextCursor: String?

    public static let member: StaticString = "endpoints"
    public var entries: [PageEntry<EndpointDescription>] { endpoints }

    public init(_ entries: [PageEntry<EndpointDescription>], nextCursor: String?) {
      endpoints = entries
      self.nextCursor = nextCursor
    }

    public static let memberDocs = [
      "endpoints": "The endpoints",
      "nextCursor": "Where the next page begins; left out when there is none",
    ]
  }
}

/// `revokeEndpoint`.
public enum RevokeEndpoint: RPCMethod {
  public static let name = "revokeEndpoint"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = [.needsNoSlot, .needsNoApproval, .givesRightsUp]
  public static let summary = "Ends an endpoint and all that were made through it, with their calls in flight"
  public static let resultSummary = "How many endpoints have ended"

  public struct Params: RPCObject {
    public var endpoint: String

    public static let memberDocs = ["endpoint": "The endpoint's handle"]
  }

  public struct Result: RPCObject {
    public var revoked: Int

    public init(revoked: Int) { self.revoked = revoked }

    public static let memberDocs = ["revoked": "How many endpoints have ended, the descendants included"]
  }
}

/// The lists and limits of an endpoint, and of `narrow`.
public struct EndpointLimits: RPCObject {
  public var resources: [String]?
  public var methods: [String]?
  public var httpMethods: [String]?
  public var paths: [String]?
  public var sessions: [String]?
  public var rate: EndpointRate?
  public var concurrency: Int?

  public init(
    resources: [String]? = nil, methods: [String]? = nil, httpMethods: [String]? = nil, paths: [String]? = nil,
    sessions: [String]? = nil, rate: EndpointRate? = nil, concurrency: Int? = nil
  ) {
    self.resources = resources
    self.methods = methods
    self.httpMethods = httpMethods
    self.paths = paths
    self.sessions = sessions
    self.rate = rate
    self.concurrency = concurrency
  }

  public static let memberDocs = [
    "resources": "The names of resources",
    "methods": "Methods of this interface, as in `peers`",
    "httpMethods": "The HTTP methods of fetches",
    "paths":
      "Paths relative to a resource's baseUrl, in whole segments: `orders/` is what is below, `orders` that path alone",
    "sessions": "The handles of sessions; then no session can be made",
    "rate": "How often calls may be made, over the whole endpoint and all that were made through it",
    "concurrency":
      "How many calls may be under way at one time, over the whole endpoint and all that were made through it",
  ]
}

/// How often calls may be made.
public struct EndpointRate: RPCObject {
  public var perSecond: Double
  public var burst: Int

  public init(perSecond: Double, burst: Int) {
    self.perSecond = perSecond
    self.burst = burst
  }

  public static let memberDocs = [
    "perSecond": "Calls a second on average, over 0",
    "burst": "Calls at one time, at least 1",
  ]
}

/// Where an endpoint speaks HTTP.
public struct EndpointHTTP: RPCObject {
  public var path: String

  public init(path: String) { self.path = path }

  public static let memberDocs = [
    "path": "The path of the socket that speaks HTTP: `/NAME/…` is a fetch from the resource NAME"
  ]
}

/// The connection or process that an endpoint ends with; it ends with its maker's endpoint in any case.
public enum EndpointBinding: SchemaDescribed, Sendable, Hashable {
  /// The connection that made it.
  case connection
  /// The process of that number as the sidecar sees it, which alone may connect.
  case process(Int32)

  private struct Process: RPCObject {
    let pid: Int
    static let memberDocs = ["pid": "The process, by its number in the sidecar's PID namespace"]
  }

  /// Decodes `"connection"` or `{"pid": NUMBER}`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      guard text == "connection" else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: #"must be "connection" or {"pid": NUMBER}"#)
      }
      self = .connection
    } else {
      guard let pid = Int32(exactly: try container.decode(Process.self).pid) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "has a pid that is no number of a process")
      }
      self = .process(pid)
    }
  }

  /// The same form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .connection: try container.encode("connection")
    case .process(let pid): try container.encode(Process(pid: Int(pid)))
    }
  }

  /// A string or an object.
  public static var schema: JSONValue {
    ["oneOf": [["type": "string", "enum": ["connection"]], SchemaRecorder.schema(of: Process.self)]]
  }
  /// The connection.
  public static let sample = EndpointBinding.connection
}

/// Whether an endpoint's calls are put to its maker before they are carried out.
public enum EndpointApproval: String, SchemaEnumeration, Sendable {
  case ask
}

/// An endpoint in a list.
public struct EndpointDescription: RPCObject {
  public var endpoint: String
  public var label: String?
  public var path: String?
  public var chain: [String]
  public var limits: EndpointLimits
  public var createdAt: String
  public var expiresAt: String?
  public var connections: Int
  public var callsUnderWay: Int

  public init(endpoint: String, chain: [String], limits: EndpointLimits, createdAt: String) {
    self.endpoint = endpoint
    self.chain = chain
    self.limits = limits
    self.createdAt = createdAt
    connections = 0
    callsUnderWay = 0
  }

  public static let memberDocs = [
    "endpoint": "The endpoint's handle",
    "label": "Its name for people",
    "path": "The socket's path",
    "chain": "The handles of the endpoints that it was made through, the first one first",
    "limits": "The lists and limits that it was made with",
    "createdAt": "When it was made",
    "expiresAt": "When it ends",
    "connections": "How many connections it has",
    "callsUnderWay": "How many of its calls are under way, those of endpoints made through it included",
  ]
}
