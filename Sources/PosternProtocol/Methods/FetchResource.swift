public import PosternJSON
public import PosternSupport

/// `fetchResource`: the main job.
public enum FetchResource: RPCMethod {
  public static let name = "fetchResource"
  public static let bounds: PeerBounds = [.resources, .issuers]
  public static let chain: ChainRule = .checked
  public static let summary = "Fetches a protected resource with the token it needs"
  public static let explanation =
    "The token comes from the cache or from the issuer, is refreshed once when the resource rejects it, and is never shown. Any HTTP status is a result."
  public static let resultSummary = "The resource's response"
  public static let errors: [ErrorCode] = [
    .notAuthenticated, .notImplicitlyAuthenticated, .deviceNotAuthenticated, .methodNotAllowed, .invalidHeaders,
    .invalidURL, .originNotAllowed, .networkUnreachable, .serverUnreachable, .tlsFailure, .pinMismatch,
    .responseTooLarge, .protocolError, .debuggerAttached, .payloadEncryptionFailed, .sessionNotFound,
    .tokenEndpointError, .tokenEndpointUnreachable, .storeUnavailable,
    .adviceRequired, .adviceFailed, .continuationUnknown, .interactionRequired, .jwksFetchFailed, .discoveryFailed,
    .discoveryIssuerMismatch, .jwksInvalid, .introspectionFailed,
  ]

  /// How the request is authenticated.
  public enum Authentication: String, SchemaEnumeration, Sendable {
    case user, implicit, clientCredentials, credential, onBehalfOf, none

    /// The kind of that name; `device` is the former name of `clientCredentials`.
    public init?(rawValue: String) {
      let name = rawValue == "device" ? "clientCredentials" : rawValue
      guard let found = Self.allCases.first(where: { $0.rawValue == name }) else { return nil }
      self = found
    }
  }

  /// How `parameters` become a body.
  public enum ParametersEncoding: String, SchemaEnumeration, Sendable {
    case json, formUrl
  }

  /// The path of a body that is not in a message.
  public enum BodyPath: String, SchemaEnumeration, Sendable {
    case fd
  }

  /// How the pieces of a streamed body are sent.
  public enum BodyFormat: String, SchemaEnumeration, Sendable {
    case frames
  }

  /// How many passed descriptors a call with these params claims, whether they are valid or not.
  public static func descriptorCount(_ params: JSONTree?) -> Int {
    ["bodyFrom", "bodyTo"].count { params?[$0]?.stringValue == BodyPath.fd.rawValue }
  }

  public struct Params: RPCObject {
    public var resource: String?
    public var path: String?
    public var method: String?
    public var auth: Authentication?
    public var session: String?
    public var onBehalfOf: OnBehalfOf?
    public var parameters: ParameterObject?
    public var parametersEncoding: ParametersEncoding?
    public var body: BodyText?
    public var bodyBase64: String?
    public var multipart: [Part]?
    public var headers: [String: HeaderValue]?
    public var timeoutMs: Int?
    public var followRedirects: Bool?
    public var stream: Bool?
    public var streamHead: Bool?
    public var bodyTo: BodyPath?
    public var bodyFrom: BodyPath?
    public var contentLength: Int64?
    public var bodyAs: BodyFormat?
    public var task: String?
    public var continuation: String?

    public static let memberDocs = [
      "resource": "A configured resource server; may be left out when only one is configured",
      "path": "Appended to the resource's base URL; or an absolute URL whose origin the resource allows",
      "method": "GET (default), or another HTTP method but CONNECT and TRACE, in any case",
      "auth":
        "user, implicit, clientCredentials, credential (the resource's own), onBehalfOf or none; default: as configured",
      "session":
        "With user and implicit: the session's handle, or `only`, the caller's only live one. Without: not_authenticated, nothing is sent",
      "onBehalfOf": "The inbound token that is exchanged for the resource's token, with auth onBehalfOf",
      "parameters": "With GET, HEAD and DELETE the query string, otherwise the body in parametersEncoding",
      "parametersEncoding": "json (default) or formUrl",
      "body": "A raw body as text; overrides parameters",
      "bodyBase64": "A raw body as standard base64 with padding; at most one of the two",
      "multipart":
        "Parts of a multipart/form-data body, with POST only; parameters become plain fields before them",
      "headers": "Name to value, or to an array of values; reserved names are rejected",
      "timeoutMs":
        "Bounds the whole call in milliseconds, retries included; at most 600000; default: the resource's timeout",
      "followRedirects": "Whether redirects are followed (default true); credentials never cross origins",
      "stream":
        "The body comes in pieces before the result, as notifications fetchResource.chunk {task, sequence, dataBase64}; the result has none then",
      "streamHead":
        "With stream: status and headers come before the first piece, as a notification fetchResource.head {task, status, reason, url, headers}",
      "bodyTo":
        "fd: the response's body is written to a descriptor that comes with the request (SCM_RIGHTS); the result has bodyBytes and no body. Not with stream",
      "bodyFrom":
        "fd: the request's body is read from a descriptor that comes with the request, before that of bodyTo. Not with GET, HEAD or another body",
      "contentLength":
        "With bodyFrom: how many bytes are read; default: what a file has from its offset on, otherwise all until the end, sent in chunks",
      "bodyAs":
        "frames, with stream and in header framing: pieces come as frames of application/octet-stream with the field Postern-Task, not as fetchResource.chunk",
      "task": "The caller's name for the task; default: generated",
      "continuation":
        "Continues a fetch that ended in advice_required. Valid once; only timeoutMs and bodyTo may be combined with it",
    ]
  }

  /// A part of a multipart body.
  public struct Part: RPCObject {
    public var name: String
    public var fileName: String?
    public var mimeType: String?
    public var data: BodyText?
    public var dataBase64: String?

    public static let memberDocs = [
      "name": "The field's name",
      "fileName": "The file's name; left out for what is no file",
      "mimeType": "The part's media type; a file's is application/octet-stream by default",
      "data": "The content as text",
      "dataBase64": "The content as standard base64 with padding; exactly one of the two",
    ]
  }

  /// When things happened, in milliseconds.
  public struct Timing: RPCObject {
    public let totalMs: Int64
    public let queueMs: Int64
    public let connectMs: Int64
    public let firstByteMs: Int64

    /// Times of the given lengths.
    public init(totalMs: Int64, queueMs: Int64, connectMs: Int64, firstByteMs: Int64) {
      self.totalMs = totalMs
      self.queueMs = queueMs
      self.connectMs = connectMs
      self.firstByteMs = firstByteMs
    }

    public static let memberDocs = [
      "totalMs": "The whole call, tokens and retries included",
      "queueMs": "Total time that the call's requests waited for a slot or a connection",
      "connectMs": "Total time of name resolution, TCP and TLS; 0 when every connection was reused",
      "firstByteMs": "Total time until the first byte of each response",
    ]
  }

  public struct Result: WrittenResult {
    public var task: String
    public var status: Int
    public var reason: String?
    public var url: String
    public var headers: ResponseHeaders
    public var body: ResponseBody?
    public var bodyBase64: String?
    public var bodyBytes: Int64?
    public var attempts: Int
    public var tokenRefreshed: Bool
    public var advicesSatisfied: [JSONValue]
    public var timing: Timing
    public var retryAfterMs: Int64?

    /// A response to the only request of its fetch; the rest is set one by one.
    public init(task: String, status: Int, url: String, headers: ResponseHeaders, timing: Timing) {
      self.task = task
      self.status = status
      self.url = url
      self.headers = headers
      self.timing = timing
      attempts = 1
      tokenRefreshed = false
      advicesSatisfied = []
    }

    public static let memberDocs = [
      "task": "The task's name",
      "status": "The HTTP status; any is a result",
      "reason": "The reason phrase, where there is one",
      "url": "The URL that answered, after redirects; a credential in its query is masked",
      "headers": "Lower-case name to an array of values, in order",
      "body": "The body when it is textual and UTF-8",
      "bodyBase64": "The body otherwise",
      "bodyBytes": "With bodyTo: how many bytes were written",
      "attempts": "How many requests the resource got, redirects not counted",
      "tokenRefreshed": "Whether a rejected token was refreshed",
      "advicesSatisfied": "The policy advices satisfied on the way",
      "timing": "Where the time went",
      "retryAfterMs": "With 429 and 503: how long the server wants no requests (Retry-After)",
    ]
  }
}

extension FetchResource.Result {
  public var expectedBytes: Int {
    let body = body?.bytes.count ?? bodyBase64?.utf8.count ?? 0
    return 768 + body + body / 8
  }

  public func write(to text: borrowing JSONComposer) {
    text.literal(#"{"task":"#)
    text.string(task)
    text.literal(#","status":"#)
    text.integer(Int64(status))
    if let reason {
      text.literal(#","reason":"#)
      text.string(reason)
    }
    text.literal(#","url":"#)
    text.string(url)
    text.literal(#","headers":"#)
    headers.write(to: text)
    let isText = body.map { text.string($0.bytes, behind: #","body":"#) } ?? true
    if let bodyBase64 = isText ? bodyBase64 : body.map({ Base64.string($0.bytes) }) {
      text.literal(#","bodyBase64":"#)
      text.string(bodyBase64)
    }
    if let bodyBytes {
      text.literal(#","bodyBytes":"#)
      text.integer(bodyBytes)
    }
    text.literal(#","attempts":"#)
    text.integer(Int64(attempts))
    text.literal(tokenRefreshed ? #","tokenRefreshed":true"# : #","tokenRefreshed":false"#)
    text.literal(#","advicesSatisfied":"#)
    text.value(.array(advicesSatisfied))
    text.literal(#","timing":{"totalMs":"#)
    text.integer(timing.totalMs)
    text.literal(#","queueMs":"#)
    text.integer(timing.queueMs)
    text.literal(#","connectMs":"#)
    text.integer(timing.connectMs)
    text.literal(#","firstByteMs":"#)
    text.integer(timing.firstByteMs)
    text.literal("}")
    if let retryAfterMs {
      text.literal(#","retryAfterMs":"#)
      text.integer(retryAfterMs)
    }
    text.literal("}")
  }
}

extension FetchResource.Params {
  public static func read(_ object: JSONTree) -> Self? {
    var params = Self()
    return object.readMembers { params.read($0) } ? params : nil
  }

  /// Reads a member; false if the object has to be decoded.
  private mutating func read(_ member: JSONTree.Member) -> Bool {
    if member.isNamed("resource") { return member.read(&resource) }
    if member.isNamed("path") { return member.read(&path) }
    if member.isNamed("method") { return member.read(&method) }
    if member.isNamed("headers") { return member.read(&headers) }
    if member.isNamed("body") { return member.read(&body) }
    if member.isNamed("bodyBase64") { return member.read(&bodyBase64) }
    if member.isNamed("parameters") { return member.read(&parameters) }
    if member.isNamed("parametersEncoding") { return member.read(&parametersEncoding) }
    if member.isNamed("auth") { return member.read(&auth) }
    if member.isNamed("session") { return member.read(&session) }
    if member.isNamed("timeoutMs") { return member.read(&timeoutMs) }
    if member.isNamed("followRedirects") { return member.read(&followRedirects) }
    if member.isNamed("stream") { return member.read(&stream) }
    if member.isNamed("streamHead") { return member.read(&streamHead) }
    if member.isNamed("bodyTo") { return member.read(&bodyTo) }
    if member.isNamed("bodyFrom") { return member.read(&bodyFrom) }
    if member.isNamed("contentLength") { return member.read(&contentLength) }
    if member.isNamed("bodyAs") { return member.read(&bodyAs) }
    if member.isNamed("task") { return member.read(&task) }
    if member.isNamed("continuation") { return member.read(&continuation) }
    return false
  }

  /// The first member that does not go with `continuation`.
  public var excludedByContinuation: String? {
    let members: [(String, Bool)] = [
      ("resource", resource != nil), ("path", path != nil), ("method", method != nil), ("auth", auth != nil),
      ("session", session != nil), ("onBehalfOf", onBehalfOf != nil), ("parameters", parameters != nil),
      ("parametersEncoding", parametersEncoding != nil), ("body", body != nil), ("bodyBase64", bodyBase64 != nil),
      ("multipart", multipart != nil), ("headers", headers != nil), ("followRedirects", followRedirects != nil),
      ("stream", stream != nil), ("streamHead", streamHead != nil), ("bodyFrom", bodyFrom != nil),
      ("contentLength", contentLength != nil), ("bodyAs", bodyAs != nil), ("task", task != nil),
    ]
    return members.first { $0.1 }?.0
  }
}
